package conform

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

// strangeNode is a node id that no controller should have: cases that need a replica nobody knows use it.
const strangeNode = 2_000_000_001

// baseline is the request that the edits of a case start from: well-formed, about the metadata partition, from nobody
// in particular, and in no epoch, so that a node refuses it unless a case fills in one.
func baseline(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil
	}
	switch r := req.(type) {
	case *kmsg.VoteRequest:
		r.VoterID = -1
		p := kmsg.NewVoteRequestTopicPartition()
		p.CandidateID, p.CandidateDirectoryID, p.CandidateEpoch = strangeNode, strangeDirectory, -1
		r.Topics = []kmsg.VoteRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteRequestTopicPartition{p}}}
	case *kmsg.BeginQuorumEpochRequest:
		r.VoterID = -1
		p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
		p.LeaderEpoch, p.LeaderID = -1, strangeNode
		r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
	case *kmsg.EndQuorumEpochRequest:
		p := kmsg.NewEndQuorumEpochRequestTopicPartition()
		p.LeaderEpoch, p.LeaderID = -1, strangeNode
		r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
	case *kmsg.DescribeQuorumRequest:
		r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	case *kmsg.FetchRequest:
		fetchBaseline(r)
	case *kmsg.FetchSnapshotRequest:
		r.ReplicaID, r.MaxBytes = -1, 1<<20
		r.Topics = []kmsg.FetchSnapshotRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.FetchSnapshotRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}
	case *kmsg.AddRaftVoterRequest:
		r.TimeoutMillis, r.VoterID, r.VoterDirectoryID, r.AckWhenCommitted = 1000, strangeNode, strangeDirectory, true
		r.Listeners = []kmsg.AddRaftVoterRequestListener{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 1}}
	case *kmsg.RemoveRaftVoterRequest:
		r.VoterID, r.VoterDirectoryID = strangeNode, strangeDirectory
	case *kmsg.UpdateRaftVoterRequest:
		r.CurrentLeaderEpoch, r.VoterID, r.VoterDirectoryID = -1, strangeNode, strangeDirectory
		r.Listeners = []kmsg.UpdateRaftVoterRequestListener{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 1}}
		r.KRaftVersionFeature.MaxSupportedVersion = 1
	case *kmsg.ApiVersionsRequest:
		r.ClientSoftwareName, r.ClientSoftwareVersion, r.NodeID = clientName, "1", -1
	case *kmsg.DescribeClusterRequest:
		r.EndpointType = 2
	}
	req.SetVersion(version)
	return req
}

// fetchBaseline is a consumer's Fetch, whose progress a leader does not keep account of.
func fetchBaseline(r *kmsg.FetchRequest) {
	r.ReplicaID, r.ReplicaState.ID, r.ReplicaState.Epoch = -1, -1, -1
	r.MaxBytes, r.SessionEpoch = 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = -1, 0, -1, 1<<20
	r.Topics = []kmsg.FetchRequestTopic{{Topic: wire.MetadataTopic, TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
}

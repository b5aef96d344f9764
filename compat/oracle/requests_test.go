package oracle_test

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

const topic = "__cluster_metadata"

func voteRequest(version int16, epoch, candidate, voter, lastEpoch int32, lastOffset int64, cluster string) kmsg.Request {
	r := kmsg.NewPtrVoteRequest()
	r.SetVersion(version)
	r.ClusterID, r.VoterID = &cluster, voter
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID, p.LastOffsetEpoch, p.LastOffset = epoch, candidate, lastEpoch, lastOffset
	p.CandidateDirectoryID, p.VoterDirectoryID = oracle.DirectoryID(candidate), oracle.DirectoryID(voter)
	t := kmsg.NewVoteRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func preVoteRequest(epoch, candidate, voter, lastEpoch int32, lastOffset int64) kmsg.Request {
	r := voteRequest(2, epoch, candidate, voter, lastEpoch, lastOffset, oracle.ClusterID).(*kmsg.VoteRequest)
	r.Topics[0].Partitions[0].PreVote = true
	return r
}

func beginRequest(epoch, leader int32) kmsg.Request {
	cluster := oracle.ClusterID
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.SetVersion(1)
	r.ClusterID, r.VoterID = &cluster, -1
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.LeaderEpoch, p.LeaderID = epoch, leader
	t := kmsg.NewBeginQuorumEpochRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	l := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
	l.Name, l.Host, l.Port = oracle.Channel, "h3", 9093
	r.LeaderEndpoints = append(r.LeaderEndpoints, l)
	return r
}

// endRequest names nodes as successors, the preferred one first.
func endRequest(epoch, leader int32, successors ...int32) kmsg.Request {
	cluster := oracle.ClusterID
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.SetVersion(1)
	r.ClusterID = &cluster
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = leader, epoch
	for _, id := range successors {
		c := kmsg.NewEndQuorumEpochRequestTopicPartitionPreferredCandidate()
		c.CandidateID, c.CandidateDirectoryID = id, oracle.DirectoryID(id)
		p.PreferredCandidates = append(p.PreferredCandidates, c)
	}
	t := kmsg.NewEndQuorumEpochRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func addVoterRequest(id int32) kmsg.Request {
	cluster := oracle.ClusterID
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.ClusterID, r.TimeoutMillis, r.VoterID, r.VoterDirectoryID = &cluster, 1000, id, oracle.DirectoryID(id)
	l := kmsg.NewAddRaftVoterRequestListener()
	l.Name, l.Host, l.Port = oracle.Channel, "h4", 9093
	r.Listeners = append(r.Listeners, l)
	return r
}

func removeVoterRequest(id int32) kmsg.Request {
	cluster := oracle.ClusterID
	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.ClusterID, r.VoterID, r.VoterDirectoryID = &cluster, id, oracle.DirectoryID(id)
	return r
}

func voteAnswer(version int16, epoch int32, granted bool) []byte {
	r := kmsg.NewPtrVoteResponse()
	r.SetVersion(version)
	p := kmsg.NewVoteResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.VoteGranted = -1, epoch, granted
	t := kmsg.NewVoteResponseTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r.AppendTo(nil)
}

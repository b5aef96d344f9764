package wire

import (
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// The metadata partition, as raft requests name it.
const (
	MetadataTopic     = "__cluster_metadata"
	metadataPartition = 0
)

// KRaftRequest turns the body of a request into the event that a machine takes it as. Of about it uses all but the
// cluster id and WrongPartition, which the body tells, and Version. The event keeps nothing of the body.
// A key that a machine does not answer is [ErrUnsupported].
func (d *Decoder) KRaftRequest(key, version int16, body []byte, about kraft.Request) (kraft.Event, error) {
	m, err := d.Request(key, version, body)
	if err != nil {
		return nil, err
	}
	about.Version, about.Listener = version, strings.ToUpper(about.Listener)
	switch r := m.(type) {
	case *kmsg.VoteRequest:
		return voteEvent(r, about), nil
	case *kmsg.BeginQuorumEpochRequest:
		return beginEvent(r, about), nil
	case *kmsg.EndQuorumEpochRequest:
		return endEvent(r, about), nil
	case *kmsg.FetchRequest:
		return fetchEvent(r, about), nil
	case *kmsg.FetchSnapshotRequest:
		return fetchSnapshotEvent(r, about), nil
	case *kmsg.DescribeQuorumRequest:
		about.WrongPartition = len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic ||
			len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition
		return &kraft.ReceiveDescribeQuorum{Request: about}, nil
	case *kmsg.AddRaftVoterRequest:
		about.ClusterID = clusterID(r.ClusterID)
		listeners := make([]kraft.Endpoint, 0, len(r.Listeners))
		for _, l := range r.Listeners {
			listeners = append(listeners, endpoint(l.Name, l.Host, l.Port))
		}
		return &kraft.ReceiveAddRaftVoter{
			Request: about, Voter: replicaKey(r.VoterID, r.VoterDirectoryID), Endpoints: kraft.NewEndpoints(listeners...),
			AckWhenCommitted: r.AckWhenCommitted,
		}, nil
	case *kmsg.RemoveRaftVoterRequest:
		about.ClusterID = clusterID(r.ClusterID)
		return &kraft.ReceiveRemoveRaftVoter{Request: about, Voter: replicaKey(r.VoterID, r.VoterDirectoryID)}, nil
	case *kmsg.UpdateRaftVoterRequest:
		return updateVoterEvent(r, about), nil
	}
	return nil, fmt.Errorf("%s request for a machine: %w", Name(key), ErrUnsupported)
}

func clusterID(id *string) kraft.ClusterID {
	if id == nil {
		return kraft.ClusterID{}
	}
	return kraft.ClusterID{Value: *id, Present: true}
}

func replicaKey(id int32, dir [16]byte) kraft.ReplicaKey {
	return kraft.ReplicaKey{ID: kraft.NodeID(id), DirectoryID: kraft.DirectoryID(dir)}
}

func endpoint(name, host string, port uint16) kraft.Endpoint {
	return kraft.Endpoint{Name: name, Address: kraft.Address{Host: host, Port: port}}
}

func voteEvent(r *kmsg.VoteRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	e := &kraft.ReceiveVoteRequest{Request: about, VoterID: kraft.NodeID(r.VoterID)}
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.VoterDirectoryID = kraft.DirectoryID(p.VoterDirectoryID)
	e.CandidateEpoch = kraft.Epoch(p.CandidateEpoch)
	e.Candidate, e.CandidateDirectoryID = kraft.NodeID(p.CandidateID), kraft.DirectoryID(p.CandidateDirectoryID)
	e.CandidateLogEnd = kraft.LogEnd{LastEpoch: kraft.Epoch(p.LastOffsetEpoch), LastOffset: kraft.Offset(p.LastOffset)}
	e.PreVote = p.PreVote
	return e
}

func beginEvent(r *kmsg.BeginQuorumEpochRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	e := &kraft.ReceiveBeginQuorumEpoch{Request: about, VoterID: kraft.NodeID(r.VoterID)}
	listeners := make([]kraft.Endpoint, 0, len(r.LeaderEndpoints))
	for _, l := range r.LeaderEndpoints {
		listeners = append(listeners, endpoint(l.Name, l.Host, l.Port))
	}
	e.LeaderEndpoints = kraft.NewEndpoints(listeners...)
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.VoterDirectoryID = kraft.DirectoryID(p.VoterDirectoryID)
	e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch)
	return e
}

func endEvent(r *kmsg.EndQuorumEpochRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	e := &kraft.ReceiveEndQuorumEpoch{Request: about}
	listeners := make([]kraft.Endpoint, 0, len(r.LeaderEndpoints))
	for _, l := range r.LeaderEndpoints {
		listeners = append(listeners, endpoint(l.Name, l.Host, l.Port))
	}
	e.LeaderEndpoints = kraft.NewEndpoints(listeners...)
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch)
	// v1 carries the candidates with their directory ids, v0 only ids (Kafka: KafkaRaftClient.handleEndQuorumEpochRequest)
	for _, c := range p.PreferredCandidates {
		e.Successors = append(e.Successors, replicaKey(c.CandidateID, c.CandidateDirectoryID))
	}
	if len(p.PreferredCandidates) == 0 {
		for _, id := range p.PreferredSuccessors {
			e.Successors = append(e.Successors, kraft.ReplicaKey{ID: kraft.NodeID(id)})
		}
	}
	return e
}

func fetchEvent(r *kmsg.FetchRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	e := &kraft.ReceiveFetch{Request: about, MaxWaitMs: r.MaxWaitMillis, MaxBytes: r.MaxBytes, HighWatermark: math.MaxInt64}
	e.Replica.ID = kraft.NodeID(r.ReplicaID)
	if r.ReplicaID == -1 || about.Version >= 15 {
		e.Replica.ID = kraft.NodeID(r.ReplicaState.ID)
	}
	// The topic id decides, also below v13, where none is sent (Kafka: RaftUtil.hasValidTopicPartition)
	if len(r.Topics) != 1 || r.Topics[0].TopicID != MetadataTopicID || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.Replica.DirectoryID = kraft.DirectoryID(p.ReplicaDirectoryID)
	e.FetchEpoch, e.FetchOffset = kraft.Epoch(p.CurrentLeaderEpoch), kraft.Offset(p.FetchOffset)
	e.LastFetchedEpoch, e.HighWatermark = kraft.Epoch(p.LastFetchedEpoch), kraft.Offset(p.HighWatermark)
	return e
}

func fetchSnapshotEvent(r *kmsg.FetchSnapshotRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	first := 0
	if len(r.Topics) > 0 {
		first = len(r.Topics[0].Partitions)
	}
	e := &kraft.ReceiveFetchSnapshot{Request: about, Shape: kraft.ShapeOf(len(r.Topics), first), MaxBytes: r.MaxBytes}
	e.Replica.ID, e.WrongPartition = kraft.NodeID(r.ReplicaID), true
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			if !e.WrongPartition || r.Topics[i].Topic != MetadataTopic || p.Partition != metadataPartition {
				continue
			}
			e.WrongPartition = false
			e.Replica.DirectoryID = kraft.DirectoryID(p.ReplicaDirectoryID)
			e.FetchEpoch, e.Position = kraft.Epoch(p.CurrentLeaderEpoch), p.Position
			e.SnapshotID = kraft.SnapshotID{Offset: kraft.Offset(p.SnapshotID.EndOffset), Epoch: kraft.Epoch(p.SnapshotID.Epoch)}
		}
	}
	return e
}

func updateVoterEvent(r *kmsg.UpdateRaftVoterRequest, about kraft.Request) kraft.Event {
	about.ClusterID = clusterID(r.ClusterID)
	listeners := make([]kraft.Endpoint, 0, len(r.Listeners))
	for _, l := range r.Listeners {
		listeners = append(listeners, endpoint(l.Name, l.Host, l.Port))
	}
	return &kraft.ReceiveUpdateRaftVoter{
		Request: about, FetchEpoch: kraft.Epoch(r.CurrentLeaderEpoch), Voter: replicaKey(r.VoterID, r.VoterDirectoryID),
		Endpoints: kraft.NewEndpoints(listeners...),
		Versions:  kraft.VersionRange{Min: r.KRaftVersionFeature.MinSupportedVersion, Max: r.KRaftVersionFeature.MaxSupportedVersion},
	}
}

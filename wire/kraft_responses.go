package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// KRaftResponse turns the body of a response into the event that a machine takes it as. Of about it uses the
// connection record and the correlation id. The chunk of a FetchSnapshot response, and the control records of the snapshot
// that it may complete, are the caller's to add.
func (d *Decoder) KRaftResponse(key, version int16, body []byte, about kraft.Response) (kraft.Event, error) {
	m, err := d.Response(key, version, body)
	if err != nil {
		return nil, err
	}
	switch r := m.(type) {
	case *kmsg.VoteResponse:
		return voteAnswered(r, about), nil
	case *kmsg.BeginQuorumEpochResponse:
		return beginAnswered(r, about), nil
	case *kmsg.EndQuorumEpochResponse:
		return endAnswered(r, about), nil
	case *kmsg.FetchResponse:
		return fetchAnswered(r, about), nil
	case *kmsg.FetchSnapshotResponse:
		return fetchSnapshotAnswered(r, about), nil
	case *kmsg.ApiVersionsResponse:
		about.Error = kraft.ErrorCode(r.ErrorCode)
		e := &kraft.ReceiveAPIVersionsResponse{Response: about}
		for _, f := range r.SupportedFeatures {
			if f.Name == "kraft.version" && !e.HasKRaftVersion {
				e.HasKRaftVersion, e.KRaftVersions = true, kraft.VersionRange{Min: f.MinVersion, Max: f.MaxVersion}
			}
		}
		return e, nil
	case *kmsg.AddRaftVoterResponse:
		about.Error = kraft.ErrorCode(r.ErrorCode)
		return &kraft.ReceiveAddRaftVoterResponse{Response: about}, nil
	case *kmsg.RemoveRaftVoterResponse:
		about.Error = kraft.ErrorCode(r.ErrorCode)
		return &kraft.ReceiveRemoveRaftVoterResponse{Response: about}, nil
	case *kmsg.UpdateRaftVoterResponse:
		about.Error = kraft.ErrorCode(r.ErrorCode)
		return &kraft.ReceiveUpdateRaftVoterResponse{
			Response: about, LeaderID: kraft.NodeID(r.CurrentLeader.LeaderID), LeaderEpoch: kraft.Epoch(r.CurrentLeader.LeaderEpoch),
			LeaderEndpoint: kraft.Address{Host: r.CurrentLeader.Host, Port: uint16(r.CurrentLeader.Port)},
		}, nil
	}
	return nil, fmt.Errorf("%s response for a machine: %w", Name(key), ErrUnsupported)
}

// leaderEndpoint notes the endpoint of the leader. Of several for one node the first counts (Kafka:
// Endpoints.fromVoteResponse and its likes).
func leaderEndpoint(a *kraft.PartitionAnswer, node int32, host string, port uint16) {
	if kraft.NodeID(node) == a.LeaderID && !a.HasEndpoint {
		a.HasEndpoint, a.LeaderEndpoint = true, kraft.Address{Host: host, Port: port}
	}
}

func voteAnswered(r *kmsg.VoteResponse, about kraft.Response) kraft.Event {
	about.Error = kraft.ErrorCode(r.ErrorCode)
	e := &kraft.ReceiveVoteResponse{Response: about}
	e.LeaderID = kraft.NoNode
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.PartitionAnswer.Error = kraft.ErrorCode(p.ErrorCode)
	e.LeaderID, e.LeaderEpoch, e.VoteGranted = kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch), p.VoteGranted
	for _, n := range r.NodeEndpoints {
		leaderEndpoint(&e.PartitionAnswer, n.NodeID, n.Host, n.Port)
	}
	return e
}

func beginAnswered(r *kmsg.BeginQuorumEpochResponse, about kraft.Response) kraft.Event {
	about.Error = kraft.ErrorCode(r.ErrorCode)
	e := &kraft.ReceiveBeginQuorumEpochResponse{Response: about}
	e.LeaderID = kraft.NoNode
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.PartitionAnswer.Error = kraft.ErrorCode(p.ErrorCode)
	e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch)
	for _, n := range r.NodeEndpoints {
		leaderEndpoint(&e.PartitionAnswer, n.NodeID, n.Host, n.Port)
	}
	return e
}

func endAnswered(r *kmsg.EndQuorumEpochResponse, about kraft.Response) kraft.Event {
	about.Error = kraft.ErrorCode(r.ErrorCode)
	e := &kraft.ReceiveEndQuorumEpochResponse{Response: about}
	e.LeaderID = kraft.NoNode
	if len(r.Topics) != 1 || r.Topics[0].Topic != MetadataTopic || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.PartitionAnswer.Error = kraft.ErrorCode(p.ErrorCode)
	e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch)
	for _, n := range r.NodeEndpoints {
		leaderEndpoint(&e.PartitionAnswer, n.NodeID, n.Host, n.Port)
	}
	return e
}

func fetchAnswered(r *kmsg.FetchResponse, about kraft.Response) kraft.Event {
	about.Error = kraft.ErrorCode(r.ErrorCode)
	e := &kraft.ReceiveFetchResponse{Response: about, HighWatermark: -1, LogStart: -1}
	e.LeaderID = kraft.NoNode
	e.Diverging, e.Snapshot = kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, kraft.SnapshotID{Offset: -1, Epoch: -1}
	if len(r.Topics) != 1 || r.Topics[0].TopicID != MetadataTopicID || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != metadataPartition {
		e.WrongPartition = true
		return e
	}
	p := &r.Topics[0].Partitions[0]
	e.PartitionAnswer.Error = kraft.ErrorCode(p.ErrorCode)
	e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.CurrentLeader.LeaderID), kraft.Epoch(p.CurrentLeader.LeaderEpoch)
	for _, n := range r.Brokers {
		leaderEndpoint(&e.PartitionAnswer, n.NodeID, n.Host, uint16(n.Port))
	}
	e.HighWatermark, e.LogStart = kraft.Offset(p.HighWatermark), kraft.Offset(p.LogStartOffset)
	e.Diverging = kraft.OffsetAndEpoch{Offset: kraft.Offset(p.DivergingEpoch.EndOffset), Epoch: kraft.Epoch(p.DivergingEpoch.Epoch)}
	e.Snapshot = kraft.SnapshotID{Offset: kraft.Offset(p.SnapshotID.EndOffset), Epoch: kraft.Epoch(p.SnapshotID.Epoch)}
	e.RecordsSize = int32(len(p.RecordBatches))
	e.Batches, e.Fault, e.FaultEpoch = KRaftBatches(nil, p.RecordBatches)
	return e
}

func fetchSnapshotAnswered(r *kmsg.FetchSnapshotResponse, about kraft.Response) kraft.Event {
	about.Error = kraft.ErrorCode(r.ErrorCode)
	first := 0
	if len(r.Topics) > 0 {
		first = len(r.Topics[0].Partitions)
	}
	e := &kraft.ReceiveFetchSnapshotResponse{Response: about, Shape: kraft.ShapeOf(len(r.Topics), first)}
	e.LeaderID, e.WrongPartition = kraft.NoNode, true
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			if !e.WrongPartition || r.Topics[i].Topic != MetadataTopic || p.Partition != metadataPartition {
				continue
			}
			e.WrongPartition = false
			e.PartitionAnswer.Error = kraft.ErrorCode(p.ErrorCode)
			e.LeaderID, e.LeaderEpoch = kraft.NodeID(p.CurrentLeader.LeaderID), kraft.Epoch(p.CurrentLeader.LeaderEpoch)
			e.SnapshotID = kraft.SnapshotID{Offset: kraft.Offset(p.SnapshotID.EndOffset), Epoch: kraft.Epoch(p.SnapshotID.Epoch)}
			e.Size, e.Position, e.Bytes = p.Size, p.Position, int32(len(p.Bytes))
		}
	}
	if !e.WrongPartition {
		for _, n := range r.NodeEndpoints {
			leaderEndpoint(&e.PartitionAnswer, n.NodeID, n.Host, n.Port)
		}
	}
	return e
}

package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// FetchSnapshot (59): a replica whose log end lies below the leader's log start copies a snapshot in chunks.
//
// Behaviour:
//   - Position is the byte offset that the replica has stored already; the answer repeats snapshot id and position,
//     and gives the size of the whole file. Chunks are raw bytes, cut anywhere.
//   - A replica ends when an answer names another snapshot or position than it asked for.
//   - Errors: SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE, the epoch errors of Fetch, INVALID_REQUEST.
//
// Version notes:
//   - v0 is flexible; v1 adds the directory id of the replica and node endpoints (KIP-853)
//   - The current leader is a tag whose default is leader 0 at epoch 0, in Kafka too: left out is not "unknown".

// FetchSnapshotResponse is a FetchSnapshot response with one partition, or with a top-level error and none.
type FetchSnapshotResponse struct {
	ErrorCode      kraft.ErrorCode
	HasPartition   bool // false only where ErrorCode is an error
	Topic          []byte
	Partition      int32
	PartitionError kraft.ErrorCode
	SnapshotEnd    kraft.Offset
	SnapshotEpoch  kraft.Epoch
	Size           int64 // of the whole snapshot, bytes
	Position       int64 // of this chunk, bytes
	LeaderID       kraft.NodeID
	LeaderEpoch    kraft.Epoch

	Bytes      []byte // the chunk; part of the body
	BytesStart int    // its position in the body
}

// Parse reads the body of a response of version 0 or 1 in place.
func (f *FetchSnapshotResponse) Parse(version int16, body []byte) error {
	if version < 0 || version > 1 {
		return fmt.Errorf("%s v%d: %w", Name(KeyFetchSnapshot), version, ErrUnsupported)
	}
	*f = FetchSnapshotResponse{}
	r := reader{b: body, flex: true}
	r.skip(4) // throttle
	f.ErrorCode = kraft.ErrorCode(r.int16())
	switch n := r.array(); {
	case n == 1:
		if err := f.topic(version, &r); err != nil {
			return err
		}
	case r.bad, n <= 0 && f.ErrorCode != kraft.None:
	default:
		return fmt.Errorf("%s v%d response with %d topics: %w", Name(KeyFetchSnapshot), version, max(n, 0), ErrShape)
	}
	r.tags()
	if r.bad {
		return fmt.Errorf("%s v%d response: %w", Name(KeyFetchSnapshot), version, ErrMalformed)
	}
	return nil
}

func (f *FetchSnapshotResponse) topic(version int16, r *reader) error {
	if f.Topic = r.str(); f.Topic == nil {
		r.fail()
	}
	if n := r.array(); n != 1 && !r.bad {
		return fmt.Errorf("%s v%d response with %d partitions: %w", Name(KeyFetchSnapshot), version, n, ErrShape)
	}
	f.HasPartition = true
	f.Partition = r.int32()
	f.PartitionError = kraft.ErrorCode(r.int16())
	f.SnapshotEnd = kraft.Offset(r.int64())
	f.SnapshotEpoch = kraft.Epoch(r.int32())
	r.tags()
	f.Size = r.int64()
	f.Position = r.int64()
	f.Bytes = r.blob()
	f.BytesStart = r.at - len(f.Bytes)
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		number, end := r.tag()
		if number == 0 {
			f.LeaderID = kraft.NodeID(r.within(end, 8).int32())
			f.LeaderEpoch = kraft.Epoch(r.int32())
			r.innerTags(end)
		}
		r.leave(end)
	}
	r.tags()
	return nil
}

func fetchSnapshotRequestLine(l line, m *kmsg.FetchSnapshotRequest) line {
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions).add("epoch ").num(int64(p.CurrentLeaderEpoch)).add(", snapshot ")
			l = l.logEnd(p.SnapshotID.EndOffset, p.SnapshotID.Epoch).add(", from byte ").num(p.Position)
			partitions++
		}
	}
	return l.partitions(partitions)
}

func fetchSnapshotResponseLine(l line, m *kmsg.FetchSnapshotResponse) line {
	if m.ErrorCode != 0 {
		return l.code(m.ErrorCode)
	}
	partitions := 0
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			l = l.next(partitions)
			if p.ErrorCode != 0 {
				l = l.code(p.ErrorCode)
			} else {
				l = l.add("snapshot ").logEnd(p.SnapshotID.EndOffset, p.SnapshotID.Epoch).add(", bytes ").num(p.Position)
				l = l.add("..").num(p.Position + int64(len(p.Bytes))).add(" of ").num(p.Size)
			}
			l = l.leader(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
			partitions++
		}
	}
	for i := range m.NodeEndpoints {
		l = l.at(i, m.NodeEndpoints[i].Host, int64(m.NodeEndpoints[i].Port))
	}
	return l.partitions(partitions)
}

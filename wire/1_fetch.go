package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/understudy-kafka/understudy/kraft"
)

// Fetch (1): a replica asks the leader for the log behind its own end; it is also how the leader learns
// where replicas are, and how replicas learn the high watermark.
//
// Behaviour:
//   - One topic with one partition, no session (id 0, epoch -1), isolation level 0; replicas read to the log end.
//   - The leader parks a request that it has nothing for, up to MaxWaitMs.
//   - An answer carries records, a diverging epoch or a snapshot id; never two of them. A top-level error
//     (unknown cluster, malformed request) comes without any topic.
//   - Records are a raw byte range of the log: the last batch may be cut off.
//
// Version notes:
//   - v9 leader epoch; v12 flexible, cluster id, last fetched epoch, diverging epoch, current leader and
//     snapshot id tags; v13 topic id in place of the name (what KRaft uses)
//   - v15 replica id moves into a tag; v16 node endpoints; v17 directory id (KIP-853); v18 high watermark (KIP-1166)
//
// Replicas send a Fetch every few milliseconds, so these two messages have readers of their own that
// allocate nothing. They read what kmsg reads, for messages of KRaft's shape.

// ErrShape marks a message that is well-formed but not of the shape that KRaft uses: one topic with one partition.
var ErrShape = errors.New("not one topic with one partition")

// ErrMalformed marks a body that does not follow the schema of its key and version.
var ErrMalformed = errors.New("malformed")

// NoHighWatermark is what a Fetch request below v18 carries in place of a high watermark: the sender does not
// support KIP-1166.
const NoHighWatermark kraft.Offset = math.MaxInt64

// MetadataTopicID is the topic id of __cluster_metadata (Kafka: Uuid.METADATA_TOPIC_ID).
var MetadataTopicID = [16]byte{15: 1}

// FetchRequest is a Fetch request with one partition. Fields that the version does not have hold Kafka's defaults.
type FetchRequest struct {
	ReplicaID        kraft.NodeID // -1: not a replica
	ReplicaEpoch     int64
	DirectoryID      kraft.DirectoryID // v17
	ClusterID        []byte            // v12; nil if null; part of the body
	TopicID          [16]byte          // v13
	Topic            []byte            // below v13; part of the body
	Partition        int32
	MaxWaitMs        int32
	MinBytes         int32
	MaxBytes         int32
	Epoch            kraft.Epoch // current leader epoch of the sender, -1 below v9
	Offset           kraft.Offset
	LastFetchedEpoch kraft.Epoch // -1 below v12
	LogStartOffset   kraft.Offset
	HighWatermark    kraft.Offset // v18; NoHighWatermark if not sent
	MaxPartition     int32        // partition_max_bytes
}

// Parse reads the body of a request of version 4 to 18 in place. It allocates nothing unless it fails.
func (f *FetchRequest) Parse(version int16, body []byte) error {
	if version < 4 || version > 18 {
		return fmt.Errorf("%s v%d: %w", Name(KeyFetch), version, ErrUnsupported)
	}
	*f = FetchRequest{
		ReplicaID: kraft.NoNode, ReplicaEpoch: -1, Epoch: -1, LastFetchedEpoch: -1,
		LogStartOffset: -1, HighWatermark: NoHighWatermark,
	}
	r := reader{b: body, flex: version >= 12}
	if version >= 15 && f.fixed(body) {
		r.at = fetchRequestFixed
	} else if err := f.head(version, &r); err != nil {
		return err
	}
	f.partitionTags(&r)
	r.tags()
	if version >= 7 {
		skipForgotten(version, &r)
	}
	if version >= 11 {
		if rack := r.str(); rack == nil {
			r.fail()
		}
	}
	if r.flex {
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			f.tag(version, &r)
		}
	}
	if r.bad {
		return fmt.Errorf("%s v%d request: %w", Name(KeyFetch), version, ErrMalformed)
	}
	return nil
}

// head reads up to the partition's tags.
func (f *FetchRequest) head(version int16, r *reader) error {
	if version < 15 {
		f.ReplicaID = kraft.NodeID(r.int32())
	}
	f.MaxWaitMs = r.int32()
	f.MinBytes = r.int32()
	f.MaxBytes = r.int32()
	r.skip(1) // isolation level
	if version >= 7 {
		r.skip(8) // session id and epoch
	}
	if n := r.array(); n != 1 && !r.bad {
		return fmt.Errorf("%s v%d request with %d topics: %w", Name(KeyFetch), version, n, ErrShape)
	}
	if version >= 13 {
		f.TopicID = r.uuid()
	} else if f.Topic = r.str(); f.Topic == nil {
		r.fail()
	}
	if n := r.array(); n != 1 && !r.bad {
		return fmt.Errorf("%s v%d request with %d partitions: %w", Name(KeyFetch), version, n, ErrShape)
	}
	f.Partition = r.int32()
	if version >= 9 {
		f.Epoch = kraft.Epoch(r.int32())
	}
	f.Offset = kraft.Offset(r.int64())
	if version >= 12 {
		f.LastFetchedEpoch = kraft.Epoch(r.int32())
	}
	if version >= 5 {
		f.LogStartOffset = kraft.Offset(r.int64())
	}
	f.MaxPartition = r.int32()
	return nil
}

// fetchRequestFixed is where the tags of the first partition begin from v15 on, if the counts of topics and partitions
// take one byte each.
const fetchRequestFixed = 71

// fixed is head from v15 on, where all fields stand at fixed places: it reads them without a step for each.
func (f *FetchRequest) fixed(b []byte) bool {
	const one = 2 // the count 1 as a compact array has it
	if len(b) < fetchRequestFixed || b[21] != one || b[38] != one {
		return false
	}
	b = b[:fetchRequestFixed]
	f.MaxWaitMs = int32(binary.BigEndian.Uint32(b))
	f.MinBytes = int32(binary.BigEndian.Uint32(b[4:]))
	f.MaxBytes = int32(binary.BigEndian.Uint32(b[8:]))
	f.TopicID = [16]byte(b[22:])
	f.Partition = int32(binary.BigEndian.Uint32(b[39:]))
	f.Epoch = kraft.Epoch(binary.BigEndian.Uint32(b[43:]))
	f.Offset = kraft.Offset(binary.BigEndian.Uint64(b[47:]))
	f.LastFetchedEpoch = kraft.Epoch(binary.BigEndian.Uint32(b[55:]))
	f.LogStartOffset = kraft.Offset(binary.BigEndian.Uint64(b[59:]))
	f.MaxPartition = int32(binary.BigEndian.Uint32(b[67:]))
	return true
}

func (f *FetchRequest) partitionTags(r *reader) {
	if !r.flex {
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		number, end := r.tag()
		switch number {
		case 0:
			f.DirectoryID = r.within(end, 16).uuid()
		case 1:
			f.HighWatermark = kraft.Offset(r.within(end, 8).int64())
		}
		r.leave(end)
	}
}

func (f *FetchRequest) tag(version int16, r *reader) {
	number, end := r.tag()
	switch number {
	case 0:
		field := r.field(end)
		f.ClusterID = field.str()
		r.bad = r.bad || field.bad
	case 1:
		id, epoch := kraft.NodeID(r.within(end, 12).int32()), r.int64()
		r.innerTags(end)
		if version >= 15 { // before that nobody sends the tag: the id has a field
			f.ReplicaID, f.ReplicaEpoch = id, epoch
		}
	}
	r.leave(end)
}

func skipForgotten(version int16, r *reader) {
	for n := r.array(); n > 0 && !r.bad; n-- {
		if version >= 13 {
			r.skip(16)
		} else if topic := r.str(); topic == nil {
			r.fail()
		}
		if n := r.array(); n > 0 {
			r.skip(4 * n)
		}
		r.tags()
	}
}

// FetchResponse is a Fetch response with one partition, or with a top-level error and none. Fields that the
// version does not have, or that were left out, hold Kafka's defaults.
type FetchResponse struct {
	ThrottleMs     int32
	ErrorCode      kraft.ErrorCode
	HasPartition   bool     // false only where ErrorCode is an error
	TopicID        [16]byte // v13
	Partition      int32
	PartitionError kraft.ErrorCode
	HighWatermark  kraft.Offset // -1 if the leader does not know it, or without a partition
	LogStartOffset kraft.Offset
	DivergingEpoch kraft.Epoch // -1 if the logs agree
	DivergingEnd   kraft.Offset
	LeaderID       kraft.NodeID // -1 if unknown
	LeaderEpoch    kraft.Epoch  // -1 if the field is absent
	SnapshotEnd    kraft.Offset // -1 unless a snapshot is to be fetched
	SnapshotEpoch  kraft.Epoch

	Records      []byte // raw batches, the last one perhaps cut; nil if null; part of the body
	RecordsStart int    // position of Records in the body; meaningful where Records is not nil

	EndpointNode kraft.NodeID // the first node endpoint (v16); -1 if none
	Host         []byte       // part of the body
	Port         int32
	Endpoints    int // how many endpoints there are
}

// Parse reads the body of a response to a request of version 4 to 18 in place. It allocates nothing unless it fails.
func (f *FetchResponse) Parse(version int16, body []byte) error {
	if version < 4 || version > 18 {
		return fmt.Errorf("%s v%d: %w", Name(KeyFetch), version, ErrUnsupported)
	}
	*f = FetchResponse{
		HighWatermark: -1, LogStartOffset: -1, DivergingEpoch: -1, DivergingEnd: -1,
		LeaderID: kraft.NoNode, LeaderEpoch: -1, SnapshotEnd: -1, SnapshotEpoch: -1, EndpointNode: kraft.NoNode,
	}
	r := reader{b: body, flex: version >= 12}
	if version >= 13 && f.fixed(body) {
		r.at = fetchResponseFixed
	} else if err := f.head(version, &r); err != nil {
		return err
	}
	if f.HasPartition {
		f.partition(&r)
		r.tags()
	}
	if r.flex {
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			number, end := r.tag()
			if number == 0 {
				field := r.field(end)
				f.endpoints(&field)
				r.bad = r.bad || field.bad
			}
			r.leave(end)
		}
	}
	if r.bad {
		return fmt.Errorf("%s v%d response: %w", Name(KeyFetch), version, ErrMalformed)
	}
	return nil
}

// head reads up to the records.
func (f *FetchResponse) head(version int16, r *reader) error {
	f.ThrottleMs = r.int32()
	if version >= 7 {
		f.ErrorCode = kraft.ErrorCode(r.int16())
		r.skip(4) // session id
	}
	switch n := r.array(); {
	case n == 1:
	case r.bad, n <= 0 && f.ErrorCode != kraft.None:
		return nil
	default:
		return fmt.Errorf("%s v%d response with %d topics: %w", Name(KeyFetch), version, max(n, 0), ErrShape)
	}
	if version >= 13 {
		f.TopicID = r.uuid()
	} else if topic := r.str(); topic == nil {
		r.fail()
	}
	if n := r.array(); n != 1 && !r.bad {
		return fmt.Errorf("%s v%d response with %d partitions: %w", Name(KeyFetch), version, n, ErrShape)
	}
	f.HasPartition = true
	f.Partition = r.int32()
	f.PartitionError = kraft.ErrorCode(r.int16())
	f.HighWatermark = kraft.Offset(r.int64())
	r.skip(8) // last stable offset
	if version >= 5 {
		f.LogStartOffset = kraft.Offset(r.int64())
	}
	for n := r.array(); n > 0 && !r.bad; n-- { // aborted transactions
		r.skip(16)
		r.tags()
	}
	if version >= 11 {
		r.skip(4) // preferred read replica
	}
	return nil
}

// fetchResponseFixed is where the records of the first partition begin from v13 on, if the counts before take one byte
// each and no transaction was aborted.
const fetchResponseFixed = 63

// fixed is head from v13 on.
func (f *FetchResponse) fixed(b []byte) bool {
	const one = 2
	if len(b) < fetchResponseFixed || b[10] != one || b[27] != one || b[58] > 1 {
		return false
	}
	b = b[:fetchResponseFixed]
	f.HasPartition = true
	f.ThrottleMs = int32(binary.BigEndian.Uint32(b))
	f.ErrorCode = kraft.ErrorCode(binary.BigEndian.Uint16(b[4:]))
	f.TopicID = [16]byte(b[11:])
	f.Partition = int32(binary.BigEndian.Uint32(b[28:]))
	f.PartitionError = kraft.ErrorCode(binary.BigEndian.Uint16(b[32:]))
	f.HighWatermark = kraft.Offset(binary.BigEndian.Uint64(b[34:]))
	f.LogStartOffset = kraft.Offset(binary.BigEndian.Uint64(b[50:]))
	return true
}

// partition reads the records and what follows them.
func (f *FetchResponse) partition(r *reader) {
	if f.Records = r.blob(); f.Records != nil {
		f.RecordsStart = r.at - len(f.Records)
	}
	if !r.flex {
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		number, end := r.tag()
		switch number {
		case 0:
			f.DivergingEpoch = kraft.Epoch(r.within(end, 12).int32())
			f.DivergingEnd = kraft.Offset(r.int64())
			r.innerTags(end)
		case 1:
			f.LeaderID = kraft.NodeID(r.within(end, 8).int32())
			f.LeaderEpoch = kraft.Epoch(r.int32())
			r.innerTags(end)
		case 2:
			f.SnapshotEnd = kraft.Offset(r.within(end, 12).int64())
			f.SnapshotEpoch = kraft.Epoch(r.int32())
			r.innerTags(end)
		}
		r.leave(end)
	}
}

func (f *FetchResponse) endpoints(r *reader) {
	n := r.array()
	f.Endpoints, f.EndpointNode, f.Host, f.Port = max(n, 0), kraft.NoNode, nil, 0
	for i := range n {
		node, host, port := kraft.NodeID(r.int32()), r.str(), r.int32()
		r.bad = r.bad || host == nil
		_ = r.str() // rack
		r.tags()
		if r.bad {
			return
		}
		if i == 0 {
			f.EndpointNode, f.Host, f.Port = node, host, port
		}
	}
}

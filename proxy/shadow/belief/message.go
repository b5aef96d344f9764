package belief

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// ConnID tells connections apart.
type ConnID struct {
	Stream int
	ID     uint64
}

// Message is a request or response of the raft layer that crossed the wire. Its bytes are not kept.
type Message struct {
	Conn           ConnID
	Client, Server kraft.NodeID
	Response       bool
	Key, Version   int16
	Correlation    int32  // of the request; 0: not known
	Sent           []byte // the body as its sender wrote it; nil if somebody else wrote it
	Got            []byte // the body as its receiver got it; nil if it never did
	Midway         bool   // the connection was open before anything was seen of it
	Withheld       bool   // parts of the bodies are not kept by the recording: record batches have fillers in them
	At             int64  // nanoseconds since the Unix epoch
	Number         uint64 // of the packet block
}

// crossing is a message as the judges of both ends see it. It is shared by all hypotheses and never changed, but for the fields of
// the event that name its connection record.
type crossing struct {
	id      kraft.RequestID // of a request; a response has none
	conn    ConnID
	key     int16
	version int16
	from    kraft.NodeID
	to      kraft.NodeID
	reply   bool
	at      kraft.Instant
	nanos   int64
	number  uint64
	said    content     // what its sender wrote
	event   kraft.Event // what its receiver takes it as; nil: it cannot, or never got it
	midway  bool        // Message.Midway

	correlation int32 // Message.Correlation
	opaque      bool  // the event has effects that were not seen: the contents of a snapshot
}

// content is what a message says, as far as it is compared. The fields used depend on the key and the direction.
type content struct {
	top      kraft.ErrorCode // responses: top level
	err      kraft.ErrorCode // responses: of the partition
	wrong    bool            // it does not name the metadata partition
	leader   kraft.NodeID    // or the candidate
	epoch    kraft.Epoch
	granted  bool
	preVote  bool
	hw       kraft.Offset
	offset   kraft.Offset // of a Fetch, of the log of a candidate
	last     kraft.Epoch  // with it
	diverge  kraft.OffsetAndEpoch
	snapshot kraft.SnapshotID
	position int64
	replica  kraft.ReplicaKey // who asks
	voter    kraft.ReplicaKey // whom a vote is asked of
	heirs    []kraft.ReplicaKey
	batches  []kraft.Batch
	records  bool // there are records, perhaps only a part of a batch
	fault    bool // they are corrupt
	logStart kraft.Offset
	ends     []replicaEnd // DescribeQuorum
}

// replicaEnd is a voter's progress as DescribeQuorum tells it.
type replicaEnd struct {
	id  kraft.NodeID
	end kraft.Offset
}

var errNotJudged = errors.New("a message that is not judged")

// read decodes a message for both of its ends.
func (c *Checker) read(m *Message) (*crossing, error) {
	x := &crossing{
		conn: m.Conn, key: m.Key, version: m.Version, reply: m.Response, at: kraft.Instant(m.At / 1e6), nanos: m.At, number: m.Number, midway: m.Midway, correlation: m.Correlation,
	}
	x.from, x.to = m.Client, m.Server
	if m.Response {
		x.from, x.to = m.Server, m.Client
	}
	c.requests++
	x.id = c.requests
	event, err := c.event(m, m.Got, x.id)
	if err != nil {
		return nil, err
	}
	x.event = event
	if m.Response && m.Key == wire.KeyFetchSnapshot {
		c.chunk(x, m)
	}
	said := event
	if m.Sent != nil && (m.Got == nil || !slices.Equal(m.Sent, m.Got)) {
		if said, err = c.event(m, m.Sent, x.id); err != nil {
			return nil, err
		}
	}
	if said != nil {
		x.said.read(said)
	} else if m.Sent != nil && m.Key == wire.KeyDescribeQuorum {
		if err := c.described(&x.said, m); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// event is a body as a machine takes it; nil if it takes none of that kind.
func (c *Checker) event(m *Message, body []byte, id kraft.RequestID) (kraft.Event, error) {
	if body == nil {
		return nil, nil
	}
	if m.Response {
		if m.Key == wire.KeyDescribeQuorum {
			return nil, nil
		}
		e, err := c.decoder.KRaftResponse(m.Key, m.Version, body, kraft.Response{})
		if f, ok := e.(*kraft.ReceiveFetchResponse); ok && f.Fault != kraft.RecordsFine && m.Withheld {
			return c.withheld(m, body, f)
		}
		return e, err
	}
	return c.decoder.KRaftRequest(m.Key, m.Version, body, kraft.Request{ID: id, Listener: listenerName, From: m.Client})
}

// withheld reads batches whose bodies the recording does not keep. Headers, and control batches, are there.
func (c *Checker) withheld(m *Message, body []byte, f *kraft.ReceiveFetchResponse) (kraft.Event, error) {
	decoded, err := c.decoder.Response(m.Key, m.Version, body)
	if err != nil {
		return nil, err
	}
	records := decoded.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
	f.Batches, f.Fault = nil, kraft.RecordsFine
	for len(records) > 0 {
		b, rest, err := wire.NextBatch(records)
		if errors.Is(err, wire.ErrCut) {
			break
		}
		if err != nil || b.Control() && !b.CRCValid() {
			return nil, errNotJudged
		}
		k := kraft.Batch{Base: b.BaseOffset, Last: b.LastOffset(), Epoch: b.Epoch, Size: int32(len(b.Bytes))}
		if b.Control() {
			if one, fault, _ := wire.KRaftBatches(nil, b.Bytes); fault == kraft.RecordsFine && len(one) == 1 {
				k = one[0]
			}
		}
		f.Batches, records = append(f.Batches, k), rest
	}
	return f, nil
}

func (c *Checker) described(s *content, m *Message) error {
	if !m.Response {
		return nil
	}
	decoded, err := c.decoder.Response(m.Key, m.Version, m.Sent)
	if err != nil {
		return err
	}
	r := decoded.(*kmsg.DescribeQuorumResponse)
	s.top = kraft.ErrorCode(r.ErrorCode)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return errNotJudged
	}
	p := &r.Topics[0].Partitions[0]
	s.err, s.leader, s.epoch, s.hw = kraft.ErrorCode(p.ErrorCode), kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch), kraft.Offset(p.HighWatermark)
	for _, v := range p.CurrentVoters {
		s.ends = append(s.ends, replicaEnd{kraft.NodeID(v.ReplicaID), kraft.Offset(v.LogEndOffset)})
	}
	return nil
}

// read flattens an event.
func (s *content) read(event kraft.Event) {
	s.leader, s.hw, s.epoch, s.diverge, s.snapshot = kraft.NoNode, -1, -1, nowhere, nowhere
	switch e := event.(type) {
	case *kraft.ReceiveVoteRequest:
		s.wrong, s.epoch, s.leader = e.WrongPartition, e.CandidateEpoch, e.Candidate
		s.replica = kraft.ReplicaKey{ID: e.Candidate, DirectoryID: e.CandidateDirectoryID}
		s.voter = kraft.ReplicaKey{ID: e.VoterID, DirectoryID: e.VoterDirectoryID}
		s.offset, s.last, s.preVote = e.CandidateLogEnd.LastOffset, e.CandidateLogEnd.LastEpoch, e.PreVote
	case *kraft.ReceiveBeginQuorumEpoch:
		s.wrong, s.epoch, s.leader = e.WrongPartition, e.LeaderEpoch, e.LeaderID
		s.voter = kraft.ReplicaKey{ID: e.VoterID, DirectoryID: e.VoterDirectoryID}
	case *kraft.ReceiveEndQuorumEpoch:
		s.wrong, s.epoch, s.leader, s.heirs = e.WrongPartition, e.LeaderEpoch, e.LeaderID, e.Successors
	case *kraft.ReceiveFetch:
		s.wrong, s.epoch, s.offset, s.last, s.hw, s.replica = e.WrongPartition, e.FetchEpoch, e.FetchOffset, e.LastFetchedEpoch, e.HighWatermark, e.Replica
	case *kraft.ReceiveFetchSnapshot:
		s.wrong, s.epoch, s.snapshot, s.position, s.replica = e.WrongPartition, e.FetchEpoch, e.SnapshotID, e.Position, e.Replica
	case *kraft.ReceiveUpdateRaftVoter:
		s.epoch, s.replica = e.FetchEpoch, e.Voter
	default:
		s.readResponse(event)
	}
}

func (s *content) readResponse(event kraft.Event) {
	partition := func(r *kraft.Response, a *kraft.PartitionAnswer) {
		s.top, s.wrong = r.Error, r.WrongPartition
		s.err, s.leader, s.epoch = a.Error, a.LeaderID, a.LeaderEpoch
	}
	switch e := event.(type) {
	case *kraft.ReceiveVoteResponse:
		partition(&e.Response, &e.PartitionAnswer)
		s.granted = e.VoteGranted
	case *kraft.ReceiveBeginQuorumEpochResponse:
		partition(&e.Response, &e.PartitionAnswer)
	case *kraft.ReceiveEndQuorumEpochResponse:
		partition(&e.Response, &e.PartitionAnswer)
	case *kraft.ReceiveFetchResponse:
		partition(&e.Response, &e.PartitionAnswer)
		s.hw, s.logStart, s.diverge, s.snapshot = e.HighWatermark, e.LogStart, e.Diverging, e.Snapshot
		s.batches, s.records, s.fault = e.Batches, e.RecordsSize > 0, e.Fault != kraft.RecordsFine
	case *kraft.ReceiveFetchSnapshotResponse:
		partition(&e.Response, &e.PartitionAnswer)
		s.snapshot, s.position = e.SnapshotID, e.Position
	case *kraft.ReceiveUpdateRaftVoterResponse:
		s.top, s.leader, s.epoch = e.Error, e.LeaderID, e.LeaderEpoch
	case *kraft.ReceiveAddRaftVoterResponse:
		s.top = e.Error
	case *kraft.ReceiveRemoveRaftVoterResponse:
		s.top = e.Error
	}
}

// nowhere is the absent position.
var nowhere = kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}

// listenerName stands for the listener that requests arrive on, which nobody sees. It decides only which endpoint an answer
// names, and endpoints are not compared.
const listenerName = "CONTROLLER"

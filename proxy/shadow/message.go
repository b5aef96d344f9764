package shadow

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Kind is a kind of message that attests something.
type Kind uint8

// The messages that KRaft's raft layer exchanges.
const (
	KindFetchRequest Kind = iota
	KindFetchResponse
	KindVoteRequest
	KindVoteResponse
	KindBeginRequest
	KindBeginResponse
	KindEndRequest
	KindEndResponse
	KindSnapshotRequest
	KindSnapshotResponse
	KindDescribeRequest
	KindDescribeResponse
	KindVoterRequest // AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter
	KindVoterResponse
	kinds
)

// kindOf is the kind of an api key's messages in a direction.
func kindOf(key int16, dir wire.Direction) (Kind, bool) {
	var k Kind
	switch key {
	case wire.KeyFetch:
		k = KindFetchRequest
	case wire.KeyVote:
		k = KindVoteRequest
	case wire.KeyBeginQuorumEpoch:
		k = KindBeginRequest
	case wire.KeyEndQuorumEpoch:
		k = KindEndRequest
	case wire.KeyFetchSnapshot:
		k = KindSnapshotRequest
	case wire.KeyDescribeQuorum:
		k = KindDescribeRequest
	case wire.KeyAddRaftVoter, wire.KeyRemoveRaftVoter, wire.KeyUpdateRaftVoter:
		k = KindVoterRequest
	default:
		return 0, false
	}
	return k + Kind(dir), true
}

// message is one decoded message and what it attests about its sender. Values that a message does not attest hold
// -1, [kraft.NoNode] or the zero value. What it points to is valid until the next observation.
//
// Not everything that stands in a message is a fact. DescribeQuorum at a node that does not lead answers leader 0,
// epoch 0 and high watermark 0, and FetchSnapshot errors leave a current leader out, which reads the same: defaults,
// no claims. A top-level error says nothing about the quorum at all.
type message struct {
	kind    Kind
	key     int16
	version int16
	sender  *node // who attests; nil if it cannot be named
	peer    *node // the other end; nil if it cannot be named
	conn    *conn
	when    Span
	ref     ref

	epoch     kraft.Epoch  // the sender's epoch
	leader    kraft.NodeID // whom the sender holds for the leader of that epoch
	leads     bool         // the sender acts as that leader
	watermark kraft.Offset // the leader's high watermark, -1 if it does not know one
	hasHW     bool         // the message attests the watermark
	directory kraft.DirectoryID
	cluster   []byte       // requests: the cluster id; nil if null
	claimed   kraft.NodeID // requests: whom the body names as the sender

	// Responses.
	failed   bool            // a top-level error: no partition
	err      kraft.ErrorCode // of the partition, or the top-level one
	asked    kraft.Epoch     // the epoch that the request carried
	voter    kraft.NodeID    // the node that the request was meant for
	request  *wire.Exchange
	askedRef ref // the request's frame

	fetch    wire.FetchRequest
	fetched  wire.FetchResponse
	batches  []batch
	cutTail  bool // the response ends with a part of a batch
	vote     vote
	begun    leadership
	snapshot wire.FetchSnapshotResponse
	wanted   snapshotID // the snapshot a request asks for
	position int64
	voters   []kraft.ReplicaKey // DescribeQuorum: the leader's voter set
	update   bool               // KindVoterRequest, KindVoterResponse: of UpdateRaftVoter

	frame    []byte // as the sender wrote it
	body     []byte // the part of it behind the header
	withheld withheldParts
}

// vote is a request for a vote and, in a response, what became of it.
type vote struct {
	candidate kraft.ReplicaKey
	epoch     kraft.Epoch
	logEnd    kraft.LogEnd
	voterKey  kraft.ReplicaKey // the receiver as the candidate knows it; id -1 below v1
	preVote   bool
	granted   bool
}

// leadership is what BeginQuorumEpoch and EndQuorumEpoch announce.
type leadership struct {
	leader   kraft.NodeID
	epoch    kraft.Epoch
	voterKey kraft.ReplicaKey
}

// snapshotID names a snapshot: where it ends and the epoch of its last record.
type snapshotID struct {
	end   kraft.Offset
	epoch kraft.Epoch
}

// reset makes m ready for the next message; buffers stay.
func (m *message) reset(kind Kind) {
	*m = message{
		kind: kind, batches: m.batches[:0], voters: m.voters[:0],
		epoch: -1, leader: kraft.NoNode, watermark: -1, claimed: kraft.NoNode, asked: -1, voter: kraft.NoNode,
	}
}

// names reports whether the message names a leader.
func (m *message) names() bool { return m.epoch >= 0 && m.leader >= 0 }

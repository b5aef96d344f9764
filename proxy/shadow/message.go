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

// message is one decoded message and what it attests about its sender. What it points to is valid until the next
// observation.
//
// Not everything that stands in a message is a fact. DescribeQuorum at a node that does not lead answers leader 0,
// epoch 0 and high watermark 0, and FetchSnapshot errors leave a current leader out, which reads the same: defaults,
// no claims. A top-level error says nothing about the quorum at all.
type message struct {
	facts

	// The content by kind; of other kinds it is a leftover. A response has its request's as well.
	fetch    wire.FetchRequest
	fetched  wire.FetchResponse
	batches  []batch
	vote     vote
	begun    leadership
	snapshot wire.FetchSnapshotResponse
	voters   []kraft.ReplicaKey // DescribeQuorum: the leader's voter set

	ref      ref
	askedRef ref // responses: the request's frame
}

// facts are what every message has. Values that a message does not attest hold -1, [kraft.NoNode] or the zero value.
type facts struct {
	kind    Kind
	key     int16
	version int16
	sender  *node // who attests; nil if it cannot be named
	peer    *node // the other end; nil if it cannot be named
	conn    *conn
	when    Span

	epoch     kraft.Epoch  // the sender's epoch
	leader    kraft.NodeID // whom the sender holds for the leader of that epoch
	leads     bool         // the sender acts as that leader
	noTopic   bool         // FetchSnapshot requests: not even a topic is named
	watermark kraft.Offset // the leader's high watermark, -1 if it does not know one
	hasHW     bool         // the message attests the watermark
	cutTail   bool         // the records end with a part of a batch
	directory kraft.DirectoryID
	cluster   []byte       // requests: the cluster id; nil if null
	claimed   kraft.NodeID // requests: whom the body names as the sender

	// Responses.
	failed  bool            // a top-level error: no partition
	err     kraft.ErrorCode // of the partition, or the top-level one
	asked   kraft.Epoch     // the epoch that the request carried
	voter   kraft.NodeID    // the node that the request was meant for
	request *wire.Exchange

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

	successors []kraft.ReplicaKey // EndQuorumEpoch: who is to stand first
}

// snapshotID names a snapshot: where it ends and the epoch of its last record.
type snapshotID struct {
	end   kraft.Offset
	epoch kraft.Epoch
}

// reset makes m ready for the next message.
func (m *message) reset(kind Kind) {
	m.facts = facts{
		kind: kind, epoch: -1, leader: kraft.NoNode, watermark: -1, claimed: kraft.NoNode, asked: -1, voter: kraft.NoNode,
	}
	m.batches, m.voters = m.batches[:0], m.voters[:0]
}

// names reports whether the message names a leader.
func (m *message) names() bool { return m.epoch >= 0 && m.leader >= 0 }

// Package safety says what must hold of a quorum, whatever happens to it. It knows two ways to look:
//
//   - States judges the states of all nodes at one moment, without a memory. An explorer asks it in every state.
//   - History remembers what has happened (who led which epoch, who voted for whom, what was committed) and judges every new step
//     against it, each at a constant cost on average. A simulator tells it everything that its nodes do.
//
// The invariants are those of the Raft paper (figure 3), and what Kafka's implementation adds: see Invariant.
package safety

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// Invariant names a rule that must never be broken.
type Invariant uint8

// The invariants.
const (
	// ElectionSafety: at most one node leads an epoch, and no message names another one (Raft, section 5.2).
	ElectionSafety Invariant = iota
	// LogMatching: two logs that agree in the epoch at an offset agree in everything up to it (Raft, section 5.3).
	LogMatching
	// LeaderCompleteness: a leader's log holds everything that was committed before it was elected (Raft, section 5.4).
	LeaderCompleteness
	// StateMachineSafety: no two nodes count different records as committed at an offset (Raft, section 5.4.3).
	StateMachineSafety
	// MonotoneEpoch: the epoch of a node never falls, across restarts too.
	MonotoneEpoch
	// MonotoneWatermark: the high watermark of a node never falls while it runs, and lies within its log.
	MonotoneWatermark
	// AcknowledgedKept: a record whose writer was told that it is committed is in every later leader's log.
	AcknowledgedKept
	// TruncationBound: no node cuts off what it holds of the committed log.
	TruncationBound
	// OneVoterChange: a leader begins no change of the voters while an earlier one is not committed, and changes one voter at a time
	// (KIP-853).
	OneVoterChange
	// SnapshotIsPrefix: a snapshot stands for exactly the committed log up to its end (KIP-630).
	SnapshotIsPrefix
	// OneVote: a node votes for at most one candidate in an epoch, across restarts too.
	OneVote
	// PersistBeforeSend: what a message says of votes, epochs and leaders, and a voter's Fetch of its log, is durable when it leaves.
	PersistBeforeSend
	// MajorityHolds: what a leader commits is durable on a majority of the voters in force, the leader's own unflushed tail excepted, and
	// ends with a record of its own epoch (Raft, section 5.4.2).
	MajorityHolds
	// VotersOnly: only a voter stands for election.
	VotersOnly
	// NoFatal: no node ends on what correct peers send.
	NoFatal
	// Liveness: when the faults end, a leader is elected and commits within a bound.
	Liveness
	invariants
)

var names = [invariants]string{
	"election safety", "log matching", "leader completeness", "state machine safety", "monotone epochs", "monotone high watermarks",
	"acknowledged records kept", "truncation bound", "one voter change at a time", "snapshot is a prefix", "one vote per epoch",
	"persist before send", "a majority holds what is committed", "only voters stand", "no fatal error", "liveness",
}

func (i Invariant) String() string { return names[i] }

// Invariants are all of them.
func Invariants() []Invariant {
	list := make([]Invariant, invariants)
	for i := range list {
		list[i] = Invariant(i)
	}
	return list
}

// Violation is a broken invariant.
type Violation struct {
	Invariant Invariant
	Node      kraft.NodeID
	Detail    string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%v: node %v: %s", v.Invariant, v.Node, v.Detail)
}

func broken(i Invariant, node kraft.NodeID, format string, args ...any) *Violation {
	return &Violation{Invariant: i, Node: node, Detail: fmt.Sprintf(format, args...)}
}

package kraft

import "fmt"

// Accumulator holds what a leader has promised an offset but not written yet (Kafka: BatchAccumulator). Records of the state
// machine gather in a current batch; control records make a batch of their own at once.
type Accumulator struct {
	NextOffset Offset
	Current    PreparedBatch   // Count 0: none
	Completed  []PreparedBatch // in order
	Lingering  bool            // the linger timer runs
	ForcedDone bool            // a control batch has closed the current one: the next drain takes only what is completed
	HoldFrom   Offset          // batches that reach this offset wait for ScheduleAppend; -1: none waits
}

// PreparedBatch is a batch that waits to be written.
type PreparedBatch struct {
	Base    Offset
	Count   int32
	Size    int32
	Control []ControlRecord // nil for records of the state machine
	Start   bool            // begins with LeaderChange
}

// Last is the offset of the last record.
func (b *PreparedBatch) Last() Offset { return b.Base + Offset(b.Count) - 1 }

func (b PreparedBatch) String() string { return fmt.Sprintf("[%d..%d]", b.Base, b.Last()) }

// VoterChange is the Add or RemoveRaftVoter that the leader has not finished; there is at most one (Kafka:
// ChangeVoterHandlerState).
type VoterChange struct {
	Kind             ChangeKind
	Request          RequestID
	Voter            ReplicaKey
	Endpoints        Endpoints
	AckWhenCommitted bool
	Answered         bool
	LastOffset       Offset // of the Voters record; -1: not queued yet
}

// ChangeKind is the kind of a pending voter change.
type ChangeKind uint8

// The kinds of voter changes that stay pending.
const (
	NoChange ChangeKind = iota
	AddChange
	RemoveChange
)

func (k ChangeKind) String() string { return [...]string{"none", "add", "remove"}[k] }

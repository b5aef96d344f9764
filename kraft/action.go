package kraft

import "fmt"

// Action is one output of the machine. The driver executes the list in its order. Nothing behind a PersistQuorumState, an
// AssignEpoch or a FlushLog may happen before that is durable. The values live in the driver's Actions buffer until the
// next event.
type Action interface {
	action()
	fmt.Stringer
}

// TransitionedTo tells the role that has been taken. Partial snapshots, undrained batches and pending local appends of the
// role that was left are void: a leader's undrained batches are dropped when it leaves office, appends that wait for their
// commit fail when a Follower is entered.
type TransitionedTo struct {
	Role   RoleKind
	Epoch  Epoch
	Leader NodeID
}

// PersistQuorumState writes the quorum-state file. KRaftVersion chooses its format: 0 drops the voted directory id and lists
// the voter ids (Kafka: FileQuorumStateStore).
type PersistQuorumState struct {
	State        QuorumState
	KRaftVersion int16
	Voters       VoterSet
}

// Stored is what a node that starts finds of it.
func (a *PersistQuorumState) Stored() QuorumState {
	s := a.State
	if a.KRaftVersion == 0 {
		s.Voted.DirectoryID = DirectoryID{}
	}
	return s
}

// AssignEpoch enters the epoch of a new leader into the epoch cache before any record of it exists. Kafka flushes the
// cache's checkpoint, so it is a barrier (Kafka: RaftLog.initializeLeaderEpoch).
type AssignEpoch struct {
	Epoch Epoch
	Start Offset
}

// ResetTimer starts a timer anew. Deadline is the earliest instant. If Window is above 0 the driver draws a value from
// [0, Window) and adds it; it draws while it executes the action, and the machine never learns the value.
// With ElectionBackoffTimer the draw is the one of ElectionBackoff, for Retries.
type ResetTimer struct {
	Timer
	Deadline Instant
	Window   int32
	Retries  int32
}

// CancelTimer tells a host that sleeps that a timer is of no use until it is reset.
type CancelTimer struct{ Timer }

// ChooseBootstrap tells that RoleAction.Choice was looked at: Kafka draws a number below Servers.
type ChooseBootstrap struct{ Servers int32 }

// AppendLeaderChange writes the first batch of an epoch: LeaderChange, and where needed KRaftVersion and Voters.
type AppendLeaderChange struct{ Batch }

// AppendControl writes a batch of control records: voters, or an upgrade of kraft.version.
type AppendControl struct{ Batch }

// AppendRecords writes a batch of the records that AppendRequested announced.
type AppendRecords struct{ Batch }

// AppendFetched writes the first Take batches of the Fetch response in hand.
type AppendFetched struct {
	Take       int32
	Base, Last Offset
}

// FlushLog makes the log durable.
type FlushLog struct{}

// TruncateTo makes the log end exactly at the offset, inside a batch as well: that batch goes as a whole.
type TruncateTo struct{ Offset Offset }

// AdvanceHighWatermark publishes a high watermark. The log clamps it to what it holds.
type AdvanceHighWatermark struct{ Offset Offset }

// BeginSnapshotFetch creates an empty partial snapshot. Any earlier one is void.
type BeginSnapshotFetch struct{ ID SnapshotID }

// AppendSnapshot writes the chunk of the FetchSnapshot response in hand to the partial snapshot.
type AppendSnapshot struct {
	ID       SnapshotID
	Position int64
	Bytes    int32
}

// AbandonSnapshotFetch deletes the partial snapshot.
type AbandonSnapshotFetch struct{ ID SnapshotID }

// InstallSnapshot freezes the partial snapshot, which is whole now, and begins the log anew at its end.
type InstallSnapshot struct {
	ID   SnapshotID
	Size int64
}

// Park keeps a Fetch waiting. Until is when it expires. The machine remembers its answer.
type Park struct {
	Request     RequestID
	FetchOffset Offset
	Until       Instant
}

// Accepted answers AppendRequested with the offset of the last record, and UpgradeKRaftVersion.
type Accepted struct{ LastOffset Offset }

// Refused answers an AppendRequested, ScheduleAppend, Resign, Shutdown or UpgradeKRaftVersion that cannot be served.
type Refused struct{ Reason Refusal }

// ShutdownDone ends the machine. OK is false if the time for a graceful shutdown ran out. No message is taken any more.
type ShutdownDone struct{ OK bool }

// Fatal ends the machine: Kafka's process exits on this input, and the request in hand gets no answer. What stands before it
// in the list is valid.
type Fatal struct{ Reason FatalReason }

func (*TransitionedTo) action()       {}
func (*PersistQuorumState) action()   {}
func (*AssignEpoch) action()          {}
func (*ResetTimer) action()           {}
func (*CancelTimer) action()          {}
func (*ChooseBootstrap) action()      {}
func (*AppendLeaderChange) action()   {}
func (*AppendControl) action()        {}
func (*AppendRecords) action()        {}
func (*AppendFetched) action()        {}
func (*FlushLog) action()             {}
func (*TruncateTo) action()           {}
func (*AdvanceHighWatermark) action() {}
func (*BeginSnapshotFetch) action()   {}
func (*AppendSnapshot) action()       {}
func (*AbandonSnapshotFetch) action() {}
func (*InstallSnapshot) action()      {}
func (*Park) action()                 {}
func (*Accepted) action()             {}
func (*Refused) action()              {}
func (*ShutdownDone) action()         {}
func (*Fatal) action()                {}

func (a *TransitionedTo) String() string {
	return fmt.Sprintf("TransitionedTo(%v epoch=%d leader=%v)", a.Role, a.Epoch, a.Leader)
}

func (a *PersistQuorumState) String() string { return fmt.Sprintf("PersistQuorumState(%v)", a.State) }

func (a *AssignEpoch) String() string {
	return fmt.Sprintf("AssignEpoch(%d from %d)", a.Epoch, a.Start)
}

func (a *ResetTimer) String() string {
	if a.Window == 0 {
		return fmt.Sprintf("ResetTimer(%v %d)", a.Timer, a.Deadline)
	}
	return fmt.Sprintf("ResetTimer(%v %d+%d)", a.Timer, a.Deadline, a.Window)
}
func (a *CancelTimer) String() string     { return fmt.Sprintf("CancelTimer(%v)", a.Timer) }
func (a *ChooseBootstrap) String() string { return fmt.Sprintf("ChooseBootstrap(of %d)", a.Servers) }

func (a *AppendLeaderChange) String() string { return fmt.Sprintf("AppendLeaderChange(%v)", a.Batch) }
func (a *AppendControl) String() string      { return fmt.Sprintf("AppendControl(%v)", a.Batch) }
func (a *AppendRecords) String() string      { return fmt.Sprintf("AppendRecords(%v)", a.Batch) }
func (a *AppendFetched) String() string {
	return fmt.Sprintf("AppendFetched(%d batches [%d..%d])", a.Take, a.Base, a.Last)
}
func (*FlushLog) String() string     { return "FlushLog" }
func (a *TruncateTo) String() string { return fmt.Sprintf("TruncateTo(%d)", a.Offset) }
func (a *AdvanceHighWatermark) String() string {
	return fmt.Sprintf("AdvanceHighWatermark(%d)", a.Offset)
}
func (a *BeginSnapshotFetch) String() string { return fmt.Sprintf("BeginSnapshotFetch(%v)", a.ID) }
func (a *AppendSnapshot) String() string {
	return fmt.Sprintf("AppendSnapshot(%v position=%d bytes=%d)", a.ID, a.Position, a.Bytes)
}

func (a *AbandonSnapshotFetch) String() string { return fmt.Sprintf("AbandonSnapshotFetch(%v)", a.ID) }

func (a *InstallSnapshot) String() string {
	return fmt.Sprintf("InstallSnapshot(%v size=%d)", a.ID, a.Size)
}

func (a *Park) String() string {
	return fmt.Sprintf("Park(#%d offset=%d until=%d)", a.Request, a.FetchOffset, a.Until)
}
func (a *Accepted) String() string     { return fmt.Sprintf("Accepted(last=%d)", a.LastOffset) }
func (a *Refused) String() string      { return fmt.Sprintf("Refused(%v)", a.Reason) }
func (a *ShutdownDone) String() string { return fmt.Sprintf("ShutdownDone(ok=%t)", a.OK) }
func (a *Fatal) String() string        { return fmt.Sprintf("Fatal(%v)", a.Reason) }

package kraft

import "fmt"

// Event is one input of the machine. Events are passed by pointer, so that a driver may use the same value again; the
// machine keeps nothing of an event but plain numbers and immutable values (Endpoints, VoterSet, strings).
type Event interface {
	event()
	fmt.Stringer
}

// Start is the first event: the machine takes the role that the durable state asks for (Kafka: KafkaRaftClient.initialize).
type Start struct{}

// RoleAction is the first half of a turn: the role held looks at the due timers and sends what it has to send
// (Kafka: KafkaRaftClient.pollCurrentState).
type RoleAction struct {
	// Choice is the index of the bootstrap server to begin with, should one be asked. ChooseBootstrap tells whether it was
	// looked at.
	Choice int
}

// ElectionTimeout is a role action in which just the election timer is due.
func ElectionTimeout(now Instant) (*RoleAction, Clock) { return oneTimer(ElectionTimer, now) }

// FetchTimeout is a role action in which just the fetch timer is due.
func FetchTimeout(now Instant) (*RoleAction, Clock) { return oneTimer(FetchTimer, now) }

// CheckQuorumTimeout is a role action in which just the check-quorum timer is due.
func CheckQuorumTimeout(now Instant) (*RoleAction, Clock) { return oneTimer(CheckQuorumTimer, now) }

func oneTimer(kind TimerKind, now Instant) (*RoleAction, Clock) {
	return &RoleAction{}, Clock{Now: now, Due: Timers(Timer{Kind: kind})}
}

// AppendRequested asks the leader to reserve offsets for records of the state machine (Kafka: RaftClient.prepareAppend).
// Accepted or Refused answers. The driver keeps the records until AppendRecords names their offsets.
type AppendRequested struct {
	Epoch    Epoch
	Records  int32 // number of records, above 0
	Size     int32 // bytes that they take in a batch
	Schedule bool  // ScheduleAppend follows at once
}

// ScheduleAppend releases the reserved records for writing (Kafka: schedulePreparedAppend).
type ScheduleAppend struct{}

// SnapshotCreated tells that the state machine has frozen a snapshot, which the log view lists already.
type SnapshotCreated struct{ ID SnapshotID }

// ParkedExpired tells that a parked Fetch has waited for as long as it was willing to. In Kafka it happens on a thread of
// its own, so it may come at any time between two other events.
type ParkedExpired struct{ Request RequestID }

// Resign asks the leader of the epoch to step down (Kafka: RaftClient.resign). Refused answers a wrong epoch.
type Resign struct{ Epoch Epoch }

// Shutdown begins a graceful shutdown. ResetTimer(ShutdownTimer) follows; its duration is TimeoutMs (Kafka's driver: 5000).
type Shutdown struct{ TimeoutMs int32 }

// UpgradeKRaftVersion asks the leader to raise kraft.version (KAFKA-16538; Kafka: RaftClient.upgradeKRaftVersion).
// Accepted or Refused answers.
type UpgradeKRaftVersion struct {
	Epoch        Epoch
	Version      int16
	ValidateOnly bool
}

func (*Start) event()               {}
func (*RoleAction) event()          {}
func (*AppendRequested) event()     {}
func (*ScheduleAppend) event()      {}
func (*SnapshotCreated) event()     {}
func (*ParkedExpired) event()       {}
func (*Resign) event()              {}
func (*Shutdown) event()            {}
func (*UpgradeKRaftVersion) event() {}

func (*Start) String() string             { return "Start" }
func (e *RoleAction) String() string      { return fmt.Sprintf("RoleAction(choice=%d)", e.Choice) }
func (*ScheduleAppend) String() string    { return "ScheduleAppend" }
func (e *SnapshotCreated) String() string { return fmt.Sprintf("SnapshotCreated(%v)", e.ID) }
func (e *ParkedExpired) String() string   { return fmt.Sprintf("ParkedExpired(#%d)", e.Request) }
func (e *Resign) String() string          { return fmt.Sprintf("Resign(epoch=%d)", e.Epoch) }
func (e *Shutdown) String() string        { return fmt.Sprintf("Shutdown(%d ms)", e.TimeoutMs) }
func (e *AppendRequested) String() string {
	return fmt.Sprintf("AppendRequested(epoch=%d records=%d schedule=%t)", e.Epoch, e.Records, e.Schedule)
}

func (e *UpgradeKRaftVersion) String() string {
	return fmt.Sprintf("UpgradeKRaftVersion(epoch=%d version=%d validateOnly=%t)", e.Epoch, e.Version, e.ValidateOnly)
}

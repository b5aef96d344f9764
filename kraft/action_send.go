package kraft

import "fmt"

// Destination is where a request goes. Record names the connection record, which the answer must name again; Address is where
// to connect. A bootstrap server has a record of its own (-2, -3, …) even if a voter lives at the same address.
type Destination struct {
	Record        NodeID
	Address       Address
	CorrelationID int32
}

func (d Destination) String() string {
	return fmt.Sprintf("to=%v@%v corr=%d", d.Record, d.Address, d.CorrelationID)
}

// SendVoteRequest asks for a vote, or with PreVote whether one would be granted (KIP-996). Epoch of a PreVote is the
// candidate's current one.
type SendVoteRequest struct {
	Destination
	Epoch     Epoch
	Candidate ReplicaKey
	Voter     ReplicaKey
	LogEnd    LogEnd
	PreVote   bool
}

// SendBeginQuorumEpoch announces a leadership.
type SendBeginQuorumEpoch struct {
	Destination
	Epoch     Epoch
	Leader    NodeID
	Voter     ReplicaKey
	Endpoints Endpoints
}

// SendEndQuorumEpoch announces a resignation. Successors are in descending order of their progress.
type SendEndQuorumEpoch struct {
	Destination
	Epoch      Epoch
	Leader     NodeID
	Successors []ReplicaKey
}

// SendFetch asks for records.
type SendFetch struct {
	Destination
	Replica          ReplicaKey
	Epoch            Epoch
	FetchOffset      Offset
	LastFetchedEpoch Epoch
	HighWatermark    Offset // -1: unknown (KIP-1166); the largest offset: not sent by this release
	MaxWaitMs        int32
	MaxBytes         int32
}

// SendFetchSnapshot asks for a piece of a snapshot (KIP-630).
type SendFetchSnapshot struct {
	Destination
	Replica  ReplicaKey
	Epoch    Epoch
	ID       SnapshotID
	Position int64
	MaxBytes int32
}

// SendAPIVersions probes a node that is to become a voter (KIP-853).
type SendAPIVersions struct{ Destination }

// SendUpdateVoter tells the leader how this voter can be reached and what it supports (KIP-853).
type SendUpdateVoter struct {
	Destination
	Epoch Epoch
	Voter Voter
}

// SendAddRaftVoter asks to become a voter (KAFKA-19078). AckWhenCommitted is false.
type SendAddRaftVoter struct {
	Destination
	Voter     ReplicaKey
	Endpoints Endpoints
	TimeoutMs int32
}

// SendRemoveRaftVoter asks for the removal of the voter with the own id and an old directory id (KAFKA-19078).
type SendRemoveRaftVoter struct {
	Destination
	Voter ReplicaKey
}

func (*SendVoteRequest) action()      {}
func (*SendBeginQuorumEpoch) action() {}
func (*SendEndQuorumEpoch) action()   {}
func (*SendFetch) action()            {}
func (*SendFetchSnapshot) action()    {}
func (*SendAPIVersions) action()      {}
func (*SendUpdateVoter) action()      {}
func (*SendAddRaftVoter) action()     {}
func (*SendRemoveRaftVoter) action()  {}

func (a *SendVoteRequest) String() string {
	name := "SendVote"
	if a.PreVote {
		name = "SendPreVote"
	}
	return fmt.Sprintf("%s(%v epoch=%d candidate=%v log=%v voter=%v)", name, a.Destination, a.Epoch, a.Candidate, a.LogEnd, a.Voter)
}

func (a *SendBeginQuorumEpoch) String() string {
	return fmt.Sprintf("SendBeginQuorumEpoch(%v leader=%v epoch=%d voter=%v)", a.Destination, a.Leader, a.Epoch, a.Voter)
}

func (a *SendEndQuorumEpoch) String() string {
	return fmt.Sprintf("SendEndQuorumEpoch(%v leader=%v epoch=%d successors=%v)", a.Destination, a.Leader, a.Epoch, a.Successors)
}

func (a *SendFetch) String() string {
	return fmt.Sprintf("SendFetch(%v epoch=%d offset=%d last=%d hw=%d)", a.Destination, a.Epoch, a.FetchOffset,
		a.LastFetchedEpoch, a.HighWatermark)
}

func (a *SendFetchSnapshot) String() string {
	return fmt.Sprintf("SendFetchSnapshot(%v epoch=%d id=%v position=%d)", a.Destination, a.Epoch, a.ID, a.Position)
}

func (a *SendAPIVersions) String() string { return fmt.Sprintf("SendApiVersions(%v)", a.Destination) }

func (a *SendUpdateVoter) String() string {
	return fmt.Sprintf("SendUpdateVoter(%v epoch=%d %v)", a.Destination, a.Epoch, a.Voter)
}

func (a *SendAddRaftVoter) String() string {
	return fmt.Sprintf("SendAddRaftVoter(%v voter=%v at=%v)", a.Destination, a.Voter, a.Endpoints)
}

func (a *SendRemoveRaftVoter) String() string {
	return fmt.Sprintf("SendRemoveRaftVoter(%v voter=%v)", a.Destination, a.Voter)
}

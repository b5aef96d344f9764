package kraft

import (
	"fmt"
	"slices"
	"strings"
)

// RoleKind names a role (Kafka: the classes that implement EpochState).
type RoleKind uint8

// The roles.
const (
	UnattachedRole RoleKind = iota
	ProspectiveRole
	CandidateRole
	LeaderRole
	FollowerRole
	ResignedRole
)

func (k RoleKind) String() string {
	return [...]string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"}[k]
}

// Role is one of *Unattached, *Prospective, *Candidate, *Leader, *Follower, *Resigned. It is the machine's own: to be read
// until the next event, not to be changed.
type Role interface {
	Kind() RoleKind
	fmt.Stringer
	role()
}

// Unattached knows no leader that it could fetch from (Kafka: UnattachedState). A leader id without endpoints is possible.
type Unattached struct {
	Leader        NodeID
	Voted         ReplicaKey
	HighWatermark Offset
}

// Prospective asks whether it would be elected before it takes a new epoch (KIP-996; Kafka: ProspectiveState).
type Prospective struct {
	Leader          NodeID
	LeaderEndpoints Endpoints
	Voted           ReplicaKey
	HighWatermark   Offset
	Tally           Tally
	Retries         int32 // elections tried in a row; counts for the backoff of 4.0 only
}

// Candidate has voted for itself in a new epoch and asks for votes (Kafka: CandidateState).
type Candidate struct {
	HighWatermark Offset
	Tally         Tally
	Retries       int32
	BackingOff    bool // 4.0 only: has lost
}

// Leader replicates its log and commits what a majority holds (Kafka: LeaderState).
type Leader struct {
	EpochStart    Offset // log end when the leader was elected
	HighWatermark Offset // -1 until a majority holds a record of this epoch

	Voters        []Replica // by id; the voter set as of the last append
	Observers     []Replica // in order of their first Fetch
	Granting      []NodeID  // who granted their vote, ascending
	FetchedVoters []NodeID  // heard of since check-quorum was last satisfied

	Accumulator     Accumulator
	Change          VoterChange
	ResignRequested bool

	// HasVolatileVoters: kraft.version is 0 and VolatileVoters is what UpdateRaftVoter has made of the static voters.
	// RequestedVersion is the kraft.version asked for instead, 0 if none is (KAFKA-16538; Kafka: KRaftVersionUpgrade).
	HasVolatileVoters bool
	VolatileVoters    VoterSet
	RequestedVersion  int16

	votersAt Offset // where the voter set of Voters was recorded
}

// Follower fetches from a leader (Kafka: FollowerState).
type Follower struct {
	Leader          NodeID
	LeaderEndpoints Endpoints
	Voted           ReplicaKey
	HighWatermark   Offset

	FetchedFromLeader bool // has had an answer from it: no PreVote is granted any more
	UpdatedLeader     bool // has told it its description, at kraft.version 0

	Fetching         bool // a snapshot is being fetched
	FetchingSnapshot SnapshotID
	FetchedBytes     int64
}

// Resigned was the leader of the epoch and is so no longer (Kafka: ResignedState).
type Resigned struct {
	Voters     []NodeID // when it resigned
	Unacked    []NodeID // have not confirmed EndQuorumEpoch
	Successors []ReplicaKey
}

// Replica is what a leader knows of a replica (Kafka: LeaderState.ReplicaState). Offsets and instants are -1 where unknown.
type Replica struct {
	Key                ReplicaKey
	Endpoints          Endpoints
	End                Offset // base of the batch that was fetched last
	LastFetchLeaderEnd Offset
	LastFetch          Instant
	LastCaughtUp       Instant
	Acknowledged       bool
}

// Kind is UnattachedRole.
func (*Unattached) Kind() RoleKind { return UnattachedRole }

// Kind is ProspectiveRole.
func (*Prospective) Kind() RoleKind { return ProspectiveRole }

// Kind is CandidateRole.
func (*Candidate) Kind() RoleKind { return CandidateRole }

// Kind is LeaderRole.
func (*Leader) Kind() RoleKind { return LeaderRole }

// Kind is FollowerRole.
func (*Follower) Kind() RoleKind { return FollowerRole }

// Kind is ResignedRole.
func (*Resigned) Kind() RoleKind { return ResignedRole }

func (*Unattached) role()  {}
func (*Prospective) role() {}
func (*Candidate) role()   {}
func (*Leader) role()      {}
func (*Follower) role()    {}
func (*Resigned) role()    {}

func (r *Unattached) String() string {
	return fmt.Sprintf("Unattached(leader=%v voted=%v hw=%d)", r.Leader, r.Voted, r.HighWatermark)
}

func (r *Prospective) String() string {
	return fmt.Sprintf("Prospective(leader=%v voted=%v hw=%d tally=%v)", r.Leader, r.Voted, r.HighWatermark, r.Tally)
}

func (r *Candidate) String() string {
	return fmt.Sprintf("Candidate(hw=%d tally=%v)", r.HighWatermark, r.Tally)
}

func (r *Leader) String() string {
	var voters strings.Builder
	for i := range r.Voters {
		fmt.Fprintf(&voters, " %v:%d", r.Voters[i].Key, r.Voters[i].End)
	}
	return fmt.Sprintf("Leader(start=%d hw=%d voters=[%s] observers=%d)", r.EpochStart, r.HighWatermark,
		strings.TrimSpace(voters.String()), len(r.Observers))
}

func (r *Follower) String() string {
	s := fmt.Sprintf("Follower(leader=%v voted=%v hw=%d fetched=%t", r.Leader, r.Voted, r.HighWatermark, r.FetchedFromLeader)
	if r.Fetching {
		s += fmt.Sprintf(" snapshot=%v:%d", r.FetchingSnapshot, r.FetchedBytes)
	}
	return s + ")"
}

func (r *Resigned) String() string {
	return fmt.Sprintf("Resigned(unacked=%v successors=%v)", r.Unacked, r.Successors)
}

func contains(ids []NodeID, id NodeID) bool { return slices.Contains(ids, id) }

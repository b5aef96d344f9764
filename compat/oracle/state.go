package oracle

// State is everything a client knows. Instants are absolute, in milliseconds; -1 stands for none.
type State struct {
	Role            string            `json:"role"`
	Epoch           int32             `json:"epoch"`
	Leader          int32             `json:"leader"`
	LeaderEndpoints string            `json:"leaderEndpoints"`
	Voted           string            `json:"voted"`
	HighWatermark   int64             `json:"hw"`
	Start           int64             `json:"start"`
	End             int64             `json:"end"`
	LastEpoch       int32             `json:"lastEpoch"`
	LogHW           int64             `json:"logHW"` // as the log has it
	Flushed         int64             `json:"flushed"`
	Epochs          [][2]int64        `json:"epochs"`    // [epoch, start offset]
	Snapshots       [][3]int64        `json:"snapshots"` // [offset, epoch, size]
	KRaft           int16             `json:"kraft"`
	Voters          []VoterState      `json:"voters"`
	VotersOffset    int64             `json:"votersOffset"`
	Stored          [5]any            `json:"stored"` // epoch, leader, voted, voted directory id, data version
	Timers          map[string]int64  `json:"timers"` // election, fetch, updateVoter, checkQuorum, beginEpoch, linger, backoff
	Cleaner         int64             `json:"cleaner"`
	Conns           []ConnState       `json:"conns"`
	Parked          int               `json:"parked"`
	Finished        bool              `json:"finished"`
	Tally           map[string]string `json:"tally"`      // Prospective, Candidate
	Retries         *int32            `json:"retries"`    // Prospective, Candidate of 4.0
	BackingOff      *bool             `json:"backingOff"` // Candidate of 4.0

	Unacked    []int32  `json:"unacked"`    // Resigned
	Successors []string `json:"successors"` // Resigned

	HasFetched       bool      `json:"hasFetched"`       // Follower
	HasUpdatedLeader *bool     `json:"hasUpdatedLeader"` // Follower, from 4.1
	FetchingSnapshot *[3]int64 `json:"fetchingSnapshot"` // Follower: [offset, epoch, bytes held]

	EpochStart      int64          `json:"epochStart"` // Leader, and all below
	Granting        []int32        `json:"granting"`
	Replicas        []ReplicaState `json:"replicas"`
	Observers       []ReplicaState `json:"observers"`
	Fetched         []int32        `json:"fetched"` // voters heard since check-quorum was reset
	NextOffset      int64          `json:"nextOffset"`
	ResignRequested bool           `json:"resignRequested"`
	PendingChange   *PendingChange `json:"pendingChange"`
	VolatileVoters  []VoterState   `json:"volatileVoters"` // from 4.1, while kraft.version is 0
	RequestedKRaft  string         `json:"requestedKraft"` // from 4.1

	ListenerNext int64 `json:"listenerNext"`
	HeldReaders  int   `json:"heldReaders"`
}

// VoterState is a member of the voter set.
type VoterState struct {
	Key       string `json:"key"`
	Endpoints string `json:"endpoints"`
	Min       int16  `json:"min"`
	Max       int16  `json:"max"`
}

// ConnState is a connection record of the request manager.
type ConnState struct {
	ID     int32  `json:"id"`
	State  string `json:"state"`
	Sent   int64  `json:"sent"`
	Failed int64  `json:"failed"`
	Corr   *int32 `json:"corr"`
}

// ReplicaState is what a leader knows of a replica.
type ReplicaState struct {
	Key       string `json:"key"`
	End       int64  `json:"end"`
	LastFetch int64  `json:"lastFetch"`
	LeaderEnd int64  `json:"leaderEnd"`
	CaughtUp  int64  `json:"caughtUp"`
	Acked     bool   `json:"acked"`
}

// PendingChange is the voter change in progress.
type PendingChange struct {
	Kind     string `json:"kind"` // add, remove, update
	Voter    string `json:"voter"`
	Deadline int64  `json:"deadline"`
	Offset   int64  `json:"offset"` // of the queued record, -1 before
}

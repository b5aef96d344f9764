package interact

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// Player plays one node: the machine on a log in memory, or whatever is compared with it.
type Player interface {
	// Do carries out a step and tells what it did, in order.
	Do(Step) (Outcome, error)
	// View is what the node knows after the last step.
	View() View
}

// NewPlayer makes the player of a node that has the rules of a build. The first step is StartStep.
type NewPlayer func(compat.Profile, Setup) (Player, error)

// StepKind says what a step gives to a node, before its turns.
type StepKind uint8

// The steps.
const (
	TurnStep     StepKind = iota // nothing
	StartStep                    // a new process on what is on disk
	RequestStep                  // Packet
	ResponseStep                 // Packet, or Failure of the request that it answers
	AppendStep                   // Epoch, Records, Hold
	ScheduleStep                 // releases what was held
	SnapshotStep                 // ID, Records, and the Size that it comes to
	CleanStep                    // the log start moves to the snapshot ID
	ResignStep                   // Epoch
	ShutdownStep                 // Ms
	UpgradeStep                  // Epoch, Level, ValidateOnly
	RestartStep                  // LoseUnflushed
)

// Step is one command to a node.
type Step struct {
	Kind  StepKind
	Now   kraft.Instant
	Turns int // of Kafka's poll loop, behind the command

	Expire bool    // parked requests whose time has come are answered first
	Draws  []Draw  // values for random draws to come
	Packet *Packet // RequestStep, ResponseStep
	// Failure lets the request of Packet fail: BrokerNotAvailable, NetworkException, UnsupportedVersion.
	Failure kraft.ErrorCode

	Epoch         kraft.Epoch
	Records       int
	Hold          bool
	ID            kraft.SnapshotID
	Size          int64
	Ms            int32
	Level         int16
	ValidateOnly  bool
	LoseUnflushed bool
}

// DrawKind is what a random draw is for.
type DrawKind uint8

// The draws. The first value drawn without one of these at hand is the lowest possible one.
const (
	ElectionDraw  DrawKind = iota // 0 to election.timeout.ms, exclusive
	BootstrapDraw                 // index of a bootstrap server
	BackoffDraw                   // factor of the backoff of a losing candidate, until 4.0
	JitterDraw                    // 0 to 50 on top of it, of 4.0.1
)

// Draw is a value that a random draw will give.
type Draw struct {
	Kind    DrawKind
	Value   int32
	Retries int32 // BackoffDraw: of which election in a row
}

// Outcome is what a step did.
type Outcome struct {
	Effects  []Effect
	Fatal    string // the process ended; why
	Finished bool   // the process has shut down
	Wait     int64  // ms that the last turn would have waited for a message
}

// Effect is one line of what a node did, or a message that it sent.
type Effect struct {
	Text   string
	Packet *Packet // a request, or an answer to one
}

// Packet is a message on its way, or in somebody's hands.
type Packet struct {
	From, To kraft.NodeID // nodes; NoNode: a client
	API      kraft.APIKey
	Version  int16
	Number   int64        // of the request, as its sender counts
	Record   kraft.NodeID // the connection record that it was sent on
	Answer   bool

	// Content is a Receive… event. Of an answer to AddRaftVoter, RemoveRaftVoter and DescribeQuorum it is the Reply….
	// Nil: a request that cannot be encoded in the version.
	Content any
	Text    string // what the content says, if it has been told already
	Bytes   []byte // for players that have them
	Handle  any    // of the player that sent the request
	Request *Packet
}

// View is what a node knows, as people ask for it. Instants are absolute, -1 where unknown.
type View struct {
	Role          string
	Epoch         kraft.Epoch
	Leader        kraft.NodeID
	Voted         kraft.NodeID
	HighWatermark kraft.Offset
	Start, End    kraft.Offset
	LastEpoch     kraft.Epoch
	Epochs        []kraft.EpochStart
	Snapshots     []kraft.SnapshotID
	KRaftVersion  int16
	Voters        string
	Stored        string
	Timers        []Timer
	Tally         []string
	Progress      []string // of voters and observers, on the leader
	Connections   []string
	Parked        int
	Fetching      string // a snapshot
	Successors    []string
	Endpoints     int // how many of the leader's are known
}

// Timer is a running timer.
type Timer struct {
	Name string
	At   kraft.Instant
}

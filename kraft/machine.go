package kraft

// QuorumStateMachine is one replica of the metadata quorum (Kafka: KafkaRaftClient with its QuorumState). It is a plain value
// behind a pointer: no goroutine, clock, randomness or I/O. One owner calls it.
type QuorumStateMachine struct {
	cfg *Config // immutable; shared by clones

	started  bool
	stopped  bool // Fatal or ShutdownDone was emitted: no event is handled any more
	shutdown bool // a graceful shutdown is in progress

	epoch       Epoch
	kind        RoleKind
	unattached  Unattached
	prospective Prospective
	candidate   Candidate
	leader      Leader
	follower    Follower
	resigned    Resigned

	requests  requestManager
	parked    []parkedFetch
	history   history
	listeners []string // names that requests arrived on; index = listenerID

	wait wait
	turn turnContext
}

// turnContext is what belongs to the event in hand. It is no part of the state.
type turnContext struct {
	log    LogView // the machine's copy, changed as the actions are emitted
	now    Instant
	due    TimerSet
	reset  []Timer // peer timers reset in this event: no longer due
	choice int
	out    *Actions
}

// New makes a machine from its configuration and what is on disk. The first event is Start.
func New(cfg Config) (*QuorumStateMachine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &QuorumStateMachine{cfg: &cfg}
	return m, nil
}

// OnEvent handles one input. The actions are to be executed in their order; they live in out until the next event.
func (m *QuorumStateMachine) OnEvent(ev Event, log *LogView, now Clock, out *Actions) []Action {
	out.reset()
	return out.list
}

// Wait tells how long the host may sleep after a role action: at most atMost milliseconds, and not beyond the deadline of any
// of the named timers (Kafka: the timeout that poll asks of the message queue).
func (m *QuorumStateMachine) Wait() (atMost int64, timers TimerSet) {
	return m.wait.atMost, m.wait.timers
}

// Role is the role held, to be read until the next event.
func (m *QuorumStateMachine) Role() Role {
	switch m.kind {
	case UnattachedRole:
		return &m.unattached
	case ProspectiveRole:
		return &m.prospective
	case CandidateRole:
		return &m.candidate
	case LeaderRole:
		return &m.leader
	case FollowerRole:
		return &m.follower
	case ResignedRole:
		return &m.resigned
	}
	panic("kraft: unknown role")
}

type requestManager struct{}
type parkedFetch struct{}
type history struct{}
type wait struct {
	atMost int64
	timers TimerSet
}

// QuorumState is the election state of the role held, as it would be persisted.
func (m *QuorumStateMachine) QuorumState() QuorumState { return QuorumState{} }

// Clone is an independent copy.
func (m *QuorumStateMachine) Clone() *QuorumStateMachine { c := *m; return &c }

// Fingerprint is a hash of the state that is stable across runs.
func (m *QuorumStateMachine) Fingerprint() [16]byte { return [16]byte{} }

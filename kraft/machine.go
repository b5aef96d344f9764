package kraft

// QuorumStateMachine is one replica of the metadata quorum (Kafka: KafkaRaftClient with its QuorumState). It is a plain value
// behind a pointer: no goroutine, clock, randomness or I/O. One owner calls it.
type QuorumStateMachine struct {
	cfg *Config // immutable; shared by clones

	stopped  bool // Fatal or ShutdownDone was emitted: no event is handled any more
	shutdown bool // a graceful shutdown is in progress
	kind     RoleKind
	epoch    Epoch

	unattached  Unattached
	prospective Prospective
	candidate   Candidate
	leader      Leader
	follower    Follower
	resigned    Resigned

	requests  requestManager
	parked    parking
	history   history
	listeners []string // names that requests arrived on; index = listenerID; immutable

	wait wait
	turn turnContext
}

// turnContext is what belongs to the event in hand. It is no part of the state.
type turnContext struct {
	log    LogView // the machine's copy, changed as the actions are emitted
	now    Instant
	due    TimerSet
	reset  []Timer  // peer timers reset in this event: no longer due
	silent []NodeID // voters adopted in this event that count as silent, although their timer was reset
	choice int
	out    *Actions
}

// New makes a machine from its configuration and what is on disk. It emits nothing: the first event is Start.
func New(cfg Config) (*QuorumStateMachine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.self = ReplicaKey{cfg.ID, cfg.DirectoryID}
	m := &QuorumStateMachine{cfg: &cfg}
	m.history.static = cfg.StaticVoters
	for i := range cfg.History {
		if !m.history.add(cfg.History[i].Offset, &cfg.History[i].Record) {
			return nil, historyError(&cfg.History[i])
		}
	}
	return m, nil
}

// OnEvent handles one input. The actions are to be executed in their order; they live in out until the next event that it is used
// for. log is read only: the driver's log changes when the actions are executed.
func (m *QuorumStateMachine) OnEvent(ev Event, log *LogView, now Clock, out *Actions) []Action {
	out.reset()
	if m.stopped {
		return nil
	}
	t := &m.turn
	appended := t.log.appended[:0]
	t.log = *log
	t.log.appended = appended
	t.now, t.due, t.reset, t.silent, t.out = now.Now, now.Due, t.reset[:0], t.silent[:0], out
	before := m.epoch
	m.dispatch(ev)
	m.check(ev, before)
	return out.list
}

// View is the log as it must be once the actions of the last event have been executed. Drivers that check themselves compare it
// with theirs.
func (m *QuorumStateMachine) View() *LogView { return &m.turn.log }

func (m *QuorumStateMachine) dispatch(ev Event) {
	switch e := ev.(type) {
	case *RoleAction:
		m.onRoleAction(e)
	case *ReceiveFetch:
		m.onFetch(e)
	case *ReceiveFetchResponse:
		m.onResponse(&e.Response, e)
	case *Start:
		m.onStart()
	case *AppendRequested:
		m.onAppendRequested(e)
	case *ScheduleAppend:
		m.onScheduleAppend()
	case *SnapshotCreated:
		m.history.truncateOld(e.ID.Offset)
	case *ParkedExpired:
		m.onParkedExpired(e)
	case *Resign:
		m.onResign(e)
	case *Shutdown:
		m.onShutdown(e)
	case *UpgradeKRaftVersion:
		m.onUpgradeKRaftVersion(e)
	case *ReceiveVoteRequest:
		m.onVoteRequest(e)
	case *ReceiveBeginQuorumEpoch:
		m.onBeginQuorumEpoch(e)
	case *ReceiveEndQuorumEpoch:
		m.onEndQuorumEpoch(e)
	case *ReceiveFetchSnapshot:
		m.onFetchSnapshot(e)
	case *ReceiveDescribeQuorum:
		m.onDescribeQuorum(e)
	case *ReceiveAddRaftVoter:
		m.onAddRaftVoter(e)
	case *ReceiveRemoveRaftVoter:
		m.onRemoveRaftVoter(e)
	case *ReceiveUpdateRaftVoter:
		m.onUpdateRaftVoter(e)
	case responseEvent:
		m.onResponse(e.response(), e)
	}
}

// onRoleAction is the first half of a turn.
func (m *QuorumStateMachine) onRoleAction(e *RoleAction) {
	m.turn.choice = e.Choice
	m.waitNothing()
	if m.completeShutdown() {
		return
	}
	switch m.kind {
	case UnattachedRole:
		m.actUnattached()
	case ProspectiveRole:
		m.actProspective()
	case CandidateRole:
		m.actCandidate()
	case LeaderRole:
		m.actLeader()
	case FollowerRole:
		m.actFollower()
	case ResignedRole:
		m.actResigned()
	}
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
	}
	return &m.resigned
}

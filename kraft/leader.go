package kraft

// actLeader is the leader's part of a turn, in this order (Kafka: pollLeader): step down if it has to, end a voter change that took
// too long, write what is due, announce the leadership.
func (m *QuorumStateMachine) actLeader() {
	l := &m.leader
	checkQuorum := len(l.Voters) != 1
	if checkQuorum {
		m.waitForKind(CheckQuorumTimer)
	}
	if m.shutdown || l.ResignRequested || checkQuorum && m.dueKind(CheckQuorumTimer) {
		m.becomeResigned(l.successors(m.selfKey()))
		m.waitAtMost(0)
		return
	}
	m.expireVoterChange()
	if l.Change.Kind != NoChange {
		m.waitForKind(VoterChangeTimer)
	}
	m.appendDueBatches()
	m.sendBeginQuorumEpoch()
}

// startLeaderTimers: check-quorum runs for one and a half fetch timeouts, and the leadership is announced at once.
func (m *QuorumStateMachine) startLeaderTimers() {
	m.resetCheckQuorum()
	m.resetKind(BeginQuorumEpochTimer, 0)
}

// resetSilence: a replica counts as silent from half a fetch timeout after its last Fetch, or if it has never fetched. Observers
// have the timer too, since they may become voters.
func (m *QuorumStateMachine) resetSilence(r *Replica) {
	if m.cfg.Rules.BeginOnlyToSilent {
		m.resetPeerTimer(SilenceTimer, &r.Key, r.LastFetch+Instant(m.cfg.Timeouts.FetchMs/2))
	}
}

// openLeader begins with nothing known of any replica, not even of the own log end. The storage of an earlier leadership is used
// again.
func (m *QuorumStateMachine) openLeader() {
	l, voters := &m.leader, m.history.lastVoters()
	end := m.turn.log.End
	*l = Leader{
		EpochStart: end, HighWatermark: -1,
		Voters: l.Voters[:0], Observers: l.Observers[:0], Granting: l.Granting[:0], FetchedVoters: l.FetchedVoters[:0],
		votersAt:    m.history.lastVotersOffset(),
		Accumulator: Accumulator{NextOffset: end, HoldFrom: noOffset, Completed: l.Accumulator.Completed[:0]},
	}
	for i := range voters.Len() {
		v := voters.At(i)
		r := newReplica(v.Key, v.Endpoints)
		r.Acknowledged = v.Matches(m.selfKey())
		l.Voters = append(l.Voters, r)
	}
	for _, v := range m.candidate.Tally {
		if v.State == Granted {
			l.Granting = append(l.Granting, v.Voter.ID)
		}
	}
	if m.cfg.Rules.UpgradeKRaftVersion && !m.history.isReconfigSupported() {
		l.VolatileVoters, l.HasVolatileVoters = voters.UpdateByID(m.selfVoter())
	}
}

// queueStartOfEpoch queues the first batch of the epoch: one control batch that begins with LeaderChange. With kraft.version 1 the
// voter set follows if it is still the one of the bootstrap checkpoint, or if this node's entry in it is out of date (KIP-853;
// Kafka: appendStartOfEpochControlRecords).
func (m *QuorumStateMachine) queueStartOfEpoch() {
	l := &m.leader
	change := ControlRecord{Type: LeaderChangeRecord, Leader: m.cfg.ID, Granting: l.Granting}
	for i := range l.Voters {
		change.VoterIDs = append(change.VoterIDs, l.Voters[i].Key.ID)
	}
	records := []ControlRecord{change.clone()}
	if m.history.isReconfigSupported() {
		at, voters := m.history.lastVotersOffset(), m.history.lastVoters()
		if at == staticOffset {
			m.fatal(FatalNoVoterSet)
			return
		}
		if at == bootstrapOffset || voters.NeedsUpdate(m.selfVoter()) {
			updated, ok := voters.Update(m.selfVoter())
			if !ok {
				m.fatal(FatalVoterChange)
				return
			}
			records = append(records,
				ControlRecord{Type: KRaftVersionRecord, KRaftVersion: m.history.kraftVersion()},
				ControlRecord{Type: VotersRecord, Voters: updated})
		}
	}
	m.queueControl(records, true)
}

// onResign: the state machine above asks the leader of the epoch to step down; it does so in its next turn (Kafka:
// RaftClient.resign).
func (m *QuorumStateMachine) onResign(e *Resign) {
	switch {
	case e.Epoch < 0 || e.Epoch > m.epoch:
		slot(m, &m.turn.out.refused).Reason = EpochTooNew
	case e.Epoch < m.epoch:
	case m.leaderID() != m.cfg.ID || m.cfg.ID == NoNode:
		slot(m, &m.turn.out.refused).Reason = NotLeader
	case m.kind != LeaderRole:
		slot(m, &m.turn.out.refused).Reason = AlreadyLeaving
	default:
		m.leader.ResignRequested = true
		m.wakeUp()
	}
}

const unknownInstant Instant = -1

func newReplica(key ReplicaKey, endpoints Endpoints) Replica {
	return Replica{
		Key: key, Endpoints: endpoints, End: -1, LastFetchLeaderEnd: -1, LastFetch: unknownInstant, LastCaughtUp: unknownInstant,
	}
}

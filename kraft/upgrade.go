package kraft

// onUpgradeKRaftVersion raises kraft.version (KAFKA-16538; Kafka: LeaderState.maybeAppendUpgradedKRaftVersion). At version 0 the
// leader holds the voters in memory, as UpdateRaftVoter has described them; they are written with the new version, in one batch.
func (m *QuorumStateMachine) onUpgradeKRaftVersion(e *UpgradeKRaftVersion) {
	refusal, needed := m.checkUpgrade(e)
	if refusal != acceptable {
		slot(m, &m.turn.out.refused).Reason = refusal
		return
	}
	if needed && !e.ValidateOnly {
		records := []ControlRecord{{Type: KRaftVersionRecord, KRaftVersion: e.Version}}
		if voters := m.leader.VolatileVoters; !voters.Equal(m.history.lastVoters()) {
			records = append(records, ControlRecord{Type: VotersRecord, Voters: voters})
		}
		m.leader.HasVolatileVoters, m.leader.VolatileVoters = false, VoterSet{}
		m.leader.RequestedVersion = e.Version
		m.queueControl(records, false)
	}
	slot(m, &m.turn.out.accepted).LastOffset = m.leader.Accumulator.NextOffset - 1
}

// checkUpgrade: the same version again is accepted and needs nothing.
func (m *QuorumStateMachine) checkUpgrade(e *UpgradeKRaftVersion) (refusal Refusal, needed bool) {
	l := &m.leader
	switch {
	case !m.cfg.Rules.UpgradeKRaftVersion:
		return UpgradeNotSupported, false
	case m.kind != LeaderRole || e.Epoch < m.epoch:
		return NotLeader, false
	case e.Epoch > m.epoch:
		return EpochTooNew, false
	case l.RequestedVersion != 0:
		if l.RequestedVersion != e.Version {
			return InvalidUpgrade, false
		}
		return acceptable, false
	}
	current := m.history.kraftVersion()
	switch {
	case e.Version == current:
		return acceptable, false
	case e.Version < current, !l.HasVolatileVoters:
		return InvalidUpgrade, false
	case !l.VolatileVoters.SameIDs(m.history.lastVoters()):
		return UpgradeInconsistent, false
	case !l.VolatileVoters.Supports(e.Version):
		return InvalidUpgrade, false
	}
	for i := range l.VolatileVoters.Len() {
		if l.VolatileVoters.At(i).Key.DirectoryID.IsZero() {
			return UpgradeInconsistent, false
		}
	}
	return acceptable, true
}

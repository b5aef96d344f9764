package kraft

import "slices"

const (
	sessionMs  = 300_000   // LeaderState.OBSERVER_SESSION_TIMEOUT_MS
	caughtUpMs = 3_600_000 // LeaderState.isReplicaCaughtUp
)

// voter is the entry of a voter id, or nil.
func (l *Leader) voter(id NodeID) *Replica {
	for i := range l.Voters {
		if l.Voters[i].Key.ID == id {
			return &l.Voters[i]
		}
	}
	return nil
}

// matchingVoter is the voter that the key belongs to, or nil. Where a directory id is known, a replica without it or with another
// one is not that voter.
func (l *Leader) matchingVoter(key ReplicaKey) *Replica {
	if r := l.voter(key.ID); r != nil && matches(r.Key, key) {
		return r
	}
	return nil
}

// observer is the entry of exactly that key, or nil.
func (l *Leader) observer(key *ReplicaKey) *Replica {
	for i := range l.Observers {
		if l.Observers[i].Key == *key {
			return &l.Observers[i]
		}
	}
	return nil
}

// replica is the entry of a key among voters, else observers; an unknown key becomes an observer (Kafka: getOrCreateReplicaState).
func (l *Leader) replica(key *ReplicaKey) (r *Replica, isVoter bool) {
	for i := range l.Voters {
		if r = &l.Voters[i]; r.Key.matches(key) {
			return r, true
		}
	}
	if r = l.observer(key); r == nil {
		l.Observers = append(l.Observers, newReplica(*key, Endpoints{}))
		r = &l.Observers[len(l.Observers)-1]
	}
	return r, false
}

// noteFetch takes down the progress of a replica whose Fetch was valid, and reports whether the high watermark rose (Kafka:
// LeaderState.updateReplicaState). end is the base of the batch that it asked for, and may be lower than before. It is not ok for
// the leader's own id; an anonymous replica is ignored.
func (m *QuorumStateMachine) noteFetch(key *ReplicaKey, end Offset) (advanced, ok bool) {
	if key.ID < 0 {
		return false, true
	}
	if key.ID == m.cfg.ID {
		return false, false
	}
	leaderEnd := m.selfReplica().End
	r, isVoter := m.leader.replica(key)
	moved := r.End != end
	r.noteFetch(m.turn.now, end, leaderEnd)
	m.resetSilence(r)
	if len(m.turn.silent) > 0 {
		m.endSilence(r.Key.ID)
	}
	if !isVoter {
		m.resetObserverTimers(r)
	}
	m.countForCheckQuorum(key.ID, isVoter)
	return isVoter && moved && m.raiseHighWatermark(), true
}

// endSilence: a voter that counted as silent in this turn has fetched: a Fetch of it that was parked has been evaluated anew, which
// counts alike.
func (m *QuorumStateMachine) endSilence(id NodeID) {
	m.turn.silent = slices.DeleteFunc(m.turn.silent, func(silent NodeID) bool { return silent == id })
}

// noteFetch: a replica has caught up when it asks for what lies behind the leader's log end, or behind what that was at the
// previous Fetch: then it had caught up at that time.
func (r *Replica) noteFetch(now Instant, end, leaderEnd Offset) {
	if leaderEnd >= 0 {
		switch {
		case end >= leaderEnd:
			r.LastCaughtUp = max(r.LastCaughtUp, now)
		case r.LastFetchLeaderEnd > 0 && end >= r.LastFetchLeaderEnd:
			r.LastCaughtUp = max(r.LastCaughtUp, r.LastFetch)
		}
		r.LastFetchLeaderEnd = leaderEnd
	}
	r.LastFetch = max(r.LastFetch, now)
	r.End = end
	r.Acknowledged = true
}

func (m *QuorumStateMachine) resetObserverTimers(r *Replica) {
	m.resetPeerTimer(SessionTimer, &r.Key, r.LastFetch+sessionMs)
	m.resetPeerTimer(CaughtUpTimer, &r.Key, r.LastFetch+caughtUpMs)
}

// selfReplica is the leader's own entry: among its observers if it is no voter any more.
func (m *QuorumStateMachine) selfReplica() *Replica {
	r, _ := m.leader.replica(&m.cfg.self)
	return r
}

// noteLocalEnd takes down the leader's own log end and the voter set after an append, and reports whether the high watermark rose
// (Kafka: LeaderState.updateLocalState).
func (m *QuorumStateMachine) noteLocalEnd() bool {
	self := m.selfReplica()
	if self.End > m.turn.log.End {
		m.fatal(FatalLocalEndOffset)
		return false
	}
	self.End = m.turn.log.End
	m.takeVoterSet()
	return m.raiseHighWatermark()
}

// takeVoterSet moves the entries between voters and observers when the voter set has changed. A new voter brings its progress as an
// observer along, a removed one keeps it as an observer (Kafka: updateVoterAndObserverStates).
func (m *QuorumStateMachine) takeVoterSet() {
	l := &m.leader
	at := m.history.lastVotersOffset()
	if at == l.votersAt {
		return
	}
	l.votersAt = at
	voters := m.history.lastVoters()
	old := slices.Clone(l.Voters)
	next := make([]Replica, 0, voters.Len())
	for i := range voters.Len() {
		v := voters.At(i)
		r, before, ok := l.adopt(v)
		if !ok {
			m.fatal(FatalReplicaKey)
			return
		}
		m.renameSilence(before, &r)
		old = slices.DeleteFunc(old, func(o Replica) bool { return o.Key.ID == v.Key.ID })
		next = append(next, r)
	}
	l.Voters = next
	for _, r := range old {
		r.Endpoints = Endpoints{}
		if l.observer(&r.Key) == nil {
			l.Observers = append(l.Observers, r)
			m.resetObserverTimers(&r)
		}
	}
}

// renameSilence goes on with the silence of a replica whose key was completed. One that has lasted long enough counts in this
// very turn.
func (m *QuorumStateMachine) renameSilence(before ReplicaKey, r *Replica) {
	if before == r.Key || r.LastFetch < 0 {
		return
	}
	if m.due(Timer{SilenceTimer, before}) {
		m.turn.silent = append(m.turn.silent, r.Key.ID)
	}
	m.resetSilence(r)
}

// adopt is the entry that a voter of a new set begins with: that of the matching voter, else of the observer with its key, else a
// new one. An entry without a directory id takes the one of the set; before is the key it had.
func (l *Leader) adopt(v *Voter) (r Replica, before ReplicaKey, ok bool) {
	r = newReplica(v.Key, v.Endpoints)
	if known := l.matchingVoter(v.Key); known != nil {
		r = *known
	} else if known := l.observer(&v.Key); known != nil {
		r = *known
	}
	l.Observers = slices.DeleteFunc(l.Observers, func(o Replica) bool { return o.Key == v.Key })
	if !r.Key.DirectoryID.IsZero() && r.Key != v.Key {
		return r, r.Key, false
	}
	before = r.Key
	r.Key, r.Endpoints = v.Key, v.Endpoints
	return r, before, true
}

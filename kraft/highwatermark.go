package kraft

// committable is the offset up to which a majority of the voters holds the log: of their ends in descending order, unknown ones
// last, the one in the middle. -1: not known of a majority. The leader counts only if it is a voter.
func committable(voters []Replica) Offset {
	middle := len(voters) / 2
	for i := range voters {
		end, above, level := voters[i].End, 0, 0
		for j := range voters {
			switch {
			case voters[j].End > end:
				above++
			case voters[j].End == end:
				level++
			}
		}
		if above <= middle && middle < above+level {
			return end
		}
	}
	return -1
}

// raiseHighWatermark commits what a majority holds. A leader commits nothing before a record of its own epoch: an entry of an
// earlier epoch may still be replaced, whoever holds it (Raft, section 5.4.2). Within a leadership it never falls, though a change
// of the voters may lower what a majority holds (Kafka: LeaderState.maybeUpdateHighWatermark).
func (m *QuorumStateMachine) raiseHighWatermark() bool {
	l := &m.leader
	if len(l.Voters) == 0 {
		return false
	}
	offset := committable(l.Voters)
	if offset <= l.EpochStart || offset <= l.HighWatermark {
		return false
	}
	l.HighWatermark = offset
	return true
}

// publishHighWatermark is what follows from a new high watermark, in order: the log learns it, a committed voter change is answered,
// and since KIP-1166 all parked Fetches are answered, so that followers learn of it at once (Kafka:
// onUpdateLeaderHighWatermark).
func (m *QuorumStateMachine) publishHighWatermark() {
	m.advanceHighWatermark(m.leader.HighWatermark)
	m.finishVoterChange()
	if m.cfg.Rules.FetchHighWatermark {
		m.completeParked(noOffset)
	}
}

func (m *QuorumStateMachine) advanceHighWatermark(offset Offset) {
	slot(m, &m.turn.out.highWatermark).Offset = offset
	m.turn.log.AdvanceHighWatermark(offset)
}

// followHighWatermark takes over the leader's high watermark as far as the own log reaches. It never falls (Kafka:
// updateFollowerHighWatermark).
func (m *QuorumStateMachine) followHighWatermark(leaders Offset) {
	if leaders < 0 {
		return
	}
	f, offset := &m.follower, min(m.turn.log.End, leaders)
	switch {
	case f.HighWatermark >= 0 && offset < f.HighWatermark:
		m.fatal(FatalHighWatermarkFell)
	case offset != f.HighWatermark:
		f.HighWatermark = offset
		m.advanceHighWatermark(offset)
	}
}

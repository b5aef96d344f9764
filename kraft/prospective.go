package kraft

// actProspective asks the voters whether they would vote for this node (KIP-996; Kafka: pollProspective). During a shutdown it
// goes on asking and does not give up.
func (m *QuorumStateMachine) actProspective() {
	switch {
	case m.shutdown:
		m.requestVotes(m.prospective.Tally, true)
		m.waitForKind(ShutdownTimer)
	case m.dueKind(ElectionTimer):
		m.losePreVote()
		m.waitAtMost(0)
	default:
		m.requestVotes(m.prospective.Tally, true)
		m.waitForKind(ElectionTimer)
	}
}

// losePreVote goes back to the leader that is known and can be reached, else to Unattached (Kafka:
// prospectiveTransitionAfterElectionLoss).
func (m *QuorumStateMachine) losePreVote() {
	p := &m.prospective
	if p.Leader != NoNode && p.LeaderEndpoints.Len() > 0 {
		m.becomeFollower(m.epoch, p.Leader, p.LeaderEndpoints)
		return
	}
	m.becomeUnattached(m.epoch, p.Leader)
}

// requestVotes asks every voter that has not answered yet and whose connection is ready, while a majority can still be reached.
func (m *QuorumStateMachine) requestVotes(tally Tally, preVote bool) {
	if tally.IsRejected() {
		return
	}
	for i := range tally {
		if tally[i].State != Unrecorded {
			continue
		}
		voter := tally[i].Voter
		address, ok := m.voterAddress(voter.ID)
		if !ok {
			return
		}
		to, ok := m.trySend(voter.ID, address)
		if !ok {
			continue
		}
		end := m.endOffset()
		a := slot(m, &m.turn.out.sendVote)
		a.Destination, a.Epoch, a.Candidate, a.Voter = to, m.epoch, m.selfKey(), voter
		a.LogEnd, a.PreVote = end, preVote
	}
}

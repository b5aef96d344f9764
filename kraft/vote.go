package kraft

// onVoteRequest answers a Vote or PreVote (KIP-595, KIP-996; Kafka: KafkaRaftClient.handleVoteRequest).
//
//  1. cluster id, partition: top-level errors
//  2. a shape that no candidate can have: INVALID_REQUEST, before the epoch is looked at
//  3. an epoch below the own one is fenced, a negative id is invalid
//  4. a higher epoch is taken over and persisted, whoever asks and also for a PreVote
//  5. a request for another replica: INVALID_VOTER_KEY; the epoch of step 4 stays
//  6. the role decides. A vote is durable before it is told; a PreVote changes nothing.
func (m *QuorumStateMachine) onVoteRequest(e *ReceiveVoteRequest) {
	if err := m.checkMessage(&e.Request); err != None {
		a := slot(m, &m.turn.out.replyVote)
		a.Request, a.Error = e.ID, err
		return
	}
	if !e.isPossible() {
		m.replyVote(e, InvalidRequest, false)
		return
	}
	if err := m.checkVoterOnly(e.Candidate, e.CandidateEpoch); err != None {
		m.replyVote(e, err, false)
		return
	}
	if e.CandidateEpoch > m.epoch {
		m.becomeUnattached(e.CandidateEpoch, NoNode)
	}
	if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
		m.replyVote(e, InvalidVoterKey, false)
		return
	}
	candidate := ReplicaKey{e.Candidate, e.CandidateDirectoryID}
	granted := m.canGrantVote(candidate, m.isUpToDate(e.CandidateLogEnd), e.PreVote)
	if granted && !e.PreVote {
		m.addVote(candidate)
	}
	m.replyVote(e, None, granted)
}

// isPossible: a candidate has taken an epoch above that of its last record; a prospective one has at least that.
func (e *ReceiveVoteRequest) isPossible() bool {
	end := e.CandidateLogEnd
	if end.LastOffset < 0 || end.LastEpoch < 0 {
		return false
	}
	if e.PreVote {
		return end.LastEpoch <= e.CandidateEpoch
	}
	return end.LastEpoch < e.CandidateEpoch
}

// isUpToDate compares a candidate's log with the own one, by epoch first.
func (m *QuorumStateMachine) isUpToDate(candidate LogEnd) bool {
	return candidate.Compare(m.endOffset()) >= 0
}

func (m *QuorumStateMachine) endOffset() LogEnd {
	return LogEnd{LastEpoch: m.lastEpoch(), LastOffset: m.turn.log.End}
}

func (m *QuorumStateMachine) lastEpoch() Epoch {
	epoch, ok := m.turn.log.LastEpoch()
	if !ok {
		m.fatal(FatalLastEpoch)
	}
	return epoch
}

// canGrantVote is the rule per role (Kafka: canGrantVote of each EpochState). Whether asker or asked is a voter does not
// matter. No role but Unattached and Prospective grants a vote: the others have voted for themselves or know a leader.
func (m *QuorumStateMachine) canGrantVote(candidate ReplicaKey, upToDate, preVote bool) bool {
	switch m.kind {
	case UnattachedRole:
		return grantsUncommitted(m.unattached.Leader, m.unattached.Voted, candidate, upToDate, preVote)
	case ProspectiveRole:
		return grantsUncommitted(m.prospective.Leader, m.prospective.Voted, candidate, upToDate, preVote)
	case CandidateRole, ResignedRole:
		return preVote && upToDate
	case FollowerRole:
		// A follower that has heard of its leader stands by it until its fetch timer makes it Prospective.
		return preVote && upToDate && !m.follower.FetchedFromLeader
	case LeaderRole:
	}
	return false
}

// grantsUncommitted: a PreVote asks for nothing but the log. A vote that was given is given again, without a look at the log. A
// known leader has had the votes of this epoch (Kafka: QuorumState.unattachedOrProspectiveCanGrantVote).
func grantsUncommitted(leader NodeID, voted, candidate ReplicaKey, upToDate, preVote bool) bool {
	switch {
	case preVote:
		return upToDate
	case voted != NoReplica:
		return matches(voted, candidate)
	case leader != NoNode:
		return false
	}
	return upToDate
}

// addVote keeps a vote that was granted for the first time, and draws a new election timeout. The role stays, but a Prospective
// begins a new tally: with the connections as they are, so answers in flight count in it (Kafka:
// QuorumState.unattachedAddVotedState, prospectiveAddVotedState).
func (m *QuorumStateMachine) addVote(candidate ReplicaKey) {
	var voted ReplicaKey
	switch m.kind {
	case UnattachedRole:
		voted = m.unattached.Voted
	case ProspectiveRole:
		voted = m.prospective.Voted
	case CandidateRole, LeaderRole, FollowerRole, ResignedRole:
		return
	}
	switch {
	case voted != NoReplica:
		return
	case candidate.ID == m.cfg.ID:
		m.fatal(FatalVoteForSelf)
		return
	case m.cfg.ID == NoNode:
		m.fatal(FatalNoNodeID)
		return
	}
	m.drawElectionTimeout()
	if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {
		return
	}
	m.persist(QuorumState{Epoch: m.epoch, Leader: m.leaderID(), Voted: candidate})
	if m.kind == UnattachedRole {
		m.unattached.Voted = candidate
	} else {
		m.prospective.Voted = candidate
	}
}

func (m *QuorumStateMachine) replyVote(e *ReceiveVoteRequest, err ErrorCode, granted bool) {
	a := slot(m, &m.turn.out.replyVote)
	a.Request, a.VoteGranted = e.ID, granted
	m.describe(&a.PartitionReply, e.Version, 1, e.Listener, err)
}

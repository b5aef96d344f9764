package mutants

// roleMutants are about the changes of role: what is persisted, drawn, kept and forgotten, and in which order.
var roleMutants = []Mutant{
	{
		Name: "resigned-forgets-itself", File: "transition.go", Rule: "a Resigned names no leader",
		Old: `	case LeaderRole, ResignedRole:
		return m.cfg.ID
`, New: `	case LeaderRole:
		return m.cfg.ID
	case ResignedRole:
`,
	},
	{
		Name: "candidate-forgets-high-watermark", File: "transition.go", Rule: "a Candidate hands no high watermark on",
		Old: `	case CandidateRole:
		return m.candidate.HighWatermark
`, New: `	case CandidateRole:
		return -1
`,
	},
	{
		Name: "unattached-keeps-old-vote", File: "transition.go", Rule: "the vote of the old epoch counts in the new one",
		Old: `	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole`, New: `	next.Voted = m.voted()
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole`,
	},
	{
		Name: "unattached-forgets-vote", File: "transition.go", Rule: "a lost pre-vote loses the vote of the epoch",
		Old: `	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole`, New: `	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole`,
	},
	{
		Name: "unattached-not-persisted", File: "transition.go", Rule: "a higher epoch is not written to the quorum state",
		Old: `	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole`, New: `	m.enter(UnattachedRole`,
	},
	{
		Name: "role-closed-before-persist", File: "transition.go", Rule: "a pending voter change is answered before the higher epoch is durable",
		Old: `	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(UnattachedRole, epoch, leader)
`, New: `	m.enter(UnattachedRole, epoch, leader)
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
`,
	},
	{
		Name: "unattached-election-put-off", File: "transition.go", Rule: "each higher epoch gives an Unattached a new election timeout",
		Old: `case m.kind == CandidateRole, m.kind == UnattachedRole, m.kind == ResignedRole:`, New: `case m.kind == CandidateRole, m.kind == ResignedRole:`,
	},
	{
		Name: "candidate-election-put-off", File: "transition.go", Rule: "a higher epoch gives a Candidate a new election timeout",
		Old: `case m.kind == CandidateRole, m.kind == UnattachedRole, m.kind == ResignedRole:`, New: `case m.kind == UnattachedRole, m.kind == ResignedRole:`,
	},
	{
		Name: "resigned-election-put-off", File: "transition.go", Rule: "a Resigned draws a new election timeout when it leaves the epoch",
		Old: `case m.kind == CandidateRole, m.kind == UnattachedRole, m.kind == ResignedRole:`, New: `case m.kind == CandidateRole, m.kind == UnattachedRole:`,
	},
	{
		Name: "rejected-prospective-keeps-timer", File: "transition.go", Rule: "a Prospective that was refused inherits its election timer",
		Old: `case m.kind == ProspectiveRole && !m.prospective.Tally.IsRejected():`, New: `case m.kind == ProspectiveRole:`,
	},
	{
		Name: "prospective-draws-always", File: "transition.go", Rule: "a Prospective that was not refused draws a new election timeout",
		Old: `	case m.kind == ProspectiveRole && !m.prospective.Tally.IsRejected():
`, New: ``,
	},
	{
		Name: "observer-draws-election-timeout", File: "transition.go", Rule: "an observer draws an election timeout",
		Old: `	case !m.isVoter():
		m.cancelTimer(ElectionTimer)
`, New: ``,
	},
	{
		Name: "unattached-keeps-connections", File: "transition.go", Rule: "an Unattached still waits for answers of its former role",
		Old: `	m.unattached = next
	m.resetConnections()
`, New: `	m.unattached = next
`,
	},
	{
		Name: "follower-keeps-connections", File: "transition.go", Rule: "a Follower still waits for answers of its former role",
		Old: `	m.follower = next
	m.resetConnections()
`, New: `	m.follower = next
`,
	},
	{
		Name: "follower-keeps-parked-fetches", File: "transition.go", Rule: "Fetches parked at a leader stay parked when it follows another",
		Old: `	m.resetConnections()
	m.failParked()
`, New: `	m.resetConnections()
`,
	},
	{
		Name: "parked-failed-before-persist", File: "transition.go", Rule: "parked Fetches fail before the new leader is durable",
		Old: `	m.startFollowerTimers()
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(FollowerRole, epoch, leader)
	m.follower = next
	m.resetConnections()
	m.failParked()
`, New: `	m.failParked()
	m.startFollowerTimers()
	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(FollowerRole, epoch, leader)
	m.follower = next
	m.resetConnections()
`,
	},
	{
		Name: "follower-forgets-vote", File: "transition.go", Rule: "a Follower forgets the vote that it gave in the epoch",
		Old: `	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.startFollowerTimers()
`, New: `	m.startFollowerTimers()
`,
	},
	{
		Name: "follower-keeps-old-vote", File: "transition.go", Rule: "the vote of the old epoch counts in the epoch of a new leader",
		Old: `	if epoch == m.epoch {
		next.Voted = m.voted()
	}
	m.startFollowerTimers()
`, New: `	next.Voted = m.voted()
	m.startFollowerTimers()
`,
	},
	{
		Name: "follower-not-persisted", File: "transition.go", Rule: "a new leader is not written to the quorum state",
		Old: `	m.persist(QuorumState{Epoch: epoch, Leader: leader, Voted: next.Voted})
	m.enter(FollowerRole`, New: `	m.enter(FollowerRole`,
	},
	{
		Name: "follower-forgets-high-watermark", File: "transition.go", Rule: "a Follower begins without a high watermark",
		Old: `next := Follower{Leader: leader, LeaderEndpoints: endpoints, Voted: NoReplica, HighWatermark: m.highWatermark()}`,
		New: `next := Follower{Leader: leader, LeaderEndpoints: endpoints, Voted: NoReplica, HighWatermark: -1}`,
	},
	{
		Name: "follower-fetch-timer-inherited", File: "transition.go", Rule: "a new leader gets no new fetch timeout",
		Old: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
`, New: `	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
`,
	},
	{
		Name: "follower-update-timer-inherited", File: "transition.go", Rule: "a new leader does not start the update-voter timer",
		Old: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
`, New: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
`,
	},
	{
		Name: "prospective-forgets-leader", File: "transition.go", Rule: "a Prospective forgets the leader of the epoch",
		Old: `Leader: m.leaderID(), LeaderEndpoints: m.leaderEndpoints(), Voted: m.voted(),`,
		New: `Leader: NoNode, Voted: m.voted(),`,
	},
	{
		Name: "prospective-forgets-vote", File: "transition.go", Rule: "a Prospective forgets the vote of the epoch",
		Old: `LeaderEndpoints: m.leaderEndpoints(), Voted: m.voted(),`, New: `LeaderEndpoints: m.leaderEndpoints(), Voted: NoReplica,`,
	},
	{
		Name: "prospective-retries-stay", File: "transition.go", Until: "4.0", Rule: "a lost election does not count as a try",
		Old: `next.Retries = m.candidate.Retries + 1`, New: `next.Retries = m.candidate.Retries`,
	},
	{
		Name: "prospective-timer-inherited", File: "transition.go", Rule: "a Prospective draws no election timeout",
		Old: `	m.drawElectionTimeout()
	if !m.openElection(&next.Tally) {
		return
	}
	m.enter(ProspectiveRole`, New: `	if !m.openElection(&next.Tally) {
		return
	}
	m.enter(ProspectiveRole`,
	},
	{
		Name: "prospective-persisted", File: "transition.go", Rule: "a Prospective writes the quorum state",
		Old: `	m.enter(ProspectiveRole, m.epoch, next.Leader)
`, New: `	m.persist(QuorumState{Epoch: m.epoch, Leader: next.Leader, Voted: next.Voted})
	m.enter(ProspectiveRole, m.epoch, next.Leader)
`,
	},
	{
		Name: "prospective-keeps-connections", File: "transition.go", Rule: "a Prospective still waits for answers of its former role",
		Old: `		m.becomeCandidate()
		return
	}
	m.resetConnections()
`, New: `		m.becomeCandidate()
		return
	}
`,
	},
	{
		Name: "candidate-timer-inherited", File: "transition.go", Rule: "a Candidate draws no election timeout",
		Old: `	m.drawElectionTimeout()
	if !m.openElection(&next.Tally) {
		return
	}
	epoch := m.epoch + 1
`, New: `	if !m.openElection(&next.Tally) {
		return
	}
	epoch := m.epoch + 1
`,
	},
	{
		Name: "candidate-not-persisted", File: "transition.go", Rule: "a Candidate does not write its own vote",
		Old: `	m.persist(QuorumState{Epoch: epoch, Leader: NoNode, Voted: m.selfKey()})
`, New: ``,
	},
	{
		Name: "candidate-keeps-connections", File: "transition.go", Rule: "a Candidate still waits for answers to its PreVotes",
		Old: `		m.becomeLeader()
		return
	}
	m.resetConnections()
`, New: `		m.becomeLeader()
		return
	}
`,
	},
	{
		Name: "leader-vote-kept", File: "transition.go", Rule: "a leader's vote stays in the quorum state",
		Old: `m.persist(QuorumState{Epoch: m.epoch, Leader: m.cfg.ID, Voted: NoReplica})`,
		New: `m.persist(QuorumState{Epoch: m.epoch, Leader: m.cfg.ID, Voted: m.selfKey()})`,
	},
	{
		Name: "leader-epoch-before-persist", File: "transition.go", Rule: "the epoch is assigned before the election is durable",
		Old: `	m.persist(QuorumState{Epoch: m.epoch, Leader: m.cfg.ID, Voted: NoReplica})
	m.enter(LeaderRole, m.epoch, m.cfg.ID)
	m.openLeader()
	m.assignEpoch()
`, New: `	m.assignEpoch()
	m.persist(QuorumState{Epoch: m.epoch, Leader: m.cfg.ID, Voted: NoReplica})
	m.enter(LeaderRole, m.epoch, m.cfg.ID)
	m.openLeader()
`,
	},
	{
		Name: "leader-assigns-no-epoch", File: "transition.go", Rule: "the epoch begins only with its first record",
		Old: `	a := slot(m, &m.turn.out.assignEpoch)
	a.Epoch, a.Start = m.epoch, m.turn.log.End
	m.turn.log.AssignEpoch(m.epoch)
`, New: ``,
	},
	{
		Name: "leader-keeps-connections", File: "transition.go", Rule: "a leader still waits for answers to its Votes",
		Old: `	m.queueStartOfEpoch()
	m.resetConnections()
`, New: `	m.queueStartOfEpoch()
`,
	},
	{
		Name: "resigned-draws-before-failing", File: "transition.go", Rule: "a resigning leader draws its timeout before it fails the parked Fetches",
		Old: `	m.failParked()
	m.drawElectionTimeout()
	m.enter(ResignedRole`, New: `	m.drawElectionTimeout()
	m.failParked()
	m.enter(ResignedRole`,
	},
	{
		Name: "resigned-keeps-parked-fetches", File: "transition.go", Rule: "Fetches parked at a leader stay parked when it resigns",
		Old: `	m.failParked()
	m.drawElectionTimeout()
	m.enter(ResignedRole`, New: `	m.drawElectionTimeout()
	m.enter(ResignedRole`,
	},
	{
		Name: "resigned-keeps-connections", File: "transition.go", Rule: "a Resigned still waits for answers of its former role",
		Old: `	m.openResigned(successors)
	m.resetConnections()
`, New: `	m.openResigned(successors)
`,
	},
	{
		Name: "resigned-tells-itself", File: "transition.go", Rule: "a Resigned sends EndQuorumEpoch to itself too",
		Old: `if id != m.cfg.ID {`, New: `if true {`,
	},
	{
		Name: "voter-change-survives-leadership", File: "transition.go", Rule: "a voter change is not answered when the leadership ends",
		Old: `		m.abortVoterChange(NotLeaderOrFollower)
`, New: ``,
	},
	{
		Name: "voter-change-ends-with-timeout", File: "transition.go", Rule: "a voter change is answered REQUEST_TIMED_OUT when the leadership ends",
		Old: `m.abortVoterChange(NotLeaderOrFollower)`, New: `m.abortVoterChange(RequestTimedOut)`,
	},
	{
		Name: "voter-by-id", File: "transition.go", Rule: "a node whose id is among the voters is one, whatever its directory id",
		Old: `return m.cfg.ID != NoNode && m.history.lastVoters().IsVoter(m.selfKey())`,
		New: `return m.cfg.ID != NoNode && m.history.lastVoters().Find(m.cfg.ID) != nil`,
	},
	{
		Name: "unattached-acts-in-same-turn", File: "unattached.go", Rule: "a new Prospective asks for votes in the turn that made it one",
		Old: `			m.becomeProspective()
			m.waitAtMost(0)
			return
`, New: `			m.becomeProspective()
			if m.kind == ProspectiveRole {
				m.actProspective()
			}
			m.waitAtMost(0)
			return
`,
	},
	{
		Name: "observer-elects", File: "unattached.go", Rule: "an observer's election timer counts",
		Old: `if m.isVoter() {`, New: `if true {`,
	},
	{
		Name: "unattached-wait-unbounded", File: "unattached.go", Rule: "an Unattached does not wake for its election timer",
		Old: `	m.fetchFromBootstrap()
	m.waitForKind(ElectionTimer)
`, New: `	m.fetchFromBootstrap()
`,
	},
	{
		Name: "unattached-does-not-ask", File: "unattached.go", Rule: "an Unattached voter does not ask the bootstrap servers",
		Old: `	m.fetchFromBootstrap()
	m.waitForKind(ElectionTimer)
`, New: `	if !m.isVoter() {
		m.fetchFromBootstrap()
	}
	m.waitForKind(ElectionTimer)
`,
	},
	{
		Name: "resigned-time-before-sends", File: "resigned.go", Rule: "a Resigned looks at its time before it tells the voters",
		Old: `	for _, id := range m.resigned.Unacked {
		if !m.sendEndTo(id) {
			return
		}
	}
	switch {
`, New: `	for _, id := range m.resigned.Unacked {
		if m.dueKind(ElectionTimer) {
			break
		}
		if !m.sendEndTo(id) {
			return
		}
	}
	switch {
`,
	},
	{
		Name: "resigned-skips-an-epoch", File: "resigned.go", Rule: "a Resigned goes on by two epochs",
		Old: `m.becomeUnattached(m.epoch+1, NoNode)`, New: `m.becomeUnattached(m.epoch+2, NoNode)`,
	},
}

package mutants

var voteMutants = []Mutant{
	{
		Name: "vote-impossible-accepted", File: "vote.go", Rule: "a Vote that no candidate can send is judged like any other",
		Old: `if !e.isPossible() {`, New: `if false {`,
	},
	{
		Name: "vote-shape-after-epoch", File: "vote.go", Rule: "the epoch is fenced before the shape of a Vote is looked at",
		Old: `	if !e.isPossible() {
		m.replyVote(e, InvalidRequest, false)
		return
	}
	if err := m.checkVoterOnly(e.Candidate, e.CandidateEpoch); err != None {
		m.replyVote(e, err, false)
		return
	}
`, New: `	if err := m.checkVoterOnly(e.Candidate, e.CandidateEpoch); err != None {
		m.replyVote(e, err, false)
		return
	}
	if !e.isPossible() {
		m.replyVote(e, InvalidRequest, false)
		return
	}
`,
	},
	{
		Name: "vote-epoch-not-adopted", File: "vote.go", Rule: "a Vote of a higher epoch does not end the own one",
		Old: `if e.CandidateEpoch > m.epoch {`, New: `if false {`,
	},
	{
		Name: "prevote-epoch-not-adopted", File: "vote.go", Rule: "a PreVote of a higher epoch does not end the own one",
		Old: `if e.CandidateEpoch > m.epoch {`, New: `if e.CandidateEpoch > m.epoch && !e.PreVote {`,
	},
	{
		Name: "vote-key-before-epoch", File: "vote.go", Rule: "a Vote for another replica is refused before its epoch is adopted",
		Old: `	if e.CandidateEpoch > m.epoch {
		m.becomeUnattached(e.CandidateEpoch, NoNode)
	}
	if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
		m.replyVote(e, InvalidVoterKey, false)
		return
	}
`, New: `	if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
		m.replyVote(e, InvalidVoterKey, false)
		return
	}
	if e.CandidateEpoch > m.epoch {
		m.becomeUnattached(e.CandidateEpoch, NoNode)
	}
`,
	},
	{
		Name: "vote-key-unchecked", File: "vote.go", Rule: "a Vote for another replica is judged",
		Old: `if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {`, New: `if false {`,
	},
	{
		Name: "vote-key-with-invalid-request", File: "vote.go", Rule: "a Vote for another replica is answered INVALID_REQUEST",
		Old: `m.replyVote(e, InvalidVoterKey, false)`, New: `m.replyVote(e, InvalidRequest, false)`,
	},
	{
		Name: "vote-forgotten", File: "vote.go", Rule: "a granted vote is not remembered",
		Old: `if granted && !e.PreVote {`, New: `if false {`,
	},
	{
		Name: "prevote-remembered", File: "vote.go", Rule: "a granted PreVote is remembered as a vote",
		Old: `if granted && !e.PreVote {`, New: `if granted {`,
	},
	{
		Name: "vote-told-before-durable", File: "vote.go", Rule: "a vote is told before it is persisted",
		Old: `	if granted && !e.PreVote {
		m.addVote(candidate)
	}
	m.replyVote(e, None, granted)
`, New: `	m.replyVote(e, None, granted)
	if granted && !e.PreVote {
		m.addVote(candidate)
	}
`,
	},
	{
		Name: "vote-last-epoch-may-equal", File: "vote.go", Rule: "a candidate's last epoch may be its own epoch",
		Old: `return end.LastEpoch < e.CandidateEpoch`, New: `return end.LastEpoch <= e.CandidateEpoch`,
	},
	{
		Name: "prevote-last-epoch-below", File: "vote.go", Rule: "a prospective's last epoch must lie below its epoch",
		Old: `return end.LastEpoch <= e.CandidateEpoch`, New: `return end.LastEpoch < e.CandidateEpoch`,
	},
	{
		Name: "vote-negative-offset", File: "vote.go", Rule: "a negative last offset is accepted",
		Old: `if end.LastOffset < 0 || end.LastEpoch < 0 {`, New: `if end.LastEpoch < 0 {`,
	},
	{
		Name: "vote-only-to-longer-log", File: "vote.go", Rule: "an equal log is not up to date",
		Old: `candidate.Compare(m.endOffset()) >= 0`, New: `candidate.Compare(m.endOffset()) > 0`,
	},
	{
		Name: "vote-by-length-alone", File: "vote.go", Rule: "logs are compared by their length, not by epoch first",
		Old: `return candidate.Compare(m.endOffset()) >= 0`, New: `return candidate.LastOffset >= m.endOffset().LastOffset`,
	},
	{
		Name: "vote-by-epoch-alone", File: "vote.go", Rule: "logs are compared by their last epoch only",
		Old: `return candidate.Compare(m.endOffset()) >= 0`, New: `return candidate.LastEpoch >= m.endOffset().LastEpoch`,
	},
	{
		Name: "candidate-grants-votes", File: "vote.go", Rule: "a Candidate and a Resigned grant votes of their epoch",
		Old: `	case CandidateRole, ResignedRole:
		return preVote && upToDate
`, New: `	case CandidateRole, ResignedRole:
		return upToDate
`,
	},
	{
		Name: "resigned-refuses-prevotes", File: "vote.go", Rule: "a Resigned grants no PreVote",
		Old: `	case CandidateRole, ResignedRole:
`, New: `	case ResignedRole:
		return false
	case CandidateRole:
`,
	},
	{
		Name: "prevote-against-live-leader", File: "vote.go", Rule: "a follower grants PreVotes although its leader answers",
		Old: `return preVote && upToDate && !m.follower.FetchedFromLeader`, New: `return preVote && upToDate`,
	},
	{
		Name: "follower-refuses-prevotes", File: "vote.go", Rule: "a follower grants no PreVote, heard of its leader or not",
		Old: `return preVote && upToDate && !m.follower.FetchedFromLeader`, New: `return false`,
	},
	{
		Name: "leader-grants-prevotes", File: "vote.go", Rule: "a leader grants PreVotes of its epoch",
		Old: `	case LeaderRole:
	}
	return false
`, New: `	case LeaderRole:
		return preVote && upToDate
	}
	return false
`,
	},
	{
		Name: "vote-given-twice", File: "vote.go", Rule: "a second candidate of the epoch gets the vote too",
		Old: `return matches(voted, candidate)`, New: `return upToDate`,
	},
	{
		Name: "vote-again-needs-log", File: "vote.go", Rule: "the vote is given again only to an up-to-date log",
		Old: `return matches(voted, candidate)`, New: `return upToDate && matches(voted, candidate)`,
	},
	{
		Name: "vote-again-by-id", File: "vote.go", Rule: "the vote is given again to any directory of the id",
		Old: `return matches(voted, candidate)`, New: `return voted.ID == candidate.ID`,
	},
	{
		Name: "vote-despite-leader", File: "vote.go", Rule: "a vote is granted in an epoch whose leader is known",
		Old: `	case leader != NoNode:
		return false
`, New: ``,
	},
	{
		Name: "prevote-bound-by-vote", File: "vote.go", Rule: "a PreVote is granted only to whom the vote went",
		Old: `	case preVote:
		return upToDate
`, New: `	case preVote:
		return upToDate && (voted == NoReplica || matches(voted, candidate))
`,
	},
	{
		Name: "vote-keeps-election-timer", File: "vote.go", Rule: "a granted vote draws no new election timeout",
		Old: `	m.drawElectionTimeout()
	if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {
`, New: `	if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {
`,
	},
	{
		Name: "vote-keeps-tally", File: "vote.go", Rule: "a Prospective that grants a vote keeps its tally",
		Old: `if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {`, New: `if false {`,
	},
	{
		Name: "vote-not-persisted", File: "vote.go", Rule: "a vote is not written to the quorum state",
		Old: `	m.persist(QuorumState{Epoch: m.epoch, Leader: m.leaderID(), Voted: candidate})
`, New: ``,
	},
	{
		Name: "vote-persisted-before-draw", File: "vote.go", Rule: "the election timeout is drawn after the vote is persisted",
		Old: `	m.drawElectionTimeout()
	if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {
		return
	}
	m.persist(QuorumState{Epoch: m.epoch, Leader: m.leaderID(), Voted: candidate})
`, New: `	m.persist(QuorumState{Epoch: m.epoch, Leader: m.leaderID(), Voted: candidate})
	m.drawElectionTimeout()
	if m.kind == ProspectiveRole && !m.openElection(&m.prospective.Tally) {
		return
	}
`,
	},
	{
		Name: "vote-endpoint-late", File: "vote.go", Rule: "the leader's endpoint is named from Vote v2 on instead of v1",
		Old: `m.describe(&a.PartitionReply, e.Version, 1, e.Listener, err)`, New: `m.describe(&a.PartitionReply, e.Version, 2, e.Listener, err)`,
	},
}

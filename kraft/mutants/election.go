package mutants

// electionMutants are about counting votes, and about what wins or loses an election.
var electionMutants = []Mutant{
	{
		Name: "majority-half", File: "tally.go", Rule: "half of an even number of voters is a majority",
		Old: `return len(t)/2 + 1`, New: `return (len(t) + 1) / 2`,
	},
	{
		Name: "rejected-when-majority-possible", File: "tally.go", Rule: "an election is lost one refusal too early",
		Old: `return t.count(Granted)+t.count(Unrecorded) < t.majority()`, New: `return t.count(Granted)+t.count(Unrecorded) <= t.majority()`,
	},
	{
		Name: "rejected-by-majority-only", File: "tally.go", Rule: "an election is lost only when a majority has refused",
		Old: `return t.count(Granted)+t.count(Unrecorded) < t.majority()`, New: `return t.count(Rejected) >= t.majority()`,
	},
	{
		Name: "unanswered-counts-as-granted", File: "tally.go", Rule: "voters that have not answered count as granting",
		Old: `return t.count(Granted) >= t.majority()`, New: `return t.count(Granted)+t.count(Unrecorded) >= t.majority() && t.count(Granted) > 1`,
	},
	{
		Name: "prevote-unsupported-waits", File: "vote_response.go", Rule: "a voter that knows no PreVote does not let the Prospective go on",
		Old: `case e.Response.Error == UnsupportedVersion && m.kind == ProspectiveRole:`, New: `case false:`,
	},
	{
		Name: "vote-error-counts-as-answer", File: "vote_response.go", Rule: "a Vote answer with an error does not make the connection back off",
		Old: `	if e.PartitionAnswer.Error != None {
		return false
	}
	switch m.kind {
`, New: `	if e.PartitionAnswer.Error != None {
		return true
	}
	switch m.kind {
`,
	},
	{
		Name: "prevote-first-word-counts", File: "vote_response.go", Rule: "the first answer of a voter to a PreVote counts, not its last",
		Equivalent: "a voter is asked only while it has not answered (requestVotes), and at most one request to it is waited for; a tally that is begun anew knows no answers",
		Old: `	p := &m.prospective
	state := Rejected
`, New: `	p := &m.prospective
	if v := p.Tally.find(voter); v != nil && v.State != Unrecorded {
		return
	}
	state := Rejected
`,
	},
	{
		Name: "prevote-rejection-ignored", File: "vote_response.go", Rule: "a Prospective that a majority has refused goes on",
		Old: `	case !granted && p.Tally.IsRejected():
		m.losePreVote()
`, New: ``,
	},
	{
		Name: "prevote-rejection-by-candidate-rules", File: "vote_response.go", Rule: "a lost pre-vote always leads to Unattached",
		Old: `		m.losePreVote()
`, New: `		m.becomeUnattached(m.epoch, p.Leader)
`,
	},
	{
		Name: "vote-may-change", File: "vote_response.go", Rule: "a voter may change its mind within an epoch",
		Equivalent: "a voter is asked only while it has not answered (requestVotes), and at most one request to it is waited for, so that no voter answers a Candidate twice",
		Old:        `case vote.State == opposite:`, New: `case vote.State == opposite && false:`,
	},
	{
		Name: "election-loss-ignored", File: "vote_response.go", Until: "4.0", Rule: "a Candidate that a majority has refused does not back off",
		Old: `	case !granted && c.Tally.IsRejected():
		m.loseElection()
`, New: ``,
	},
	{
		Name: "prevote-loss-forgets-leader", File: "prospective.go", Rule: "a lost pre-vote does not lead back to the known leader",
		Old: `if p.Leader != NoNode && p.LeaderEndpoints.Len() > 0 {`, New: `if false {`,
	},
	{
		Name: "prevote-loss-needs-no-endpoints", File: "prospective.go", Rule: "a lost pre-vote leads back to a leader without endpoints",
		Old: `if p.Leader != NoNode && p.LeaderEndpoints.Len() > 0 {`, New: `if p.Leader != NoNode {`,
	},
	{
		Name: "prevote-loss-forgets-leader-id", File: "prospective.go", Rule: "an Unattached after a lost pre-vote knows no leader",
		Old: `m.becomeUnattached(m.epoch, p.Leader)`, New: `m.becomeUnattached(m.epoch, NoNode)`,
	},
	{
		Name: "votes-asked-after-rejection", File: "prospective.go", Rule: "votes are asked for although no majority can be reached",
		Old: `	if tally.IsRejected() {
		return
	}
`, New: ``,
	},
	{
		Name: "votes-asked-again", File: "prospective.go", Rule: "a voter that has refused is asked again",
		Old: `if tally[i].State != Unrecorded {`, New: `if tally[i].State == Granted {`,
	},
	{
		Name: "prospective-gives-up-in-shutdown", File: "prospective.go", Rule: "a Prospective gives up during a shutdown",
		Old: `	case m.shutdown:
		m.requestVotes(m.prospective.Tally, true)
		m.waitForKind(ShutdownTimer)
	case m.dueKind(ElectionTimer):
		m.losePreVote()
		m.waitAtMost(0)
`, New: `	case m.dueKind(ElectionTimer):
		m.losePreVote()
		m.waitAtMost(0)
	case m.shutdown:
		m.requestVotes(m.prospective.Tally, true)
		m.waitForKind(ShutdownTimer)
`,
	},
	{
		Name: "vote-names-voter-without-directory", File: "prospective.go", Rule: "a Vote names the voter by its id alone",
		Old: `a.Destination, a.Epoch, a.Candidate, a.Voter = to, m.epoch, m.selfKey(), voter`,
		New: `a.Destination, a.Epoch, a.Candidate, a.Voter = to, m.epoch, m.selfKey(), ReplicaKey{ID: voter.ID}`,
	},
	{
		Name: "candidate-never-backs-off", File: "candidate.go", Until: "4.0", Rule: "a losing Candidate asks on until its election timer",
		Old: `case m.candidate.BackingOff:`, New: `case false:`,
	},
	{
		Name: "candidate-backs-off-anew", File: "candidate.go", Until: "4.0", Rule: "each further refusal draws a new backoff",
		Old: `if m.cfg.Rules.ElectionBackoff == WaitForTimer || c.BackingOff {`, New: `if m.cfg.Rules.ElectionBackoff == WaitForTimer {`,
	},
	{
		Name: "candidate-backs-off-until-election-timer", File: "candidate.go", Until: "4.0", Rule: "the election timer ends a backoff",
		Old: `if !m.dueKind(ElectionBackoffTimer) {`, New: `if !m.dueKind(ElectionBackoffTimer) && !m.dueKind(ElectionTimer) {`,
	},
	{
		Name: "candidate-keeps-backing-off", File: "candidate.go", Since: "4.1", Rule: "a losing Candidate backs off as before KAFKA-18345",
		Old: `if m.cfg.Rules.ElectionBackoff == WaitForTimer || c.BackingOff {`, New: `if c.BackingOff {`,
	},
	{
		Name: "backoff-range-not-doubled", File: "candidate.go", Until: "4.0.0", Rule: "the first backoff is drawn from one value",
		Old: `return 0, 2 << min(20, retries-1)`, New: `return 0, 1 << min(20, retries-1)`,
	},
	{
		Name: "backoff-base-half", File: "candidate.go", Until: "4.0.0", Rule: "the unit of a backoff is 50 ms",
		Old: `return min(backoffFirstBaseMs*first, maxMs)`, New: `return min(backoffBaseMs*first, maxMs)`,
	},
	{
		Name: "backoff-may-be-zero", File: "candidate.go", Since: "4.0.1", Until: "4.0", Rule: "a backoff may be drawn as zero",
		Old: `return 1, 2 << min(10, retries-1)`, New: `return 0, 2 << min(10, retries-1)`,
	},
	{
		Name: "backoff-jitter-outside", File: "candidate.go", Since: "4.0.1", Until: "4.0", Rule: "the second draw widens every backoff, not the bound",
		Old: `return min(backoffBaseMs*first, maxMs+second)`, New: `return min(backoffBaseMs*first, maxMs) + second`,
	},
	{
		Name: "election-without-own-vote", File: "tally.go", Rule: "a candidate does not count its own vote",
		Old: `return t, t.record(self, Granted)`, New: `return t, t.find(self) != nil`,
	},
}

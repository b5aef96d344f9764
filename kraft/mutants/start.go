package mutants

// startMutants are about what a node makes of its disk, and about its shutdown.
var startMutants = []Mutant{
	{
		Name: "start-vote-before-leadership", File: "startup.go", Rule: "the own vote counts before the own leadership",
		Old: `	case self && stored.Leader == m.cfg.ID:
		m.startResigned(stored.Epoch)
	case self && stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):
		m.startCandidate(stored.Epoch)
`, New: `	case self && stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):
		m.startCandidate(stored.Epoch)
	case self && stored.Leader == m.cfg.ID:
		m.startResigned(stored.Epoch)
`,
	},
	{
		Name: "start-leader-before-vote", File: "startup.go", Rule: "a known leader counts before the own vote",
		Old: `	case self && stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):
		m.startCandidate(stored.Epoch)
	case stored.Leader != NoNode && endpoints.Len() > 0:
		m.startFollower(stored, endpoints)
`, New: `	case stored.Leader != NoNode && endpoints.Len() > 0:
		m.startFollower(stored, endpoints)
	case self && stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):
		m.startCandidate(stored.Epoch)
`,
	},
	{
		Name: "start-epoch-of-log", File: "startup.go", Rule: "a log of the same epoch makes the quorum state void",
		Old: `case stored.Epoch < lastEpoch:`, New: `case stored.Epoch <= lastEpoch:`,
	},
	{
		Name: "start-ignores-log-epoch", File: "startup.go", Rule: "a log of a later epoch is not looked at",
		Old: `case stored.Epoch < lastEpoch:`, New: `case false:`,
	},
	{
		Name: "start-leads-on", File: "startup.go", Rule: "a node that led before is Unattached after a restart",
		Old: `case self && stored.Leader == m.cfg.ID:`, New: `case false:`,
	},
	{
		Name: "start-not-persisted", File: "startup.go", Rule: "the quorum state is not written at the start",
		Old: `	m.persist(s)
	m.kind, m.epoch = kind, s.Epoch
`, New: `	m.kind, m.epoch = kind, s.Epoch
`,
	},
	{
		Name: "start-forgets-leader", File: "startup.go", Rule: "a node does not follow the leader of its quorum state",
		Old: `case stored.Leader != NoNode && endpoints.Len() > 0:`, New: `case false:`,
	},
	{
		Name: "start-forgets-vote", File: "startup.go", Rule: "an Unattached forgets its vote at the start",
		Old: `m.unattached = Unattached{Leader: s.Leader, Voted: s.Voted, HighWatermark: -1}`,
		New: `m.unattached = Unattached{Leader: s.Leader, Voted: NoReplica, HighWatermark: -1}`,
	},
	{
		Name: "start-follower-forgets-vote", File: "startup.go", Rule: "a Follower forgets its vote at the start",
		Old: `LeaderEndpoints: endpoints, Voted: s.Voted, HighWatermark: -1}`, New: `LeaderEndpoints: endpoints, Voted: NoReplica, HighWatermark: -1}`,
	},
	{
		Name: "start-resigned-without-timer", File: "startup.go", Rule: "a node that led before draws no election timeout",
		Old: `	m.drawElectionTimeout()
	m.openResigned(nil)
`, New: `	m.openResigned(nil)
`,
	},
	{
		Name: "start-only-voter-waits", File: "startup.go", Rule: "the only voter waits for its election timer",
		Old: `	case m.isOnlyVoter() && (m.kind == UnattachedRole || m.kind == FollowerRole || m.kind == ResignedRole):
		m.becomeProspective()
`, New: ``,
	},
	{
		Name: "start-vote-by-id", File: "startup.go", Rule: "a vote for the own id is an own vote, whatever its directory id",
		Old: `stored.Voted != NoReplica && matches(stored.Voted, m.selfKey()):`, New: `stored.Voted.ID == m.cfg.ID:`,
	},
	{
		Name: "start-knows-watermark", File: "startup.go", Rule: "a Follower knows the log's high watermark at the start",
		Old: `LeaderEndpoints: endpoints, Voted: s.Voted, HighWatermark: -1}`,
		New: `LeaderEndpoints: endpoints, Voted: s.Voted, HighWatermark: m.turn.log.HighWatermark}`,
	},
	{
		Name: "start-reads-log-anew", File: "startup.go", Rule: "the log counts as unread after a restart",
		Old: `	m.history.next = m.turn.log.End
`, New: `	m.history.next = m.turn.log.Start
`,
	},
	{
		Name: "shutdown-waits-for-time", File: "shutdown.go", Rule: "a shutdown does not end when another node leads",
		Old: ` && !remoteLeader {`, New: ` && (true || !remoteLeader) {`,
	},
	{
		Name: "shutdown-of-only-voter-waits", File: "shutdown.go", Rule: "the only voter waits for a successor",
		Old: ` && !m.isOnlyVoter() &&`, New: ` &&`,
	},
	{
		Name: "shutdown-of-observer-waits", File: "shutdown.go", Rule: "an observer waits for a leader before it ends",
		Old: `if !expired && m.isVoter() && !m.isOnlyVoter()`, New: `if !expired && !m.isOnlyVoter()`,
	},
	{
		Name: "shutdown-at-once", File: "shutdown.go", Rule: "a leader does not wait for a successor",
		Old: `remoteLeader := m.hasLeader() && m.leaderID() != m.cfg.ID`, New: `remoteLeader := m.hasLeader()`,
	},
	{
		Name: "shutdown-late-is-clean", File: "shutdown.go", Rule: "a shutdown that ran out of time counts as clean",
		Old: `.OK = !expired`, New: `.OK = true`,
	},
}

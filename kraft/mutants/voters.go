package mutants

// voterMutants are about dynamic quorums (KIP-853) and kraft.version.
var voterMutants = []Mutant{
	{
		Name: "add-voter-cluster-unchecked", File: "addvoter.go", Rule: "AddRaftVoter of another cluster is served",
		Old: `if !m.clusterIDMatches(e.ClusterID) {`, New: `if false {`,
	},
	{
		Name: "add-voter-needs-no-endpoint", File: "addvoter.go", Rule: "a new voter need not listen on the channel listener",
		Old: `|| !reachable {`, New: `|| !reachable && false {`,
	},
	{
		Name: "add-voter-needs-no-directory", File: "addvoter.go", Rule: "a new voter needs no directory id",
		Old: `e.Voter.ID < 0 || e.Voter.DirectoryID.IsZero() || !reachable`, New: `e.Voter.ID < 0 || !reachable`,
	},
	{
		Name: "add-voter-duplicate-by-key", File: "addvoter.go", Rule: "an id with another directory id is no duplicate",
		Old: `if m.history.lastVoters().Find(e.Voter.ID) != nil {`, New: `if m.history.lastVoters().IsVoter(e.Voter) {`,
	},
	{
		Name: "add-voter-duplicate-first", File: "addvoter.go", Rule: "a duplicate is looked for before what is pending",
		Old: `	if err := m.checkVoterChange(); err != None {
		m.replyAddVoter(e.ID, err, TextMessage)
		return
	}
	if m.history.lastVoters().Find(e.Voter.ID) != nil {
		m.replyAddVoter(e.ID, DuplicateVoter, TextMessage)
		return
	}
`, New: `	if m.history.lastVoters().Find(e.Voter.ID) != nil {
		m.replyAddVoter(e.ID, DuplicateVoter, TextMessage)
		return
	}
	if err := m.checkVoterChange(); err != None {
		m.replyAddVoter(e.ID, err, TextMessage)
		return
	}
`,
	},
	{
		Name: "add-voter-pending-unchecked", File: "addvoter.go", Rule: "a voter is added while another change is unfinished",
		Old: `if err := m.checkVoterChange(); err != None {`, New: `if err := m.checkVoterChange(); err == UnsupportedVersion {`,
	},
	{
		Name: "add-voter-timeout", File: "addvoter.go", Rule: "an addition may take a fetch timeout",
		Old: `m.resetKind(VoterChangeTimer, m.cfg.Timeouts.RequestMs)`, New: `m.resetKind(VoterChangeTimer, m.cfg.Timeouts.FetchMs)`,
	},
	{
		Name: "add-voter-busy-waits", File: "addvoter.go", Rule: "a new voter whose connection is busy is awaited",
		Old: `m.replyAddVoter(e.ID, RequestTimedOut, TextMessage)
		return
	}
	slot`, New: `m.replyAddVoter(e.ID, BrokerNotAvailable, TextMessage)
		return
	}
	slot`,
	},
	{
		Name: "add-voter-always-commits", File: "addvoter.go", Since: "4.2", Rule: "AddRaftVoter is answered only when committed",
		Old: `e.AckWhenCommitted || !m.cfg.Rules.AckWhenCommitted`, New: `true`,
	},
	{
		Name: "add-voter-version-unchecked", File: "addvoter.go", Rule: "a voter that does not support kraft.version is added",
		Old: `case !e.HasKRaftVersion || !e.KRaftVersions.Contains(m.history.kraftVersion()):`, New: `case !e.HasKRaftVersion:`,
	},
	{
		Name: "add-voter-behind", File: "addvoter.go", Rule: "a voter that has not caught up is added",
		Old: `case !m.isCaughtUp(c.Voter):`, New: `case false:`,
	},
	{
		Name: "add-voter-once-seen", File: "addvoter.go", Rule: "a voter that has fetched counts as caught up",
		Old: `r.LastCaughtUp > 0 && r.LastFetch > 0 &&`, New: `r.LastFetch > 0 &&`,
	},
	{
		Name: "caught-up-forever", File: "addvoter.go", Rule: "a voter that caught up hours ago counts as caught up",
		Old: ` && !m.due(Timer{Kind: CaughtUpTimer, Peer: key})`, New: ``,
	},
	{
		Name: "api-versions-of-anyone", File: "addvoter.go", Rule: "an ApiVersions answer of another node continues the addition",
		Old: `if c.Kind != AddChange || c.LastOffset >= 0 || c.Voter.ID != e.From {`, New: `if c.Kind != AddChange || c.LastOffset >= 0 {`,
	},
	{
		Name: "early-answer-ends-change", File: "addvoter.go", Since: "4.2", Rule: "an addition that was answered early is no longer pending",
		Old: `		c.Answered = true
`, New: `		m.leader.Change = VoterChange{}
`,
	},
	{
		Name: "api-versions-error-is-success", File: "addvoter.go", Rule: "an ApiVersions error does not make the connection back off",
		Old: `		m.endVoterChange(RequestTimedOut, TextMessage)
		return false
`, New: `		m.endVoterChange(RequestTimedOut, TextMessage)
		return true
`,
	},
	{
		Name: "remove-voter-by-id", File: "voterset.go", Rule: "a voter is removed by its id alone",
		Old: `if old == nil || old.Key != key || len(s.voters) == 1 {`, New: `if old == nil || len(s.voters) == 1 {`,
	},
	{
		Name: "remove-last-voter", File: "voterset.go", Rule: "the last voter can be removed",
		Old: `if old == nil || old.Key != key || len(s.voters) == 1 {`, New: `if old == nil || old.Key != key {`,
	},
	{
		Name: "remove-voter-pending-unchecked", File: "removevoter.go", Rule: "a voter is removed while another change is unfinished",
		Old: `if err := m.checkVoterChange(); err != None {`, New: `if err := m.checkVoterChange(); err == UnsupportedVersion {`,
	},
	{
		Name: "remove-voter-needs-no-directory", File: "removevoter.go", Rule: "a request to remove a voter without directory id is looked up",
		Old: `if e.Voter.ID < 0 || e.Voter.DirectoryID.IsZero() {`, New: `if e.Voter.ID < 0 {`,
	},
	{
		Name: "remove-voter-never-ends", File: "removevoter.go", Rule: "a removal may take forever",
		Old: `	m.resetKind(VoterChangeTimer, m.cfg.Timeouts.RequestMs)
`, New: ``,
	},
	{
		Name: "removed-leader-stays", File: "voterchange.go", Rule: "a leader that has removed itself stays",
		Old: `if removed && !m.isVoter() {`, New: `if false && removed {`,
	},
	{
		Name: "removed-leader-leaves-at-once", File: "voterchange.go", Rule: "a leader that has removed itself resigns within the turn",
		Old: `		m.leader.ResignRequested = true
`, New: `		m.becomeResigned(m.leader.successors(m.selfKey()))
`,
	},
	{
		Name: "change-committed-early", File: "voterchange.go", Rule: "a voter change is committed when the high watermark reaches its record",
		Old: `m.leader.HighWatermark <= c.LastOffset {`, New: `m.leader.HighWatermark < c.LastOffset {`,
	},
	{
		Name: "voter-set-committed-early", File: "voterchange.go", Rule: "a voter set at the high watermark is committed",
		Old: `at < m.leader.HighWatermark`, New: `at <= m.leader.HighWatermark`,
	},
	{
		Name: "change-before-first-commit", File: "voterchange.go", Rule: "kraft.version is looked at before a high watermark is known",
		Old: `case m.isVoterChangePending(), m.leader.HighWatermark < 0:`, New: `case m.isVoterChangePending():`,
	},
	{
		Name: "kraft-version-unchecked", File: "voterchange.go", Rule: "voters can be changed at kraft.version 0",
		Old: `	case !m.history.isReconfigSupported():
		return UnsupportedVersion
`, New: ``,
	},
	{
		Name: "voter-set-uncommitted", File: "voterchange.go", Rule: "voters can be changed while the last change is not committed",
		Old: `	case !m.isVoterSetCommitted():
		return RequestTimedOut
`, New: ``,
	},
	{
		Name: "change-answered-twice", File: "voterchange.go", Since: "4.2", Rule: "an addition that was answered early is answered again",
		Old: `	if c.Answered {
		return
	}
`, New: ``,
	},
	{
		Name: "success-has-a-text", File: "voterchange.go", Since: "4.2", Rule: "a successful voter change has a message",
		Old: `return NullMessage`, New: `return DefaultMessage`,
	},
	{
		Name: "expired-change-pending", File: "voterchange.go", Rule: "a voter change whose time has run out in this turn is still pending",
		Old: `	m.expireVoterChange()
	return m.leader.Change.Kind != NoChange
`, New: `	return m.leader.Change.Kind != NoChange
`,
	},
	{
		Name: "update-voter-uncommitted", File: "updatevoter.go", Rule: "a voter is updated while the last change is not committed",
		Old: `		if !m.isVoterSetCommitted() {
			return RequestTimedOut
		}
`, New: ``,
	},
	{
		Name: "update-voter-pending-unchecked", File: "updatevoter.go", Rule: "a voter is updated while a change is unfinished",
		Old: `case m.isVoterChangePending(), m.leader.HighWatermark < 0:`, New: `case m.leader.HighWatermark < 0:`,
	},
	{
		Name: "update-voter-before-first-commit", File: "updatevoter.go", Rule: "a voter is updated before a high watermark is known",
		Old: `case m.isVoterChangePending(), m.leader.HighWatermark < 0:`, New: `case m.isVoterChangePending():`,
	},
	{
		Name: "update-voter-version-unchecked", File: "updatevoter.go", Rule: "a voter may stop to support kraft.version",
		Old: `if !e.Versions.Contains(m.history.kraftVersion()) {`, New: `if false {`,
	},
	{
		Name: "update-voter-range-unchecked", File: "updatevoter.go", Rule: "a voter may support a negative version",
		Old: `		e.Versions.Min < 0 || e.Versions.Max < e.Versions.Min:
`, New: `		e.Versions.Max < e.Versions.Min:
`,
	},
	{
		Name: "update-voter-needs-no-endpoint", File: "updatevoter.go", Rule: "an updated voter need not listen on the channel listener",
		Old: `, !reachable,
`, New: `, !reachable && false,
`,
	},
	{
		Name: "update-voter-by-id", File: "updatevoter.go", Rule: "a voter is updated whatever its directory id is",
		Old: `m.history.lastVoters().Update(voter)`, New: `m.history.lastVoters().UpdateByID(voter)`,
	},
	{
		Name: "volatile-voter-by-key", File: "updatevoter.go", Since: "4.1", Rule: "at kraft.version 0 a voter keeps its first directory id",
		Old: `m.leader.VolatileVoters.UpdateByID(voter)`, New: `m.leader.VolatileVoters.Update(voter)`,
	},
	{
		Name: "update-voter-is-no-sign-of-life", File: "updatevoter.go", Since: "4.1", Rule: "UpdateRaftVoter does not count for check-quorum",
		Old: `		m.accountForCheckQuorum(e.Voter)
`, New: ``,
	},
	{
		Name: "update-voter-is-sign-early", File: "updatevoter.go", Until: "4.0", Rule: "UpdateRaftVoter counts for check-quorum before 4.1",
		Old: `	if m.cfg.Rules.UpgradeKRaftVersion {
		m.accountForCheckQuorum(e.Voter)
`, New: `	if true {
		m.accountForCheckQuorum(e.Voter)
`,
	},
	{
		Name: "update-sent-always", File: "updatevoter.go", Since: "4.1", Rule: "at kraft.version 0 a leader is told again each period",
		Old: `return m.cfg.Rules.UpgradeKRaftVersion && !m.follower.UpdatedLeader`, New: `return m.cfg.Rules.UpgradeKRaftVersion`,
	},
	{
		Name: "update-sent-at-version-0-early", File: "updatevoter.go", Until: "4.0", Rule: "a leader at kraft.version 0 is told before KAFKA-16538",
		Old: `return m.cfg.Rules.UpgradeKRaftVersion && !m.follower.UpdatedLeader`, New: `return !m.follower.UpdatedLeader`,
	},
	{
		Name: "update-timer-restarts-unsent", File: "updatevoter.go", Since: "4.1", Rule: "the update-voter timer starts anew although nothing was sent",
		Old: `restart = sent || !m.cfg.Rules.UpdateVoterRestartIfSent`, New: `restart = sent || true`,
	},
	{
		Name: "update-timer-waits-for-send", File: "updatevoter.go", Until: "4.0", Rule: "the update-voter timer starts anew only if something was sent",
		Old: `restart = sent || !m.cfg.Rules.UpdateVoterRestartIfSent`, New: `restart = sent`,
	},
	{
		Name: "update-unneeded-fetches-nothing", File: "updatevoter.go", Since: "4.1", Rule: "a follower that needs no update does not fetch in that turn",
		Old: `	case m.cfg.Rules.UpdateVoterRestartIfSent:
		m.fetchFromBestNode()
`, New: `	case m.cfg.Rules.UpdateVoterRestartIfSent:
`,
	},
	{
		Name: "update-answer-forgotten", File: "updatevoter.go", Since: "4.1", Rule: "an answered UpdateRaftVoter is not remembered",
		Old: `	m.follower.UpdatedLeader = true
`, New: ``,
	},
	{
		Name: "update-answer-is-no-sign-of-life", File: "updatevoter.go", Since: "4.1", Rule: "an UpdateRaftVoter answer does not start the fetch timer anew",
		Old: `	m.follower.UpdatedLeader = true
	m.noteAnswerFromLeader()
`, New: `	m.follower.UpdatedLeader = true
`,
	},
	{
		Name: "update-unsupported-is-failure", File: "updatevoter.go", Since: "4.1", Rule: "UNSUPPORTED_VERSION to an UpdateRaftVoter is a failure",
		Old: `if e.Error != None && e.Error != UnsupportedVersion {`, New: `if e.Error != None {`,
	},
	{
		Name: "update-endpoint-inverted", File: "updatevoter.go", Since: "4.1", Rule: "the endpoint of an UpdateRaftVoter answer counts where it is empty",
		Old: `(e.LeaderEndpoint.Host != "") == m.cfg.Rules.UpdateVoterEndpoint`, New: `e.LeaderEndpoint.Host == ""`,
	},
	{
		Name: "update-period", File: "updatevoter.go", Rule: "the update-voter timer runs for two fetch timeouts",
		Old: `return n * m.cfg.Timeouts.FetchMs`, New: `return 2 * m.cfg.Timeouts.FetchMs`,
	},
	{
		Name: "upgrade-validated-only-written", File: "upgrade.go", Since: "4.1", Rule: "an upgrade that should only be checked is written",
		Old: `if needed && !e.ValidateOnly {`, New: `if needed {`,
	},
	{
		Name: "upgrade-without-voters", File: "upgrade.go", Since: "4.1", Rule: "the voters are not written with the new kraft.version",
		Old: `!voters.Equal(m.history.lastVoters()) {`, New: `false && !voters.Equal(m.history.lastVoters()) {`,
	},
	{
		Name: "upgrade-requested-twice", File: "upgrade.go", Since: "4.1", Rule: "a requested upgrade is not remembered",
		Old: `		m.leader.RequestedVersion = e.Version
`, New: ``,
	},
	{
		Name: "upgrade-unsupported", File: "upgrade.go", Since: "4.1", Rule: "kraft.version is raised although a voter does not support it",
		Old: `	case !l.VolatileVoters.Supports(e.Version):
		return InvalidUpgrade, false
`, New: ``,
	},
	{
		Name: "upgrade-of-old-epoch", File: "upgrade.go", Since: "4.1", Rule: "an upgrade for an earlier epoch is accepted",
		Old: `case m.kind != LeaderRole || e.Epoch < m.epoch:`, New: `case m.kind != LeaderRole:`,
	},
	{
		Name: "downgrade-accepted", File: "upgrade.go", Since: "4.1", Rule: "a lower kraft.version is accepted and nothing happens",
		Old: `case e.Version == current:`, New: `case e.Version <= current:`,
	},
	{
		Name: "former-self-stays", File: "autojoin.go", Since: "4.2", Rule: "a controller joins although its former self is a voter",
		Old: `if former != nil {`, New: `if false && former != nil {`,
	},
	{
		Name: "join-repeated-at-once", File: "autojoin.go", Since: "4.2", Rule: "a request to join does not start the update-voter timer",
		Old: `= to, m.selfKey(), m.cfg.Endpoints, m.cfg.Timeouts.RequestMs
	}
	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
`, New: `= to, m.selfKey(), m.cfg.Endpoints, m.cfg.Timeouts.RequestMs
	}
`,
	},
	{
		Name: "join-unneeded-is-failure", File: "autojoin.go", Since: "4.2", Rule: "DUPLICATE_VOTER makes the connection back off",
		Old: ` && err != notNeeded {`, New: ` {`,
	},
	{
		Name: "join-timeout-is-failure", File: "autojoin.go", Since: "4.2", Rule: "REQUEST_TIMED_OUT of a join makes the connection back off",
		Old: `err != None && err != RequestTimedOut && err`, New: `err != None && err`,
	},
	{
		Name: "join-answer-keeps-timer", File: "autojoin.go", Since: "4.2", Rule: "the answer to a join does not start the update-voter timer anew",
		Old: `	m.resetKind(UpdateVoterTimer, m.updateVoterPeriodMs())
	return true
`, New: `	return true
`,
	},
	{
		Name: "join-without-permission", File: "follower.go", Since: "4.2", Rule: "a controller joins although auto-join is not enabled",
		Old: `case m.cfg.Rules.AutoJoin && m.cfg.AutoJoin && m.cfg.CanBecomeVoter &&`, New: `case m.cfg.Rules.AutoJoin && m.cfg.CanBecomeVoter &&`,
	},
	{
		Name: "join-of-broker", File: "follower.go", Since: "4.2", Rule: "a node that can never be a voter joins",
		Old: `m.cfg.AutoJoin && m.cfg.CanBecomeVoter && m.history`, New: `m.cfg.AutoJoin && m.history`,
	},
	{
		Name: "join-at-version-0", File: "follower.go", Since: "4.2", Rule: "a controller joins at kraft.version 0",
		Old: `m.cfg.CanBecomeVoter && m.history.isReconfigSupported() &&`, New: `m.cfg.CanBecomeVoter &&`,
	},
	{
		Name: "voter-match-exact", File: "voterset.go", Rule: "a voter without directory id matches only a replica without one",
		Old: `k.ID == presented.ID && (k.DirectoryID.IsZero() || k.DirectoryID == presented.DirectoryID)`,
		New: `*k == *presented`,
	},
	{
		Name: "voter-match-absent", File: "voterset.go", Rule: "a replica without directory id matches any voter of its id",
		Old: `(k.DirectoryID.IsZero() || k.DirectoryID == presented.DirectoryID)`,
		New: `(k.DirectoryID.IsZero() || presented.DirectoryID.IsZero() || k.DirectoryID == presented.DirectoryID)`,
	},
	{
		Name: "update-ignores-versions", File: "voterset.go", Rule: "a voter whose supported versions have changed needs no update",
		Old: `v.Key == o.Key && v.Versions == o.Versions && v`, New: `v.Key == o.Key && v`,
	},
	{
		Name: "update-ignores-endpoints", File: "voterset.go", Rule: "a voter whose endpoints have changed needs no update",
		Old: `v.Versions == o.Versions && v.Endpoints.Equal(o.Endpoints)`, New: `v.Versions == o.Versions`,
	},
}

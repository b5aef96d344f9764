package mutants

// leaderMutants are about how a leader counts, keeps and leaves its office.
var leaderMutants = []Mutant{
	{
		Name: "high-watermark-at-epoch-start", File: "highwatermark.go", Rule: "a majority at the epoch's start offset commits what earlier epochs wrote",
		Old: `offset <= l.EpochStart ||`, New: `offset < l.EpochStart ||`,
	},
	{
		Name: "high-watermark-of-old-epochs", File: "highwatermark.go", Rule: "a leader commits records of earlier epochs by counting",
		Old: `offset <= l.EpochStart ||`, New: `offset < 0 ||`,
	},
	{
		Name: "high-watermark-falls", File: "highwatermark.go", Rule: "a leader's high watermark follows a majority downwards",
		Old: `offset <= l.HighWatermark {`, New: `offset == l.HighWatermark {`,
	},
	{
		Name: "commit-by-half", File: "highwatermark.go", Rule: "half of an even number of voters commits",
		Old: `middle := len(voters) / 2`, New: `middle := (len(voters) - 1) / 2`,
	},
	{
		Name: "commit-by-all", File: "highwatermark.go", Rule: "a record is committed when all voters hold it",
		Old: `middle := len(voters) / 2`, New: `middle := len(voters) - 1`,
	},
	{
		Name: "observers-commit", File: "highwatermark.go", Rule: "observers count for the high watermark",
		Old: `offset := committable(l.Voters)`, New: `offset := committable(append(append([]Replica{}, l.Voters...), l.Observers...))`,
	},
	{
		Name: "parked-before-voter-change", File: "highwatermark.go", Since: "4.1", Rule: "parked Fetches are answered before a committed voter change",
		Old: `	m.finishVoterChange()
	if m.cfg.Rules.FetchHighWatermark {
		m.completeParked(noOffset)
	}
`, New: `	if m.cfg.Rules.FetchHighWatermark {
		m.completeParked(noOffset)
	}
	m.finishVoterChange()
`,
	},
	{
		Name: "parked-wait-for-records", File: "highwatermark.go", Since: "4.1", Rule: "a rising high watermark does not answer parked Fetches",
		Old: `if m.cfg.Rules.FetchHighWatermark {`, New: `if false {`,
	},
	{
		Name: "parked-answered-by-watermark", File: "highwatermark.go", Until: "4.0", Rule: "a rising high watermark answers parked Fetches before KIP-1166",
		Old: `if m.cfg.Rules.FetchHighWatermark {`, New: `if true {`,
	},
	{
		Name: "watermark-told-late", File: "highwatermark.go", Rule: "a committed voter change is answered before the log knows the high watermark",
		Old: `	m.advanceHighWatermark(m.leader.HighWatermark)
	m.finishVoterChange()
`, New: `	m.finishVoterChange()
	m.advanceHighWatermark(m.leader.HighWatermark)
`,
	},
	{
		Name: "only-voter-checks-quorum", File: "leader.go", Rule: "the only voter resigns when nobody fetches",
		Old: `checkQuorum := len(l.Voters) != 1`, New: `checkQuorum := true`,
	},
	{
		Name: "quorum-unchecked", File: "leader.go", Rule: "a leader stays although no majority fetches",
		Old: `checkQuorum := len(l.Voters) != 1`, New: `checkQuorum := false`,
	},
	{
		Name: "check-quorum-after-append", File: "leader.go", Rule: "a leader that has lost its majority still writes what is due",
		Old: `	m.expireVoterChange()
	if l.Change.Kind != NoChange {
		m.waitForKind(VoterChangeTimer)
	}
	m.appendDueBatches()
	m.sendBeginQuorumEpoch()
`, New: `	m.expireVoterChange()
	if l.Change.Kind != NoChange {
		m.waitForKind(VoterChangeTimer)
	}
	m.sendBeginQuorumEpoch()
	m.appendDueBatches()
`,
	},
	{
		Name: "voter-change-expires-late", File: "leader.go", Rule: "a voter change that took too long is ended only by the next one",
		Old: `	m.expireVoterChange()
	if l.Change.Kind`, New: `	if l.Change.Kind`,
	},
	{
		Name: "voter-change-does-not-wake", File: "leader.go", Rule: "a leader does not wake for the voter change's timer",
		Old: `	if l.Change.Kind != NoChange {
		m.waitForKind(VoterChangeTimer)
	}
`, New: ``,
	},
	{
		Name: "leadership-announced-late", File: "leader.go", Rule: "the leadership is announced only after half a fetch timeout",
		Old: `m.resetKind(BeginQuorumEpochTimer, 0)`, New: `m.resetKind(BeginQuorumEpochTimer, m.cfg.Timeouts.FetchMs/2)`,
	},
	{
		Name: "silence-is-a-fetch-timeout", File: "leader.go", Since: "4.2", Rule: "a voter counts as silent only after a whole fetch timeout",
		Old: `r.LastFetch+Instant(m.cfg.Timeouts.FetchMs/2)`, New: `r.LastFetch+Instant(m.cfg.Timeouts.FetchMs)`,
	},
	{
		Name: "leader-acknowledges-nobody", File: "leader.go", Rule: "a leader does not count itself as knowing the leader",
		Old: `r.Acknowledged = v.Matches(m.selfKey())`, New: `r.Acknowledged = false`,
	},
	{
		Name: "granting-voters-are-all", File: "leader.go", Rule: "LeaderChange names voters as granting that have not answered",
		Old: `if v.State == Granted {`, New: `if v.State != Rejected {`,
	},
	{
		Name: "leader-inherits-high-watermark", File: "leader.go", Rule: "a leader begins with the high watermark that it knew as a follower",
		Old: `EpochStart: end, HighWatermark: -1,`, New: `EpochStart: end, HighWatermark: m.candidate.HighWatermark,`,
	},
	{
		Name: "own-description-forgotten", File: "leader.go", Since: "4.1", Rule: "at kraft.version 0 a leader does not update its own voter description",
		Old: `l.VolatileVoters, l.HasVolatileVoters = voters.UpdateByID(m.selfVoter())`, New: `l.VolatileVoters, l.HasVolatileVoters = voters, true`,
	},
	{
		Name: "bootstrap-voters-not-written", File: "leader.go", Rule: "the first leader does not write the voters of the bootstrap checkpoint",
		Old: `if at == bootstrapOffset || voters.NeedsUpdate(m.selfVoter()) {`, New: `if voters.NeedsUpdate(m.selfVoter()) {`,
	},
	{
		Name: "own-entry-not-written", File: "leader.go", Rule: "a new leader does not write its changed voter description",
		Old: `if at == bootstrapOffset || voters.NeedsUpdate(m.selfVoter()) {`, New: `if at == bootstrapOffset {`,
	},
	{
		Name: "voters-before-version", File: "leader.go", Rule: "the Voters record comes before the KRaftVersion record",
		Old: `				ControlRecord{Type: KRaftVersionRecord, KRaftVersion: m.history.kraftVersion()},
				ControlRecord{Type: VotersRecord, Voters: updated})
`, New: `				ControlRecord{Type: VotersRecord, Voters: updated},
				ControlRecord{Type: KRaftVersionRecord, KRaftVersion: m.history.kraftVersion()})
`,
	},
	{
		Name: "resign-of-old-epoch-refused", File: "leader.go", Rule: "a request to resign from an earlier epoch is an error",
		Old: `	case e.Epoch < m.epoch:
	case m.leaderID()`, New: `	case e.Epoch < m.epoch:
		slot(m, &m.turn.out.refused).Reason = NotLeader
	case m.leaderID()`,
	},
	{
		Name: "resign-at-once", File: "leader.go", Rule: "a leader that is asked to resign does not wait for its turn",
		Old: `		m.leader.ResignRequested = true
		m.wakeUp()
`, New: `		m.becomeResigned(m.leader.successors(m.selfKey()))
`,
	},
	{
		Name: "resign-ignored", File: "leader.go", Rule: "a leader that is asked to resign stays",
		Old: `if m.shutdown || l.ResignRequested || checkQuorum`, New: `if m.shutdown || checkQuorum`,
	},
	{
		Name: "check-quorum-period", File: "checkquorum.go", Rule: "check-quorum runs for one fetch timeout",
		Old: `int32(int64(m.cfg.Timeouts.FetchMs)*3/2)`, New: `m.cfg.Timeouts.FetchMs`,
	},
	{
		Name: "check-quorum-by-half", File: "checkquorum.go", Rule: "half of an even number of voters keeps the leader in office",
		Old: `needed := len(l.Voters)/2 + 1`, New: `needed := (len(l.Voters) + 1) / 2`,
	},
	{
		Name: "check-quorum-counts-leader-always", File: "checkquorum.go", Rule: "a leader counts for its quorum although it is no voter any more",
		Old: `	if l.voter(m.cfg.ID) != nil {
		needed--
	}
`, New: `	needed--
`,
	},
	{
		Name: "check-quorum-without-leader", File: "checkquorum.go", Rule: "a leader does not count for its quorum",
		Old: `	if l.voter(m.cfg.ID) != nil {
		needed--
	}
`, New: ``,
	},
	{
		Name: "check-quorum-by-id", File: "checkquorum.go", Rule: "a replica with another directory id counts as the voter of its id",
		Old: `if isVoter && !contains(l.FetchedVoters, id) {`, New: `if l.voter(id) != nil && !contains(l.FetchedVoters, id) {`,
	},
	{
		Name: "check-quorum-by-anyone", File: "checkquorum.go", Rule: "observers count for the quorum",
		Old: `if isVoter && !contains(l.FetchedVoters, id) {`, New: `if id >= 0 && !contains(l.FetchedVoters, id) {`,
	},
	{
		Name: "check-quorum-signs-kept", File: "checkquorum.go", Rule: "signs of life count again for the next period",
		Old: `		l.FetchedVoters = l.FetchedVoters[:0]
`, New: ``,
	},
	{
		Name: "own-id-fetches", File: "checkquorum.go", Rule: "a sign of life under the leader's own id is taken",
		Old: `	if key.ID == m.cfg.ID {
		m.fatal(FatalFetchFromLeader)
		return
	}
`, New: ``,
	},
	{
		Name: "successors-shortest-first", File: "successors.go", Rule: "the successor with the shortest log comes first",
		Old: `cmp.Compare(b.End, a.End)`, New: `cmp.Compare(a.End, b.End)`,
	},
	{
		Name: "successors-tie-by-higher-id", File: "successors.go", Rule: "of two equal logs the higher id comes first",
		Old: `cmp.Or(cmp.Compare(b.End, a.End), compareKeys(a.Key, b.Key))`, New: `cmp.Or(cmp.Compare(b.End, a.End), compareKeys(b.Key, a.Key))`,
	},
	{
		Name: "successors-include-leader", File: "successors.go", Rule: "a resigning leader names itself",
		Old: `if !matches(l.Voters[i].Key, self) {`, New: `if true {`,
	},
	{
		Name: "begin-to-all", File: "begin.go", Since: "4.2", Rule: "BeginQuorumEpoch goes to voters that fetch as well",
		Old: `if m.cfg.Rules.BeginOnlyToSilent {`, New: `if false {`,
	},
	{
		Name: "begin-only-to-silent-early", File: "begin.go", Until: "4.1", Rule: "BeginQuorumEpoch goes to voters that have never fetched only, before KAFKA-16926",
		Old: `if m.cfg.Rules.BeginOnlyToSilent {`, New: `if true {`,
	},
	{
		Name: "begin-only-to-unseen", File: "begin.go", Since: "4.2", Rule: "a voter that has become silent is not told of its leader",
		Old: `m.due(Timer{SilenceTimer, v.Key}) || contains(m.turn.silent, v.Key.ID)`, New: `contains(m.turn.silent, v.Key.ID)`,
	},
	{
		Name: "begin-not-to-unseen", File: "begin.go", Since: "4.2", Rule: "a voter that has never fetched is not told of its leader",
		Old: `v.LastFetch < 0 || m.due(`, New: `m.due(`,
	},
	{
		Name: "begin-adopted-silence-lost", File: "begin.go", Since: "4.2", Rule: "a silent voter whose key is completed in the turn is not told",
		Old: `|| contains(m.turn.silent, v.Key.ID) {`, New: `{`,
	},
	{
		Name: "begin-period", File: "begin.go", Rule: "the leadership is announced once per fetch timeout",
		Old: `m.resetKind(BeginQuorumEpochTimer, m.cfg.Timeouts.FetchMs/2)`, New: `m.resetKind(BeginQuorumEpochTimer, m.cfg.Timeouts.FetchMs)`,
	},
	{
		Name: "begin-to-itself", File: "begin.go", Rule: "a leader that has not fetched from itself announces itself to itself",
		Old: `	if voter.ID == m.cfg.ID {
		return
	}
`, New: ``,
	},
	{
		Name: "begin-answer-not-noted", File: "begin.go", Rule: "an answered BeginQuorumEpoch is not noted",
		Old: `r.Acknowledged = true`, New: `_ = r`,
	},
	{
		Name: "begin-names-one-listener", File: "begin.go", Rule: "BeginQuorumEpoch names only the channel listener",
		Old: `= to, m.epoch, m.cfg.ID, voter, m.cfg.Endpoints
`, New: `= to, m.epoch, m.cfg.ID, voter, m.knownEndpoints(m.cfg.ID, true, address)
`,
	},
}

package mutants

// followerMutants are about what a follower asks for and how it takes the answers.
var followerMutants = []Mutant{
	{
		Name: "fetch-error-before-role", File: "fetch_response.go", Rule: "a Fetch answer with an error does not end a process that is no Follower",
		Old: `	if m.kind != FollowerRole {
		m.fatal(FatalUnexpectedRole)
		return false
	}
	if e.PartitionAnswer.Error != None {
		return false
	}
`, New: `	if e.PartitionAnswer.Error != None {
		return false
	}
	if m.kind != FollowerRole {
		m.fatal(FatalUnexpectedRole)
		return false
	}
`,
	},
	{
		Name: "fetch-error-is-success", File: "fetch_response.go", Rule: "a Fetch answer with an error shows that the leader is alive",
		Old: `	if e.PartitionAnswer.Error != None {
		return false
	}
	switch {
`, New: `	if e.PartitionAnswer.Error != None {
		m.noteAnswerFromLeader()
		return false
	}
	switch {
`,
	},
	{
		Name: "snapshot-id-half-taken", File: "fetch_response.go", Rule: "half a snapshot id begins a download",
		Old: `		if e.Snapshot.Epoch < 0 || e.Snapshot.Offset < 0 {
			return false
		}
`, New: ``,
	},
	{
		Name: "watermark-before-append", File: "fetch_response.go", Rule: "the high watermark is taken over before the records are written",
		Old: `		m.appendFetched(e)
		m.followHighWatermark(e.HighWatermark)
`, New: `		m.followHighWatermark(e.HighWatermark)
		m.appendFetched(e)
`,
	},
	{
		Name: "fetch-answer-is-no-sign-of-life", File: "fetch_response.go", Rule: "a Fetch answer does not start the fetch timer anew",
		Old: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.follower.FetchedFromLeader = true
`, New: `	m.follower.FetchedFromLeader = true
`,
	},
	{
		Name: "leader-never-heard-of", File: "fetch_response.go", Rule: "a follower does not remember that its leader has answered",
		Old: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.follower.FetchedFromLeader = true
`, New: `	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
`,
	},
	{
		Name: "empty-answer-is-no-sign-of-life", File: "fetch_response.go", Rule: "only records show that the leader is alive",
		Old: `		m.followHighWatermark(e.HighWatermark)
	}
	m.noteAnswerFromLeader()
`, New: `		m.followHighWatermark(e.HighWatermark)
		if e.RecordsSize == 0 {
			return true
		}
	}
	m.noteAnswerFromLeader()
`,
	},
	{
		Name: "truncation-at-watermark-refused", File: "fetch_response.go", Rule: "a truncation to the high watermark ends the process",
		Old: `diverging.Offset < hw {`, New: `diverging.Offset <= hw {`,
	},
	{
		Name: "voters-survive-truncation", File: "fetch_response.go", Rule: "a truncated Voters record stays in force",
		Old: `	m.history.truncateNew(target)
`, New: ``,
	},
	{
		Name: "truncation-takes-leaders-end", File: "fetch_response.go", Rule: "a follower truncates to the end that the leader names",
		Old: `target := log.TruncationPoint(diverging)`, New: `target := min(diverging.Offset, log.End)`,
	},
	{
		Name: "observer-flushes", File: "fetch_response.go", Rule: "a node that can never be a voter flushes",
		Old: `if m.isVoter() || m.cfg.CanBecomeVoter {`, New: `if true {`,
	},
	{
		Name: "observing-controller-does-not-flush", File: "fetch_response.go", Rule: "a controller that is no voter does not flush",
		Old: `if m.isVoter() || m.cfg.CanBecomeVoter {`, New: `if m.isVoter() {`,
	},
	{
		Name: "follower-does-not-flush", File: "fetch_response.go", Rule: "a follower does not flush what it appends",
		Old: `if m.isVoter() || m.cfg.CanBecomeVoter {`, New: `if false {`,
	},
	{
		Name: "dropped-records-not-flushed", File: "fetch_response.go", Since: "4.0.1", Rule: "the log is not flushed when records are dropped",
		Old: `if m.isVoter() || m.cfg.CanBecomeVoter {`, New: `if fine && (m.isVoter() || m.cfg.CanBecomeVoter) {`,
	},
	{
		Name: "corrupt-records-end-process", File: "fetch_response.go", Since: "4.0.1", Rule: "corrupt records end the process as in 4.0.0",
		Old: `} else if !m.cfg.Rules.DropNewerEpochBatches {`, New: `} else if true {`,
	},
	{
		Name: "corrupt-records-dropped-early", File: "fetch_response.go", Until: "4.0.0", Rule: "corrupt records are dropped before KAFKA-18723",
		Old: `} else if !m.cfg.Rules.DropNewerEpochBatches {`, New: `} else if false {`,
	},
	{
		Name: "newer-epoch-taken", File: "fetch_response.go", Since: "4.0.1", Rule: "batches of a newer epoch are appended",
		Old: `if m.cfg.Rules.DropNewerEpochBatches && b.Epoch > m.epoch {`, New: `if false && b.Epoch > m.epoch {`,
	},
	{
		Name: "newer-epoch-dropped-early", File: "fetch_response.go", Until: "4.0.0", Rule: "batches of a newer epoch are dropped before KAFKA-18723",
		Old: `if m.cfg.Rules.DropNewerEpochBatches && b.Epoch > m.epoch {`, New: `if b.Epoch > m.epoch {`,
	},
	{
		Name: "fault-behind-newer-epoch", File: "fetch_response.go", Since: "4.0.1", Rule: "a fault behind a batch of a newer epoch drops the good batches too",
		Old: `!stopped && e.Fault == BatchCorrupt, e`, New: `(stopped || true) && e.Fault == BatchCorrupt, e`,
	},
	{
		Name: "old-records-accepted", File: "fetch_response.go", Rule: "a batch that begins below the log end is appended",
		Old: `	case e.Batches[0].Base < m.turn.log.End:
		m.fatal(FatalUnexpectedOffset)
`, New: ``,
	},
	{
		Name: "gap-refused", File: "fetch_response.go", Rule: "a batch that begins beyond the log end ends the process",
		Old: `case e.Batches[0].Base < m.turn.log.End:`, New: `case e.Batches[0].Base != m.turn.log.End:`,
	},
	{
		Name: "fetched-control-records-ignored", File: "fetch_response.go", Rule: "a follower does not read the control records that it appends",
		Old: `if !m.history.read(batches[i].Base, batches[i].Last, batches[i].Control) {`, New: `if !m.history.read(batches[i].Base, batches[i].Last, nil) {`,
	},
	{
		Name: "follower-watermark-beyond-log", File: "highwatermark.go", Rule: "a follower's high watermark may lie beyond its log",
		Old: `f, offset := &m.follower, min(m.turn.log.End, leaders)`, New: `f, offset := &m.follower, leaders`,
	},
	{
		Name: "follower-watermark-may-fall", File: "highwatermark.go", Rule: "a lower high watermark is ignored",
		Old: `		m.fatal(FatalHighWatermarkFell)
`, New: ``,
	},
	{
		Name: "fetch-tells-log-watermark", File: "fetch_send.go", Since: "4.1", Rule: "a Fetch carries the log's high watermark, which is known after a restart",
		Old: `a.HighWatermark = m.highWatermark()`, New: `a.HighWatermark = m.turn.log.HighWatermark`,
	},
	{
		Name: "fetch-tells-own-epoch", File: "fetch_send.go", Rule: "a Fetch names the own epoch as the last fetched one",
		Old: `lastEpoch := m.lastEpoch()`, New: `lastEpoch := m.epoch`,
	},
	{
		Name: "snapshot-fetch-size-of-fetch", File: "fetch_send.go", Since: "4.3", Rule: "FetchSnapshot asks for the size that is configured for Fetch",
		Old: `a.MaxBytes = m.cfg.FetchSnapshotMaxBytes`, New: `a.MaxBytes = m.cfg.FetchMaxBytes`,
	},
	{
		Name: "held-snapshot-fetched", File: "snapshotfetch.go", Rule: "a snapshot that the node holds is fetched again",
		Old: `held := m.turn.log.FindSnapshot(id); held {`, New: `held := m.turn.log.FindSnapshot(id); held && false {`,
	},
	{
		Name: "snapshot-position-kept", File: "snapshotfetch.go", Rule: "another snapshot goes on at the position of the one before",
		Old: `f.Fetching, f.FetchingSnapshot, f.FetchedBytes = true, id, 0`, New: `f.Fetching, f.FetchingSnapshot = true, id`,
	},
	{
		Name: "snapshot-not-found-is-failure", File: "snapshotfetch.go", Rule: "SNAPSHOT_NOT_FOUND makes the connection back off",
		Old: `		m.dropSnapshotFetch()
		m.noteAnswerFromLeader()
		return true
	case err`, New: `		m.dropSnapshotFetch()
		return false
	case err`,
	},
	{
		Name: "snapshot-not-found-goes-on", File: "snapshotfetch.go", Rule: "SNAPSHOT_NOT_FOUND does not end the download",
		Old: `		m.dropSnapshotFetch()
		m.noteAnswerFromLeader()
		return true
	case err`, New: `		m.noteAnswerFromLeader()
		return true
	case err`,
	},
	{
		Name: "snapshot-error-ignored", File: "snapshotfetch.go", Since: "4.1", Rule: "an error in a FetchSnapshot answer is not looked at",
		Old: `case err != None && m.cfg.Rules.FetchSnapshotErrors:`, New: `case false:`,
	},
	{
		Name: "snapshot-error-early", File: "snapshotfetch.go", Until: "4.0", Rule: "an error in a FetchSnapshot answer is a failure before 4.1",
		Old: `case err != None && m.cfg.Rules.FetchSnapshotErrors:`, New: `case err != None:`,
	},
	{
		Name: "snapshot-piece-anywhere", File: "snapshotfetch.go", Rule: "a piece that does not continue the download is ignored",
		Old: `		m.fatal(FatalUnexpectedSnapshot)
`, New: ``,
	},
	{
		Name: "snapshot-leaves-watermark", File: "snapshotfetch.go", Rule: "a downloaded snapshot does not raise the high watermark",
		Old: `	m.followHighWatermark(log.HighWatermark)
`, New: ``,
	},
	{
		Name: "snapshot-voters-ignored", File: "snapshotfetch.go", Rule: "the control records of a downloaded snapshot are not read",
		Old: `if !m.history.load(e.SnapshotID, log.Start, &e.Contents) {`, New: `if false {`,
	},
	{
		Name: "snapshot-piece-is-no-sign-of-life", File: "snapshotfetch.go", Rule: "a piece of a snapshot does not start the fetch timer anew",
		Old: `		m.installSnapshot(e)
	}
	m.noteAnswerFromLeader()
`, New: `		m.installSnapshot(e)
	}
`,
	},
	{
		Name: "fetch-timeout-after-update", File: "follower.go", Rule: "a due update comes before the fetch timeout",
		Old: `	case m.dueKind(FetchTimer):
		m.becomeProspective()
		m.waitAtMost(0)
	case m.dueKind(UpdateVoterTimer):
		m.actUpdateVoter()
`, New: `	case m.dueKind(UpdateVoterTimer):
		m.actUpdateVoter()
	case m.dueKind(FetchTimer):
		m.becomeProspective()
		m.waitAtMost(0)
`,
	},
	{
		Name: "observer-keeps-leader-early", File: "follower.go", Until: "4.1", Rule: "an observer asks its leader after a fetch timeout before KAFKA-19354",
		Old: `	if !m.cfg.Rules.ObserverKeepsLeader {
`, New: `	if false {
`,
	},
	{
		Name: "observer-leaves-leader", File: "follower.go", Since: "4.2", Rule: "an observer turns to the bootstrap servers after a fetch timeout",
		Old: `	case m.cfg.Rules.AutoJoin && m.cfg.AutoJoin &&`, New: `	case m.dueKind(FetchTimer):
		m.fetchFromBootstrap()
	case m.cfg.Rules.AutoJoin && m.cfg.AutoJoin &&`,
	},
	{
		Name: "silent-leader-asked-again", File: "follower.go", Rule: "a leader whose connection has timed out is asked again",
		Old: `		m.requests.remove(leader)
		m.fetchFromBootstrap()
`, New: `		m.requests.remove(leader)
		m.fetchFromLeader(leader, address)
`,
	},
	{
		Name: "timed-out-record-kept", File: "follower.go", Rule: "a timed-out request to the leader is not forgotten at once",
		Equivalent: "a bootstrap server is asked only while nothing is in flight, so the request to the leader is the youngest: when it has timed out all have, and fetchFromBootstrap begins with a walk that forgets them",
		Old: `		m.requests.remove(leader)
		m.fetchFromBootstrap()
`, New: `		m.fetchFromBootstrap()
`,
	},
	{
		Name: "failing-leader-awaited", File: "follower.go", Rule: "while the leader's connection backs off nobody is asked",
		Old: `	case m.isBackingOff(leader):
		m.fetchFromBootstrap()
`, New: ``,
	},
	{
		Name: "two-fetches-in-flight", File: "follower.go", Rule: "a Fetch goes to the leader while one to a bootstrap server is in flight",
		Old: `	case m.hasAnyInflight():
		m.waitForBootstrapServer()
`, New: ``,
	},
	{
		Name: "records-before-snapshot", File: "follower.go", Rule: "a follower asks for records while it downloads a snapshot",
		Old: `if m.follower.Fetching {
		m.sendFetchSnapshot(to)`, New: `if m.follower.Fetching && false {
		m.sendFetchSnapshot(to)`,
	},
}

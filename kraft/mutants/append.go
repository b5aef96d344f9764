package mutants

// appendMutants are about what a leader writes, and when.
var appendMutants = []Mutant{
	{
		Name: "linger-restarts", File: "append.go", Rule: "each record starts the linger timer anew",
		Old: `	if !acc.Lingering {
		acc.Lingering = true
`, New: `	if true {
		acc.Lingering = true
`,
	},
	{
		Name: "forced-drain-forgotten", File: "append.go", Rule: "records prepared after a control batch go out with it",
		Old: `if !acc.ForcedDone {`, New: `if true {`,
	},
	{
		Name: "leader-does-not-flush", File: "append.go", Rule: "a leader does not flush what it appends",
		Old: `		m.completeParked(m.turn.log.End)
		slot(m, &m.turn.out.flushLog)
`, New: `		m.completeParked(m.turn.log.End)
`,
	},
	{
		Name: "flush-before-answers", File: "append.go", Rule: "parked Fetches are answered after the flush",
		Old: `		m.completeParked(m.turn.log.End)
		slot(m, &m.turn.out.flushLog)
`, New: `		slot(m, &m.turn.out.flushLog)
		m.completeParked(m.turn.log.End)
`,
	},
	{
		Name: "flush-before-commit", File: "append.go", Rule: "a leader counts its own log end only after the flush",
		Old: `		if m.noteLocalEnd() {
			m.publishHighWatermark()
		}
		m.completeParked(m.turn.log.End)
		slot(m, &m.turn.out.flushLog)
`, New: `		slot(m, &m.turn.out.flushLog)
		if m.noteLocalEnd() {
			m.publishHighWatermark()
		}
		m.completeParked(m.turn.log.End)
`,
	},
	{
		Name: "answers-before-commit", File: "append.go", Rule: "parked Fetches are answered before the leader's own log end counts",
		Old: `		if m.noteLocalEnd() {
			m.publishHighWatermark()
		}
		m.completeParked(m.turn.log.End)
`, New: `		m.completeParked(m.turn.log.End)
		if m.noteLocalEnd() {
			m.publishHighWatermark()
		}
`,
	},
	{
		Name: "parked-stay-parked", File: "append.go", Rule: "new records do not answer parked Fetches",
		Old: `		m.completeParked(m.turn.log.End)
`, New: ``,
	},
	{
		Name: "parked-answered-up-to-watermark", File: "append.go", Rule: "new records answer only Fetches parked below the high watermark",
		Old: `m.completeParked(m.turn.log.End)`, New: `m.completeParked(m.leader.HighWatermark)`,
	},
	{
		Name: "held-batch-written", File: "append.go", Rule: "a batch whose last offset is held is written",
		Old: `if b.Last() >= acc.HoldFrom {`, New: `if b.Last() > acc.HoldFrom {`,
	},
	{
		Name: "hold-moves-on", File: "append.go", Rule: "each reservation holds back only from its own offset on",
		Old: `if acc.HoldFrom == noOffset {`, New: `if true {`,
	},
	{
		Name: "append-of-old-epoch", File: "append.go", Rule: "records for an earlier epoch are accepted",
		Old: `	case e.Epoch < m.epoch:
		return NotLeader
`, New: ``,
	},
	{
		Name: "append-of-later-epoch", File: "append.go", Rule: "records for a later epoch are accepted",
		Old: `	case e.Epoch > m.epoch:
		return EpochTooNew
`, New: ``,
	},
	{
		Name: "control-batch-lingers", File: "append.go", Rule: "a control batch does not stop the linger timer",
		Old: `	acc.complete()
	m.stopLinger()
	acc.ForcedDone = true
`, New: `	acc.complete()
	acc.ForcedDone = true
`,
	},
	{
		Name: "linger-does-not-wake", File: "append.go", Rule: "a leader does not wake for its linger timer",
		Old: `	case acc.Lingering:
		m.waitForKind(LingerTimer)
`, New: ``,
	},
	{
		Name: "no-drain-without-records", File: "append.go", Rule: "a due drain that finds nothing to write does nothing",
		Old: `		m.appendDrained()
`, New: `		if m.appendDrained(); len(m.turn.log.appended) == 0 {
			return
		}
`,
	},
	{
		Name: "new-voters-in-force-when-committed", File: "append.go", Rule: "an appended Voters record is not in force at once",
		Old: `	if !m.history.read(batch.Base, batch.Last, batch.Control) {
		m.fatal(FatalControlRecord)
	}
`, New: ``,
	},
	{
		Name: "caught-up-only-beyond-end", File: "replicas.go", Rule: "a replica at the log end has not caught up",
		Old: `case end >= leaderEnd:`, New: `case end > leaderEnd:`,
	},
	{
		Name: "caught-up-beyond-former-end", File: "replicas.go", Rule: "a replica at the log end of its last Fetch has not caught up",
		Old: `case r.LastFetchLeaderEnd > 0 && end >= r.LastFetchLeaderEnd:`, New: `case r.LastFetchLeaderEnd > 0 && end > r.LastFetchLeaderEnd:`,
	},
	{
		Name: "caught-up-now", File: "replicas.go", Rule: "a replica at the log end of its last Fetch counts as caught up now",
		Old: `r.LastCaughtUp = max(r.LastCaughtUp, r.LastFetch)`, New: `r.LastCaughtUp = max(r.LastCaughtUp, now)`,
	},
	{
		Name: "fetch-is-no-acknowledgement", File: "replicas.go", Rule: "a Fetch does not show that the replica knows its leader",
		Old: `	r.Acknowledged = true
`, New: ``,
	},
	{
		Name: "fetch-does-not-end-silence", File: "replicas.go", Since: "4.2", Rule: "a Fetch does not start a voter's silence anew",
		Old: `	m.resetSilence(r)
	if len(m.turn.silent) > 0 {
`, New: `	if len(m.turn.silent) > 0 {
`,
	},
	{
		Name: "fetch-leaves-completed-key-silent", File: "replicas.go", Since: "4.2", Rule: "a Fetch in the turn in which the voter's key is completed does not end its silence",
		Old: `if len(m.turn.silent) > 0 {`, New: `if false {`,
	},
	{
		Name: "progress-by-id", File: "replicas.go", Rule: "a replica with another directory id counts as the voter of its id",
		Old: `if r := l.voter(key.ID); r != nil && matches(r.Key, key) {`, New: `if r := l.voter(key.ID); r != nil {`,
	},
	{
		Name: "progress-never-falls", File: "replicas.go", Rule: "a replica's log end never falls",
		Old: `r.End = end
`, New: `r.End = max(r.End, end)
`,
	},
	{
		Name: "anonymous-replica-noted", File: "replicas.go", Rule: "a replica without id becomes an observer",
		Old: `	if key.ID < 0 {
		return false, true
	}
`, New: ``,
	},
	{
		Name: "own-fetch-noted", File: "replicas.go", Rule: "a Fetch under the leader's own id counts",
		Old: `	if key.ID == m.cfg.ID {
		return false, false
	}
`, New: ``,
	},
	{
		Name: "fetch-is-no-sign-of-life", File: "replicas.go", Rule: "a Fetch does not count for check-quorum",
		Old: `	m.countForCheckQuorum(key.ID, isVoter)
`, New: ``,
	},
	{
		Name: "removed-voter-forgotten", File: "replicas.go", Rule: "a removed voter is not kept as an observer",
		Old: `if l.observer(&r.Key) == nil {`, New: `if false {`,
	},
	{
		Name: "added-voter-unknown", File: "replicas.go", Rule: "a new voter does not bring its progress as an observer along",
		Old: `	} else if known := l.observer(&v.Key); known != nil {
		r = *known
	}
`, New: `	}
`,
	},
	{
		Name: "added-voter-stays-observer", File: "replicas.go", Rule: "a new voter is still listed among the observers",
		Old: `	l.Observers = slices.DeleteFunc(l.Observers, func(o Replica) bool { return o.Key == v.Key })
`, New: ``,
	},
	{
		Name: "voter-progress-lost", File: "replicas.go", Rule: "a change of the voter set resets the progress of all voters",
		Old: `if known := l.matchingVoter(v.Key); known != nil {`, New: `if known := l.matchingVoter(v.Key); known != nil && false {`,
	},
	{
		Name: "silence-lost-with-key", File: "replicas.go", Since: "4.2", Rule: "a voter whose key is completed is never silent again",
		Old: `	if before == r.Key || r.LastFetch < 0 {
		return
	}
`, New: `	if true {
		return
	}
`,
	},
	{
		Name: "session-of-observer", File: "replicas.go", Rule: "an observer is forgotten after 200 s",
		Old: `r.LastFetch+sessionMs)`, New: `r.LastFetch+200_000)`,
	},
	{
		Name: "caught-up-for-a-minute", File: "replicas.go", Rule: "an observer that last fetched a minute ago has not caught up",
		Old: `r.LastFetch+caughtUpMs)`, New: `r.LastFetch+60_000)`,
	},
	{
		Name: "describe-old-times", File: "describe.go", Rule: "a leader tells of itself when it last fetched",
		Old: `	if r.Key.ID == m.cfg.ID {
			list`, New: `	if false {
			list`,
	},
	{
		Name: "describe-keeps-observers", File: "describe.go", Rule: "DescribeQuorum does not forget silent observers",
		Old: `return r.Key != m.selfKey() && m.due(Timer{Kind: SessionTimer, Peer: r.Key})`, New: `return false`,
	},
	{
		Name: "describe-names-nodes-early", File: "describe.go", Rule: "DescribeQuorum names no nodes in v2",
		Old: `if e.Version >= 2 {`, New: `if e.Version > 2 {`,
	},
	{
		Name: "describe-log-watermark", File: "describe.go", Rule: "DescribeQuorum tells the log's high watermark, which is known after a restart",
		Old: `= m.cfg.ID, m.epoch, l.HighWatermark
`, New: `= m.cfg.ID, m.epoch, m.turn.log.HighWatermark
`,
	},
}

package mutants

// fetchMutants are about how a leader answers Fetch and FetchSnapshot.
var fetchMutants = []Mutant{
	{
		Name: "fetch-epoch-order-unchecked", File: "fetch.go", Rule: "a last fetched epoch above the leader's epoch is served",
		Old: ` || e.LastFetchedEpoch > e.FetchEpoch {`, New: ` {`,
	},
	{
		Name: "fetch-negative-wait", File: "fetch.go", Rule: "a negative wait is served",
		Old: `if e.MaxWaitMs < 0 || e.FetchOffset < 0`, New: `if e.FetchOffset < 0`,
	},
	{
		Name: "fetch-negative-offset", File: "fetch.go", Rule: "a negative offset diverges",
		Old: `if e.MaxWaitMs < 0 || e.FetchOffset < 0 ||`, New: `if e.MaxWaitMs < 0 ||`,
	},
	{
		Name: "fetch-parked-without-wait", File: "fetch.go", Rule: "a Fetch that does not want to wait is parked",
		Old: ` || e.MaxWaitMs == 0 ||`, New: ` ||`,
	},
	{
		Name: "fetch-error-parked", File: "fetch.go", Rule: "a refused Fetch is parked",
		Old: `if answer.PartitionError != None || answer.From`, New: `if answer.From`,
	},
	{
		Name: "fetch-known-watermark-answered", File: "fetch.go", Since: "4.1", Rule: "a Fetch that knows the high watermark is answered at once",
		Old: `e.HighWatermark < answer.HighWatermark {`, New: `e.HighWatermark <= answer.HighWatermark {`,
	},
	{
		Name: "fetch-old-watermark-parked", File: "fetch.go", Since: "4.1", Rule: "a Fetch that does not know the high watermark is parked",
		Old: `m.cfg.Rules.FetchHighWatermark && e.HighWatermark < answer.HighWatermark {`, New: `false {`,
	},
	{
		Name: "fetch-diverging-parked", File: "fetch.go", Rule: "a Fetch that has diverged is parked",
		Old: ` || answer.isElsewhere() ||`, New: ` ||`,
	},
	{
		Name: "fetch-diverging-is-progress", File: "fetch.go", Rule: "a Fetch that has diverged counts as progress",
		Old: `	if position == ValidPosition {
`, New: `	if position != SnapshotPosition {
`,
	},
	{
		Name: "fetch-snapshot-is-progress", File: "fetch.go", Rule: "a Fetch that needs a snapshot counts as progress",
		Old: `	if position == ValidPosition {
`, New: `	if position != DivergingPosition {
`,
	},
	{
		Name: "fetch-offset-is-progress", File: "fetch.go", Rule: "progress is the fetch offset, not the base of its batch",
		Old: `log.Base(f.offset)`, New: `f.offset`,
	},
	{
		Name: "fetch-answers-before-progress", File: "fetch.go", Rule: "the answer tells the high watermark before the progress that it brings",
		Old: `	end := log.End
	if position == ValidPosition {
		advanced, ok := m.noteFetch(&f.replica, log.Base(f.offset))
		if !ok {
			m.emptyAnswer(f, UnknownServerError, answer)
			return
		}
		if advanced {
			m.publishHighWatermark()
		}
	}
	m.emptyAnswer(f, None, answer)
	answer.HighWatermark = m.leader.HighWatermark
`, New: `	end, before := log.End, m.leader.HighWatermark
	if position == ValidPosition {
		advanced, ok := m.noteFetch(&f.replica, log.Base(f.offset))
		if !ok {
			m.emptyAnswer(f, UnknownServerError, answer)
			return
		}
		if advanced {
			m.publishHighWatermark()
		}
	}
	m.emptyAnswer(f, None, answer)
	answer.HighWatermark = before
`,
	},
	{
		Name: "fetch-zero-gets-bootstrap", File: "fetch.go", Rule: "a Fetch from 0 is sent to the bootstrap checkpoint",
		Old: `ok && f.offset == 0 && latest != BootstrapSnapshot {`, New: `ok && f.offset == 0 {`,
	},
	{
		Name: "fetch-zero-gets-records", File: "fetch.go", Rule: "a Fetch from 0 gets records although there is a snapshot",
		Old: `ok && f.offset == 0 && latest != BootstrapSnapshot {`, New: `ok && false && latest != BootstrapSnapshot {`,
	},
	{
		Name: "fetch-committed-only", File: "fetch.go", Rule: "a Fetch gets records below the high watermark only",
		Old: `answer.From, answer.UpTo, answer.MaxBytes = f.offset, end, m.fetchLimit(f.maxBytes)`,
		New: `answer.From, answer.UpTo, answer.MaxBytes = f.offset, max(f.offset, min(end, m.leader.HighWatermark)), m.fetchLimit(f.maxBytes)`,
	},
	{
		Name: "fetch-limit-ignored", File: "fetch.go", Since: "4.3", Rule: "the size that a Fetch asks for is not heeded",
		Old: `return requested`, New: `return maxBatchBytes`,
	},
	{
		Name: "fetch-limit-early", File: "fetch.go", Until: "4.2", Rule: "the size that a Fetch asks for is heeded before KIP-1219",
		Old: `if m.cfg.Rules.ConfiguredFetchBytes {
		return requested`, New: `if true {
		return requested`,
	},
	{
		Name: "fetch-log-start-untold", File: "fetch.go", Rule: "a Fetch answer tells the log start 0",
		Old: `= f.request, -1, m.turn.log.Start`, New: `= f.request, -1, 0`,
	},
	{
		Name: "fetch-endpoint-early", File: "fetch.go", Rule: "the leader's endpoint is named from Fetch v16 on instead of v17",
		Old: `f.version, endpointsInFetch, m.listeners[f.listener], err)`, New: `f.version, 16, m.listeners[f.listener], err)`,
	},
	{
		Name: "fetch-validated-by-own-epoch", File: "fetch.go", Rule: "the last fetched epoch is not compared with the log",
		Old: `log.Validate(f.offset, f.lastFetchedEpoch)`, New: `log.Validate(f.offset, max(f.lastFetchedEpoch, m.lastEpoch()))`,
	},
	{
		Name: "parked-newest-first", File: "parking.go", Rule: "of two Fetches parked at one offset the later one is answered first",
		Old: `p.fetches[at-1].offset > f.offset {`, New: `p.fetches[at-1].offset >= f.offset {`,
	},
	{
		Name: "parked-by-arrival", File: "parking.go", Rule: "parked Fetches are answered in the order of their arrival",
		Equivalent: "all parked Fetches ask from the log end: elsewhere a Fetch is answered at once, each append answers those parked before it, and a log that changes otherwise is a Follower's, which has none (becomeFollower)",
		Old:        `for at > 0 && p.fetches[at-1].offset > f.offset {`, New: `for at > len(p.fetches) {`,
	},
	{
		Name: "parked-below-only", File: "parking.go", Rule: "a Fetch parked at exactly the offset stays parked",
		Old: `p.fetches[p.head].offset > upTo {`, New: `p.fetches[p.head].offset >= upTo {`,
	},
	{
		Name: "parked-expiry-evaluated", File: "parking.go", Rule: "a parked Fetch whose time is over is evaluated anew",
		Old: `		m.answerAsOfArrival(&p.fetches[i])
		p.fetches = slices.Delete(p.fetches, i, i+1)
		return
`, New: `		entry := p.fetches[i]
		p.fetches = slices.Delete(p.fetches, i, i+1)
		var reply ReplyFetch
		m.evaluateFetch(&entry.fetchInfo, &reply.FetchAnswer)
		m.replyFetch(&reply)
		return
`,
	},
	{
		Name: "parked-fail-fenced", File: "parking.go", Rule: "parked Fetches fail with FENCED_LEADER_EPOCH",
		Old: `m.replyFetchError(&entry.fetchInfo, NotLeaderOrFollower)`, New: `m.replyFetchError(&entry.fetchInfo, FencedLeaderEpoch)`,
	},
	{
		Name: "parked-watermark-of-later", File: "parking.go", Rule: "an expired Fetch tells no high watermark",
		Old: `a.LogStart = p.request, p.hw, p.start`, New: `a.LogStart = p.request, -1, p.start`,
	},
	{
		Name: "snapshot-position-at-end", File: "snapshotfetch.go", Rule: "a position at the end of a snapshot gets an empty piece",
		Old: `e.Position >= snapshot.Size:`, New: `e.Position > snapshot.Size:`,
	},
	{
		Name: "bootstrap-checkpoint-served", File: "snapshotfetch.go", Rule: "the bootstrap checkpoint can be fetched",
		Old: `case !ok || e.SnapshotID == BootstrapSnapshot:`, New: `case !ok:`,
	},
	{
		Name: "snapshot-fetch-is-no-sign-of-life", File: "snapshotfetch.go", Rule: "FetchSnapshot does not count for check-quorum",
		Old: `	m.accountForCheckQuorum(e.Replica)
`, New: ``,
	},
	{
		Name: "snapshot-fetch-is-progress", File: "snapshotfetch.go", Rule: "FetchSnapshot counts as progress up to the snapshot",
		Old: `	m.accountForCheckQuorum(e.Replica)
`, New: `	if e.Replica.ID != m.cfg.ID {
		m.noteFetch(&e.Replica, e.SnapshotID.Offset)
	}
`,
	},
	{
		Name: "snapshot-shape-loose", File: "snapshotfetch.go", Since: "4.4", Rule: "FetchSnapshot may name more than one partition",
		Old: `return shape == ShapeFine`, New: `return shape != ShapeWrong`,
	},
	{
		Name: "snapshot-shape-strict-early", File: "snapshotfetch.go", Until: "4.3", Rule: "FetchSnapshot must name one partition before 4.4",
		Old: `if m.cfg.Rules.FetchSnapshotStrictShape {`, New: `if true {`,
	},
	{
		Name: "snapshot-cluster-unchecked", File: "snapshotfetch.go", Rule: "FetchSnapshot of another cluster is served",
		Old: `case !m.clusterIDMatches(e.ClusterID):`, New: `case false:`,
	},
	{
		Name: "snapshot-served-by-anyone", File: "snapshotfetch.go", Rule: "FetchSnapshot is served by a node that does not lead",
		Old: `if err := m.checkLeaderOnly(e.FetchEpoch); err != None {`, New: `if err := m.checkLeaderOnly(e.FetchEpoch); err != None && err != NotLeaderOrFollower {`,
	},
}

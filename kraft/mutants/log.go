package mutants

// logMutants are about epochs, positions, truncation and what the control records of the log say.
var logMutants = []Mutant{
	{
		Name: "epoch-keeps-entry-of-same-start", File: "epochcache.go", Rule: "an epoch that starts where another one does leaves that one in the cache",
		Old: `c[keep-1].Epoch >= epoch || c[keep-1].Start >= start) {`, New: `c[keep-1].Epoch >= epoch || c[keep-1].Start > start) {`,
	},
	{
		Name: "truncation-keeps-entry-at-end", File: "epochcache.go", Rule: "an epoch that starts at the new log end stays in the cache",
		Old: `c[keep-1].Start >= end {`, New: `c[keep-1].Start > end {`,
	},
	{
		Name: "cache-trimmed-only-if-log-is", File: "logview.go", Rule: "a truncation at the log end leaves the epoch cache as it is",
		Old: `		l.HighWatermark = min(l.HighWatermark, offset)
	}
	l.Epochs = l.Epochs.TruncateFromEnd(offset)
`, New: `		l.HighWatermark = min(l.HighWatermark, offset)
		l.Epochs = l.Epochs.TruncateFromEnd(offset)
	}
`,
	},
	{
		Name: "log-start-keeps-two-entries", File: "epochcache.go", Rule: "the entry before an epoch that starts at the new log start stays",
		Old: `c[drop].Start <= start {`, New: `c[drop].Start < start {`,
	},
	{
		Name: "log-start-not-rebased", File: "epochcache.go", Rule: "the first epoch still starts where it did when the log start moves",
		Old: `	kept[0].Start = start
`, New: ``,
	},
	{
		Name: "epoch-end-off-by-one-entry", File: "epochcache.go", Rule: "an epoch ends where it begins",
		Old: `if e.Epoch <= epoch {`, New: `if e.Epoch < epoch {`,
	},
	{
		Name: "epoch-end-of-missing-epoch", File: "epochcache.go", Rule: "the end of an epoch without entry is told under its own name",
		Old: `return OffsetAndEpoch{Offset: e.Start, Epoch: c[i-1].Epoch}, true`, New: `return OffsetAndEpoch{Offset: e.Start, Epoch: epoch}, true`,
	},
	{
		Name: "epoch-end-before-first", File: "epochcache.go", Rule: "the end of an epoch before all entries is told under the first one's name",
		Old: `return OffsetAndEpoch{Offset: e.Start, Epoch: epoch}, true`, New: `return OffsetAndEpoch{Offset: e.Start, Epoch: e.Epoch}, true`,
	},
	{
		Name: "beginning-not-always-valid", File: "logview.go", Rule: "offset 0 of a whole log is compared by epoch",
		Old: `if l.Start == 0 && offset == 0 {`, New: `if false {`,
	},
	{
		Name: "log-start-epoch-unchecked", File: "logview.go", Rule: "a fetch from the log start is valid whatever its last epoch is",
		Old: `offset == l.Start && epoch != earliest.Epoch || epoch < earliest.Epoch)`, New: `epoch < earliest.Epoch)`,
	},
	{
		Name: "covered-epoch-diverges", File: "logview.go", Rule: "an epoch that the oldest snapshot covers diverges",
		Old: `epoch != earliest.Epoch || epoch < earliest.Epoch)`, New: `epoch != earliest.Epoch)`,
	},
	{
		Name: "divergence-at-end", File: "logview.go", Rule: "a fetch at the end of its epoch diverges",
		Old: `end.Offset < offset {`, New: `end.Offset <= offset {`,
	},
	{
		Name: "divergence-by-offset-only", File: "logview.go", Rule: "an epoch that the log does not have does not diverge",
		Old: `end.Epoch != epoch || end.Offset`, New: `end.Offset`,
	},
	{
		Name: "divergence-by-epoch-only", File: "logview.go", Rule: "a fetch beyond the end of its epoch does not diverge",
		Old: `end.Epoch != epoch || end.Offset < offset {`, New: `end.Epoch != epoch || l.End < offset {`,
	},
	{
		Name: "oldest-snapshot-sent", File: "logview.go", Rule: "a replica that needs a snapshot is sent to the oldest one",
		Old: `		latest, _ := l.LatestSnapshot()
		return SnapshotPosition, latest
`, New: `		return SnapshotPosition, earliest
`,
	},
	{
		Name: "snapshot-end-not-overridden", File: "logview.go", Rule: "the end of an epoch at the oldest snapshot is told as the log has it",
		Old: `if earliest, ok := l.EarliestSnapshot(); ok && end.Offset == earliest.Offset && end.Epoch == epoch {`,
		New: `if earliest, ok := l.EarliestSnapshot(); ok && false {`,
	},
	{
		Name: "newer-epoch-ends-at-log-end", File: "logview.go", Rule: "an epoch newer than all is taken as known",
		Old: `return OffsetAndEpoch{Offset: l.End, Epoch: last}`, New: `return OffsetAndEpoch{Offset: l.End, Epoch: max(last, epoch)}`,
	},
	{
		Name: "truncation-ignores-leaders-end", File: "logview.go", Rule: "a follower truncates to its own end of the epoch",
		Old: `return min(local.Offset, diverging.Offset)`, New: `return local.Offset`,
	},
	{
		Name: "truncation-ignores-own-end", File: "logview.go", Rule: "a follower truncates to the leader's end of the epoch although its own comes first",
		Old: `return min(local.Offset, diverging.Offset)`, New: `return diverging.Offset`,
	},
	{
		Name: "truncation-of-epoch-zero", File: "logview.go", Rule: "a divergence at epoch 0 is treated like any other",
		Old: `if diverging.Epoch == 0 {`, New: `if false {`,
	},
	{
		Name: "truncation-bounded-by-leader", File: "logview.go", Rule: "a follower without the leader's epoch truncates to the lower of both ends",
		Old: `	return local.Offset
`, New: `	return min(local.Offset, diverging.Offset)
`,
	},
	{
		Name: "log-start-may-pass-watermark", File: "logview.go", Rule: "the log start may move beyond the high watermark",
		Old: ` || id.Offset > l.HighWatermark {`, New: ` {`,
	},
	{
		Name: "log-start-moves-to-itself", File: "logview.go", Rule: "a snapshot at the log start moves the log start",
		Old: `id.Offset <= l.Start ||`, New: `id.Offset < l.Start ||`,
	},
	{
		Name: "older-snapshots-kept", File: "logview.go", Rule: "snapshots before the log start are kept",
		Old: `	l.Epochs = l.Epochs.TruncateFromStart(id.Offset)
	l.dropSnapshotsBefore(id)
`, New: `	l.Epochs = l.Epochs.TruncateFromStart(id.Offset)
`,
	},
	{
		Name: "snapshot-at-end-replaces-log", File: "logview.go", Rule: "a snapshot that ends where the log does replaces it",
		Old: `latest.Offset <= l.End {`, New: `latest.Offset < l.End {`,
	},
	{
		Name: "last-epoch-of-snapshot-forgotten", File: "logview.go", Rule: "an empty log behind a snapshot has the last epoch 0",
		Old: `return latest.Epoch, empty && latest.Offset == l.End`, New: `return 0, empty && latest.Offset == l.End`,
	},
	{
		Name: "batch-base-of-own-appends", File: "logview.go", Rule: "the base of a batch that was appended in the same event is its first offset looked for",
		Equivalent: "a Fetch that is evaluated in the event of an append was parked at the log end before it, which is where the appended batch begins",
		Old: `			return l.appended[i]
`, New: `			return offset
`,
	},
	{
		Name: "truncated-records-read-again", File: "history.go", Rule: "control records that replace truncated ones are read",
		Old: `	for n := len(h.voters); n > 0 && h.voters[n-1].offset >= end; n-- {
`, New: `	h.next = min(h.next, end)
	for n := len(h.voters); n > 0 && h.voters[n-1].offset >= end; n-- {
`,
	},
	{
		Name: "voters-at-end-survive", File: "history.go", Rule: "a Voters record at the new log end stays in force",
		Old: `h.voters[n-1].offset >= end; n-- {`, New: `h.voters[n-1].offset > end; n-- {`,
	},
	{
		Name: "version-survives-truncation", File: "history.go", Rule: "a truncated kraft.version stays in force",
		Old: `h.versions[n-1].offset >= end; n-- {`, New: `false && h.versions[n-1].offset >= end; n-- {`,
	},
	{
		Name: "snapshot-loads-always", File: "history.go", Rule: "a snapshot replaces the voters although the log has been read beyond it",
		Old: `	if h.next >= logStart {
		return true
	}
`, New: ``,
	},
	{
		Name: "snapshot-voters-at-its-end", File: "history.go", Rule: "the voters of a snapshot stand at its end offset",
		Old: `!h.add(id.Offset-1, &ControlRecord{Type: VotersRecord, Voters: contents.Voters})`,
		New: `!h.add(id.Offset, &ControlRecord{Type: VotersRecord, Voters: contents.Voters})`,
	},
	{
		Name: "snapshot-keeps-older-history", File: "history.go", Rule: "voters from before a downloaded snapshot stay in force if it names none",
		Old: `	h.voters, h.versions = nil, nil
`, New: ``,
	},
}

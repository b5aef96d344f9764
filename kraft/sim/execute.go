package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// execute carries out one action. What it does to the disk it does to the chain beside the log too, and tells the history.
func (n *node) execute(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.ResetTimer:
		n.resetTimer(a)
	case *kraft.CancelTimer:
		n.timers.cancel(a.Timer)
	case *kraft.Park:
		c := &n.clients[uint32(a.Request)]
		c.parkedUntil = a.Until
		n.parked = min(n.parked, a.Until)
	case *kraft.AdvanceHighWatermark:
		n.advance(a.Offset)
	case *kraft.AppendRecords:
		n.appendOwn(a.Batch)
	case *kraft.AppendFetched:
		n.appendFetched(a)
	case *kraft.FlushLog:
		n.flush()
	case *kraft.PersistQuorumState:
		n.persist(a)
	case *kraft.TransitionedTo:
		n.transitioned(a)
	default:
		if !n.send(action) && !n.reply(action) {
			n.executeSeldom(action)
		}
	}
}

func (n *node) executeSeldom(action kraft.Action) {
	w := n.w
	switch a := action.(type) {
	case *kraft.AppendLeaderChange:
		n.checkVoterChange(&a.Batch, true)
		n.appendOwn(a.Batch)
	case *kraft.AppendControl:
		n.checkVoterChange(&a.Batch, false)
		n.appendOwn(a.Batch)
	case *kraft.AssignEpoch:
		n.sync()
		n.log.AssignEpoch(a.Epoch)
		n.unwritten = true
	case *kraft.TruncateTo:
		n.truncate(a.Offset)
	case *kraft.BeginSnapshotFetch, *kraft.AppendSnapshot, *kraft.AbandonSnapshotFetch:
		if _, err := n.log.Execute(action, n.event); err != nil {
			w.violated(safety.NoFatal, n, "%v", err)
		}
	case *kraft.InstallSnapshot:
		n.install(a)
	case *kraft.ShutdownDone:
		w.stopped(n)
	case *kraft.Fatal:
		w.ended(n, a.Reason)
	}
}

func (n *node) resetTimer(a *kraft.ResetTimer) {
	deadline := a.Deadline
	if n.w.staged {
		n.timers.reset(a.Timer, n.stagedDeadline(a))
		return
	}
	if m := n.inFlight; m != nil && n.w.opt.Broken == TrustsTimeStamps {
		deadline += m.from.local(n.w.now) - n.local(n.w.now)
	}
	if a.Kind == kraft.ElectionBackoffTimer {
		deadline += n.backoff(a)
	} else if a.Window > 0 {
		deadline += kraft.Instant(n.w.dice.below(int64(a.Window)))
	}
	n.timers.reset(a.Timer, deadline)
}

// stagedDeadline is what a node draws on a stage: the favourite the shortest time, the others the longest and more.
func (n *node) stagedDeadline(a *kraft.ResetTimer) kraft.Instant {
	if n.id == n.w.favourite || a.Kind != kraft.ElectionTimer && a.Kind != kraft.FetchTimer {
		return a.Deadline + kraft.Instant(max(0, a.Window-1)/8)
	}
	return a.Deadline + kraft.Instant(a.Window) + patience + kraft.Instant(n.id)
}

// backoff draws as the release does (KAFKA-18345).
func (n *node) backoff(a *kraft.ResetTimer) kraft.Instant {
	rule, dice := n.profile.Rules.ElectionBackoff, &n.w.dice
	low, high := rule.Bounds(a.Retries)
	first, second := low+int32(dice.below(int64(high-low))), int32(dice.below(50))
	return kraft.Instant(rule.Milliseconds(first, second, timeouts.ElectionBackoffMaxMs))
}

// sync is the time that making something durable takes. What the node says from now on leaves later.
func (n *node) sync() {
	w := n.w
	d := w.opt.SyncDelay
	if w.slow == n.id {
		n.busyUntil = max(n.busyUntil, w.now) + 3_000_000
		return
	}
	if !w.calm && w.opt.Kinds.Has(SlowSync) && w.network.chance(50) {
		d += w.network.between(5_000, 400_000)
	}
	if d > 0 {
		n.busyUntil = max(n.busyUntil, w.now) + w.network.between(0, d)
	}
}

func (n *node) persist(a *kraft.PersistQuorumState) {
	w := n.w
	if n.full() {
		return
	}
	n.sync()
	switch w.opt.Broken {
	case SkipsPersist:
		return
	case SkipsVotePersist:
		if a.State.Voted != kraft.NoReplica && a.State.Voted.ID != n.id {
			return
		}
	default:
	}
	n.stored, n.hasStored = a.Stored(), true
	w.fail(w.history.Persisted(n.key, n.id, a.State))
}

// full ends the process whose disk has no space left. It comes back when there is some.
func (n *node) full() bool {
	if !n.diskFull || n.w.opt.Broken == IgnoresFullDisk {
		return false
	}
	n.w.note(noteDiskFull, n, "")
	n.w.crash(n, keepsAll)
	return true
}

func (n *node) appendOwn(b kraft.Batch) {
	if n.full() {
		return
	}
	var c uint64
	if len(b.Control) == 0 {
		n.w.writes += 8
		c = n.w.writes
	}
	if n.write(&b, c) && n.w.opt.Broken == AcksEarly {
		n.w.history.Acknowledged(n.chain.Last())
	}
}

func (n *node) write(b *kraft.Batch, c uint64) bool {
	if n.diskFull { // of IgnoresFullDisk
		n.unwritten = true
		return true
	}
	if err := n.log.Append(*b); err != nil {
		n.w.violated(safety.NoFatal, n, "%v", err)
		return false
	}
	n.unwritten = true
	for i := range b.Control {
		n.newVoters = n.newVoters || b.Control[i].Type == kraft.VotersRecord
	}
	n.w.fail(n.w.history.Appended(n.id, n.chain.Append(b, c)))
	return true
}

func (n *node) appendFetched(a *kraft.AppendFetched) {
	if n.full() {
		return
	}
	r, ok := n.event.(*kraft.ReceiveFetchResponse)
	if !ok {
		n.w.violated(safety.NoFatal, n, "%v without a Fetch response", a)
		return
	}
	for i := range r.Batches[:a.Take] {
		c := n.inFlight.links[i].Content
		switch n.w.opt.Broken {
		case AppendsOther:
			if n.w.dice.chance(5) {
				c += 3
			}
		case SwapsBatches:
			if i == 0 && a.Take > 1 && n.w.dice.chance(100) {
				continue
			}
		default:
		}
		if !n.write(&r.Batches[i], c) {
			return
		}
	}
}

func (n *node) flush() {
	if n.full() {
		return
	}
	if n.w.beforeFlush != nil && n.w.beforeFlush(n) {
		n.w.crash(n, n.crashMode)
		return
	}
	n.sync()
	switch n.w.opt.Broken {
	case SkipsFlush:
		return
	case FlushesLate:
		end := n.log.End
		if end == n.lateFlush {
			n.log.Flush()
		}
		n.lateFlush = end
		return
	case DiskLies:
		n.lateFlush = n.log.Flushed()
	case GivesUpSync:
		if n.busyUntil > n.w.now+20_000 {
			return
		}
	default:
	}
	n.log.Flush()
}

func (n *node) truncate(offset kraft.Offset) {
	w := n.w
	if w.opt.Broken == TruncatesMore && offset > n.log.Start {
		if l, ok := n.chain.Holding(offset - 1); ok && l.Last >= n.log.Start {
			offset--
		}
	}
	w.fail(w.history.Truncates(n.id, n.machine.QuorumState().Epoch, offset, &n.chain))
	if w.notes != nil {
		w.noteTruncate(n, offset)
	}
	n.log.TruncateTo(offset)
	n.chain.TruncateTo(offset)
	n.unwritten = true
}

func (n *node) install(a *kraft.InstallSnapshot) {
	w := n.w
	if n.full() {
		return
	}
	if _, err := n.log.Execute(a, n.event); err != nil {
		w.violated(safety.NoFatal, n, "%v", err)
		return
	}
	l := n.inFlight.link
	n.snapshots = append(n.snapshots, snapshotLink{a.ID, l})
	n.chain.Begin(l)
	n.unwritten, n.newVoters = true, true
	w.fail(w.history.Snapshot(n.id, a.ID.Offset, l))
	w.note(noteInstalled, n, a.ID.String())
}

// advance: the node counts what lies below the offset as committed.
func (n *node) advance(offset kraft.Offset) {
	w := n.w
	if w.opt.Broken == CountsAhead {
		offset = n.log.End
	}
	n.log.AdvanceHighWatermark(offset)
	n.unwritten = true
	leader, leads := n.machine.Role().(*kraft.Leader)
	before := w.history.Committed()
	w.fail(w.history.Watermark(n.key, n.id, n.log.HighWatermark, leads, n.machine.QuorumState().Epoch, &n.chain))
	if !leads || w.violation != nil {
		return
	}
	if n.log.HighWatermark > before {
		n.checkMajority(leader)
		n.acknowledge(before)
	}
	if w.notes != nil {
		w.noteCommit(n)
	}
}

// acknowledge tells the writers of what this leader has written itself that it is committed.
func (n *node) acknowledge(before kraft.Offset) {
	if n.w.opt.Broken == AcksEarly {
		return
	}
	epoch := n.machine.QuorumState().Epoch
	for _, l := range n.chain.From(before) {
		if l.Last >= n.log.HighWatermark {
			return
		}
		if l.Epoch == epoch {
			n.w.history.Acknowledged(l)
		}
	}
}

// checkMajority looks at the disks of all: what a leader commits lies on those of a majority of its voters, and ends with a record of its own
// epoch. Its own disk may lag behind, since it flushes at the end of the turn. A voter whose disk was lost later still counts: the fault model
// bounds how many there are.
func (n *node) checkMajority(l *kraft.Leader) {
	w := n.w
	end := n.log.HighWatermark
	link, ok := n.chain.Before(end)
	if !ok {
		return
	}
	if epoch := n.machine.QuorumState().Epoch; link.Epoch != epoch {
		w.violated(safety.MajorityHolds, n, "commits %d in epoch %d by counting, and the record before that is of epoch %d", end, epoch, link.Epoch)
	}
	held := 0
	for i := range l.Voters {
		if w.holds(n, &l.Voters[i].Key, end, link.Hash) {
			held++
		}
	}
	if held <= len(l.Voters)/2 {
		w.violated(safety.MajorityHolds, n, "commits %d, which %d of %d voters hold", end, held, len(l.Voters))
	}
}

func (w *World) holds(leader *node, key *kraft.ReplicaKey, end kraft.Offset, hash uint64) bool {
	for _, lost := range w.lost {
		if lost.ID == key.ID && (key.DirectoryID.IsZero() || lost.DirectoryID == key.DirectoryID) {
			return true
		}
	}
	i := int(key.ID) - 1
	if i < 0 || i >= w.opt.nodes() {
		return false
	}
	v := w.nodes[i]
	if !key.DirectoryID.IsZero() && key.DirectoryID != v.directory {
		return false
	}
	if v.log.Start >= end { // a snapshot has taken its place
		return v.log.Start <= w.history.Committed()
	}
	if v != leader && v.log.Flushed() < end {
		return false
	}
	l, ok := v.chain.Before(end)
	return ok && l.Hash == hash
}

// checkVoterChange: a leader writes a new set of voters only when the one before is committed, and it differs in one voter. The first
// batch of an epoch may describe the leader anew, but not change who the voters are.
func (n *node) checkVoterChange(b *kraft.Batch, first bool) {
	for i := range b.Control {
		r := &b.Control[i]
		if r.Type != kraft.VotersRecord {
			continue
		}
		at, before := n.lastVoters()
		added, removed := 0, 0
		for j := range r.Voters.Len() {
			if before.Find(r.Voters.At(j).Key.ID) == nil {
				added++
			}
		}
		for j := range before.Len() {
			if r.Voters.Find(before.At(j).Key.ID) == nil {
				removed++
			}
		}
		switch {
		case first && added+removed > 0, added+removed > 1:
			n.w.violated(safety.OneVoterChange, n, "from %v to %v", before, r.Voters)
		case !first && at >= n.w.history.Committed() && at >= 0:
			n.w.violated(safety.OneVoterChange, n, "writes %v, the set at %d is not committed", r.Voters, at)
		}
	}
}

// lastVoters is the newest set of voters in the log of the node, and where it stands.
func (n *node) lastVoters() (at kraft.Offset, voters kraft.VoterSet) {
	at = -1
	if !n.w.opt.Dynamic {
		voters = n.w.firstVoters(false)
	}
	for _, h := range n.log.History() {
		if h.Record.Type == kraft.VotersRecord {
			at, voters = h.Offset, h.Record.Voters
		}
	}
	return at, voters
}

func (n *node) transitioned(a *kraft.TransitionedTo) {
	w := n.w
	switch a.Role {
	case kraft.LeaderRole:
		w.fail(w.history.Elected(n.id, a.Epoch, &n.chain))
		w.leaderAt = w.now
		fallthrough
	case kraft.ProspectiveRole, kraft.CandidateRole:
		if _, voters := n.lastVoters(); !voters.IsVoter(n.replicaKey()) {
			w.violated(safety.VotersOnly, n, "becomes %v in epoch %d; the voters are %v", a.Role, a.Epoch, voters)
		}
	case kraft.FollowerRole, kraft.UnattachedRole, kraft.ResignedRole:
	}
	if w.notes != nil {
		w.noteRole(n, a)
	}
}

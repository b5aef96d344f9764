package sim

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// crashMode says what a crash leaves of a log. The election state is always what was persisted last.
type crashMode uint8

const (
	keepsAll  crashMode = iota // the process dies, the machine does not
	losesTail                  // all that was not flushed is gone
	tearsTail                  // some of it is
)

// crash ends a process. What it has sent is on its way unless it had not left; who waits for its answers learns that the connection has
// broken, or does not.
func (w *World) crash(n *node, mode crashMode) {
	if !n.up() {
		return
	}
	w.note(noteCrash, n, mode.String())
	w.halt(n)
	// The only voter counts its own log end before it flushes it, and answers with that watermark (Kafka: maybeAppendBatches). No
	// protocol survives the loss of such a tail, so its disk keeps it.
	if _, voters := n.lastVoters(); voters.IsOnlyVoter(n.replicaKey()) && !w.opt.NoLimits {
		mode = keepsAll
	}
	w.restartLog(n, mode)
	w.comesBack(n, 6_000_000)
}

// comesBack starts a process after a while. On a stage only the scenario does.
func (w *World) comesBack(n *node, within int64) {
	if !w.staged {
		w.queue.push(item{at: w.now + w.faults.between(1_000, within), kind: restart, arg: int32(n.index)})
	}
}

func (m crashMode) String() string {
	return [...]string{"", "and loses what was not flushed", "and loses some of what was not flushed"}[m]
}

// halt ends a process and its connections.
func (w *World) halt(n *node) {
	n.machine, n.wakeAt, n.busyUntil, n.pauseUntil, n.crashIn = nil, forever, 0, 0, 0
	w.queue.remove(func(it *item) bool {
		unsent := it.kind == deliver && it.what.from == n && it.what.departs > w.now
		if unsent {
			w.release(it.what)
		}
		return unsent
	})
	for i := range n.clients {
		if c := &n.clients[i]; c.used && c.from != nil && c.from.up() && c.from.life == c.life && w.network.chance(500) {
			c.from.fails(c.record, c.correlation, c.api, kraft.BrokerNotAvailable)
		}
		n.clients[i].used = false
	}
	for _, m := range n.inbox {
		if !m.response && m.from.up() && m.from.life == m.fromLife && w.network.chance(500) {
			m.from.fails(m.record, m.correlation, m.api, kraft.BrokerNotAvailable)
		}
		if m != n.inFlight {
			w.release(m)
		}
	}
	n.inbox = n.inbox[:0]
}

// restartLog is what the next process finds of the log.
func (w *World) restartLog(n *node, mode crashMode) {
	flushed := n.log.Flushed()
	if tail := n.log.End - flushed; mode == tearsTail && tail > 0 {
		if l, ok := n.chain.Holding(flushed + kraft.Offset(w.faults.below(int64(tail)))); ok {
			n.log.TruncateTo(l.Last + 1)
			w.breakTornBatch(n, l)
		}
	}
	n.log.Crash(mode != losesTail)
	if w.opt.Broken == DiskLies && mode == losesTail && n.lateFlush >= n.log.Start && n.lateFlush < n.log.End {
		n.log.TruncateTo(n.lateFlush)
	}
	n.chain.TruncateTo(n.log.End)
	if n.log.Start == n.log.End {
		if id, ok := n.log.LatestSnapshot(); ok && id.Offset == n.log.Start && id.Offset > 0 {
			n.chain.Begin(n.snapshotLink(id))
		}
	}
}

// breakTornBatch is what a driver finds that does not look at checksums.
func (w *World) breakTornBatch(n *node, l safety.Link) {
	if w.opt.Broken != KeepsTornBatch {
		return
	}
	n.chain.TruncateTo(l.Last)
	for _, b := range n.log.Batches(l.Last, l.Last+1, 1) {
		w.fail(w.history.Appended(n.id, n.chain.Append(&b, l.Content+3)))
	}
}

// stopped: a graceful shutdown is done.
func (w *World) stopped(n *node) {
	w.note(noteStopped, n, "")
	n.log.Flush()
	w.halt(n)
	w.restartLog(n, keepsAll)
	w.comesBack(n, 3_000_000)
}

// wipe loses a disk: the node comes back with a new directory id and an empty log.
func (w *World) wipe(n *node) {
	w.note(noteWipe, n, "")
	if n.up() {
		w.halt(n)
	}
	w.lost = append(w.lost, n.replicaKey())
	old := n.directory
	w.format(n)
	if w.opt.Broken == KeepsDirectory {
		n.directory = old
	}
	n.dead = false
	w.comesBack(n, 6_000_000)
}

// canLose reports whether the quorum survives that the disk of the node, or the replica of that key, is gone for good: kraft.version 1
// is in force everywhere, so that the old key cannot be mistaken for the new one, no change of the voters is under way, and in every
// set of voters that any log ends with a majority of the keys is alive. At kraft.version 0 a voter has no key: one that comes back
// empty breaks its promises, and no protocol survives that. A replica that asks to become a voter would be one that is gone (see the scenario
// added-disk-is-gone), and one that has not read yet that it is a voter does not vote: it follows its leader as an observer, which no timeout
// ends.
func (w *World) canLose(gone kraft.ReplicaKey) bool {
	if w.opt.Broken == WipesMajority {
		return true
	}
	if w.history.Committed() == 0 || w.joins(gone) {
		return false
	}
	for _, n := range w.nodes[:w.opt.nodes()] {
		if _, started := n.log.LatestSnapshot(); n.broker || n.log.End == 0 && !started && w.opt.Dynamic {
			continue // it has no set of voters, and takes over the one of a leader
		}
		if n.leads() && n.machine.Role().(*kraft.Leader).Change.Kind != kraft.NoChange {
			return false
		}
		at, voters := n.lastVoters()
		if at >= w.history.Committed() && at >= 0 || n.version() == 0 || !w.survives(voters, gone, kraft.NoReplica) || !w.allKnow(voters, gone) {
			return false
		}
	}
	return true
}

// joins reports whether a request to add the replica to the voters is on its way.
func (w *World) joins(key kraft.ReplicaKey) bool {
	asks := func(m *message) bool {
		if m == nil || m.response {
			return false
		}
		add, ok := m.event.(*kraft.ReceiveAddRaftVoter)
		return ok && add.Voter == key
	}
	return slices.ContainsFunc(w.queue.items, func(it item) bool { return asks(it.what) }) ||
		slices.ContainsFunc(w.nodes[:w.opt.nodes()], func(n *node) bool { return slices.ContainsFunc(n.inbox, asks) })
}

// survives reports whether a majority of the voters is alive without the one that goes, and in the set without the one that is removed.
func (w *World) survives(voters kraft.VoterSet, gone, removed kraft.ReplicaKey) bool {
	alive, all := 0, 0
	for i := range voters.Len() {
		key := voters.At(i).Key
		if key == removed {
			continue
		}
		all++
		if key != gone && w.alive(key) {
			alive++
		}
	}
	return all > 0 && alive > all/2
}

// allKnow reports whether each voter but one that goes has read that it is one.
func (w *World) allKnow(voters kraft.VoterSet, gone kraft.ReplicaKey) bool {
	for i := range voters.Len() {
		key := voters.At(i).Key
		if key == gone || !w.alive(key) {
			continue
		}
		if _, own := w.nodes[key.ID-1].lastVoters(); own.Find(key.ID) == nil {
			return false
		}
	}
	return true
}

// alive: there is a disk with that key.
func (w *World) alive(key kraft.ReplicaKey) bool {
	n := w.nodes[key.ID-1]
	return !n.dead && (key.DirectoryID.IsZero() || key.DirectoryID == n.directory)
}

// version is the kraft.version in the log of the node.
func (n *node) version() int16 {
	v := int16(0)
	for _, h := range n.log.History() {
		if h.Record.Type == kraft.KRaftVersionRecord {
			v = h.Record.KRaftVersion
		}
	}
	return v
}

var struck = []Kind{Partition, Clog, Pause, Crash, LostTail, TornTail, Wipe, DiskFull, Update, Resign}

// tickFaults draws the next fault. One that is left out while a failure is shrunk is drawn all the same.
func (w *World) tickFaults() {
	if w.calm {
		return
	}
	w.queue.push(item{at: w.now + w.faults.between(w.opt.FaultEvery/2, w.opt.FaultEvery*3/2), kind: faultTick})
	r := &w.faults
	kind := struck[r.pick(len(struck))]
	a, b := w.nodes[r.pick(w.opt.nodes())], w.nodes[r.pick(w.opt.nodes())]
	length, both := r.between(20_000, 8_000_000), r.chance(500)
	after, detail := 1+r.pick(12), r.pick(4)
	if !w.opt.Kinds.Has(kind) {
		return
	}
	w.faultCount++
	if w.opt.skips(w.faultCount) {
		return
	}
	w.strike(kind, a, b, length, both, after, detail)
}

func (w *World) strike(kind Kind, a, b *node, length int64, both bool, after, detail int) {
	switch kind {
	case Partition:
		w.partition(a, b, length, both, detail)
	case Clog:
		w.note(noteClog, a, "")
		l := &w.links[a.index][b.index]
		l.cloggedUntil = max(l.cloggedUntil, w.now+length/2)
	case Pause:
		if a.up() {
			w.note(notePause, a, "")
			a.pauseUntil = w.now + length
			a.wakeAt = max(a.wakeAt, a.pauseUntil)
		}
	case Crash, LostTail, TornTail:
		if a.up() {
			a.crashIn, a.crashMode = after, [...]crashMode{keepsAll, losesTail, tearsTail}[kind-Crash]
		}
	case Wipe:
		if !a.broker && w.opt.Broken == KeepsDirectory || w.canLose(a.replicaKey()) {
			w.wipe(a)
		}
	case DiskFull:
		a.diskFull = a.up()
	case Update:
		if a.up() {
			a.endpoint++
			w.crash(a, keepsAll)
		}
	case Resign:
		w.stepDown(a, detail)
	default:
	}
}

func (w *World) stepDown(n *node, detail int) {
	switch {
	case !n.up() || n.busyUntil > w.now || n.pauseUntil > w.now:
	case detail == 0 && !n.stopping:
		w.note(noteShutdown, n, "")
		n.stopping = true
		n.call(&kraft.Shutdown{TimeoutMs: 5000})
	case n.leads():
		w.note(noteResign, n, "")
		n.call(&kraft.Resign{Epoch: n.machine.QuorumState().Epoch})
	}
}

// partition cuts one node off from all, two from each other, or the nodes up to one from those behind it, in one direction or both.
func (w *World) partition(a, b *node, length int64, both bool, detail int) {
	w.note(notePartition, a, "")
	cut := func(from, to int) {
		if from != to {
			w.links[from][to].blockedUntil = max(w.links[from][to].blockedUntil, w.now+length)
		}
	}
	for i := range w.opt.nodes() {
		for j := range w.opt.nodes() {
			var apart bool
			switch detail {
			case 0:
				apart = i == a.index && j == b.index
			case 1:
				apart = i <= a.index && j > a.index
			default:
				apart = i == a.index
			}
			if !apart {
				continue
			}
			cut(i, j)
			if both {
				cut(j, i)
			}
		}
	}
}

package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// node is a controller or broker, and what is known of it.
type node struct {
	id   kraft.NodeID
	view NodeView

	decisions uint64 // answers that decide something
	judged    uint64
	reasons   []reasonCount // why the others were not judged
	intervals []Interval

	conns   []*conn // open connections that it has an end of
	lives   int     // how often all of them had ended and new ones began
	gone    bool    // all of them have ended
	lifeAt  uint64  // the observation with which its present life began
	disks   []disk  // the directory ids it was seen with, one after the other
	filled  uint64  // the last observation that showed records in its log
	pending []suspicion
	misled  uint64 // the last observation in which an altered answer reached it

	epochs epochMemory
	votes  voteMemory
	chunks chunkMemory
	length lengthMemory
}

// disk is a directory id and from which to which observation it was attested.
type disk struct {
	id          kraft.DirectoryID
	first, last uint64
}

type reasonCount struct {
	reason string
	count  uint64
}

// join takes in that the node has an end of an open connection. After all had ended that is a new life, or may be one.
func (n *node) join(c *Checker, k *conn, end wire.Direction, at int64) {
	if k.joined[end] == n {
		return
	}
	k.joined[end] = n
	if k.joined[1-end] == n { // it talks to itself
		return
	}
	if len(n.conns) == maxConns {
		n.conns = append(n.conns[:0], n.conns[1:]...)
	}
	n.conns = append(n.conns, k)
	if n.lifeAt == 0 {
		n.lifeAt = c.order
	}
	if n.gone {
		n.gone = false
		n.lives++
		n.lifeAt = c.order
		c.quorum.restarted(c, n, at)
	}
}

// maxConns bounds the open connections that are taken for signs of a node's life. The oldest go.
const maxConns = 1024

// leave takes in that a connection ended.
func (n *node) leave(c *Checker, k *conn) {
	for i, known := range n.conns {
		if known == k {
			n.conns = append(n.conns[:i], n.conns[i+1:]...)
			if len(n.conns) == 0 {
				n.gone = true
				c.quorum.left(c, n)
				c.advice.left(n, c.last)
			}
			return
		}
	}
}

// decided counts a decision that is judged. It anchors the node again after a gap.
func (n *node) decided(at int64) {
	n.decisions++
	n.judged++
	i := n.interval(at)
	if i.Verdict == Inconclusive {
		i = n.begin(at, Conforms, "")
	}
	i.To = at
	i.Decisions++
	i.Judged++
}

// unjudged counts decisions that are not judged.
func (n *node) unjudged(reason string, count uint64) {
	n.decisions += count
	if len(n.intervals) > 0 {
		n.intervals[len(n.intervals)-1].Decisions += count
	}
	for i := range n.reasons {
		if n.reasons[i].reason == reason {
			n.reasons[i].count += count
			return
		}
	}
	n.reasons = append(n.reasons, reasonCount{reason, count})
}

// blind begins an interval in which the node is not judged, until it decides something again.
func (n *node) blind(reason string, at int64) {
	if i := n.interval(at); i.Verdict != Inconclusive {
		n.begin(at, Inconclusive, reason)
	}
}

// maxIntervals bounds how many intervals of a node a report has.
const maxIntervals = 256

// interval is the present one.
func (n *node) interval(at int64) *Interval {
	if len(n.intervals) == 0 {
		return n.begin(at, Conforms, "")
	}
	return &n.intervals[len(n.intervals)-1]
}

func (n *node) begin(at int64, v Verdict, reason string) *Interval {
	if len(n.intervals) > 0 {
		last := &n.intervals[len(n.intervals)-1]
		last.To = at
		if len(n.intervals) == maxIntervals { // the last one stands for all that follow, by its worst verdict
			last.Verdict = max(last.Verdict, v)
			return last
		}
	}
	n.intervals = append(n.intervals, Interval{From: at, To: at, Verdict: v, Reason: reason})
	return &n.intervals[len(n.intervals)-1]
}

// attest takes in what a message says about the node as such: which disk it has.
//
// A disk that was wiped shows by another directory id. Or it was formatted with the same one, or the release has none:
// then it shows by a log that had records and is empty on a connection that is newer. That may also be a log of nothing
// but uncommitted records, truncated; such a node's past is forgotten as well, to be safe.
func (n *node) attest(c *Checker, m *message) {
	emptied := n.emptied(c, m)
	last, before := len(n.disks)-1, kraft.DirectoryID{}
	if last >= 0 {
		before = n.disks[last].id
	}
	other := !before.IsZero() && !m.directory.IsZero() && before != m.directory
	switch {
	case other:
		c.quorum.newDirectory(c, n, before, m)
		c.note(fmt.Sprintf("node %s came with directory id %s, before with %s: what that replica did before is forgotten", n.id, m.directory, before))
	case emptied:
		c.note(fmt.Sprintf("node %s came back with an empty log: what that replica did before is forgotten", n.id))
	case m.directory.IsZero():
		return
	case before == m.directory:
		n.disks[last].last = c.order
		return
	}
	if other || emptied {
		n.forget()
		c.memory.wiped(c, n)
	}
	if len(n.disks) == maxDisks {
		n.disks = append(n.disks[:0], n.disks[1:]...)
	}
	n.disks = append(n.disks, disk{m.directory, c.order, c.order})
}

// emptied reports whether a request shows that the node's log, which had records, is empty.
func (n *node) emptied(c *Checker, m *message) bool {
	var end kraft.LogEnd
	switch m.kind {
	case KindFetchRequest:
		end = kraft.LogEnd{LastEpoch: m.fetch.LastFetchedEpoch, LastOffset: m.fetch.Offset}
	case KindVoteRequest:
		end = m.vote.logEnd
	default:
		return false
	}
	if end.LastOffset > 0 {
		n.filled = c.order
		return false
	}
	if end != (kraft.LogEnd{}) || n.filled == 0 || m.conn.firstRequest != 0 && m.conn.firstRequest <= n.filled {
		return false
	}
	n.filled = 0
	return true
}

// maxDisks bounds how many directory ids of a node are remembered.
const maxDisks = 8

// forget drops the history of a replica whose disk is gone.
func (n *node) forget() {
	n.epochs, n.votes, n.chunks, n.length = epochMemory{}, voteMemory{}, chunkMemory{}, lengthMemory{}
}

// identity says whether one disk served the node at two observations.
type diskAnswer uint8

const (
	notKnown diskAnswer = iota
	sameDisk
	otherDisk
)

// disk says whether the node had one and the same disk from one observation to another: because one process lived
// from before the first to after the second, or because the directory id was the same all along.
func (n *node) disk(since, until uint64) diskAnswer {
	for _, k := range n.conns {
		first, last := k.alive(n)
		if first != 0 && first <= since && last >= until {
			return sameDisk
		}
	}
	if len(n.disks) == 0 {
		return notKnown
	}
	d := &n.disks[len(n.disks)-1]
	switch {
	case d.first <= since && d.last >= until:
		return sameDisk
	case d.first > since && len(n.disks) > 1:
		return otherDisk
	}
	return notKnown
}

// suspicion is a finding that holds only if the node's disk was the same from one observation to another.
type suspicion struct {
	finding      Finding
	since, until uint64
}

// maxPending bounds the findings that wait for a proof of the disk.
const maxPending = 64

// suspect files a finding that compares what the node did at two observations.
func (n *node) suspect(c *Checker, f Finding, since, until uint64) {
	if c.scouting {
		return
	}
	switch n.disk(since, until) {
	case sameDisk:
		c.report(f)
	case notKnown:
		if len(n.pending) < maxPending {
			n.pending = append(n.pending, suspicion{f, since, until})
		}
	case otherDisk:
	}
}

// confirm looks at the pending findings again, now that the node was heard of.
func (n *node) confirm(c *Checker) {
	if len(n.pending) == 0 {
		return
	}
	kept := n.pending[:0]
	for _, s := range n.pending {
		switch n.disk(s.since, s.until) {
		case sameDisk:
			c.report(s.finding)
		case notKnown:
			kept = append(kept, s)
		case otherDisk:
		}
	}
	n.pending = kept
}

func (n *node) prune(oldest uint64) { n.epochs.prune(oldest) }

// software takes in what the node's clients say about their release.
func (n *node) software(c *Checker, name, version string) {
	c.second.software(n.id, name, version)
	release := version
	if name != javaClient {
		release = name + " " + version
	}
	if n.view.Release == release {
		return
	}
	if n.view.Release != "" {
		c.note("node " + n.id.String() + " changed its release from " + n.view.Release + " to " + release)
	}
	n.view.Release = release
}

// javaClient is the software name of Kafka's own clients.
const javaClient = "apache-kafka-java"

// ownClient is that of a node of this project. Its version is the release of Kafka whose rules it follows.
const ownClient = "understudy"

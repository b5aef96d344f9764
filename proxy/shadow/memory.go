package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Memory is what is known of a cluster from earlier streams, so that a quorum that comes back with less than it had is
// found days later. A Checker takes it in when it learns which cluster it looks at ([Options.Recall]), and gives it back
// with what it has seen ([Checker.Memory]).
type Memory struct {
	ClusterID string       `json:"clusterId"`
	At        int64        `json:"at"` // the last instant of the stream it is from, nanoseconds since the Unix epoch
	Watermark MemoryMark   `json:"highWatermark"`
	Voters    []MemoryKey  `json:"voters"`
	Nodes     []MemoryNode `json:"nodes"`
}

// MemoryMark is the greatest high watermark that a leader answered.
type MemoryMark struct {
	Offset kraft.Offset `json:"offset"` // -1: none is known
	Epoch  kraft.Epoch  `json:"epoch"`
	Leader kraft.NodeID `json:"leader"`
	At     int64        `json:"at"`
}

// MemoryKey names a replica.
type MemoryKey struct {
	ID          kraft.NodeID `json:"id"`
	DirectoryID string       `json:"directoryId,omitempty"`
}

// MemoryNode is what a node attested.
type MemoryNode struct {
	MemoryKey
	Epoch   kraft.Epoch  `json:"epoch"` // the highest; -1: none
	EpochAt int64        `json:"epochAt"`
	Votes   []MemoryVote `json:"votes,omitempty"` // the latest, oldest first
}

// MemoryVote is a standard vote.
type MemoryVote struct {
	Epoch     kraft.Epoch `json:"epoch"`
	Candidate MemoryKey   `json:"candidate"`
	At        int64       `json:"at"`
}

// memoryVotes bounds the votes that are kept of a node.
const memoryVotes = 16

// Valid says what is wrong with a memory, nil if nothing is.
func (m *Memory) Valid() error {
	switch {
	case m.ClusterID == "":
		return fmt.Errorf("the cluster id is missing")
	case m.At <= 0:
		return fmt.Errorf("instant %d: want nanoseconds since 1970", m.At)
	case m.Watermark.Offset < -1 || m.Watermark.Offset >= 0 && m.Watermark.Epoch < 0:
		return fmt.Errorf("high watermark %d of epoch %d", m.Watermark.Offset, m.Watermark.Epoch)
	case len(m.Nodes) > maxNodes || len(m.Voters) > maxNodes:
		return fmt.Errorf("%d nodes and %d voters: more than %d", len(m.Nodes), len(m.Voters), maxNodes)
	}
	for i := range m.Voters {
		if _, err := m.Voters[i].key(); err != nil {
			return fmt.Errorf("voter %s: %w", m.Voters[i].ID, err)
		}
	}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		if n.ID < 0 || n.Epoch < -1 || slices.ContainsFunc(m.Nodes[:i], func(o MemoryNode) bool { return o.ID == n.ID }) {
			return fmt.Errorf("node %s, epoch %d: bad or twice there", n.ID, n.Epoch)
		}
		if _, err := n.key(); err != nil {
			return fmt.Errorf("node %s: %w", n.ID, err)
		}
		for j := range n.Votes {
			if _, err := n.Votes[j].Candidate.key(); err != nil || n.Votes[j].Epoch < 0 {
				return fmt.Errorf("node %s: vote in epoch %d: %w", n.ID, n.Votes[j].Epoch, err)
			}
		}
	}
	return nil
}

func (k *MemoryKey) key() (key kraft.ReplicaKey, err error) {
	key.ID = k.ID
	if k.DirectoryID != "" {
		key.DirectoryID, err = kraft.ParseDirectoryID(k.DirectoryID)
	}
	return key, err
}

func memoryKey(k kraft.ReplicaKey) MemoryKey {
	m := MemoryKey{ID: k.ID}
	if !k.DirectoryID.IsZero() {
		m.DirectoryID = k.DirectoryID.String()
	}
	return m
}

// identify takes in which cluster is looked at, and what is remembered of it.
func (c *Checker) identify(cluster string) {
	c.cluster = cluster
	if cluster == "" || c.options.Recall == nil || c.scouting || c.recalled {
		return
	}
	c.recalled = true
	m := c.options.Recall(cluster)
	if m == nil {
		return
	}
	if m.At >= c.first {
		c.note("what is remembered of the cluster is as new as this stream, or newer: it is neither used nor changed")
		c.declined = true
		return
	}
	c.remembers = m
	otherDisk := false
	for i := range m.Nodes {
		otherDisk = c.recall(&m.Nodes[i]) || otherDisk
	}
	if w := &m.Watermark; w.Offset >= 0 && !otherDisk {
		e, _ := c.memory.watermarks.of(w.Epoch)
		if e != nil && e.greatest < w.Offset {
			r := ref{from: w.Leader, to: kraft.NoNode, at: w.At, line: fmt.Sprintf("remembered: leader %s answered high watermark %d in epoch %d", nodeName(w.Leader), w.Offset, w.Epoch)}
			e.greatest, e.mostAt = w.Offset, r
			if e.least < 0 {
				e.least, e.leastAt = w.Offset, r
			}
		}
	}
}

// recall takes in what is remembered of a node, and reports whether it has been seen on another disk already. What was remembered is
// certainly before anything in the stream.
func (c *Checker) recall(m *MemoryNode) (otherDisk bool) {
	key, err := m.key()
	n := c.node(m.ID)
	if n == nil || err != nil {
		return false
	}
	if len(n.disks) > 0 && n.disks[0].id != key.DirectoryID {
		return true
	}
	if len(n.disks) > 0 {
		n.disks[0].first = 0
	} else if !key.DirectoryID.IsZero() {
		n.disks = append(n.disks, disk{id: key.DirectoryID})
	}
	if m.Epoch >= 0 {
		r := ref{from: n.id, to: kraft.NoNode, at: m.EpochAt, line: fmt.Sprintf("remembered: node %s was in epoch %d", n.id, m.Epoch)}
		seen := n.epochs.seen.of(0)
		seen.steps = append([]step{{int64(m.Epoch), Moment{At: m.EpochAt}, r}}, seen.steps...)
		seen.steps = slices.DeleteFunc(seen.steps, func(s step) bool { return s.to.Order > 0 && s.value <= int64(m.Epoch) })
	}
	for i := range m.Votes {
		v := &m.Votes[i]
		candidate, err := v.Candidate.key()
		if err != nil || slices.ContainsFunc(n.votes.list, func(k castVote) bool { return k.epoch == v.Epoch }) {
			continue
		}
		r := ref{from: n.id, to: candidate.ID, at: v.At, line: fmt.Sprintf("remembered: node %s voted for %s in epoch %d", n.id, candidate, v.Epoch)}
		n.votes.list = append(n.votes.list, castVote{v.Epoch, candidate, -1, r})
	}
	return false
}

// Memory is what is to be remembered: what was before, and what this stream adds. It is nil if no cluster was identified, and
// if the stream cannot be relied on: frames were altered in flight, or a finding disputes what it says.
func (c *Checker) Memory() *Memory {
	if c.cluster == "" || c.tampered || c.counts.Faults > 0 || c.last == 0 || len(c.findings.all) > 0 || c.declined {
		return nil
	}
	m := &Memory{ClusterID: c.cluster, At: c.last, Watermark: MemoryMark{Offset: -1, Epoch: -1, Leader: kraft.NoNode}}
	old := c.remembers
	if old != nil {
		m.Watermark, m.Voters = old.Watermark, old.Voters
	}
	for i := range c.memory.watermarks.epochs {
		if e := &c.memory.watermarks.epochs[i]; !e.disputed && e.greatest >= m.Watermark.Offset && e.greatest >= 0 {
			m.Watermark = MemoryMark{e.greatest, e.epoch, e.mostAt.from, e.mostAt.at}
		}
	}
	if !c.quorum.assumed {
		m.Voters = nil
		for _, v := range c.quorum.voters {
			m.Voters = append(m.Voters, memoryKey(v))
		}
	}
	for _, n := range c.nodeList {
		m.Nodes = append(m.Nodes, n.remembered())
	}
	return m
}

// remembered is what is to be remembered of a node.
func (n *node) remembered() MemoryNode {
	m := MemoryNode{MemoryKey: MemoryKey{ID: n.id}, Epoch: -1}
	if len(n.disks) > 0 {
		m.MemoryKey = memoryKey(kraft.ReplicaKey{ID: n.id, DirectoryID: n.disks[len(n.disks)-1].id})
	}
	for i := range n.epochs.seen.list {
		if steps := n.epochs.seen.list[i].rise.steps; len(steps) > 0 {
			if last := &steps[len(steps)-1]; kraft.Epoch(last.value) > m.Epoch {
				m.Epoch, m.EpochAt = kraft.Epoch(last.value), last.to.At
			}
		}
	}
	list := n.votes.list
	for i := max(0, len(list)-memoryVotes); i < len(list); i++ {
		m.Votes = append(m.Votes, MemoryVote{list[i].epoch, memoryKey(list[i].candidate), list[i].ref.at})
	}
	return m
}

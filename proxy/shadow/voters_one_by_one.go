package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// votersOneByOne is M16. The log of one leader is followed through its answers as long as they join on to each other. The
// epoch begins with the voters of its LeaderChange record; each Voters record after it differs by one voter at most.
//
// A change that is asked for waits until the one before is committed. An answer shows log and watermark of one moment, so
// a log with two changes of one epoch and a watermark that does not cover the first proves that it did not wait. What the leader writes
// at the start of its epoch is no change that was asked for.
type votersOneByOne struct {
	epoch  kraft.Epoch
	leader kraft.NodeID
	next   kraft.Offset // where the part of the log that was followed ends; -1: none
	voters []kraft.NodeID
	last   kraft.Offset // of the last change since the start of the epoch; -1: none
	lastAt ref
}

var votersOneByOneRule = Rule{
	ID: "M16", Name: "voters-one-by-one",
	Says:   "of two successive voter sets one has at most one voter more, and a change waits until the one before is committed",
	Source: "KIP-853; Kafka AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler",
	Why:    "majorities of the old and the new voter set need not share a voter: two leaders, or lost records",
}

func (*votersOneByOne) rule() *Rule   { return &votersOneByOneRule }
func (*votersOneByOne) hears() []Kind { return []Kind{KindFetchResponse} }

func (v *votersOneByOne) observe(c *Checker, m *message) {
	if !m.leads || len(m.batches) == 0 || m.epoch < v.epoch {
		return
	}
	if m.epoch > v.epoch || m.sender.id != v.leader {
		*v = votersOneByOne{epoch: m.epoch, leader: m.sender.id, next: -1, last: -1, voters: v.voters[:0]}
	}
	if m.batches[0].base > v.next && v.next >= 0 {
		v.next, v.last, v.voters = -1, -1, v.voters[:0] // what lies between was not seen
	}
	for i := range m.batches {
		b := &m.batches[i]
		if b.base < v.next {
			continue
		}
		if v.next >= 0 && b.base > v.next || b.digest&crcRight == 0 {
			v.next = -1
			return
		}
		v.next = b.last + 1
		if b.control() {
			v.control(c, m, b)
		}
	}
}

// control takes in a batch of control records.
func (v *votersOneByOne) control(c *Checker, m *message, b *batch) {
	starts := false
	b.controls(func(r wire.ControlRecord) bool {
		switch r := r.(type) {
		case wire.LeaderChange:
			starts = true
			v.voters, v.last = idsOf(v.voters, r.Voters), -1
		case wire.Voters:
			v.changed(c, m, b, &r, starts)
		}
		return true
	})
}

func (v *votersOneByOne) changed(c *Checker, m *message, b *batch, r *wire.Voters, starts bool) {
	news := make([]kraft.NodeID, 0, len(r.Voters))
	for i := range r.Voters {
		news = append(news, r.Voters[i].Key.ID)
	}
	now := c.proof(m)
	if d := different(v.voters, news) + different(news, v.voters); len(v.voters) > 0 && d > 1 {
		text := fmt.Sprintf("leader %s of epoch %d changes the voters from %v to %v at offset %d", nodeName(v.author(c, b)), b.epoch, v.voters, news, b.base)
		c.report(c.found(&votersOneByOneRule, v.author(c, b), b.epoch, "steps", text, c.evidence(&now, "")))
	}
	v.voters = append(v.voters[:0], news...)
	if starts || b.epoch != v.epoch {
		return
	}
	if v.last >= 0 && m.hasHW && m.watermark <= v.last {
		text := fmt.Sprintf("leader %s changes the voters at offset %d of epoch %d, while the change at offset %d is not committed, the high watermark being %s",
			m.sender.id, b.base, b.epoch, v.last, known(int64(m.watermark)))
		c.report(c.found(&votersOneByOneRule, m.sender.id, b.epoch, "uncommitted", text, c.evidence(&v.lastAt, ""), c.evidence(&now, "")))
	}
	v.last, v.lastAt = b.base, now
}

// author is who wrote a batch, as far as it is known.
func (v *votersOneByOne) author(c *Checker, b *batch) kraft.NodeID {
	if b.epoch == v.epoch {
		return v.leader
	}
	return c.memory.leaders.leader(b.epoch)
}

// different counts the nodes of one set that another lacks.
func different(set, other []kraft.NodeID) int {
	n := 0
	for _, id := range set {
		if !slices.Contains(other, id) {
			n++
		}
	}
	return n
}

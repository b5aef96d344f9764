package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// epochNeverFalls is M3. Two attested epochs are compared only where their order is certain: two requests on one
// connection, or facts whose spans do not overlap. A parked Fetch that expires is answered with what was true when
// it came; that lies in its span, so it needs no exception.
type epochNeverFalls struct{}

var epochNeverFallsRule = Rule{
	ID: "M3", Name: "epoch-never-falls",
	Says:   "the epoch of a replica never falls, across restarts",
	Source: "KIP-595; Kafka QuorumState.durableTransitionTo, FileQuorumStateStore",
	Why:    "a replica that goes back to an old epoch can follow, or vote for, a leader that was replaced",
}

func (epochNeverFalls) rule() *Rule   { return &epochNeverFallsRule }
func (epochNeverFalls) hears() []Kind { return everyKind() }

// epochMemory holds the epochs that a replica attested.
type epochMemory struct {
	seen rises
}

func (e *epochMemory) prune(oldest uint64) {
	for i := range e.seen.list {
		e.seen.list[i].rise.prune(oldest)
	}
}

// fifoMemory holds what the requests of one connection attested. They are built in the order in which they leave.
type fifoMemory struct {
	epoch kraft.Epoch // highest so far
	any   bool
	ref   ref // the first request with it
}

// attested is the highest epoch that one end of a connection attested, and when it did so first.
type attested struct {
	epoch kraft.Epoch
	any   bool
	to    Moment
	ref   ref
}

func (epochNeverFalls) observe(c *Checker, m *message) {
	if m.epoch < 0 || m.ref.weak {
		return
	}
	n := m.sender
	if m.conn.raft != nil {
		if a := &m.conn.raft.attested[m.ref.dir]; !a.any || m.epoch > a.epoch {
			*a = attested{m.epoch, true, m.when.To, c.proof(m)}
		}
	}
	r := n.epochs.seen.of(m.when.To.Stream)
	if m.when.Open {
		fifo := &m.conn.raft.fifo
		if fifo.any && m.epoch < fifo.epoch {
			fell(c, m, fifo.epoch, &fifo.ref)
			return
		}
		if !fifo.any || m.epoch > fifo.epoch {
			*fifo = fifoMemory{m.epoch, true, c.proof(m)}
		}
	} else if s, ok := r.before(m.when); ok && kraft.Epoch(s.value) > m.epoch {
		if a := n.attestedLater(m); a != nil && n.disk(s.ref.order, m.ref.order) != sameDisk {
			fell(c, m, a.epoch, &a.ref)
			return
		}
		fell(c, m, kraft.Epoch(s.value), &s.ref)
		return
	}
	if len(r.steps) == 0 || int64(m.epoch) > r.steps[len(r.steps)-1].value {
		proof := c.proof(m)
		r.add(int64(m.epoch), m.when.To, &proof)
	}
}

// attestedLater finds the proof of an epoch above that of an answer which lies closest before it. The first proof may have come on
// a connection that fell silent, such as that of a BeginQuorumEpoch: then nothing shows that the same process, or disk, is behind
// both. The later the proof, the more connections show it.
func (n *node) attestedLater(m *message) (found *attested) {
	for _, k := range n.conns {
		if k.raft == nil {
			continue
		}
		end := wire.Response
		if k.client == n {
			end = wire.Request
		}
		a := &k.raft.attested[end]
		if a.any && a.epoch > m.epoch && (Span{To: a.to}).Before(m.when) && (found == nil || a.to.Order > found.to.Order) {
			found = a
		}
	}
	return found
}

// fell reports that a node went back from an epoch.
func fell(c *Checker, m *message, from kraft.Epoch, before *ref) {
	text := fmt.Sprintf("node %s was at epoch %d and is at epoch %d afterwards", m.sender.id, from, m.epoch)
	now := c.proof(m)
	f := c.found(&epochNeverFallsRule, m.sender.id, m.epoch, "", text, c.evidence(before, ""), c.evidence(&now, ""))
	m.sender.suspect(c, f, before.order, m.ref.order)
}

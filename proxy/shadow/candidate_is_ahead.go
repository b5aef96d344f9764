package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// candidateAhead is M14. A candidate stands for an epoch that it has just entered: it had been prospective in the
// epoch before. Requests of one connection are built in the order in which they leave; those of different
// connections may overtake each other, a Vote may wait behind a Fetch for seconds, so only one connection's are compared.
//
// A node that restarts as a candidate asks again in the epoch it voted for itself in, and may have records of that very
// epoch if it followed its leader before (Kafka: QuorumState.initialize). So a last record of the epoch stood for proves
// something only where the same connection shows that the node came from an older epoch.
type candidateAhead struct{}

var candidateAheadRule = Rule{
	ID: "M14", Name: "candidate-is-ahead",
	Says:   "a candidate's epoch is later than every epoch it was in before and than that of its last record; a pre-vote asks in the sender's epoch",
	Source: "KIP-595, KIP-996; Kafka QuorumState.transitionToCandidate, KafkaRaftClient.handleVoteRequest",
	Why:    "votes gathered for an epoch that is over elect a second leader of it",
}

func (candidateAhead) rule() *Rule   { return &candidateAheadRule }
func (candidateAhead) hears() []Kind { return everyRequest() }

func everyRequest() []Kind {
	var list []Kind
	for k := Kind(0); k < kinds; k += 2 {
		list = append(list, k)
	}
	return list
}

// heldMemory holds the greatest epoch that the requests of one connection showed the sender to be in, other than as
// a candidate of it.
type heldMemory struct {
	any    bool
	epoch  kraft.Epoch
	ref    ref
	lowest kraft.Epoch // the lowest epoch of any request
	low    bool
}

func (candidateAhead) observe(c *Checker, m *message) {
	if m.epoch < 0 {
		return
	}
	h := &m.conn.raft.held
	if m.kind == KindVoteRequest {
		standsWell(c, m, h)
	}
	if !h.low || m.epoch < h.lowest {
		h.low, h.lowest = true, m.epoch
	}
	if m.kind == KindVoteRequest && !m.vote.preVote {
		return
	}
	if !h.any || m.epoch > h.epoch {
		h.any, h.epoch, h.ref = true, m.epoch, c.proof(m)
	}
}

// standsWell looks at a request for a vote.
func standsWell(c *Checker, m *message, h *heldMemory) {
	v := &m.vote
	now := c.proof(m)
	switch {
	case v.logEnd.LastEpoch > v.epoch:
		text := fmt.Sprintf("node %s asks for votes in epoch %d with a last record of epoch %d", m.sender.id, v.epoch, v.logEnd.LastEpoch)
		c.report(c.found(&candidateAheadRule, m.sender.id, v.epoch, "record", text, c.evidence(&now, "")))
	case v.preVote:
	case h.any && h.epoch >= v.epoch:
		text := fmt.Sprintf("node %s stands for epoch %d after it had been in epoch %d", m.sender.id, v.epoch, h.epoch)
		c.report(c.found(&candidateAheadRule, m.sender.id, v.epoch, "epoch", text, c.evidence(&h.ref, ""), c.evidence(&now, "")))
	case v.logEnd.LastEpoch == v.epoch && h.low && h.lowest < kraft.Epoch(v.epoch):
		text := fmt.Sprintf("node %s stands for epoch %d, which it came to from epoch %d, with a last record of it", m.sender.id, v.epoch, h.lowest)
		c.report(c.found(&candidateAheadRule, m.sender.id, v.epoch, "record", text, c.evidence(&now, "")))
	}
}

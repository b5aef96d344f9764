package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// epochBeginsWithCandidate is M13. With pre-votes (KIP-996) a node reaches a new epoch of its own accord as a candidate, after a
// majority granted it a pre-vote in the epoch before; or as the leader of the epoch before, which gives up. Others learn
// of it from messages. So a pre-vote of an epoch that nobody was seen in is wrong, if its sender is not that leader, and
// cannot have had a majority.
//
// A candidate's votes may never leave it, and its own pre-vote in that epoch may come first; therefore the grants decide. The rule
// looks only where nothing can have been missed: one observer, from the first connection on, without gap, voters that all know
// pre-votes and never change, and a sender that was in a lower epoch on the same connection. A voter to which the sender was
// never seen to send a Vote may be reached past the observer: it counts as one that granted.
type epochBeginsWithCandidate struct {
	top     kraft.Epoch    // the highest epoch in any message
	voters  []kraft.NodeID // the first set that was seen
	changed bool
	stream  int
	several bool // streams
	grants  []preVoteGrant
	sent    []voteRoute
	suspect []conjured
}

type preVoteGrant struct {
	epoch     kraft.Epoch
	candidate kraft.NodeID
	voters    []kraft.NodeID
}

type voteRoute struct{ from, to kraft.NodeID }

// conjured is a pre-vote of an epoch that came from nowhere.
type conjured struct {
	node  kraft.NodeID
	epoch kraft.Epoch // the epoch of the pre-vote
	from  kraft.Epoch // the highest epoch seen before
	life  int
	ref   ref
}

var epochBeginsWithCandidateRule = Rule{
	ID: "M13", Name: "epoch-begins-with-candidate",
	Says:   "a new epoch begins with a candidate that a majority granted a pre-vote, or with the leader that gave up the epoch before",
	Source: "KIP-996; Kafka QuorumState.transitionToProspective, transitionToCandidate, KafkaRaftClient.pollResigned",
	Why:    "a node that raises epochs by itself deposes every leader it can reach",
	across: true,
}

func (*epochBeginsWithCandidate) rule() *Rule   { return &epochBeginsWithCandidateRule }
func (*epochBeginsWithCandidate) hears() []Kind { return everyKind() }

// The bounds on grants, routes and suspicions that are remembered.
const (
	grantsKept   = 128
	routesKept   = 1024
	conjuredKept = 16
)

// heard takes in the epoch of a message whose sender has no name.
func (e *epochBeginsWithCandidate) heard(epoch kraft.Epoch) { e.top = max(e.top, epoch) }

func (e *epochBeginsWithCandidate) observe(c *Checker, m *message) {
	before := e.top
	if e.top < 0 {
		e.stream = m.ref.stream
	}
	e.several = e.several || e.stream != m.ref.stream
	e.heard(max(m.epoch, m.asked))
	e.set(c)
	switch m.kind {
	case KindVoteRequest:
		e.route(m)
		if m.vote.preVote && m.epoch > before && e.certain(c, m) {
			e.suspects(m, before)
		}
		e.settle(c, m.sender)
	case KindVoteResponse:
		if m.vote.preVote && m.vote.granted && !m.failed && m.peer != nil {
			e.grant(m.vote.epoch, m.peer.id, m.sender.id)
		}
	}
}

// set takes in the voters; a set that changes makes majorities uncertain.
func (e *epochBeginsWithCandidate) set(c *Checker) {
	q := &c.quorum
	if q.assumed || e.changed {
		return
	}
	if e.voters == nil {
		e.voters = idsOf(nil, q.voters)
		return
	}
	e.changed = len(q.voters) != len(e.voters) ||
		slices.ContainsFunc(q.voters, func(k kraft.ReplicaKey) bool { return !slices.Contains(e.voters, k.ID) })
}

func (e *epochBeginsWithCandidate) route(m *message) {
	if m.peer == nil {
		return
	}
	if r := (voteRoute{m.sender.id, m.peer.id}); !slices.Contains(e.sent, r) && len(e.sent) < routesKept {
		e.sent = append(e.sent, r)
	}
}

func (e *epochBeginsWithCandidate) grant(epoch kraft.Epoch, candidate, voter kraft.NodeID) {
	for i := range e.grants {
		if g := &e.grants[i]; g.epoch == epoch && g.candidate == candidate {
			if !slices.Contains(g.voters, voter) && len(g.voters) < maxBallots {
				g.voters = append(g.voters, voter)
			}
			return
		}
	}
	if len(e.grants) >= grantsKept {
		e.grants = append(e.grants[:0], e.grants[1:]...)
	}
	e.grants = append(e.grants, preVoteGrant{epoch, candidate, []kraft.NodeID{voter}})
}

// certain reports whether nothing can have been missed that would explain the epoch.
func (e *epochBeginsWithCandidate) certain(c *Checker, m *message) bool {
	if c.counts.Gaps > 0 || c.counts.Midway > 0 || c.counts.Undecodable > 0 || e.several {
		return false
	}
	if e.changed || len(e.voters) < 2 || !slices.Contains(e.voters, m.sender.id) {
		return false
	}
	fifo := &m.conn.raft.fifo
	if !m.conn.raft.held.low || m.conn.raft.held.lowest >= m.epoch || !fifo.any {
		return false
	}
	for _, id := range e.voters {
		heard := slices.ContainsFunc(c.endpointList, func(o *endpoint) bool {
			return o.node != nil && o.node.id == id && o.conns > 0 && (id == m.sender.id || o.offer != nil && o.offer[wire.KeyVote].max >= 2)
		})
		if !heard {
			return false
		}
	}
	return true
}

// suspects takes note of a pre-vote whose epoch came from nowhere.
func (e *epochBeginsWithCandidate) suspects(m *message, before kraft.Epoch) {
	if len(e.suspect) < conjuredKept {
		e.suspect = append(e.suspect, conjured{m.sender.id, m.epoch, before, m.sender.lives, m.ref})
	}
}

// settle looks at the suspicions against a node again, now that it has sent one more Vote.
func (e *epochBeginsWithCandidate) settle(c *Checker, n *node) {
	kept := e.suspect[:0]
	for _, s := range e.suspect {
		switch {
		case s.node != n.id:
			kept = append(kept, s)
		case s.life != n.lives || e.changed || c.counts.Gaps > 0:
		case e.possible(c, &s) > len(e.voters)/2:
			kept = append(kept, s)
		default:
			text := fmt.Sprintf("node %s asks for pre-votes in epoch %d, which nobody was in; the highest epoch was %d, and no majority had granted it a pre-vote there",
				n.id, s.epoch, s.from)
			c.report(c.found(&epochBeginsWithCandidateRule, n.id, s.epoch, "", text, c.evidence(&s.ref, fmt.Sprintf("pre-vote in epoch %d", s.epoch))))
		}
	}
	e.suspect = kept
}

// possible is how many voters may have granted the node what it needs to reach the epoch by itself.
func (e *epochBeginsWithCandidate) possible(c *Checker, s *conjured) int {
	if s.epoch > s.from+1 { // it needs a pre-vote in each epoch on the way, and they would have been seen
		return e.votes(-1, s.node)
	}
	if leader := c.memory.leaders.leader(s.from); leader == s.node || leader == kraft.NoNode {
		return len(e.voters)
	}
	return e.votes(s.from, s.node)
}

func (e *epochBeginsWithCandidate) votes(epoch kraft.Epoch, candidate kraft.NodeID) int {
	n := 1 // its own
	for _, id := range e.voters {
		if id == candidate {
			continue
		}
		granted := !slices.Contains(e.sent, voteRoute{candidate, id})
		for i := range e.grants {
			g := &e.grants[i]
			granted = granted || g.epoch == epoch && g.candidate == candidate && slices.Contains(g.voters, id)
		}
		if granted {
			n++
		}
	}
	return n
}

package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// oneLeader is M2. Only fields that are set on purpose count as claims, see [message].
type oneLeader struct {
	claims map[kraft.Epoch]*leaderClaims
	order  []kraft.Epoch // in the order of their first claim
	recent *leaderClaims
}

var oneLeaderRule = Rule{
	ID: "M2", Name: "one-leader",
	Says:   "all nodes name one and the same leader for an epoch",
	Source: "Raft, election safety; KIP-595; Kafka KafkaRaftClient.hasConsistentLeader",
	Why:    "two leaders of one epoch write different records under the same offsets and epoch",
	across: true,
}

func (*oneLeader) rule() *Rule   { return &oneLeaderRule }
func (*oneLeader) hears() []Kind { return everyKind() }

// leaderClaims is what was claimed about an epoch.
type leaderClaims struct {
	epoch kraft.Epoch
	sides []leaderClaim // one for each leader that was named, in the order of the first claim
}

type leaderClaim struct {
	leader kraft.NodeID
	by     []kraft.NodeID // who said so
	first  ref
}

// epochsKept bounds the epochs whose leader is remembered.
const epochsKept = 4096

func (o *oneLeader) observe(c *Checker, m *message) {
	if m.names() {
		o.claim(c, m, m.epoch, m.leader, m.sender.id)
	}
}

// claim takes in that node by names the leader of an epoch.
func (o *oneLeader) claim(c *Checker, m *message, epoch kraft.Epoch, leader, by kraft.NodeID) {
	if epoch <= c.memory.floor {
		return
	}
	e := o.recent
	if e == nil || e.epoch != epoch {
		e = o.of(epoch)
		o.recent = e
	}
	for i := range e.sides {
		s := &e.sides[i]
		if s.leader != leader {
			continue
		}
		if !slices.Contains(s.by, by) && len(s.by) < maxBallots {
			s.by = append(s.by, by)
		}
		if len(e.sides) > 1 {
			o.conflict(c, e)
		}
		return
	}
	if len(e.sides) < 4 {
		e.sides = append(e.sides, leaderClaim{leader, []kraft.NodeID{by}, c.proof(m)})
	}
	if len(e.sides) > 1 {
		o.conflict(c, e)
	}
}

// conflict reports two leaders of an epoch. At fault is who stands alone; if both sides have as many witnesses, who
// spoke last.
func (o *oneLeader) conflict(c *Checker, e *leaderClaims) {
	last := &e.sides[len(e.sides)-1]
	first := &e.sides[0]
	blamed := last.by[len(last.by)-1]
	if len(first.by) == 1 && len(last.by) > 1 {
		blamed = first.by[0]
	}
	text := fmt.Sprintf("node %s leads epoch %d as node %s says, and node %s as node %s says",
		first.leader, e.epoch, first.by[0], last.leader, last.by[0])
	c.report(c.found(&oneLeaderRule, blamed, e.epoch, "", text, c.evidence(&first.first, ""), c.evidence(&last.first, "")))
}

func (o *oneLeader) of(epoch kraft.Epoch) *leaderClaims {
	if e := o.claims[epoch]; e != nil {
		return e
	}
	if o.claims == nil {
		o.claims = map[kraft.Epoch]*leaderClaims{}
	}
	if len(o.order) == epochsKept {
		delete(o.claims, o.order[0])
		o.order = append(o.order[:0], o.order[1:]...)
	}
	e := &leaderClaims{epoch: epoch}
	o.claims[epoch] = e
	o.order = append(o.order, epoch)
	return e
}

// leader is the leader of an epoch, as far as it is known and not disputed.
func (o *oneLeader) leader(epoch kraft.Epoch) kraft.NodeID {
	if e := o.claims[epoch]; e != nil && len(e.sides) == 1 {
		return e.sides[0].leader
	}
	return kraft.NoNode
}

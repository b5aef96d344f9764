package shadow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// majorityElected is M4. A leader writes down who the voters were and who granted it the epoch (KIP-595, LeaderChange
// record). The same voters' answers crossed the wire.
type majorityElected struct {
	seen []kraft.LogEnd // LeaderChange records looked at, the newest last
}

var majorityElectedRule = Rule{
	ID: "M4", Name: "majority-elected",
	Says:   "the voters that a LeaderChange record says granted the epoch are a majority, and none of them voted for another",
	Source: "KIP-595; Kafka LeaderState.appendStartOfEpochControlRecords, EpochElection.isVoteGranted",
	Why:    "a leader without a majority's votes can lead beside another one",
	across: true,
}

func (*majorityElected) rule() *Rule   { return &majorityElectedRule }
func (*majorityElected) hears() []Kind { return []Kind{KindFetchResponse} }

// changesKept bounds how many LeaderChange records are remembered as looked at.
const changesKept = 256

func (e *majorityElected) observe(c *Checker, m *message) {
	for i := range m.batches {
		b := &m.batches[i]
		if !b.control() {
			continue
		}
		at := kraft.LogEnd{LastEpoch: b.epoch, LastOffset: b.base}
		if slices.Contains(e.seen, at) {
			continue
		}
		if change, ok := b.leaderChange(); ok {
			if len(e.seen) == changesKept {
				e.seen = append(e.seen[:0], e.seen[1:]...)
			}
			e.seen = append(e.seen, at)
			e.change(c, m, b, &change)
		}
	}
}

// change looks at a LeaderChange record, seen for the first time. It is its author's word if its author serves it;
// otherwise it is taken for a faithful copy.
func (e *majorityElected) change(c *Checker, m *message, b *batch, change *wire.LeaderChange) {
	c.memory.leaders.claim(c, m, b.epoch, change.Leader, m.sender.id)
	author := change.Leader
	if m.epoch == b.epoch {
		author = m.sender.id
	}
	granted := 0
	for _, v := range change.Voters {
		if slices.ContainsFunc(change.Granting, func(g kraft.ReplicaKey) bool { return g.ID == v.ID }) {
			granted++
		}
	}
	if granted <= len(change.Voters)/2 {
		text := fmt.Sprintf("the LeaderChange record of epoch %d says that leader %s has the votes of %s: no majority of the voters %s",
			b.epoch, change.Leader, ids(change.Granting), ids(change.Voters))
		now := c.proof(m)
		c.report(c.found(&majorityElectedRule, author, b.epoch, "majority", text, c.evidence(&now, "")))
		return
	}
	for _, g := range change.Granting {
		e.votedElsewhere(c, m, b, author, change.Leader, g.ID)
	}
}

// votedElsewhere looks whether a voter that is said to have elected the leader voted for another. If it was seen to vote
// for both, that is the voter's fault and M1's business.
func (e *majorityElected) votedElsewhere(c *Checker, m *message, b *batch, author, leader, voter kraft.NodeID) {
	n := c.nodes[voter]
	if n == nil || voter == leader || len(n.disks) > 1 {
		return
	}
	for i := range n.votes.list {
		v := &n.votes.list[i]
		if v.epoch != b.epoch || v.candidate.ID == leader {
			continue
		}
		text := fmt.Sprintf("the LeaderChange record of epoch %d says that node %s voted for leader %s; it voted for %s",
			b.epoch, voter, leader, v.candidate)
		now := c.proof(m)
		f := c.found(&majorityElectedRule, author, b.epoch, "voter "+voter.String(), text, c.evidence(&v.ref, ""), c.evidence(&now, ""))
		n.suspect(c, f, v.ref.order, m.ref.order)
		return
	}
}

func ids(keys []kraft.ReplicaKey) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.ID.String()
	}
	return "[" + strings.Join(list, " ") + "]"
}

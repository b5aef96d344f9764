package shadow

import (
	"fmt"
	"slices"
)

// successorsInOrder is M20. A leader that gives up names the other voters, the one that fetched furthest first. It stops to
// answer Fetches before it writes that list, so whatever offsets it was seen to answer count; a Fetch that it may not have taken yet is
// to the benefit of who sent it. A restarted leader knows nobody's offset and sends an empty list.
type successorsInOrder struct{}

var successorsInOrderRule = Rule{
	ID: "M20", Name: "successors-in-order",
	Says:   "a leader that gives up its epoch names the other voters as successors, the one with the longest log first, each once",
	Source: "KIP-595; Kafka LeaderState.nonLeaderVotersByDescendingFetchOffset, KafkaRaftClient.buildEndQuorumEpochRequest",
	Why:    "the first in the list stands at once: one that lags is refused, and the quorum stays without a leader for longer",
	across: true,
}

func (successorsInOrder) rule() *Rule   { return &successorsInOrderRule }
func (successorsInOrder) hears() []Kind { return []Kind{KindEndRequest} }

func (successorsInOrder) observe(c *Checker, m *message) {
	list := m.begun.successors
	now := c.proof(m)
	for i, key := range list {
		text := ""
		switch {
		case key.ID == m.sender.id:
			text = fmt.Sprintf("leader %s names itself as a successor in epoch %d", m.sender.id, m.begun.epoch)
		case slices.Contains(list[:i], key):
			text = fmt.Sprintf("leader %s names node %s twice as a successor in epoch %d", m.sender.id, key.ID, m.begun.epoch)
		default:
			continue
		}
		f := c.found(&successorsInOrderRule, m.sender.id, m.begun.epoch, "names", text, c.evidence(&now, ""))
		f.across = false
		c.report(f)
		return
	}
	for _, t := range c.memory.tenures.list {
		if t.epoch == m.begun.epoch && t.leader == m.sender.id && !t.blind && t.stream == m.ref.stream {
			t.ranked(c, m, &now)
			return
		}
	}
}

// ranked compares the list with the offsets seen.
func (t *tenure) ranked(c *Checker, m *message, now *ref) {
	list := m.begun.successors
	for i := range list {
		first := t.follower(list[i].ID)
		if first == nil || first.reformed || first.elsewhere || !slices.Contains(t.voters, first.id) {
			continue
		}
		for j := i + 1; j < len(list); j++ {
			then := t.follower(list[j].ID)
			if then == nil || then.reformed || !slices.Contains(t.voters, then.id) || then.answered <= first.offered {
				continue
			}
			if !first.asking && first.lastReply <= then.answer.order { // it may have asked past the observer since
				continue
			}
			if d := list[j].DirectoryID; !d.IsZero() && !then.directory.IsZero() && d != then.directory {
				continue
			}
			text := fmt.Sprintf("leader %s gives up epoch %d and names node %s, which fetched up to %d, before node %s, which fetched up to %d",
				m.sender.id, t.epoch, first.id, first.offered, then.id, then.answered)
			c.report(c.found(&successorsInOrderRule, m.sender.id, t.epoch, "order", text,
				c.evidence(&first.offer, fmt.Sprintf("fetch offset %d", first.offered)),
				c.evidence(&then.answer, fmt.Sprintf("fetch offset %d", then.answered)), c.evidence(now, "")))
			return
		}
	}
}

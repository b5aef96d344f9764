package shadow

import "fmt"

// epochBegins is M5. A batch is certainly the first of its epoch if it follows, in one answer, on a batch of an older
// epoch; or if it is the first of an answer, begins at the offset asked for, and the replica, whose log the leader
// found to be a prefix of its own, has an older epoch there.
type epochBegins struct{}

var epochBeginsRule = Rule{
	ID: "M5", Name: "epoch-begins-with-leader-change",
	Says:   "the first record of an epoch is its leader's LeaderChange record",
	Source: "KIP-595; Kafka LeaderState.appendStartOfEpochControlRecords",
	Why:    "the record commits what older epochs left behind; without it a watermark may pass records that can still be lost (KAFKA-12619)",
	across: true,
}

func (epochBegins) rule() *Rule   { return &epochBeginsRule }
func (epochBegins) hears() []Kind { return []Kind{KindFetchResponse} }

func (epochBegins) observe(c *Checker, m *message) {
	if len(m.batches) == 0 || m.err != 0 {
		return
	}
	before := m.fetch.LastFetchedEpoch
	certain := m.fetch.Offset == m.batches[0].base && (before >= 0 || m.fetch.Offset == 0)
	for i := range m.batches {
		b := &m.batches[i]
		if certain && b.epoch > before {
			beginsWell(c, m, b)
		}
		before, certain = b.epoch, true
	}
}

func beginsWell(c *Checker, m *message, b *batch) {
	if _, ok := b.leaderChange(); ok { // a wrong leader in it is M2's business
		return
	}
	author := c.memory.leaders.leader(b.epoch)
	if author < 0 || m.epoch == b.epoch {
		author = m.sender.id
	}
	text := fmt.Sprintf("epoch %d begins at offset %d with %s instead of its leader's LeaderChange record", b.epoch, b.base, &b.head)
	now := c.proof(m)
	c.report(c.found(&epochBeginsRule, author, b.epoch, "", text, c.evidence(&now, "")))
}

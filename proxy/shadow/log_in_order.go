package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// logInOrder is M7. It looks at one answer at a time: a leader reads it from its log in one go. Leaders keep no
// hole in the metadata log (it is not compacted), so the first batch holds the offset asked for.
type logInOrder struct{}

var logInOrderRule = Rule{
	ID: "M7", Name: "log-in-order",
	Says:   "along the log offsets have no gap, epochs never fall, and no epoch is later than the leader's",
	Source: "KIP-595; Kafka RaftLog.read, LeaderEpochFileCache.assign",
	Why:    "a replica cannot append such records, or builds a log that no leader had",
	across: true,
}

func (logInOrder) rule() *Rule   { return &logInOrderRule }
func (logInOrder) hears() []Kind { return []Kind{KindFetchResponse} }

func (logInOrder) observe(c *Checker, m *message) {
	if len(m.batches) == 0 || m.err != kraft.None {
		return
	}
	for i := range m.batches {
		b := &m.batches[i]
		switch {
		case b.last < b.base:
			disorder(c, m, fmt.Sprintf("the batch at offset %d ends at offset %d", b.base, b.last))
		case m.epoch >= 0 && b.epoch > m.epoch:
			disorder(c, m, fmt.Sprintf("leader %s of epoch %d serves offset %d with epoch %d", m.sender.id, m.epoch, b.base, b.epoch))
		case i == 0 && (b.base > m.fetch.Offset || b.last < m.fetch.Offset):
			disorder(c, m, fmt.Sprintf("a Fetch at offset %d is answered with offsets %d..%d", m.fetch.Offset, b.base, b.last))
		case i > 0 && b.base != m.batches[i-1].last+1:
			disorder(c, m, fmt.Sprintf("offset %d follows on offset %d", b.base, m.batches[i-1].last))
		case i > 0 && b.epoch < m.batches[i-1].epoch:
			disorder(c, m, fmt.Sprintf("epoch %d follows on epoch %d at offset %d", b.epoch, m.batches[i-1].epoch, b.base))
		default:
			continue
		}
		return
	}
}

func disorder(c *Checker, m *message, text string) {
	now := c.proof(m)
	c.report(c.found(&logInOrderRule, m.sender.id, m.epoch, "", text, c.asked(m), c.evidence(&now, "")))
}

package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// sameRecord is M6. It has its batches from the store of M8, which compares them as they come in: epochs with offsets name
// a batch, wherever and whenever it is served. The comparison uses the batch's own CRC, whether that is right, and its
// length, so that it works on records that a recording withholds. A batch cut off at the end of an answer is left out.
type sameRecord struct{ store *committedStays }

var sameRecordRule = Rule{
	ID: "M6", Name: "same-offset-same-record",
	Says:   "the same offset and epoch hold the same records on every node, and a leader never changes its log",
	Source: "Raft, log matching and leader append-only; KIP-595",
	Why:    "controllers that replay different records decide differently",
	across: true,
}

func (sameRecord) rule() *Rule                { return &sameRecordRule }
func (sameRecord) hears() []Kind              { return nil }
func (sameRecord) observe(*Checker, *message) {}

// differs reports a batch in whose place another was served. At fault is who served a batch with a wrong CRC, or else the
// later one if the earlier was seen more than once or was of the same node; otherwise it cannot be told.
func differs(c *Checker, m *message, b *batch, old *storedBatch) {
	text := fmt.Sprintf("node %s serves offsets %d..%d of epoch %d, where node %s served %s with other content",
		m.sender.id, b.base, b.last, b.epoch, nodeName(old.ref.from), span(old.base, old.last, old.epoch))
	blamed := m.sender.id
	switch {
	case b.digest&crcRight == 0:
	case old.digest&crcRight == 0:
		blamed = old.ref.from
	case old.times < 2 && old.ref.from != blamed:
		blamed = kraft.NoNode
	}
	now := c.proof(m)
	c.report(c.found(&sameRecordRule, blamed, b.epoch, "", text,
		c.evidence(&old.ref, "served "+span(old.base, old.last, old.epoch)), c.evidence(&now, "")))
}

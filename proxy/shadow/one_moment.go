package shadow

import (
	"fmt"
	"sort"

	"github.com/understudy-kafka/understudy/kraft"
)

// oneMoment is M11. A leader reads log and high watermark for an answer in one moment, and in an epoch both only
// grow. So of two answers that read to the log's end, one is at least as far in both.
//
// That an answer read to the end is certain only if it was not cut by a size limit and does not stop at a segment's
// end. The latter shows only when another answer goes on there without a break, so a suspicion waits for that proof.
type oneMoment struct {
	epoch  kraft.Epoch
	points []logPoint // of the newest epoch, by log end
}

type logPoint struct {
	end       kraft.Offset
	watermark kraft.Offset // the greatest seen with this end
	lowest    kraft.Offset // the least
	ref       ref
	lowRef    ref
}

var oneMomentRule = Rule{
	ID: "M11", Name: "one-moment",
	Says:   "of two answers of a leader in an epoch, the one with the longer log has no lower high watermark",
	Source: "Kafka KafkaRaftClient.tryCompleteFetchRequest (one thread reads both)",
	Why:    "an answer that mixes old and new state can hide a lost or early commit",
}

func (*oneMoment) rule() *Rule   { return &oneMomentRule }
func (*oneMoment) hears() []Kind { return []Kind{KindFetchResponse} }

const (
	pointsKept = 128
	leaderCap  = 8 << 20 // up to 4.2 a leader reads at most this much, whatever is asked (Kafka: MAX_FETCH_SIZE_BYTES)
)

func (p *oneMoment) observe(c *Checker, m *message) {
	if !m.hasHW || len(m.batches) == 0 || m.cutTail || m.epoch < p.epoch {
		return
	}
	if size := len(m.fetched.Records); size >= int(m.fetch.MaxBytes) || size >= leaderCap {
		return
	}
	if m.epoch > p.epoch {
		p.epoch, p.points = m.epoch, p.points[:0]
	}
	end := m.batches[len(m.batches)-1].last + 1
	i := len(p.points)
	if i > 0 && p.points[i-1].end >= end {
		i = sort.Search(len(p.points), func(i int) bool { return p.points[i].end >= end })
	}
	p.compare(c, m, i, end)
	p.add(m, i, end)
}

// compare looks at the neighbours: the longest shorter log must not have a higher watermark, the shortest
// longer one no lower one.
func (p *oneMoment) compare(c *Checker, m *message, i int, end kraft.Offset) {
	if i > 0 {
		if o := &p.points[i-1]; o.watermark > m.watermark && c.memory.log.store.joinedAt(o.end, m.epoch) {
			p.mixed(c, m, &o.ref, o.end, o.watermark)
			return
		}
	}
	j := i
	if j < len(p.points) && p.points[j].end == end {
		j++
	}
	if j < len(p.points) {
		if o := &p.points[j]; o.lowest < m.watermark && c.memory.log.store.joinedAt(end, m.epoch) {
			p.mixed(c, m, &o.lowRef, o.end, o.lowest)
		}
	}
}

func (p *oneMoment) mixed(c *Checker, m *message, other *ref, end, watermark kraft.Offset) {
	text := fmt.Sprintf("leader %s answers log end %d with high watermark %d, and log end %d with high watermark %d, in epoch %d",
		m.sender.id, end, watermark, m.batches[len(m.batches)-1].last+1, m.watermark, m.epoch)
	now := c.proof(m)
	c.report(c.found(&oneMomentRule, m.sender.id, m.epoch, "", text,
		c.evidence(other, fmt.Sprintf("log end %d, high watermark %d", end, watermark)), c.evidence(&now, "")))
}

func (p *oneMoment) add(m *message, i int, end kraft.Offset) {
	if i < len(p.points) && p.points[i].end == end {
		o := &p.points[i]
		if m.watermark > o.watermark {
			o.watermark, o.ref = m.watermark, m.ref
		}
		if m.watermark < o.lowest {
			o.lowest, o.lowRef = m.watermark, m.ref
		}
		return
	}
	if len(p.points) == pointsKept {
		if i < pointsKept/2 {
			return
		}
		p.points = append(p.points[:0], p.points[pointsKept/2:]...)
		i -= pointsKept / 2
	}
	p.points = append(p.points, logPoint{})
	copy(p.points[i+1:], p.points[i:])
	p.points[i] = logPoint{end: end, watermark: m.watermark, lowest: m.watermark, ref: m.ref, lowRef: m.ref}
}

package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// watermarkNeverFalls is M9. Within an epoch, two answers of the leader are compared only where their order is certain; a
// parked Fetch that expires is answered with the watermark of its arrival, which its span covers. "Unknown" (-1) is lower than
// any watermark: a leader that knew one keeps it.
//
// Between epochs no order in time is needed. A new leader knows no watermark until a record of its own epoch is
// committed; from then on its watermark lies above everything that older leaders had committed.
type watermarkNeverFalls struct {
	epochs []epochWatermark // by epoch; the newest are kept
}

type epochWatermark struct {
	epoch    kraft.Epoch
	seen     rises
	least    kraft.Offset // the least and greatest known; -1: none
	greatest kraft.Offset
	leastAt  ref
	mostAt   ref
	disputed bool // a falling watermark was reported: the values prove nothing about other epochs
}

var watermarkNeverFallsRule = Rule{
	ID: "M9", Name: "watermark-never-falls",
	Says:   "a leader's high watermark never falls, and once known it is at least that of every older epoch",
	Source: "KIP-595; Kafka LeaderState.maybeUpdateHighWatermark",
	Why:    "what was committed is taken back",
}

func (*watermarkNeverFalls) rule() *Rule { return &watermarkNeverFallsRule }
func (*watermarkNeverFalls) hears() []Kind {
	return []Kind{KindFetchResponse, KindDescribeResponse}
}

// watermarkEpochs is how many epochs' watermarks are compared.
const watermarkEpochs = 256

func (w *watermarkNeverFalls) observe(c *Checker, m *message) {
	if !m.hasHW {
		return
	}
	e, i := w.of(m.epoch)
	if e == nil {
		return
	}
	r := e.seen.of(m.when.To.Stream)
	if s, ok := r.before(m.when); ok && s.value > int64(m.watermark) {
		e.disputed = true
		text := fmt.Sprintf("leader %s answers high watermark %d in epoch %d after it had answered %d", m.sender.id, m.watermark, m.epoch, s.value)
		now := c.proof(m)
		c.report(c.found(&watermarkNeverFallsRule, m.sender.id, m.epoch, "", text,
			c.evidence(&s.ref, fmt.Sprintf("high watermark %d", s.value)), c.evidence(&now, "")))
		return
	}
	r.add(int64(m.watermark), m.when.To, &m.ref)
	if m.watermark < 0 {
		return
	}
	first, behind := i, i+1 // the epochs that news concerns: older ones if it is low, later ones if it is high
	if e.least < 0 || m.watermark < e.least {
		e.least, e.leastAt, first = m.watermark, m.ref, 0
	}
	if m.watermark > e.greatest {
		e.greatest, e.mostAt, behind = m.watermark, m.ref, len(w.epochs)
	}
	if behind-first > 1 && m.epoch > c.memory.floor {
		w.across(c, m, i, first, behind)
	}
}

// across compares an epoch's watermarks with those of the epochs [first, behind).
func (w *watermarkNeverFalls) across(c *Checker, m *message, at, first, behind int) {
	e := &w.epochs[at]
	for i := first; i < behind; i++ {
		o := &w.epochs[i]
		older, newer := o, e
		if i > at {
			older, newer = e, o
		}
		if i == at || o.disputed || e.disputed || o.least < 0 || newer.least >= older.greatest {
			continue
		}
		text := fmt.Sprintf("leader %s of epoch %d answers high watermark %d, leader %s of epoch %d had answered %d",
			nodeName(newer.leastAt.from), newer.epoch, newer.least, nodeName(older.mostAt.from), older.epoch, older.greatest)
		blamed := newer.leastAt.from
		if newer == o {
			blamed = older.mostAt.from
		}
		f := c.found(&watermarkNeverFallsRule, blamed, m.epoch, "epochs", text,
			c.evidence(&older.mostAt, fmt.Sprintf("high watermark %d", older.greatest)),
			c.evidence(&newer.leastAt, fmt.Sprintf("high watermark %d", newer.least)))
		f.across = true
		c.report(f)
		e.disputed = true
		return
	}
}

// of returns what is known of an epoch, and where; nil if that is too old.
func (w *watermarkNeverFalls) of(epoch kraft.Epoch) (*epochWatermark, int) {
	for i := len(w.epochs) - 1; i >= 0; i-- {
		if w.epochs[i].epoch == epoch {
			return &w.epochs[i], i
		}
		if w.epochs[i].epoch < epoch {
			return w.insert(i+1, epoch)
		}
	}
	return w.insert(0, epoch)
}

func (w *watermarkNeverFalls) insert(i int, epoch kraft.Epoch) (*epochWatermark, int) {
	if len(w.epochs) == watermarkEpochs {
		if i == 0 {
			return nil, 0
		}
		w.epochs = append(w.epochs[:0], w.epochs[1:]...)
		i--
	}
	w.epochs = append(w.epochs, epochWatermark{})
	copy(w.epochs[i+1:], w.epochs[i:])
	w.epochs[i] = epochWatermark{epoch: epoch, least: -1, greatest: -1}
	return &w.epochs[i], i
}

func (w *watermarkNeverFalls) prune(oldest uint64) {
	for i := range w.epochs {
		for j := range w.epochs[i].seen.list {
			w.epochs[i].seen.list[j].rise.prune(oldest)
		}
	}
}

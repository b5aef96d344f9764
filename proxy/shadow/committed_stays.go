package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// committedStays is M8. A record is known to be committed if a leader served it and answered, in the same epoch, a high
// watermark behind it: a leader never changes its own log. Every leader of a later epoch has it. That order is the
// order of epochs, so no clock is needed. A leader of an older epoch, cut off, may still serve others there.
//
// A replica may be told to truncate below the cluster's watermark, if its tail was never committed; but not below the
// watermark that it has itself: that one it states in its Fetch (v18, KIP-1166), and Kafka's follower would stop there. Nor can a
// leader say that its own epoch ends below the watermark that it answered before: that epoch ends where its log does, which only grows.
type committedStays struct {
	store      batchStore
	watermarks map[kraft.Epoch]knownWatermark
	order      []kraft.Epoch
	recent     kraft.Epoch
	top        knownWatermark // of the recent epoch
	newest     kraft.Epoch
	own        rises // the watermarks that the leader of the newest epoch answered
}

type knownWatermark struct {
	offset kraft.Offset
	ref    ref
}

var committedStaysRule = Rule{
	ID: "M8", Name: "committed-stays",
	Says:   "a record below a known high watermark is served unchanged by every later leader, and no replica is told to truncate below the watermark it has",
	Source: "Raft, leader completeness; KIP-595; Kafka KafkaRaftClient.handleFetchResponse, RaftLog.truncateToEndOffset",
	Why:    "committed metadata is lost or differs between controllers",
	across: true,
}

func (*committedStays) rule() *Rule { return &committedStaysRule }
func (*committedStays) hears() []Kind {
	return []Kind{KindFetchResponse, KindDescribeResponse}
}

func (s *committedStays) observe(c *Checker, m *message) {
	if m.epoch <= c.memory.floor {
		return
	}
	if m.hasHW && m.watermark >= 0 {
		s.know(m)
		if m.epoch > s.newest {
			s.newest, s.own = m.epoch, rises{}
		}
		if m.epoch == s.newest {
			s.own.of(m.when.To.Stream).add(int64(m.watermark), m.when.To, &m.ref)
		}
	}
	if m.kind != KindFetchResponse || m.failed || m.err != kraft.None {
		return
	}
	if m.fetched.DivergingEpoch >= 0 {
		s.truncation(c, m)
	}
	for i := range m.batches {
		s.serve(c, m, &m.batches[i], i+1 < len(m.batches) || m.cutTail)
	}
}

// truncation looks at an answer that makes a replica truncate its log.
func (s *committedStays) truncation(c *Checker, m *message) {
	has := m.fetch.HighWatermark
	if has == wire.NoHighWatermark || m.fetched.DivergingEnd >= has {
		s.ownEpochEnds(c, m)
		return
	}
	text := fmt.Sprintf("leader %s tells a replica to truncate to offset %d, below its high watermark %d",
		m.sender.id, m.fetched.DivergingEnd, has)
	now := c.proof(m)
	c.report(c.found(&committedStaysRule, m.sender.id, m.epoch, "truncation", text, c.asked(m), c.evidence(&now, "")))
}

// ownEpochEnds looks at an answer that says where the leader's log ends.
func (s *committedStays) ownEpochEnds(c *Checker, m *message) {
	if m.fetched.DivergingEpoch != m.epoch || m.epoch != s.newest || m.ref.weak {
		return
	}
	before, ok := s.own.of(m.when.To.Stream).before(m.when)
	if !ok || before.ref.from != m.sender.id || before.ref.weak || before.value <= int64(m.fetched.DivergingEnd) {
		return
	}
	text := fmt.Sprintf("leader %s tells a replica that its epoch %d ends at offset %d, after it had answered high watermark %d",
		m.sender.id, m.epoch, m.fetched.DivergingEnd, before.value)
	now := c.proof(m)
	c.report(c.found(&committedStaysRule, m.sender.id, m.epoch, "truncation", text,
		c.evidence(&before.ref, fmt.Sprintf("high watermark %d", before.value)), c.evidence(&now, "")))
}

// know remembers the greatest watermark of a leader epoch.
func (s *committedStays) know(m *message) {
	if s.watermarks == nil {
		s.watermarks = map[kraft.Epoch]knownWatermark{}
		s.recent = -1
	}
	if m.epoch == s.recent && m.watermark <= s.top.offset {
		return
	}
	known, ok := s.watermarks[m.epoch]
	if !ok {
		if len(s.order) == epochsKept {
			delete(s.watermarks, s.order[0])
			s.order = append(s.order[:0], s.order[1:]...)
		}
		s.order = append(s.order, m.epoch)
	}
	if !ok || m.watermark > known.offset {
		known = knownWatermark{m.watermark, m.ref}
		s.watermarks[m.epoch] = known
	}
	s.recent, s.top = m.epoch, known
}

// serve takes in a batch of a leader's answer.
func (s *committedStays) serve(c *Checker, m *message, b *batch, joined bool) {
	at := s.store.find(b.base)
	end := at
	for ; end < len(s.store.entries) && s.store.entries[end].base <= b.last; end++ {
		old := &s.store.entries[end]
		if old.base == b.base && old.last == b.last && old.epoch == b.epoch {
			if old.digest != b.digest {
				differs(c, m, b, old)
				return
			}
			old.firstIn, old.lastIn = min(old.firstIn, m.epoch), max(old.lastIn, m.epoch)
			if joined {
				old.joinedIn = max(old.joinedIn, m.epoch)
			}
			old.times++
			return
		}
		if old.epoch == b.epoch || old.lastIn == m.epoch { // another batch, where nothing may have changed
			differs(c, m, b, old)
			return
		}
		if s.replaced(c, m, b, old) {
			return
		}
		if old.lastIn > m.epoch {
			return // the tail of a leader that was replaced
		}
	}
	s.store.remove(at, end)
	kept := storedBatch{
		base: b.base, last: b.last, epoch: b.epoch, digest: b.digest, firstIn: m.epoch, lastIn: m.epoch,
		times: 1, joinedIn: -1, ref: m.ref,
	}
	if joined {
		kept.joinedIn = m.epoch
	}
	s.store.insert(at, kept)
}

// replaced reports whether one of two different batches at an offset was committed when the other was served by a
// later leader.
func (s *committedStays) replaced(c *Checker, m *message, b *batch, old *storedBatch) bool {
	if w, in, ok := s.committed(old.last, old.firstIn, old.lastIn); ok && m.epoch >= in {
		text := fmt.Sprintf("offsets %d..%d of epoch %d were committed in epoch %d, and leader %s of epoch %d serves others there",
			old.base, old.last, old.epoch, in, m.sender.id, m.epoch)
		now := c.proof(m)
		c.report(c.found(&committedStaysRule, m.sender.id, m.epoch, "replaced", text,
			c.evidence(&old.ref, "served "+span(old.base, old.last, old.epoch)), c.evidence(&w.ref, fmt.Sprintf("high watermark %d", w.offset)), c.evidence(&now, "")))
		return true
	}
	if w, in, ok := s.committed(b.last, m.epoch, m.epoch); ok && old.lastIn > in {
		text := fmt.Sprintf("offsets %d..%d of epoch %d were committed in epoch %d, and leader %s of epoch %d served others there",
			b.base, b.last, b.epoch, in, nodeName(old.ref.from), old.lastIn)
		now := c.proof(m)
		c.report(c.found(&committedStaysRule, old.ref.from, old.lastIn, "replaced", text,
			c.evidence(&old.ref, "served "+span(old.base, old.last, old.epoch)), c.evidence(&w.ref, fmt.Sprintf("high watermark %d", w.offset)), c.evidence(&now, "")))
		return true
	}
	return false
}

func span(base, last kraft.Offset, epoch kraft.Epoch) string {
	return fmt.Sprintf("offsets %d..%d of epoch %d", base, last, epoch)
}

// committed says in which of the leader epochs an offset is known to be committed.
func (s *committedStays) committed(last kraft.Offset, first, second kraft.Epoch) (knownWatermark, kraft.Epoch, bool) {
	for _, epoch := range [...]kraft.Epoch{first, second} {
		if w, ok := s.watermarks[epoch]; ok && w.offset > last {
			return w, epoch, true
		}
	}
	return knownWatermark{}, -1, false
}

// asked is the request of a response, as evidence.
func (c *Checker) asked(m *message) Evidence {
	r := m.askedRef
	h := wire.RequestHeader{Key: m.key, Version: m.version}
	r.line = string(c.printer.AppendRequestLine(c.text[:0], h, m.request.Request))
	return c.evidence(&r, "")
}

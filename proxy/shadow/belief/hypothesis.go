package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// hypothesis is one state that the node may be in: a machine, its log, and what lies on its connections.
type hypothesis struct {
	m    *kraft.QuorumStateMachine
	view kraft.LogView
	tail *batchNode // the known batches, newest first

	// openTail: the node led the last epoch of its log and does so no longer. Records that nobody was served may follow.
	openTail bool
	dead     bool // the process has ended on an input (kraft.Fatal), or is done with its shutdown
	blind    bool // it has installed a snapshot whose contents were not seen

	// unvoted: judging began in this epoch with a follower, and who it had voted for before is not known. 0: none.
	unvoted kraft.Epoch
	loading bool        // judging began with a follower that may have been in the middle of a snapshot: it shows by whom it asks for what next
	unheard bool        // judging began with a follower of which no request has told its high watermark: it may know a higher one
	blank   bool        // the disk was formatted without voters
	since   kraft.Epoch // the log's epochs before this one are not known
	reigned bool        // judging began when it led already: what it says of voters that are to change is not known

	soon []kraft.Timer // timers that were set to run out at once

	stored  kraft.QuorumState
	history []kraft.HistoryEntry // control records in the log; the list is never changed in place
	flushed kraft.Offset

	asked []askedSlot // requests to the node that are not answered, in order of their arrival
	sent  []sentSlot  // requests that the node has built and that were not seen leaving, oldest first
	open  []openSlot  // requests that were seen leaving, and their answers until the node takes them

	surprises uint8 // steps that the node took by itself since the last message
	early     uint8 // those that no message asked for when they happened
	serial    uint32
	queued    bool
}

// askedSlot is a request to the node.
type askedSlot struct {
	x        *crossing
	taken    bool
	parked   bool     // in the machine
	open     bool     // a Fetch that waits: it may be answered at any time with the high watermark of then
	closed   bool     // its connection has ended: nobody will see the answer
	passive  bool     // in this state it changes nothing; could has what it is answered then
	observer bool     // a Fetch of an observer: all that it changes is what the leader knows of observers
	before   bool     // it came before judging began: any answer will do
	cut      bool     // the log was truncated since it may have been answered: with which records is not known any more
	serial   uint32   // of the state that passive is true of
	could    []answer // what it may have been answered since it came
}

// sentSlot is a request that the node has built.
type sentSlot struct {
	record      kraft.NodeID // of the machine
	correlation int32
	anywhere    bool // goes to any of the bootstrap servers
	discovers   bool // asks one of the bootstrap servers, whoever leads
	key         int16
	first, last kraft.Instant // when it was built, in all the histories that this one stands for
	said        content
}

// openSlot is a request of the node that was seen leaving.
type openSlot struct {
	conn        ConnID
	record      kraft.NodeID
	correlation int32
	key         int16
	answer      *crossing // nil: none came yet
	failed      bool      // its connection has ended
}

// answer is a reply that the machine gives, as far as it is compared.
type answer struct {
	vague bool // it depends on epochs of the log that are not known
	said  content
	valid bool // a Fetch from a leader at a position of its log
	some  bool // there are records for it
	leads bool
}

// batchNode is a list of batches that clones share.
type batchNode struct {
	before *batchNode
	depth  int
	voted  uint64 // a hash of who has elected the leaders, up to here
	kraft.Batch
}

// maxBatches bounds how many batches of a log are remembered.
const maxBatches = 4096

func (b *batchNode) push(batch kraft.Batch) *batchNode {
	n := &batchNode{before: b, Batch: batch, depth: 1}
	if b != nil {
		n.voted = b.voted
	}
	if n.elected() {
		n.voted = n.ballots()
	}
	if b == nil {
		return n
	}
	if n.depth = b.depth + 1; n.depth > maxBatches {
		n.before, n.depth = b.newest(maxBatches/2), maxBatches/2+1
	}
	return n
}

// ballots adds those who have elected a leader to the hash of those before it.
func (b *batchNode) ballots() uint64 {
	f := hasher{b.voted, 1}
	f.word(uint64(b.Base))
	for _, id := range b.Control[0].Granting {
		f.word(uint64(uint32(id)))
	}
	return f.a ^ f.b
}

// newest is a copy of the list with the last n batches only.
func (b *batchNode) newest(n int) *batchNode {
	list := make([]*batchNode, 0, n)
	for at := b; at != nil && len(list) < n; at = at.before {
		list = append(list, at)
	}
	var out *batchNode
	for i := len(list) - 1; i >= 0; i-- {
		out = &batchNode{before: out, Batch: list[i].Batch, voted: list[i].voted, depth: len(list) - i}
	}
	return out
}

// find is the batch that holds the offset, nil if it is not known.
func (b *batchNode) find(offset kraft.Offset) *batchNode {
	for at := b; at != nil; at = at.before {
		if at.Base <= offset {
			if offset <= at.Last {
				return at
			}
			return nil
		}
	}
	return nil
}

// cut drops batches that reach beyond the offset.
func (b *batchNode) cut(end kraft.Offset) *batchNode {
	for b != nil && b.Last >= end {
		b = b.before
	}
	return b
}

// copyInto makes dst an independent copy and uses the storage that it has.
func (h *hypothesis) copyInto(dst *hypothesis) {
	old := *dst
	*dst = *h
	if dst.m = old.m; dst.m == nil {
		dst.m = new(kraft.QuorumStateMachine)
	}
	h.m.CopyInto(dst.m)
	dst.asked = append(old.asked[:0], h.asked...)
	for i := range dst.asked {
		dst.asked[i].could = slices.Clip(dst.asked[i].could)
	}
	dst.soon = append(old.soon[:0], h.soon...)
	dst.sent = append(old.sent[:0], h.sent...)
	dst.open = append(old.open[:0], h.open...)
}

// askedOn finds the unanswered request of a connection. A server takes them one at a time.
func (h *hypothesis) askedOn(conn ConnID) int {
	for i := range h.asked {
		if h.asked[i].x.conn == conn && !h.asked[i].closed {
			return i
		}
	}
	return -1
}

func (h *hypothesis) request(id kraft.RequestID) *askedSlot {
	for i := range h.asked {
		if h.asked[i].x.id == id {
			return &h.asked[i]
		}
	}
	return nil
}

func (h *hypothesis) dropAsked(i int) { h.asked = slices.Delete(h.asked, i, i+1) }

// leads is the high watermark, if the node leads.
func (h *hypothesis) leads() (kraft.Offset, bool) {
	if l, ok := h.m.Role().(*kraft.Leader); ok && !h.dead {
		return l.HighWatermark, true
	}
	return -1, false
}

// fingerprint tells hypotheses apart, but for the requests that they have built in vain.
type fingerprint [3]uint64

func (h *hypothesis) fingerprint() fingerprint {
	engine := h.m.Likeness()
	f := hasher{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03}
	for i := range 2 {
		f.word(uint64(engine[8*i]) | uint64(engine[8*i+1])<<8 | uint64(engine[8*i+2])<<16 | uint64(engine[8*i+3])<<24 |
			uint64(engine[8*i+4])<<32 | uint64(engine[8*i+5])<<40 | uint64(engine[8*i+6])<<48 | uint64(engine[8*i+7])<<56)
	}
	f.word(uint64(h.view.Start))
	f.word(uint64(h.view.End))
	f.word(uint64(h.view.HighWatermark))
	for _, e := range h.view.Epochs {
		f.word(uint64(uint32(e.Epoch)))
		f.word(uint64(e.Start))
	}
	if h.tail != nil {
		f.word(uint64(h.tail.Base))
		f.word(uint64(h.tail.Last))
		f.word(h.tail.voted)
	}
	f.word(bit(h.openTail) | bit(h.dead)<<1 | bit(h.blind)<<2 | bit(h.unvoted == h.stored.Epoch)<<3 | bit(h.blank)<<4 | bit(h.loading)<<5 | bit(h.unheard)<<6)
	f.word(uint64(uint32(h.stored.Epoch)) | uint64(uint32(h.stored.Leader))<<32)
	f.word(uint64(uint32(h.stored.Voted.ID)))
	f.word(uint64(h.flushed))
	for _, t := range h.soon {
		f.word(uint64(t.Kind)<<32 | uint64(uint32(t.Peer.ID)))
	}
	f.a += h.slots()
	f.word(uint64(len(h.asked)) | uint64(len(h.open))<<32)
	return fingerprint{f.a, f.b, uint64(h.surprises)}
}

// eased takes over from an equal hypothesis that it was come to with fewer steps that nothing asked for. They bound the search, not what is true.
func (h *hypothesis) eased(o *hypothesis) { h.early = min(h.early, o.early) }

// admit takes over from an equal hypothesis what it explains besides: requests that may yet leave though their answers no longer
// count, and answers. It reports whether there were any that it did not have.
func (h *hypothesis) admit(o *hypothesis, really bool) (more bool) {
	for i := range o.asked {
		s := &o.asked[i]
		mine := h.request(s.x.id)
		if s.cut && !mine.cut {
			if more = true; !really {
				return true
			}
			mine.cut = true
		}
		for k := range s.could {
			if mine.has(&s.could[k]) {
				continue
			}
			if more = true; !really {
				return true
			}
			mine.note(s.could[k])
		}
	}
	leads := h.m.Role().Kind() == kraft.LeaderRole
	for i := range o.sent {
		s := &o.sent[i]
		if o.m.Awaits(s.record, s.correlation) && !leads {
			continue
		}
		mine := h.stale(s)
		if mine != nil && mine.first <= s.first && mine.last >= s.last {
			continue
		}
		if more = true; !really {
			return true
		}
		if mine != nil {
			mine.first, mine.last = min(mine.first, s.first), max(mine.last, s.last)
			continue
		}
		stale := *s
		stale.correlation = -1
		at := len(h.sent)
		for at > 0 && h.sent[at-1].first > stale.first {
			at--
		}
		h.sent = slices.Insert(h.sent, at, stale)
	}
	return more
}

// stale is a request like the given one whose answer would not be looked at, nil if there is none.
func (h *hypothesis) stale(s *sentSlot) *sentSlot {
	for i := range h.sent {
		if k := &h.sent[i]; k.alike(s) && !h.m.Awaits(k.record, k.correlation) {
			return k
		}
	}
	return nil
}

// slots is a hash in which the order of the slots does not matter.
func (h *hypothesis) slots() (sum uint64) {
	for i := range h.asked {
		s, f := &h.asked[i], hasher{1, 1}
		f.word(uint64(s.x.id))
		f.word(bit(s.taken) | bit(s.open)<<1 | bit(s.closed)<<2)
		sum += f.a ^ f.b
	}
	leads := h.m.Role().Kind() == kraft.LeaderRole
	for i := range h.sent {
		if s := &h.sent[i]; !leads && h.m.Awaits(s.record, s.correlation) {
			f := hasher{2, 2}
			f.word(uint64(uint32(s.record)) | uint64(s.key)<<32 | bit(s.anywhere)<<48)
			sum += f.a ^ f.b
		}
	}
	for i := range h.open {
		s, f := &h.open[i], hasher{3, 3}
		f.word(s.conn.ID)
		f.word(uint64(uint32(s.record)))
		f.word(bit(s.failed))
		if s.answer != nil {
			f.word(uint64(s.answer.id))
		}
		sum += f.a ^ f.b
	}
	return sum
}

type hasher struct{ a, b uint64 }

func (h *hasher) word(v uint64) {
	h.a = (h.a ^ v) * 0xa0761d6478bd642f
	h.a ^= h.a >> 29
	h.b = (h.b + v) * 0xe7037ed1a0b428db
	h.b ^= h.b >> 32
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

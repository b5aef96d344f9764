package safety

import (
	"math/bits"

	"github.com/understudy-kafka/understudy/kraft"
)

// Link says what a log holds up to the end of one batch: Hash covers everything from offset 0 on. Two logs with the same link at an
// offset are the same up to there.
type Link struct {
	Last    kraft.Offset // of the batch
	Epoch   kraft.Epoch
	Hash    uint64
	Content uint64 // stands for the records of the batch
}

// Chain mirrors a log, batch by batch. It lives beside the log that it mirrors and has the same changes made to it.
type Chain struct {
	before Link // everything in front of the log start
	links  []Link
}

// Reset begins anew, with the storage that is there.
func (c *Chain) Reset() { c.before, c.links = Link{Last: -1, Hash: 1}, c.links[:0] }

// CopyFrom makes c a copy.
func (c *Chain) CopyFrom(o *Chain) { c.before, c.links = o.before, append(c.links[:0], o.links...) }

// Last is the link of the newest batch, or of what lies before the log.
func (c *Chain) Last() Link {
	if n := len(c.links); n > 0 {
		return c.links[n-1]
	}
	return c.before
}

// Append adds a batch. Content stands for its records; that of control records is added to it.
func (c *Chain) Append(b *kraft.Batch, content uint64) Link {
	h := mix(c.Last().Hash^uint64(b.Base), uint64(b.Last)^uint64(b.Epoch)<<40)
	h = mix(h, content^digest(b.Control))
	c.links = append(c.links, Link{Last: b.Last, Epoch: b.Epoch, Hash: h, Content: content})
	return c.links[len(c.links)-1]
}

// TruncateTo drops the batches that reach the offset.
func (c *Chain) TruncateTo(offset kraft.Offset) {
	n := len(c.links)
	for n > 0 && c.links[n-1].Last >= offset {
		n--
	}
	c.links = c.links[:n]
}

// MoveStart drops the batches that end before the offset.
func (c *Chain) MoveStart(offset kraft.Offset) {
	n := 0
	for n < len(c.links) && c.links[n].Last < offset {
		c.before = c.links[n]
		n++
	}
	c.links = append(c.links[:0], c.links[n:]...)
}

// Begin makes the log empty, behind what the link stands for: a snapshot has replaced it.
func (c *Chain) Begin(before Link) { c.before, c.links = before, c.links[:0] }

// Before is the link of the batch that ends right before the offset. It looks from the end on, where nearly all questions are.
func (c *Chain) Before(offset kraft.Offset) (Link, bool) {
	for i := len(c.links) - 1; i >= 0; i-- {
		switch last := c.links[i].Last; {
		case last == offset-1:
			return c.links[i], true
		case last < offset-1:
			return Link{}, false
		}
	}
	return c.before, c.before.Last == offset-1
}

// From are the links of the batch that ends at the offset, and of those behind it. They must not be changed.
func (c *Chain) From(last kraft.Offset) []Link {
	i := len(c.links)
	for i > 0 && c.links[i-1].Last >= last {
		i--
	}
	return c.links[i:]
}

// Holding is the link of the batch that holds the offset, if there is one.
func (c *Chain) Holding(offset kraft.Offset) (Link, bool) {
	if links := c.From(offset); len(links) > 0 {
		return links[0], true
	}
	return Link{}, false
}

func digest(control []kraft.ControlRecord) uint64 {
	h := uint64(0)
	for i := range control {
		r := &control[i]
		h = mix(h^uint64(r.Type), uint64(uint32(r.Leader))<<16^uint64(uint16(r.KRaftVersion)))
		for v := range r.Voters.Len() {
			key := r.Voters.At(v).Key
			h = mix(h^uint64(uint32(key.ID)), uint64(key.DirectoryID[15])<<8^uint64(key.DirectoryID[14])^uint64(key.DirectoryID[0])<<16)
		}
	}
	return h
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd1342543de82ef95)
	return hi ^ lo
}

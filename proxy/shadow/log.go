package shadow

import (
	"errors"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// batch is a record batch of a Fetch response.
type batch struct {
	base   kraft.Offset
	last   kraft.Offset
	epoch  kraft.Epoch
	digest uint64 // of everything in it but base offset and epoch
	head   wire.Batch
}

// crcRight is set in the digest of a batch whose CRC is right.
const crcRight = 1

// control reports whether it holds control records.
func (b *batch) control() bool { return b.head.Control() }

// readBatches reads the batches of a Fetch response. A batch that is cut off at the end is left out, and
// m.cutTail says so.
func (c *Checker) readBatches(m *message) error {
	rest := m.fetched.Records
	if len(rest) == 0 {
		return nil
	}
	start := len(m.frame) - len(m.body) + m.fetched.RecordsStart // of the batch in the frame
	for len(rest) > 0 {
		head, next, err := wire.NextBatch(rest)
		if errors.Is(err, wire.ErrCut) {
			m.cutTail = true
			return nil
		}
		if err != nil {
			return err
		}
		b := batch{base: head.BaseOffset, last: head.LastOffset(), epoch: head.Epoch, head: head}
		valid := false
		if part, ok := m.withheld.covering(start+wire.BatchOverhead, start+len(head.Bytes)); ok {
			valid = part.CRCValid
		} else {
			valid = head.CRCValid()
		}
		b.digest = uint64(head.CRC)<<32 | uint64(uint32(head.Length)<<1)
		if valid {
			b.digest |= crcRight
		}
		m.batches = append(m.batches, b)
		start += len(head.Bytes)
		rest = next
	}
	return nil
}

// leaderChange reads the LeaderChange record that a batch begins with.
func (b *batch) leaderChange() (change wire.LeaderChange, ok bool) {
	b.controls(func(r wire.ControlRecord) bool {
		change, ok = r.(wire.LeaderChange)
		return false
	})
	return change, ok
}

// errStop ends a walk.
var errStop = errors.New("stop")

// controls calls visit for each control record, until it returns false. Records that cannot be read end the walk.
func (b *batch) controls(visit func(wire.ControlRecord) bool) {
	if !b.control() {
		return
	}
	_ = b.head.Each(func(r wire.Record) error { // what cannot be read is not judged
		control, err := wire.DecodeControl(r.Key, r.Value)
		if err != nil || !visit(control) {
			return errStop
		}
		return nil
	})
}

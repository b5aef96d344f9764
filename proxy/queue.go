package proxy

import (
	"encoding/binary"
	"sync/atomic"
)

// entryKind says what an entry of the queue tells.
type entryKind uint8

const (
	entryOpen  entryKind = iota // a connection begins; payload: see opening
	entryChunk                  // bytes that were forwarded
	entryFault                  // a frame that a fault rule touched; payload: see faulted
	entryGap                    // bytes and frames were left out; bytes and frames count them
	entryClose                  // a connection has ended
)

// entry is what the loop tells the recorder.
type entry struct {
	kind            entryKind
	dir             uint8
	flag            bool // close: by a reset; gap: for good
	rule            int  // fault: index of the rule
	conn            uint64
	seen, forwarded int64 // nanoseconds since the Unix epoch; a gap keeps its bytes and frames here
	payload         []byte
}

// entryHead is the size of an entry without its payload; entries begin at multiples of 8.
const entryHead = 40

// segmentSize is the unit in which the queue takes memory. A chunk with its head fits.
const segmentSize = 256 << 10

// queue passes entries from one goroutine, the writer, to another, the reader, and neither ever waits for the other.
// It is a list of segments. A segment that has been read is used again before any other, so that a reader that keeps
// up works in the processor's cache, and one that falls behind costs memory up to limit.
type queue struct {
	limit int64
	taken atomic.Int64            // memory of all segments, bytes
	free  atomic.Pointer[segment] // a stack: the reader pushes, the writer pops

	last *segment // the writer's
	used int

	_       [64]byte // what follows changes with every batch, on another core
	first   *segment // the reader's
	pos     int
	written atomic.Int64 // bytes of entries, for the metrics
	read    atomic.Int64
}

type segment struct {
	buf    []byte
	filled atomic.Int64            // how much of buf the reader may read
	next   atomic.Pointer[segment] // set when the writer has left this segment for good
	below  *segment                // in the stack of free segments
}

func newQueue(limit int) *queue {
	q := &queue{limit: max(int64(limit), 4*segmentSize)}
	q.last = &segment{buf: make([]byte, segmentSize)}
	q.first = q.last
	q.taken.Store(segmentSize)
	return q
}

// put adds an entry and reports whether there was room. What must not be lost (opens, closes, gaps) may go an eighth
// beyond the limit.
func (q *queue) put(e *entry, must bool) bool {
	need := (entryHead + len(e.payload) + 7) &^ 7
	if q.used+need > len(q.last.buf) && !q.extend(need, must) {
		return false
	}
	b := q.last.buf[q.used : q.used+need]
	b[0], b[1], b[2] = byte(e.kind), e.dir, 0
	if e.flag {
		b[2] = 1
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(e.payload)))
	binary.LittleEndian.PutUint64(b[8:], e.conn)
	binary.LittleEndian.PutUint64(b[16:], uint64(e.seen))
	binary.LittleEndian.PutUint64(b[24:], uint64(e.forwarded))
	binary.LittleEndian.PutUint64(b[32:], uint64(e.rule))
	copy(b[entryHead:], e.payload)
	q.used += need
	q.last.filled.Store(int64(q.used))
	q.written.Store(q.written.Load() + int64(need))
	return true
}

// extend makes room for an entry behind the last segment.
func (q *queue) extend(need int, must bool) bool {
	limit := q.limit
	if must {
		limit += limit / 8
	}
	var s *segment
	if need <= segmentSize {
		s = q.pop()
	}
	if s == nil {
		size := max(need, segmentSize)
		if q.taken.Load()+int64(size) > limit {
			return false
		}
		q.taken.Add(int64(size))
		s = &segment{buf: make([]byte, size)}
	}
	q.last.next.Store(s)
	q.last, q.used = s, 0
	return true
}

// pop takes the segment that was used last. Only the writer pops, so the top can only change by a push.
func (q *queue) pop() *segment {
	for {
		s := q.free.Load()
		if s == nil {
			return nil
		}
		if q.free.CompareAndSwap(s, s.below) {
			s.below = nil
			return s
		}
	}
}

// get reads the next entry and returns false if there is none. Its payload is valid until the following call.
func (q *queue) get(e *entry) bool {
	for int64(q.pos) == q.first.filled.Load() {
		next := q.first.next.Load()
		if next == nil {
			return false
		}
		if int64(q.pos) != q.first.filled.Load() { // written between the two loads
			break
		}
		q.retire(q.first)
		q.first, q.pos = next, 0
	}
	b := q.first.buf[q.pos:]
	n := int(binary.LittleEndian.Uint32(b[4:]))
	e.kind, e.dir, e.flag = entryKind(b[0]), b[1], b[2] != 0
	e.conn = binary.LittleEndian.Uint64(b[8:])
	e.seen = int64(binary.LittleEndian.Uint64(b[16:]))
	e.forwarded = int64(binary.LittleEndian.Uint64(b[24:]))
	e.rule = int(binary.LittleEndian.Uint64(b[32:]))
	e.payload = b[entryHead : entryHead+n : entryHead+n]
	need := (entryHead + n + 7) &^ 7
	q.pos += need
	q.read.Store(q.read.Load() + int64(need))
	return true
}

// retire gives a segment that has been read back: to the writer, or, if it is of unusual size or the queue holds a
// lot of memory, to the garbage collector.
func (q *queue) retire(s *segment) {
	if len(s.buf) != segmentSize || q.taken.Load() > q.limit/2 {
		q.taken.Add(-int64(len(s.buf)))
		return
	}
	s.filled.Store(0)
	s.next.Store(nil)
	for {
		s.below = q.free.Load()
		if q.free.CompareAndSwap(s.below, s) {
			return
		}
	}
}

// backlog is how many bytes the reader is behind.
func (q *queue) backlog() int64 { return q.written.Load() - q.read.Load() }

package proxy

import (
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// boundary follows the frame sizes of one direction of a connection and looks at nothing else. It costs a few
// nanoseconds a chunk, and lets the tap drop whole frames only and count them.
type boundary struct {
	need   int // bytes until the current frame is complete; 0 if its size is not known yet
	size   [4]byte
	sized  int    // how much of size has arrived
	frames uint64 // complete frames so far
	offset int64  // bytes so far
	lost   bool   // a size that cannot be: this is not, or no longer, Kafka's protocol
}

// between reports whether the next byte begins a frame.
func (b *boundary) between() bool { return b.need == 0 && b.sized == 0 }

// advance takes the next bytes of the stream. It stops following at a size that no frame has.
func (b *boundary) advance(p []byte) {
	b.offset += int64(len(p))
	for len(p) > 0 && !b.lost {
		if b.need > 0 {
			n := min(b.need, len(p))
			b.need -= n
			p = p[n:]
			if b.need == 0 {
				b.frames++
			}
			continue
		}
		if b.sized == 0 && len(p) >= 4 { // nearly always
			b.begin(binary.BigEndian.Uint32(p))
			p = p[4:]
			continue
		}
		n := copy(b.size[b.sized:], p)
		b.sized += n
		p = p[n:]
		if b.sized == 4 {
			b.begin(binary.BigEndian.Uint32(b.size[:]))
		}
	}
}

func (b *boundary) begin(size uint32) {
	b.sized = 0
	switch {
	case int32(size) < 0 || size > wire.MaxFrameSize:
		b.lost = true
	case size == 0:
		b.frames++
	default:
		b.need = int(size)
	}
}

// next returns how many bytes of p belong to a frame that began before p, and whether that frame ends within p.
func (b *boundary) next(p []byte) (n int, ends bool) {
	probe := *b
	if probe.between() {
		return 0, true
	}
	if k := 4 - probe.sized; probe.sized > 0 {
		k = min(k, len(p))
		probe.advance(p[:k])
		n = k
		if probe.lost {
			return len(p), false
		}
	}
	if probe.need > len(p)-n || probe.sized > 0 {
		return len(p), false
	}
	return n + probe.need, true
}

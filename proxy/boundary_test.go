package proxy

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/wire"
)

// randomFrames is a stream of frames with their sizes, many of them empty or tiny, and the offsets at which they end.
func randomFrames(rng *rand.Rand, n, largest int) (stream []byte, ends []int) {
	for range n {
		size := rng.IntN(1 + []int{0, 1, 3, 40, largest}[rng.IntN(5)])
		stream = binary.BigEndian.AppendUint32(stream, uint32(size))
		stream = append(stream, noise(rng, size)...)
		ends = append(ends, len(stream))
	}
	return stream, ends
}

// chunks cuts a stream at random.
func chunks(rng *rand.Rand, stream []byte, largest int) (list [][]byte) {
	for len(stream) > 0 {
		n := min(len(stream), 1+rng.IntN(1+[]int{0, 3, 60, largest}[rng.IntN(4)]))
		list = append(list, stream[:n])
		stream = stream[n:]
	}
	return list
}

func TestBoundary_CountsFramesInAnyChunking(t *testing.T) {
	rng := seeded(t)
	for range 2000 {
		stream, ends := randomFrames(rng, rng.IntN(20), 300)
		var b boundary
		at := 0
		for _, c := range chunks(rng, stream, 400) {
			// next agrees with the frame ends
			n, found := b.next(c)
			want, wantFound := len(c), false
			for _, end := range append([]int{0}, ends...) {
				if end >= at && end <= at+len(c) {
					want, wantFound = end-at, true
					break
				}
			}
			if n != want || found != wantFound {
				t.Fatalf("next at %d of %d bytes = %d, %t; want %d, %t", at, len(c), n, found, want, wantFound)
			}
			b.advance(c)
			at += len(c)
			frames := 0
			for _, end := range ends {
				if end <= at {
					frames++
				}
			}
			if int(b.frames) != frames || b.offset != int64(at) {
				t.Fatalf("after %d bytes: %d frames, offset %d; want %d frames", at, b.frames, b.offset, frames)
			}
		}
		if !b.between() || b.lost {
			t.Fatalf("not at a boundary at the end: %+v", b)
		}
	}
}

func TestBoundary_StopsAtImpossibleSizes(t *testing.T) {
	for _, size := range []int64{-1, -1 << 31, wire.MaxFrameSize + 1} {
		for cut := range 5 {
			stream := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1, 'x'}, uint32(int32(size)))
			var b boundary
			b.advance(stream[:5+cut])
			if b.lost != (cut == 4) {
				t.Fatalf("size %d, %d bytes of it: lost = %t", size, cut, b.lost)
			}
			b.advance(append(stream[5+cut:], "rest"...))
			if !b.lost || b.frames != 1 {
				t.Fatalf("size %d: lost = %t, %d frames; want lost after 1", size, b.lost, b.frames)
			}
		}
	}
	var b boundary
	if b.advance(binary.BigEndian.AppendUint32(nil, wire.MaxFrameSize)); b.lost {
		t.Fatal("the largest frame is refused")
	}
}

func TestBoundary_AllocatesNothing(t *testing.T) {
	stream, _ := randomFrames(seeded(t), 50, 100)
	var b boundary
	if n := testing.AllocsPerRun(100, func() { b.advance(stream); b.next(stream) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

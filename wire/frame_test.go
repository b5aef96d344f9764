package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// stream is a run of frames of these payloads.
func stream(payloads ...[]byte) []byte {
	var b []byte
	for _, p := range payloads {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// split pushes the chunks and collects what comes out, copied.
func split(s *Splitter, chunks ...[]byte) (frames []Frame, err error) {
	for _, chunk := range chunks {
		s.Push(chunk)
		for {
			f, ok, err := s.Next()
			if err != nil {
				return frames, err
			}
			if !ok {
				break
			}
			f.Bytes = bytes.Clone(f.Bytes)
			frames = append(frames, f)
		}
	}
	return frames, nil
}

// chunked cuts b at random places; small is how often a chunk is only a few bytes, in percent.
func chunked(r *rand.Rand, b []byte, small int) (chunks [][]byte) {
	for len(b) > 0 {
		n := 1 + r.IntN(min(len(b), 70_000))
		if r.IntN(100) < small {
			n = 1 + r.IntN(min(len(b), 9))
		}
		chunks = append(chunks, b[:n])
		b = b[n:]
	}
	return chunks
}

func TestSplitter_CutsAtAnyPlace(t *testing.T) {
	payloads := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 300), []byte("four")}
	whole := stream(payloads...)
	for cut := range len(whole) {
		for second := cut; second < len(whole); second += 7 {
			var s Splitter
			frames, err := split(&s, whole[:cut], whole[cut:second], whole[second:])
			if err != nil || len(frames) != len(payloads) {
				t.Fatalf("cut at %d and %d: %d frames, %v", cut, second, len(frames), err)
			}
			for i, f := range frames {
				if !bytes.Equal(f.Bytes, payloads[i]) || f.Size != len(payloads[i]) || f.Cut {
					t.Fatalf("cut at %d and %d: frame %d is %+v", cut, second, i, f)
				}
			}
			if s.Pending() != 0 {
				t.Fatalf("cut at %d and %d: %d bytes pending", cut, second, s.Pending())
			}
		}
	}
}

func TestSplitter_AnyChunkingGivesTheSameFrames(t *testing.T) {
	r := random(t)
	sizes := []int{1e6, 1e7, 1e8}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		var payloads [][]byte
		pool := make([]byte, 1<<20)
		for i := range pool {
			pool[i] = byte(r.Uint64())
		}
		for total := 0; total < size; {
			n := r.IntN(400)
			if r.IntN(50) == 0 {
				n = r.IntN(len(pool))
			}
			at := r.IntN(len(pool) - n + 1)
			payloads = append(payloads, pool[at:at+n])
			total += 4 + n
		}
		whole := stream(payloads...)
		limit := 1 + r.IntN(1<<20)
		s := Splitter{Limit: limit}
		i := 0
		for _, chunk := range chunked(r, whole, 30) {
			s.Push(chunk)
			for {
				f, ok, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				want := payloads[i]
				cut := len(want) > limit
				if f.Size != len(want) || f.Cut != cut || !bytes.Equal(f.Bytes, want[:len(f.Bytes)]) {
					t.Fatalf("frame %d of %d bytes (limit %d): size %d, cut %v", i, len(want), limit, f.Size, f.Cut)
				}
				if got := len(f.Bytes); !cut && got != len(want) || cut && got != min(cutFrameKept, len(want)) {
					t.Fatalf("frame %d of %d bytes: %d are kept", i, len(want), got)
				}
				i++
			}
		}
		if i != len(payloads) || s.Pending() != 0 {
			t.Errorf("%d bytes: %d of %d frames, %d bytes pending", len(whole), i, len(payloads), s.Pending())
		}
	}
}

func TestSplitter_PassesOverWhatIsAboveTheLimit(t *testing.T) {
	big := bytes.Repeat([]byte("b"), 3*cutFrameKept)
	s := Splitter{Limit: 100}
	whole := stream(big, []byte("next"))
	s.Push(whole[:cutFrameKept+10])
	if _, ok, err := s.Next(); ok || err != nil {
		t.Fatal(ok, err)
	}
	if got, want := s.Pending(), cutFrameKept+10; got != want {
		t.Errorf("%d bytes pending, want %d", got, want)
	}
	frames, err := split(&s, whole[cutFrameKept+10:])
	if err != nil || len(frames) != 2 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	if f := frames[0]; !f.Cut || f.Size != len(big) || len(f.Bytes) != cutFrameKept {
		t.Errorf("big frame: cut %v, size %d, %d bytes", f.Cut, f.Size, len(f.Bytes))
	}
	if string(frames[1].Bytes) != "next" || frames[1].Cut {
		t.Errorf("next frame: %+v", frames[1])
	}
}

func TestSplitter_SaysWhereFramingIsLost(t *testing.T) {
	for _, tt := range []struct {
		name string
		size uint32
	}{{"negative", 0xffffffff}, {"over 100 MiB", MaxFrameSize + 1}, {"HTTP", binary.BigEndian.Uint32([]byte("GET "))}} {
		for _, cut := range []int{0, 2, 4} {
			whole := binary.BigEndian.AppendUint32(stream([]byte("good")), tt.size)
			var s Splitter
			frames, err := split(&s, whole[:8+cut], whole[8+cut:])
			var lost *StreamError
			if len(frames) != 1 || !errors.As(err, &lost) || lost.Offset != 8 || lost.Size != int32(tt.size) {
				t.Errorf("%s, cut %d: %d frames, %v", tt.name, cut, len(frames), err)
			}
			s.Push(stream([]byte("more")))
			if _, ok, again := s.Next(); ok || !errors.Is(again, err) {
				t.Errorf("%s: the splitter goes on after %v with %v", tt.name, err, again)
			}
			if lost.Error() == "" || s.Pending() > 8 {
				t.Errorf("%s: %q, %d bytes held", tt.name, lost, s.Pending())
			}
		}
	}
}

// TestSplitter_DoesNotTrustTheSize holds that a size alone takes no memory.
func TestSplitter_DoesNotTrustTheSize(t *testing.T) {
	var s Splitter
	s.Push(binary.BigEndian.AppendUint32(nil, MaxFrameSize))
	if _, ok, err := s.Next(); ok || err != nil {
		t.Fatal(ok, err)
	}
	s.Push(make([]byte, 1000))
	if _, ok, err := s.Next(); ok || err != nil {
		t.Fatal(ok, err)
	}
	if cap(s.held) > 1<<13 {
		t.Errorf("%d bytes are held for 1004 that arrived", cap(s.held))
	}
}

func TestSplitter_GivesUpTheMemoryOfABigFrame(t *testing.T) {
	var s Splitter
	whole := stream(make([]byte, 4<<20))
	if frames, err := split(&s, whole[:100], whole[100:]); err != nil || len(frames) != 1 {
		t.Fatal(len(frames), err)
	}
	if cap(s.held) > 1<<20 {
		t.Errorf("%d bytes stay held", cap(s.held))
	}
}

func TestSplitter_DoesNotAllocate(t *testing.T) {
	whole := stream(make([]byte, 104), make([]byte, 120), make([]byte, 80))
	for _, cut := range []int{0, 50, 200} {
		var s Splitter
		run := func() {
			frames := 0
			for _, chunk := range [][]byte{whole[:cut], whole[cut:]} {
				s.Push(chunk)
				for {
					f, ok, err := s.Next()
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						break
					}
					if _, _, err := ParseRequestHeader(f.Bytes); err != nil {
						t.Fatal(err)
					}
					frames++
				}
			}
			if frames != 3 {
				t.Fatal(frames)
			}
		}
		run() // the buffer of an incomplete frame is made once
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("cut at %d: %v allocations", cut, n)
		}
	}
}

func TestDirection_Names(t *testing.T) {
	if Request.String() != "request" || Response.String() != "response" {
		t.Error(Request, Response)
	}
}

func BenchmarkSplitter(b *testing.B) {
	_, body := goldenFetch(b, goldenFetchV18)
	frame := stream(append(unhex(b, "0001 0012 00000008 000d726166742d636c69656e742d32 00"), body...))
	var chunk []byte
	for range 16 {
		chunk = append(chunk, frame...)
	}
	var s Splitter
	b.ReportAllocs()
	for b.Loop() {
		s.Push(chunk)
		for {
			f, ok, err := s.Next()
			if err != nil {
				b.Fatal(err)
			}
			if !ok {
				break
			}
			if _, _, err := ParseRequestHeader(f.Bytes); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*16), "ns/frame")
}

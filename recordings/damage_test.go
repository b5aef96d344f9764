package recordings

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"
)

func TestRecording_CutAnywhereReadsToTheLastWholeChunk(t *testing.T) {
	list := newStory(1).votes(5).list
	base := tempBase(t)
	writeAll(t, base, Options{ChunkSize: 800}, list)
	name := segmentName(base, 1)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := mustRead(t, base)
	ends := chunkEnds(t, name)
	if len(ends) < 5 {
		t.Fatalf("only %d zstd frames", len(ends))
	}
	for cut := range whole {
		r, err := NewReader(bytes.NewReader(whole[:cut]), "cut")
		if cut < int(ends[0].end) {
			if err == nil {
				_, err = readAll(r)
			}
			if !errors.Is(err, ErrNotRecording) && !errors.Is(err, ErrNotCapture) {
				t.Fatalf("cut at %d, within the header: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		observations, lastEnd := 0, int64(0)
		for _, e := range ends {
			if e.end <= int64(cut) {
				observations, lastEnd = e.observations, e.end
			}
		}
		if len(got) != observations || !same(got, want[:observations]) {
			t.Fatalf("cut at %d: %d observations, want the first %d", cut, len(got), observations)
		}
		d := r.Damage()
		if len(d) != 1 || d[0].File != "cut" || d[0].Offset != lastEnd {
			t.Fatalf("cut at %d: damage %v, want one at %d", cut, d, lastEnd)
		}
		if atEnd := lastEnd == int64(cut); atEnd != errors.Is(d[0], ErrNoTrailer) || atEnd == errors.Is(d[0], ErrCut) {
			t.Fatalf("cut at %d: %v", cut, d[0])
		}
	}
}

// chunkEnd is where a zstd frame ends, and how many observations there are up to there.
type chunkEnd struct {
	end          int64
	observations int
}

func chunkEnds(t *testing.T, name string) (ends []chunkEnd) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := newZstdFrames(f)
	n := 0
	for {
		b, err := z.next()
		if err != nil {
			return ends
		}
		for len(b) >= 12 {
			size := int(b[4]) | int(b[5])<<8 | int(b[6])<<16
			if b[0] == blockPacket && size > 12 {
				if p := customOption(b[28+padded(int(b[20])|int(b[21])<<8) : size-4]); p != nil && p[1]&partFirst != 0 {
					n++
				}
			}
			b = b[size:]
		}
		ends = append(ends, chunkEnd{z.offset, n})
	}
}

func TestRecording_AnyChangedByteDamagesOneChunk(t *testing.T) {
	list := newStory(1).votes(5).list
	base := tempBase(t)
	writeAll(t, base, Options{ChunkSize: 800}, list)
	whole, err := os.ReadFile(segmentName(base, 1))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := mustRead(t, base)
	ends := chunkEnds(t, segmentName(base, 1))
	for at := range whole {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x55
		r, err := NewReader(bytes.NewReader(broken), "broken")
		var got []Observation
		if err == nil {
			got, err = readAll(r)
		}
		if at < int(ends[0].end) {
			continue // the header: it need not be a recording any more
		}
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if same(got, want) && len(r.Damage()) == 0 {
			continue // a larger window, say, changes nothing
		}
		// All observations of other chunks are there, and a gap for each direction stands for the rest.
		first, last := 0, 0
		for i, e := range ends {
			if int64(at) < e.end {
				first, last = ends[i-1].observations, e.observations
				break
			}
		}
		if len(r.Damage()) == 0 {
			t.Fatalf("byte %d: no damage told", at)
		}
		if len(got) < first || !same(got[:first], want[:first]) {
			t.Fatalf("byte %d: what came before the damage is not there", at)
		}
		rest := got[first:]
		for len(rest) > 0 && (rest[0].Kind == KindGap || rest[0].Kind == KindOpen) {
			rest = rest[1:]
		}
		if len(rest) != len(want)-last {
			t.Fatalf("byte %d: %d observations behind the damage, want %d", at, len(rest), len(want)-last)
		}
		if gaps := len(got) - first - len(rest); last > first && last < len(want) && gaps < 1 {
			t.Fatalf("byte %d: no gap stands for what is missing", at)
		}
	}
}

func same(a, b []Observation) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

// parts collects what is written, call by call: the header, the chunks, the trailer.
type parts [][]byte

func (p *parts) Write(b []byte) (int, error) {
	*p = append(*p, bytes.Clone(b))
	return len(b), nil
}

func TestRecording_ChunksTakenOutRepeatedOrMovedAreDamage(t *testing.T) {
	list := newStory(1).votes(12).list
	var written parts
	w, err := NewWriter(&written, Options{ChunkSize: 800})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := len(written)
	if n < 8 {
		t.Fatalf("only %d parts", n)
	}
	read := func(order []int) ([]Observation, []*Damage) {
		var file []byte
		for _, i := range order {
			file = append(file, written[i]...)
		}
		r, err := NewReader(bytes.NewReader(file), "altered")
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("order %v: %v", order, err)
		}
		return got, r.Damage()
	}
	inOrder := make([]int, n)
	for i := range inOrder {
		inOrder[i] = i
	}
	whole, damage := read(inOrder)
	if len(damage) > 0 || len(whole) != len(list) {
		t.Fatalf("as written: %d observations of %d, damage %v", len(whole), len(list), damage)
	}
	for at := 1; at < n-1; at++ {
		for what, order := range map[string][]int{
			"taken out":      slices.Delete(slices.Clone(inOrder), at, at+1),
			"repeated":       slices.Insert(slices.Clone(inOrder), at, at),
			"repeated later": slices.Insert(slices.Clone(inOrder), n-1, at),
			"moved":          slices.Insert(slices.Delete(slices.Clone(inOrder), at, at+1), 1+(at+n/2)%(n-2), at),
		} {
			if slices.Equal(order, inOrder) {
				continue
			}
			got, damage := read(order)
			if len(damage) == 0 {
				t.Errorf("chunk %d %s: no damage", at, what)
			}
			// What is there is in order and comes once; and before something missing both directions have a gap.
			next, gaps := [2]uint64{}, [2]bool{}
			for _, o := range got {
				switch o.Kind {
				case KindGap:
					gaps[o.Dir] = true
				case KindFrame:
					if o.Seq < next[o.Dir] || o.Seq > next[o.Dir] && !gaps[o.Dir] {
						t.Errorf("chunk %d %s: frame %d of the %vs after %d", at, what, o.Seq, o.Dir, next[o.Dir])
					}
					next[o.Dir], gaps[o.Dir] = o.Seq+1, false
				case KindOpen:
					gaps = [2]bool{o.Conn.Midway, o.Conn.Midway}
				case KindClose:
				}
			}
		}
	}
}

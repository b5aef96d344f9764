package recordings

import (
	"errors"
	"io"
	"testing"

	"github.com/understudy-kafka/understudy/wire"
)

func TestMerge_OrdersByTimeAndNamesStreams(t *testing.T) {
	a, b := newStory(1), newStory(1)
	b.at += 500_000 // between the observations of a
	b.conn = testConn(1)
	a.votes(10)
	b.list = nil
	b.add(Observation{Kind: KindOpen})
	b.votes(10).add(Observation{Kind: KindClose})
	third := newStory(7) // a source that was merged before
	third.conn.Stream = 4
	for i := range third.list {
		third.list[i].Conn = third.conn
	}
	m := Merge(&listSource{list: a.list}, &listSource{list: b.list}, &listSource{list: third.list})
	got, err := readAll(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(a.list) + len(b.list) + len(third.list); len(got) != want {
		t.Fatalf("%d observations, want %d", len(got), want)
	}
	ids := map[uint64]int{}
	last := int64(0)
	for _, o := range got {
		if o.At.Seen < last {
			t.Fatalf("%d follows %d", o.At.Seen, last)
		}
		last = o.At.Seen
		if stream, ok := ids[o.Conn.ID]; ok && stream != o.Conn.Stream {
			t.Fatalf("connection %d is of streams %d and %d", o.Conn.ID, stream, o.Conn.Stream)
		}
		ids[o.Conn.ID] = o.Conn.Stream
	}
	streams := map[int]bool{}
	for _, stream := range ids {
		streams[stream] = true
	}
	if len(ids) != 3 || len(streams) != 3 {
		t.Errorf("connections and their streams %v", ids)
	}
}

func TestMerge_FailsWithItsSource(t *testing.T) {
	bad := errors.New("bad")
	m := Merge(&listSource{list: newStory(1).votes(3).list}, &listSource{list: newStory(1).list, err: bad})
	if _, err := readAll(m); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
}

// TestMerge_ObservationStaysValid checks that reading one source does not overwrite what another has brought.
func TestMerge_ObservationStaysValid(t *testing.T) {
	a, b := tempBase(t), tempBase(t)
	writeAll(t, a, Options{}, newStory(1).votes(50).list)
	writeAll(t, b, Options{}, newStory(1).votes(50).list)
	in, err := OpenAny(nil, a, b)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	next := map[*Conn]*[2]uint64{}
	var o Observation
	for {
		if err := in.Next(&o); err != nil {
			break
		}
		if o.Kind != KindFrame {
			next[o.Conn] = new([2]uint64)
			continue
		}
		want := next[o.Conn]
		if o.Seq != want[o.Dir] {
			t.Fatalf("%s %d, want %d", o.Dir, o.Seq, want[o.Dir])
		}
		if o.Dir == wire.Request {
			if h, _, err := wire.ParseRequestHeader(o.Frame.Bytes); err != nil || uint64(h.CorrelationID) != want[0] {
				t.Fatalf("request %d has correlation id %d, %v", want[0], h.CorrelationID, err)
			}
		}
		want[o.Dir]++
	}
	for _, n := range next {
		if *n != [2]uint64{50, 50} {
			t.Errorf("%d frames", *n)
		}
	}
}

// listSource hands out a list.
type listSource struct {
	list []Observation
	err  error
}

func (s *listSource) Next(o *Observation) error {
	if len(s.list) == 0 {
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
	*o = s.list[0]
	s.list = s.list[1:]
	return nil
}

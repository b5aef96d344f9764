package e2e

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// stream is what crossed one connection.
type stream struct {
	node              kraft.NodeID
	request, response []byte
	broken            bool // it ended otherwise than in order
}

// recordedStreams puts the frames of a recording together again, with their sizes, as the bytes of each connection. A gap
// is an error: its bytes are not there.
func recordedStreams(t *testing.T, path string) []stream {
	t.Helper()
	in, err := recordings.OpenAny(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	byConn := map[uint64]*stream{}
	var order []uint64
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s := byConn[o.Conn.ID]
		if s == nil {
			s = &stream{node: o.Conn.Node}
			byConn[o.Conn.ID] = s
			order = append(order, o.Conn.ID)
		}
		switch o.Kind {
		case recordings.KindFrame:
			if o.Frame.Cut || len(o.Withheld) > 0 || o.Fault != nil {
				t.Errorf("block %d: a frame that is not as it crossed", o.Number)
			}
			to := &s.request
			if o.Dir == wire.Response {
				to = &s.response
			}
			*to = binary.BigEndian.AppendUint32(*to, uint32(len(o.Frame.Bytes)))
			*to = append(*to, o.Frame.Bytes...)
		case recordings.KindGap:
			if o.Gap.Reason != "connection ended within a frame" {
				t.Errorf("block %d: gap: %s", o.Number, o.Gap.Reason)
			}
			s.broken = true
		case recordings.KindClose:
			s.broken = s.broken || o.Reset
		case recordings.KindOpen:
		}
	}
	for _, d := range in.Damage() {
		t.Error(d)
	}
	var all []stream
	for _, id := range order {
		all = append(all, *byConn[id])
	}
	return all
}

// compareStreams pairs each connection that the witness saw with a recorded one of the same bytes. Where a process was
// killed, what was in flight may have reached only one of the two: there, and only there, one side may end earlier.
// It returns how many bytes were found equal.
func compareStreams(recorded, witnessed []stream) (equal int, err error) {
	left := recorded
	take := func(match func(s stream) bool) (stream, bool) {
		for i, s := range left {
			if match(s) {
				left = append(left[:i:i], left[i+1:]...)
				return s, true
			}
		}
		return stream{}, false
	}
	var unpaired []stream
	for _, w := range witnessed {
		_, ok := take(func(s stream) bool {
			return s.node == w.node && bytes.Equal(s.request, w.request) && bytes.Equal(s.response, w.response)
		})
		if !ok {
			unpaired = append(unpaired, w)
			continue
		}
		equal += len(w.request) + len(w.response)
	}
	var errs []error
	slices.SortStableFunc(unpaired, func(a, b stream) int { return len(b.response) - len(a.response) }) // the most telling first
	for _, w := range unpaired {
		s, ok := take(func(s stream) bool {
			if len(w.response) == 0 && len(s.response) > 0 {
				return false
			}
			return s.node == w.node && (s.broken || w.broken) && prefix(s.request, w.request) && prefix(s.response, w.response)
		})
		if !ok {
			if len(w.request)+len(w.response) > 0 {
				errs = append(errs, fmt.Errorf("a connection to node %s of %d+%d bytes is not in the recording", w.node, len(w.request), len(w.response)))
			}
			continue
		}
		equal += min(len(s.request), len(w.request)) + min(len(s.response), len(w.response))
	}
	for _, s := range left {
		if len(s.request)+len(s.response) > 0 {
			errs = append(errs, fmt.Errorf("the recording has a connection to node %s of %d+%d bytes that never reached it", s.node, len(s.request), len(s.response)))
		}
	}
	return equal, errors.Join(errs...)
}

// prefix reports whether one is the beginning of the other.
func prefix(a, b []byte) bool {
	n := min(len(a), len(b))
	return bytes.Equal(a[:n], b[:n])
}

func TestCompareStreams_SeesEachWayToDiffer(t *testing.T) {
	one := stream{1, []byte("request"), []byte("response"), false}
	with := func(change func(s *stream)) stream {
		s := one
		change(&s)
		return s
	}
	cut := with(func(s *stream) { s.response = s.response[:3] })
	cutAndBroken := with(func(s *stream) { s.response, s.broken = s.response[:3], true })
	for _, c := range []struct {
		name                string
		recorded, witnessed []stream
		ok                  bool
	}{
		{"equal", []stream{one}, []stream{one}, true},
		{"two alike", []stream{one, one}, []stream{one, one}, true},
		{"one of two alike is missing", []stream{one}, []stream{one, one}, false},
		{"a byte differs", []stream{with(func(s *stream) { s.request = []byte("requesT") })}, []stream{one}, false},
		{"another node", []stream{with(func(s *stream) { s.node = 2 })}, []stream{one}, false},
		{"recorded too little", []stream{cut}, []stream{one}, false},
		{"recorded too much", []stream{one}, []stream{cut}, false},
		{"cut by a kill", []stream{cutAndBroken}, []stream{one}, true},
		{"invented", []stream{one}, nil, false},
		{"a request that a dead controller never got", []stream{{1, []byte("r"), nil, false}}, []stream{{1, nil, nil, true}}, true},
		{"an answer of a dead controller", []stream{one}, []stream{{1, nil, nil, true}}, false},
		{"a request that nothing explains", []stream{{1, []byte("r"), nil, true}}, nil, false},
		{"nothing on a connection", []stream{{1, nil, nil, false}}, nil, true},
	} {
		if _, err := compareStreams(c.recorded, c.witnessed); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

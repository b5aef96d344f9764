package shadow

import (
	"encoding/binary"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// steady is the traffic of a quorum at work: two voters and a broker fetch, the leader appends a batch now and then.
// Frames are encoded once and patched in place, so that what is measured is the checker.
type steady struct {
	c     *Checker
	s     *stage
	lines []*line
	o     recordings.Observation
	next  kraft.Offset
	n     int

	requests    [3][]byte // of each line
	empty, full []byte
	offsetAt    [3]int // the place of the fetch offset in a request
	hwAt        [2]int // of the watermark in the two answers
	baseAt      int
}

func newSteady(t testing.TB) *steady {
	s := newStage(nil)
	w := &steady{s: s, c: New(Options{}), next: 100}
	s.c = w.c
	for _, from := range []kraft.NodeID{2, 3, 9} {
		w.lines = append(w.lines, s.dial(from, 1))
	}
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
	const marker = 0x1122334455667788
	req := fetch(5, marker, 5)(s, 2, 1)
	w.empty = encodeResponse(served(5, marker)(s, 1, req), 7)
	w.full = encodeResponse(served(5, marker, data(100, 5, "a record of a hundred bytes, as they are common in the metadata log of a cluster"))(s, 1, req), 7)
	find := func(b []byte, v uint64) int {
		for i := range len(b) - 8 {
			if binary.BigEndian.Uint64(b[i:]) == v {
				return i
			}
		}
		t.Fatal("marker not found")
		return 0
	}
	for i, l := range w.lines {
		w.requests[i] = encodeRequest(fetch(5, marker, 5)(s, l.from, 1), 7, l.clientID())
		w.offsetAt[i] = find(w.requests[i], marker)
	}
	w.hwAt = [2]int{find(w.empty, marker), find(w.full, marker)}
	w.baseAt = find(w.full, 100)
	return w
}

func (w *steady) frame(l *line, dir wire.Direction, b []byte) {
	w.s.at += 100_000
	w.s.number++
	w.o = recordings.Observation{
		Kind: recordings.KindFrame, Conn: l.conn, Number: w.s.number, Dir: dir, Seq: l.seq[dir], At: wire.Stamp{Seen: w.s.at, Forwarded: w.s.at},
		Frame: wire.Frame{Bytes: b, Size: len(b)},
	}
	l.seq[dir]++
	w.c.Observe(&w.o)
}

// exchange plays one Fetch with its answer.
func (w *steady) exchange() {
	i := w.n % 3
	l, request := w.lines[i], w.requests[i]
	binary.BigEndian.PutUint64(request[w.offsetAt[i]:], uint64(w.next))
	answer, which := w.empty, 0
	if w.n%6 < 3 { // the three read a batch, then wait in vain
		answer, which = w.full, 1
		binary.BigEndian.PutUint64(answer[w.baseAt:], uint64(w.next))
	}
	binary.BigEndian.PutUint64(answer[w.hwAt[which]:], uint64(w.next))
	w.frame(l, wire.Request, request)
	w.frame(l, wire.Response, answer)
	if w.n++; w.n%6 == 3 {
		w.next++
	}
}

func TestSteady_AllocatesNextToNothing(t *testing.T) {
	w := newSteady(t)
	for range 40_000 { // until every memory has its size
		w.exchange()
	}
	if n := testing.AllocsPerRun(5_000, w.exchange); n > 0.02 {
		t.Errorf("%.3f allocations for each Fetch", n)
	}
	if r := w.c.Finish(); len(r.Findings) > 0 || r.Judged != r.Decisions || r.Decisions < 40_000 {
		t.Errorf("%s, %d of %d: %+v", r.Verdict, r.Judged, r.Decisions, r.Findings)
	}
}

func BenchmarkChecker_Fetch(b *testing.B) {
	w := newSteady(b)
	b.ReportAllocs()
	for b.Loop() {
		w.exchange()
	}
	b.ReportMetric(float64(2*b.N)/b.Elapsed().Seconds(), "frames/s")
}

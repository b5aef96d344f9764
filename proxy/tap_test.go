package proxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// tapping is a loop without sockets, its queue, and the recorder behind it, driven by the test alone.
type tapping struct {
	*loop
	rec  *recorder
	sink *memory
}

func newTapping(limit int) *tapping {
	cfg := &Config{Upstreams: []Upstream{{Node: 1, Address: "up:1", Listen: "down:1"}}}
	sink := new(memory)
	cfg.Sinks = []Sink{sink}
	q, clk := newQueue(limit), newClock()
	l := &loop{clock: clk, queue: q, asked: newRules(cfg.Upstreams, nil), log: newFolder(cfg.Log), stats: new(counters)}
	return &tapping{loop: l, rec: newRecorder(cfg, l.asked.texts, q, clk, new(atomic.Bool)), sink: sink}
}

// TestRecorder_BreathesAfterABoundedAmountOfWork: on one processor the loop runs between.
func TestRecorder_BreathesAfterABoundedAmountOfWork(t *testing.T) {
	for _, tt := range []struct{ frames, size, most int }{{1000, 10, breathFrames}, {100, 20 << 10, 2}, {10, 1 << 20, 1}} {
		tp := newTapping(64 << 20)
		atBreath, longest := 0, 0
		tp.rec.breath = func() {
			n := len(tp.sink.kinds(recordings.KindFrame))
			longest, atBreath = max(longest, n-atBreath), n
		}
		r := newRelay(1, 0, -1, -1)
		frame := binary.BigEndian.AppendUint32(nil, uint32(tt.size))
		frame = append(frame, make([]byte, tt.size)...)
		for range tt.frames {
			tp.tap(&r.flows[0], frame, 1, 2)
		}
		tp.rec.drain()
		if longest == 0 || longest > tt.most || tt.frames-atBreath >= tt.most {
			t.Errorf("%d frames of %d bytes: up to %d between two breaths, %d behind the last", tt.frames, tt.size, longest, tt.frames-atBreath)
		}
	}
}

func (tp *tapping) closed(r *relay) {
	r.closed, r.closedAt = true, tp.now()
	tp.unsaid = append(tp.unsaid, r)
	tp.sayClosed()
}

// TestTap_AFullQueueIsACountedGapOfWholeFrames lets the recorder fall behind at random. What is recorded and what the gaps
// count must together be exactly what was forwarded, and recording must go on at a frame.
func TestTap_AFullQueueIsACountedGapOfWholeFrames(t *testing.T) {
	rng := seeded(t)
	for range 15 {
		tp := newTapping(4 * segmentSize)
		r := newRelay(1, 0, -1, -1)
		f := &r.flows[rng.IntN(2)]
		stream, ends := randomFrames(rng, 1000, 8000)
		for _, c := range chunks(rng, stream, 20_000) {
			tp.tap(f, c, 1, 2)
			if rng.IntN(200) == 0 {
				tp.rec.drain()
			}
		}
		tp.rec.drain()
		tp.closed(r)
		tp.rec.drain()
		checkAccount(t, tp, f, stream, ends)
		if n := len(tp.rec.conns); n != 0 || tp.rec.partial != 0 {
			t.Fatalf("%d connections left, %d bytes reserved", n, tp.rec.partial)
		}
	}
}

// checkAccount compares what was recorded and left out with what was sent.
func checkAccount(t *testing.T, tp *tapping, f *flow, stream []byte, ends []int) {
	t.Helper()
	at, seq := 0, 0 // bytes and frames accounted for
	opened, closed := false, false
	for _, o := range tp.sink.seen {
		switch o.Kind {
		case recordings.KindOpen:
			opened = true
		case recordings.KindFrame:
			if int(o.Seq) != seq || o.Dir != f.dir || closed || !opened {
				t.Fatalf("frame %d comes as %d", seq, o.Seq)
			}
			want := stream[at:ends[seq]]
			if !bytes.Equal(want[4:], o.Frame.Bytes) {
				t.Fatalf("frame %d has other bytes", seq)
			}
			at, seq = ends[seq], seq+1
		case recordings.KindGap:
			at += int(o.Gap.Bytes)
			seq += int(o.Gap.Frames)
			if seq < len(ends) && (seq == 0 && at != 0 || seq > 0 && at != ends[seq-1]) {
				t.Fatalf("a gap ends at byte %d, frame %d, which is no boundary", at, seq)
			}
		case recordings.KindClose:
			closed = true
		}
	}
	if at != len(stream) || seq != len(ends) || !closed {
		t.Fatalf("%d of %d bytes and %d of %d frames accounted for, closed %t", at, len(stream), seq, len(ends), closed)
	}
	if n := tp.stats.frames[f.dir].get(); int(n) != len(ends) {
		t.Fatalf("%d frames counted as forwarded, want %d", n, len(ends))
	}
}

// TestTap_WithoutRoomAtAllConnectionsAreForgottenOrTold: a recorder that stands still costs bounded memory, and hears in
// the end of every connection that it had been told of.
func TestTap_WithoutRoomAtAllConnectionsAreForgottenOrTold(t *testing.T) {
	tp := newTapping(4 * segmentSize)
	const conns = 15_000
	var told int
	for i := range conns {
		r := newRelay(uint64(i+1), 0, -1, -1)
		if tp.announce(r) {
			told++
		}
		tp.tap(&r.flows[0], response(1, "some bytes"), 1, 2)
		tp.closed(r)
	}
	if told == conns {
		t.Fatal("the queue never filled")
	}
	if taken := tp.queue.taken.Load(); taken > 4*segmentSize*9/8 {
		t.Errorf("%d bytes taken", taken)
	}
	for len(tp.unsaid) > 0 {
		tp.rec.drain()
		tp.sayClosed()
	}
	tp.rec.drain()
	opens, closes := len(tp.sink.kinds(recordings.KindOpen)), len(tp.sink.kinds(recordings.KindClose))
	unrecorded := int(tp.stats.unrecorded.get())
	if opens != closes || opens+unrecorded != conns || len(tp.rec.conns) != 0 {
		t.Errorf("%d opens, %d closes, %d unrecorded of %d", opens, closes, unrecorded, conns)
	}
}

func TestTap_AllocatesNothingForAFrame(t *testing.T) {
	tp := newTapping(1 << 20)
	tp.rec.sinks = nil
	r := newRelay(1, 0, -1, -1)
	frame := request(1, 17, 1, "raft-client-1", "a Fetch request of some length, as they come")
	tp.tap(&r.flows[0], frame, 1, 2)
	tp.rec.drain()
	if n := testing.AllocsPerRun(1000, func() {
		tp.tap(&r.flows[0], frame, tp.now(), tp.now())
		tp.rec.drain()
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// TestRecorder_IncompleteFramesTogetherAreBounded: many connections that announce huge frames and send most of
// them must not take more than the budget; what is beyond it is cut.
func TestRecorder_IncompleteFramesTogetherAreBounded(t *testing.T) {
	tp := newTapping(64 << 20)
	head := binary.BigEndian.AppendUint32(nil, 60<<20)
	for i := range 8 {
		r := newRelay(uint64(i+1), 0, -1, -1)
		tp.tap(&r.flows[0], head, 1, 2)
		tp.tap(&r.flows[0], make([]byte, chunkSize), 1, 2)
		tp.rec.drain()
	}
	if tp.rec.partial > frameBudget+8*4096 {
		t.Errorf("%d bytes promised, at most %d are allowed", tp.rec.partial, frameBudget)
	}
}

// blocking is a sink that takes nothing until it is let go.
type blocking struct {
	memory
	entered chan struct{}
	gate    chan struct{}
	once    sync.Once
}

func (b *blocking) Observe(o *recordings.Observation) {
	b.once.Do(func() { close(b.entered) })
	<-b.gate
	b.memory.Observe(o)
}

// TestTap_ARecorderThatStandsStillNeverDelaysForwarding also is the broken twin of all tests that expect no gap.
func TestTap_ARecorderThatStandsStillNeverDelaysForwarding(t *testing.T) {
	stuck := &blocking{entered: make(chan struct{}), gate: make(chan struct{})}
	up := newServer(t)
	up.serve(func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	p := startProxy(t, up.addr(), func(c *Config) { c.Sinks, c.TapMemory = []Sink{stuck}, 1<<20 })
	client := p.dial(1)
	frame := response(1, string(make([]byte, 5000)))
	send(t, client, frame)
	readFrame(t, client)
	<-stuck.entered
	const frames = 2000
	for range frames {
		send(t, client, frame)
		readFrame(t, client)
	}
	s := p.Stats()
	if s.Gaps == 0 || s.Backlog == 0 {
		t.Errorf("no gap though nothing is taken: %+v", s)
	}
	close(stuck.gate)
	eventually(t, "the recorder catches up", func() bool { return p.Stats().Backlog == 0 })
	send(t, client, frame)
	readFrame(t, client)
	p.end()
	for dir := range wire.Direction(2) {
		recorded, lost := 0, 0
		for _, o := range stuck.seen {
			if o.Dir != dir {
				continue
			}
			switch o.Kind {
			case recordings.KindFrame:
				recorded++
			case recordings.KindGap:
				lost += int(o.Gap.Frames)
			case recordings.KindOpen, recordings.KindClose:
			}
		}
		if lost == 0 || recorded+lost != frames+2 {
			t.Errorf("%s: %d frames recorded and %d in gaps, of %d", dir, recorded, lost, frames+2)
		}
	}
}

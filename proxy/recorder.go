package proxy

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Sink takes what the recorder observes. It is called by one goroutine. Its failures are its own: it counts them and
// goes on, and it marks in its output what it has missed.
type Sink interface {
	// Observe takes an observation. What it points to is valid during the call only, but for its Conn, which stays.
	Observe(o *recordings.Observation)
	// Idle is called when there is nothing more for now, at the instant now, and at least every 100 ms.
	Idle(now int64)
	// Close ends the sink after the last observation.
	Close() error
	// Stats may be called by any goroutine.
	Stats() SinkStats
}

const (
	// batchEvery is how often the recorder looks into the queue: seldom enough that many frames share one wake-up.
	batchEvery = 2 * time.Millisecond
	// restAfter is how many looks in vain it takes until the recorder waits to be woken.
	restAfter = 50
	// idleEvery is the longest time between two calls of Sink.Idle.
	idleEvery = 100 * time.Millisecond
	// frameLimit is the largest frame that is kept whole, frameBudget the most that all incomplete frames take together.
	frameLimit  = 64 << 20
	frameBudget = 128 << 20
	// breathFrames and breathBytes are after how much work the recorder lets the loop go first, where they share a processor:
	// some 20 us of it.
	breathFrames = 24
	breathBytes  = 24 << 10
)

// recorder turns the entries of the queue into observations.
type recorder struct {
	queue     *queue
	clock     clock
	upstreams []Upstream
	faults    *ruleTexts
	sinks     []Sink

	conns   map[uint64]*tapped
	work    int    // since the last breath, in frames
	breath  func() // lets other threads run
	partial int    // bytes of incomplete frames, as far as they will be kept
	obs     recordings.Observation

	slept  *atomic.Bool // shared with the loop
	wakeup chan struct{}

	recorded, gapBytes, gapFrames counter
	keys                          [128]counter // requests by api key; the last one for all unknown keys
}

// tapped is what the recorder knows of a connection.
type tapped struct {
	conn  *recordings.Conn
	flows [2]tappedFlow
}

type tappedFlow struct {
	splitter wire.Splitter
	follow   boundary
	reserved int // of recorder.partial
	seq      uint64
	dead     bool // framing lost
}

func newRecorder(cfg *Config, faults *ruleTexts, q *queue, clk clock, slept *atomic.Bool) *recorder {
	return &recorder{
		queue: q, clock: clk, upstreams: cfg.Upstreams, faults: faults, sinks: cfg.Sinks,
		conns: map[uint64]*tapped{}, slept: slept, wakeup: make(chan struct{}, 1), breath: yield,
	}
}

// wake is called by the loop when the recorder sleeps and there is something to read.
func (r *recorder) wake() {
	select {
	case r.wakeup <- struct{}{}:
	default:
	}
}

// run reads until done is closed and the queue is empty, then closes the sinks.
func (r *recorder) run(done <-chan struct{}) error {
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	lastIdle := int64(0)
	vain := 0
	for last := false; ; {
		if r.drain() {
			vain = 0
		} else if vain++; last {
			break
		}
		if now := r.clock.now(); vain <= 1 || now-lastIdle >= int64(idleEvery) {
			lastIdle = now
			for _, s := range r.sinks {
				s.Idle(now)
			}
		}
		wait := tick.C
		if vain > restAfter && !last {
			tick.Reset(idleEvery)
			r.slept.Store(true)
		}
		if r.queue.backlog() > 0 {
			continue
		}
		select {
		case <-wait:
		case <-r.wakeup:
		case <-done:
			last = true
		}
		if r.slept.Swap(false) {
			tick.Reset(batchEvery)
		}
	}
	var errs []error
	for _, s := range r.sinks {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// drain reads everything that is in the queue and reports whether there was anything.
func (r *recorder) drain() bool {
	var e entry
	any := false
	for r.queue.get(&e) {
		any = true
		r.entry(&e)
	}
	return any
}

func (r *recorder) entry(e *entry) {
	if e.kind == entryOpen {
		r.open(e)
		return
	}
	c := r.conns[e.conn]
	if c == nil {
		return
	}
	r.obs = recordings.Observation{Conn: c.conn, At: wire.Stamp{Seen: e.seen, Forwarded: e.forwarded}, Dir: wire.Direction(e.dir)}
	switch e.kind {
	case entryChunk:
		r.chunk(c, e)
	case entryFault:
		r.fault(c, e)
	case entryGap:
		f := &c.flows[e.dir]
		r.obs.At = wire.Stamp{Seen: r.clock.now()}
		r.obs.At.Forwarded = r.obs.At.Seen
		r.gapBytes.add(uint64(e.seen) + uint64(f.splitter.Pending()))
		r.gapFrames.add(uint64(e.forwarded))
		r.gap(f, &recordings.Gap{Reason: "tap overflow", Bytes: e.seen, Frames: e.forwarded})
	case entryClose:
		r.close(c, e)
	case entryOpen:
	}
}

func (r *recorder) open(e *entry) {
	o := parseOpening(e.payload)
	u := r.upstreams[o.upstream]
	c := &tapped{conn: &recordings.Conn{
		ID: e.conn, Node: u.Node, Endpoint: u.Listen, Client: o.client, Server: o.server,
	}}
	r.conns[e.conn] = c
	r.obs = recordings.Observation{Kind: recordings.KindOpen, Conn: c.conn, At: wire.Stamp{Seen: e.seen, Forwarded: e.forwarded}}
	r.give()
}

// chunk cuts a chunk into frames.
func (r *recorder) chunk(c *tapped, e *entry) {
	f := &c.flows[e.dir]
	if f.dead {
		return
	}
	if f.follow.between() { // the limit must not change within a frame
		f.splitter.Limit = min(frameLimit, max(frameBudget-r.partial, 4<<10))
	}
	r.partial -= f.reserved
	f.reserved = 0
	f.follow.advance(e.payload)
	f.splitter.Push(e.payload)
	for {
		frame, ok, err := f.splitter.Next()
		if err != nil {
			f.dead = true
			r.gap(f, &recordings.Gap{Reason: err.Error(), Bytes: -1, Frames: -1, Fatal: true})
			break
		}
		if !ok {
			break
		}
		r.frame(f, frame, nil)
	}
	if !f.dead {
		f.reserved = min(f.follow.need+f.splitter.Pending(), f.splitter.Limit)
		r.partial += f.reserved
	}
}

// frame gives a frame to the sinks.
func (r *recorder) frame(f *tappedFlow, frame wire.Frame, fault *recordings.Fault) {
	r.obs.Kind, r.obs.Frame, r.obs.Fault, r.obs.Seq = recordings.KindFrame, frame, fault, f.seq
	f.seq++
	r.count(r.obs.Dir, frame.Bytes)
	r.recorded.add(1)
	r.give()
	r.breathe(len(frame.Bytes))
}

// breathe lets other threads run after a bounded amount of work.
func (r *recorder) breathe(size int) {
	if r.work += 1 + size/(breathBytes/breathFrames); r.work >= breathFrames {
		r.work = 0
		r.breath()
	}
}

func (r *recorder) fault(c *tapped, e *entry) {
	sent, delivered := parseFault(e.payload)
	fault := &recordings.Fault{Rule: r.faults.at(e.rule), Sent: sent, Delivered: delivered != nil}
	r.frame(&c.flows[e.dir], wire.Frame{Bytes: delivered, Size: len(delivered)}, fault)
}

// gap tells the sinks what is missing. A frame that had begun is part of it.
func (r *recorder) gap(f *tappedFlow, g *recordings.Gap) {
	if g.Bytes >= 0 {
		g.Bytes += int64(f.splitter.Pending())
	}
	f.seq += uint64(max(g.Frames, 0))
	r.partial -= f.reserved
	f.splitter, f.follow, f.reserved = wire.Splitter{}, boundary{}, 0
	r.obs.Kind, r.obs.Gap = recordings.KindGap, g
	r.give()
	r.obs.Gap = nil
}

func (r *recorder) close(c *tapped, e *entry) {
	for d := range c.flows {
		f := &c.flows[d]
		if n := f.splitter.Pending(); n > 0 && !f.dead {
			r.obs.Dir = wire.Direction(d)
			r.gap(f, &recordings.Gap{Reason: recordings.ReasonCut, Bytes: 0, Frames: 0})
		}
		r.partial -= f.reserved
	}
	r.obs.Kind, r.obs.Dir, r.obs.Reset = recordings.KindClose, wire.Request, e.flag
	r.give()
	delete(r.conns, e.conn)
}

func (r *recorder) give() {
	for _, s := range r.sinks {
		s.Observe(&r.obs)
	}
}

// count keeps the metrics by api key.
func (r *recorder) count(dir wire.Direction, frame []byte) {
	if dir == wire.Request && len(frame) >= 2 {
		key := int(frame[0])<<8 | int(frame[1])
		r.keys[min(key, len(r.keys)-1)].add(1)
	}
}

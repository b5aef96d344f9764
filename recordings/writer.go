package recordings

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/understudy-kafka/understudy/wire"
)

// Writer writes a recording. It has one owner; only [Writer.Stats] may be called by others.
//
// What Write is given is in a chunk in memory until the chunk is full or old; then it is compressed and
// written. Age is measured by the observations' own instants: a caller that may fall silent calls Tick now and then.
//
// After an error the writer goes on: what could not be written is counted, and the first thing written when
// that works again are gaps that say so.
type Writer struct {
	opts  Options
	conns map[*Conn]*connState
	shown []shownInterface
	byEnd map[shownInterface]uint32  // index in shown
	taken map[[2]netip.AddrPort]bool // addresses in synthetic headers of open connections
	store *store
	stats Stats
	cur   *chunk
	given []tally // chunks given up because the backlog was full, to be told with the next one
	hasty bool    // the last chunk was full in no time: see Options.Haste
	line  []byte
	text  describer
	redactor
	withheld, hidden []Withheld
	sent             []byte

	background
}

// background is what a writer shares with its goroutine.
type background struct {
	work    chan job
	free    chan *chunk
	wait    sync.WaitGroup
	backlog atomic.Int64 // bytes handed over and not written yet
	mu      sync.Mutex
	err     error // guarded by mu: the first failure that no caller has been told
}

type job struct {
	chunk *chunk
	now   int64
	done  chan<- struct{} // not nil: a barrier
}

// Stats counts what a writer did.
type Stats struct {
	Observations atomic.Int64 // given to Write
	Frames       atomic.Int64 // given to Write
	Written      atomic.Int64 // frames handed to the operating system
	Lost         atomic.Int64 // frames given up
	Bytes        atomic.Int64 // compressed
	Segments     atomic.Int64
}

// Create begins a recording whose segments are base-000001.pcapng.zst and so on. The first one must not exist.
func Create(base string, opts Options) (*Writer, error) {
	s := &store{base: base, create: createFile}
	w, err := newWriter(s, opts)
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", base, err)
	}
	return w, nil
}

// NewWriter writes a recording of one segment to a stream. After an error of the stream other than [ErrBusy] nothing
// more can be written.
func NewWriter(out io.Writer, opts Options) (*Writer, error) {
	opts.SegmentSize, opts.SegmentAge = 0, 0
	opts.Durability = DurabilityNone
	s := &store{base: "stream", create: func(string) (file, error) { return &stream{out: out}, nil }}
	w, err := newWriter(s, opts)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	return w, nil
}

func newWriter(s *store, opts Options) (*Writer, error) {
	opts = opts.withDefaults()
	w := &Writer{
		opts: opts, store: s, cur: new(chunk),
		conns: map[*Conn]*connState{}, byEnd: map[shownInterface]uint32{}, taken: map[[2]netip.AddrPort]bool{},
	}
	s.stats = &w.stats
	if err := s.start(opts); err != nil {
		return nil, err
	}
	if opts.Background {
		w.work = make(chan job, 1024)
		w.free = make(chan *chunk, 8)
		w.wait.Add(1)
		go w.run()
	}
	return w, nil
}

// Stats returns the counters.
func (w *Writer) Stats() *Stats { return &w.stats }

var errNotObservation = errors.New("not an observation that can be recorded")

// valid reports whether an observation keeps to its contract.
func (o *Observation) valid() bool {
	return o.Conn != nil && o.Kind <= KindClose && o.Dir <= wire.Response &&
		(o.Kind != KindGap || o.Gap != nil) &&
		o.Frame.Size <= wire.MaxFrameSize && (len(o.Frame.Bytes) == o.Frame.Size || o.Frame.Cut && len(o.Frame.Bytes) < o.Frame.Size)
}

// Write adds an observation and copies what it keeps of it. An error says that something could not be stored,
// perhaps an earlier observation; the file is named in it.
func (w *Writer) Write(o *Observation) error {
	if !o.valid() {
		return fmt.Errorf("%s: %w", w.store.base, errNotObservation)
	}
	w.stats.Observations.Add(1)
	var err error
	size := len(o.Frame.Bytes) + 512
	if c := w.cur; !c.empty() {
		full, age := len(c.buf)+size > w.opts.ChunkSize, o.At.Seen-c.first
		if full || age >= int64(w.opts.ChunkAge) {
			w.hasty = full && age < int64(w.opts.Haste) && c.blocks >= hastyBlocks
			c.stored = w.hasty
			err = w.hand(o.At.Seen)
		}
	}
	s := w.state(o.Conn)
	if o.Kind == KindFrame {
		w.stats.Frames.Add(1)
		w.frame(s, o)
	} else {
		w.line = comment(w.line[:0], o)
		w.cur.add(s, o, noCorrelation, nil, w.line)
	}
	if o.Kind == KindClose {
		delete(w.conns, o.Conn)
		delete(w.taken, s.shown)
	}
	if w.opts.Durability == DurabilityFrame {
		err = errors.Join(err, w.hand(o.At.Seen))
	}
	return errors.Join(err, w.failure())
}

// state finds the state of a connection, or begins one and declares its interface.
func (w *Writer) state(c *Conn) *connState {
	if s := w.conns[c]; s != nil {
		return s
	}
	shown := interfaceOf(c)
	index, ok := w.byEnd[shown]
	if !ok {
		index = uint32(len(w.shown))
		w.shown = append(w.shown, shown)
		w.byEnd[shown] = index
		w.cur.buf = appendInterface(w.cur.buf, shown.name, shown.description)
	}
	pair := shownPair(c, func(pair [2]netip.AddrPort) bool { return w.taken[pair] })
	w.taken[pair] = true
	// Ports that are used again begin elsewhere, so that Wireshark does not take them for a repetition.
	first := uint32(c.ID) * 0x9E3779B1
	s := &connState{
		iface: index, shown: pair, next: [2]uint32{first, first},
		heads: [2]tcpHead{wire.Request: newHead(pair[0], pair[1]), wire.Response: newHead(pair[1], pair[0])},
	}
	w.conns[c] = s
	return s
}

// Tick says what time it is: a chunk that is too old is written, and what is due is forced to the disk.
func (w *Writer) Tick(now int64) error {
	var err error
	if c := w.cur; !c.empty() && now-c.first >= int64(w.opts.ChunkAge) {
		w.hasty = false
		err = w.hand(now)
	}
	if w.work == nil {
		err = errors.Join(err, w.store.tick(now))
	} else {
		select {
		case w.work <- job{now: now}:
		default: // busy; it will look at the clock with the next chunk
		}
	}
	return errors.Join(err, w.failure())
}

// Flush writes what is in memory. It does not force it to the disk.
func (w *Writer) Flush() error {
	w.drain() // so that there is room for the last chunk
	err := w.hand(w.cur.first)
	w.drain()
	return errors.Join(err, w.failure())
}

// drain waits until the goroutine has stored what it was given.
func (w *Writer) drain() {
	if w.work != nil {
		done := make(chan struct{})
		w.work <- job{done: done}
		<-done
	}
}

// Close writes what is in memory, completes the segment and forces it to the disk unless the policy is none.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.work != nil {
		close(w.work)
		w.wait.Wait()
		w.work = nil
	}
	return errors.Join(err, w.store.close(w.given))
}

// hand gives the current chunk to be stored.
func (w *Writer) hand(now int64) error {
	c := w.cur
	if c.empty() {
		return nil
	}
	if w.work == nil {
		err := w.store.put(c, now)
		c.reset(w.shown)
		return err
	}
	size := int64(len(c.buf))
	if queued := w.backlog.Load(); queued > 0 && queued+size > int64(w.opts.Backlog) {
		return w.giveUp(errBacklog)
	}
	c.given = w.given
	select {
	case w.work <- job{chunk: c, now: now}:
		w.backlog.Add(size)
		w.given = nil
	default:
		return w.giveUp(errBacklog)
	}
	select {
	case w.cur = <-w.free:
	default:
		w.cur = new(chunk)
	}
	w.cur.reset(w.shown)
	return nil
}

var errBacklog = errors.New("the disk does not keep up with the recorder")

// giveUp drops the current chunk. What it held is told with the next one.
func (w *Writer) giveUp(reason error) error {
	c := w.cur
	w.given = mergeTallies(w.given, c.tallies)
	w.stats.Lost.Add(c.frames)
	frames := c.frames
	c.given = nil
	c.reset(w.shown)
	return fmt.Errorf("recording %s: %d frames given up: %w", w.store.base, frames, reason)
}

// run is the goroutine of a background writer.
func (w *Writer) run() {
	defer w.wait.Done()
	for j := range w.work {
		switch {
		case j.done != nil:
			close(j.done)
		case j.chunk == nil:
			w.report(w.store.tick(j.now))
		default:
			if w.backlog.Load() > int64(w.opts.Backlog/8) {
				j.chunk.stored = false // the disk is the slower one
			}
			w.report(w.store.put(j.chunk, j.now))
			w.opts.Breath()
			w.backlog.Add(-int64(len(j.chunk.buf)))
			select {
			case w.free <- j.chunk:
			default:
			}
		}
	}
}

func (w *Writer) report(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// failure takes what the goroutine reported.
func (w *Writer) failure() error {
	if w.work == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	w.err = nil
	return err
}

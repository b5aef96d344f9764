package proxy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// CheckerOptions say how the live checker runs.
type CheckerOptions struct {
	// Command reads a recording from its stdin and prints one [shadow.Event] as JSON on each line, like understudy
	// check --follow -o jsonl -.
	Command []string
	Stream  recordings.Options // for the header of what it reads
	Restart bool               // start it again when it ends by itself
	Memory  int                // the most that waits for it, bytes; 0: 16 MiB
	Grace   time.Duration      // how long it may take for its verdict in the end; 0: 10 s
	Nice    int                // added to its priority's value; 0: 10
	Events  func(shadow.Event) // called for each event, by one goroutine
	Log     zerolog.Logger

	pause time.Duration // before the first restart, for tests; 0: 1 s
}

const (
	defaultCheckerMemory = 16 << 20
	defaultCheckerGrace  = 10 * time.Second
	defaultCheckerNice   = 10
	// firstPause and longestPause bound the time between the end of a checker and its next start, healthyRun is
	// how long it must have run to begin with the shortest again.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	healthyRun   = time.Minute
	// stallAfter is how long the checker may take nothing before that is reported.
	stallAfter = 2 * time.Second
)

// Checker is the sink that feeds the live checker, a child process. Whatever the child does, stop, stall or die,
// nobody waits for it: what it does not take in time is left out, and the stream says so.
type Checker struct {
	opts    CheckerOptions
	log     *folder
	stop    chan struct{}
	stopped chan struct{}

	session atomic.Pointer[checkerSession] // nil: no child
	exit    atomic.Value                   // string: how the last child ended
	stalled atomic.Bool                    // the child takes nothing of what waits for it
	last    atomic.Value                   // string: the last failure
	errors  counter                        // of the supervisor
	events  [8]counter
	missed  counter // frames while there was no child
	frames  counter
	earlier atomic.Uint64 // frames lost in earlier sessions

	// The recorder's own.
	current *checkerSession
	conns   map[*recordings.Conn]*recordings.Conn // open connections, as the current session knows them
}

// checkerSession is one run of the child.
type checkerSession struct {
	cmd    *exec.Cmd
	feed   *feed
	writer *recordings.Writer // the recorder's
	begun  time.Time
	ended  chan struct{}
}

// NewChecker starts the child.
func NewChecker(opts CheckerOptions) (*Checker, error) {
	if opts.Memory <= 0 {
		opts.Memory = defaultCheckerMemory
	}
	if opts.Grace <= 0 {
		opts.Grace = defaultCheckerGrace
	}
	if opts.Nice == 0 {
		opts.Nice = defaultCheckerNice
	}
	if opts.pause <= 0 {
		opts.pause = firstPause
	}
	opts.Stream.Pipe, opts.Stream.IncludeRecords, opts.Stream.Background = true, true, false
	c := &Checker{
		opts: opts, log: newFolder(opts.Log), stop: make(chan struct{}), stopped: make(chan struct{}),
		conns: map[*recordings.Conn]*recordings.Conn{},
	}
	s, wait, err := c.start()
	if err != nil {
		return nil, err
	}
	go c.supervise(s, wait)
	return c, nil
}

// start starts a child. wait returns when it has ended and everything it printed has been read.
func (c *Checker) start() (s *checkerSession, wait func() error, err error) {
	fail := func(err error) (*checkerSession, func() error, error) {
		return nil, nil, fmt.Errorf("start checker %s: %w", c.opts.Command[0], err)
	}
	cmd := exec.Command(c.opts.Command[0], c.opts.Command[1:]...)
	stdin, pipe, err := newPipe()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = stdin.Close() }() // the child has its own
	cmd.Stdin = stdin
	fail = func(err error) (*checkerSession, func() error, error) {
		return nil, nil, fmt.Errorf("start checker %s: %w", c.opts.Command[0], errors.Join(err, pipe.Close()))
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fail(err)
	}
	f, err := newFeed(pipe, c.opts.Memory)
	if err != nil {
		return fail(err)
	}
	if err := startApart(cmd, c.opts.Nice); err != nil {
		return fail(err)
	}
	w, err := recordings.NewWriter(f, c.opts.Stream)
	if err != nil {
		_ = cmd.Process.Kill()
		return fail(errors.Join(err, cmd.Wait()))
	}
	s = &checkerSession{cmd: cmd, feed: f, writer: w, begun: time.Now(), ended: make(chan struct{})}
	var pipes sync.WaitGroup
	pipes.Go(func() { c.readEvents(stdout) })
	pipes.Go(func() { c.readMessages(stderr) })
	wait = func() error {
		pipes.Wait()
		err := cmd.Wait()
		_ = closePipe(pipe)
		close(s.ended)
		return err
	}
	c.session.Store(s)
	return s, wait, nil
}

// supervise starts the child again when it has ended, until the checker is closed.
func (c *Checker) supervise(s *checkerSession, wait func() error) {
	defer close(c.stopped)
	pause := c.opts.pause
	for {
		err := wait()
		c.session.Store(nil)
		select {
		case <-c.stop:
			c.report(exitText(err), expectedExit(err))
			return
		default:
		}
		if time.Since(s.begun) > healthyRun {
			pause = c.opts.pause
		}
		for {
			c.report(exitText(err), false)
			if !c.opts.Restart {
				<-c.stop
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-c.stop:
				timer.Stop()
				return
			}
			pause = min(2*pause, longestPause)
			if s, wait, err = c.start(); err == nil {
				break
			}
		}
		select {
		case <-c.stop: // Close may not have seen this child
			_ = s.cmd.Process.Kill()
		default:
		}
	}
}

// exitText says in words how a child ended.
func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// expectedExit reports whether a child that was told to end did so in order: with a verdict.
func expectedExit(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err == nil
	}
	return exit.ExitCode() == 1 || exit.ExitCode() == 3 // a finding, inconclusive
}

func (c *Checker) report(how string, fine bool) {
	c.exit.Store(how)
	if fine {
		return
	}
	c.errors.add(1)
	c.last.Store("checker ended: " + how)
	c.log.warn("checker ended; forwarding and recording go on", "exit", how)
}

// maxEventLine bounds a line of the child: the verdict in the end carries the whole report.
const maxEventLine = 64 << 20

var eventKinds = [...]shadow.EventKind{
	shadow.EventCandidate, shadow.EventVote, shadow.EventLeader, shadow.EventResigned, shadow.EventRestarted,
	shadow.EventFinding, shadow.EventState, shadow.EventVerdict,
}

// readEvents hands on what the child prints.
func (c *Checker) readEvents(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventLine)
	for lines.Scan() {
		var e shadow.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.log.warn("the checker printed something else than an event", "line", cut(lines.Text(), 200))
			continue
		}
		for i, kind := range eventKinds {
			if kind == e.Kind {
				c.events[i].add(1)
			}
		}
		if c.opts.Events != nil {
			c.opts.Events(e)
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line that is too long
}

func (c *Checker) readMessages(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		c.log.warn("checker: " + cut(lines.Text(), 1000))
	}
	_, _ = io.Copy(io.Discard, stderr)
}

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// Observe implements [Sink].
func (c *Checker) Observe(o *recordings.Observation) {
	if s := c.session.Load(); s != c.current {
		c.adopt(s)
	}
	if o.Kind == recordings.KindOpen {
		c.conns[o.Conn] = o.Conn
	}
	known := c.conns[o.Conn]
	if o.Kind == recordings.KindClose {
		delete(c.conns, o.Conn)
	}
	if o.Kind == recordings.KindFrame {
		c.frames.add(1)
	}
	if c.current == nil || known == nil {
		if o.Kind == recordings.KindFrame {
			c.missed.add(1)
		}
		return
	}
	asIs := o.Conn
	o.Conn = known
	_ = c.current.writer.Write(o) // the writer counts what is lost, and says so in the stream
	o.Conn = asIs
}

// adopt turns to a new child. To it, all open connections were open before it began.
func (c *Checker) adopt(s *checkerSession) {
	if c.current != nil {
		c.earlier.Add(uint64(c.current.writer.Stats().Lost.Load()))
	}
	c.current = s
	if s == nil {
		return
	}
	now := time.Now().UnixNano()
	for conn := range c.conns {
		midway := *conn
		midway.Midway = true
		c.conns[conn] = &midway
		o := recordings.Observation{Kind: recordings.KindOpen, Conn: &midway}
		o.At.Seen, o.At.Forwarded = now, now
		_ = s.writer.Write(&o)
	}
}

// Idle implements [Sink].
func (c *Checker) Idle(int64) {
	if c.current == nil {
		return
	}
	c.current.feed.flush()
	_ = c.current.writer.Flush()
	stalled := c.current.feed.stalled() > stallAfter
	if stalled && !c.stalled.Load() {
		c.log.warn("the checker does not read; what it misses will not be judged")
	}
	c.stalled.Store(stalled)
}

// Close implements [Sink]: it lets the child read the rest, waits for its verdict, and kills it if that takes too long.
func (c *Checker) Close() error {
	defer c.log.flush()
	close(c.stop)
	if s := c.session.Load(); s != nil {
		if s != c.current {
			c.adopt(s)
		}
		_ = s.writer.Close()
		fed := make(chan struct{})
		go func() {
			defer close(fed)
			_ = s.feed.end() // an error means that the child is gone; its exit says why
		}()
		defer func() { <-fed }()
		timer := time.NewTimer(c.opts.Grace)
		defer timer.Stop()
		select {
		case <-s.ended:
		case <-timer.C:
			c.log.warn("the checker has not come to a verdict in time", "seconds", fmt.Sprint(c.opts.Grace.Seconds()))
			_ = s.cmd.Process.Kill()
		}
	}
	<-c.stopped
	return nil
}

// Stats implements [Sink].
func (c *Checker) Stats() SinkStats {
	last, _ := c.last.Load().(string)
	lost := c.missed.get() + c.earlier.Load()
	state := "running"
	s := c.session.Load()
	if s != nil {
		lost += uint64(s.writer.Stats().Lost.Load())
	}
	if exit, _ := c.exit.Load().(string); s == nil {
		state = "ended: " + exit
	} else if c.stalled.Load() {
		state = "does not read"
	}
	stats := SinkStats{
		Name: "checker", Frames: c.frames.get(), Lost: lost, Errors: c.errors.get(), LastError: last,
		Up: state == "running", State: state, Events: map[string]uint64{},
	}
	for i, kind := range eventKinds {
		stats.Events[string(kind)] = c.events[i].get()
	}
	return stats
}

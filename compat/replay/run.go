package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Options say against what a script is played.
type Options struct {
	// Dial opens a connection to the node.
	Dial func(ctx context.Context) (net.Conn, error)

	// Peers yields the node's own connections to its peers; nil if it makes none.
	Peers *Connections

	Recorded string        // release of the recorded node; "": told by the recording
	Live     string        // release of the live node; "": what it says of itself
	Fast     bool          // do not wait as long between two steps as the recording did
	Patience time.Duration // for what must come: an answer, or a request that an election timer brings; 0: 15 s

	Progress func(done, total int) // may be nil
}

const (
	defaultPatience = 15 * time.Second
	// strangerPatience is how long a request waits that nothing in the recording stands for so far.
	strangerPatience = time.Second
	// endGrace is how long the node has to end a connection that ended without an answer in the recording.
	endGrace = 500 * time.Millisecond
	// dialPause lies between two attempts to reach a node that does not listen yet.
	dialPause = 100 * time.Millisecond
	// maxMissed is how many requests in a row the node may fail to make before the replay gives up.
	maxMissed = 3
)

// run is one replay. The goroutine of Run owns all but what is said otherwise.
type run struct {
	ctx    context.Context
	o      *Options
	script *Script
	report *Report

	recorded, live *compat.Profile // nil: not known

	events chan any // *arrival and *received
	all    sync.WaitGroup

	conns      map[uint64]*asker
	peers      map[kraft.NodeID]*peerState
	arrivals   map[*exchange]*arrival
	passed     map[*exchange]bool // not waited for
	skipped    map[*exchange]bool // not asked
	versions   map[*exchange]int16
	turnedAway map[kraft.NodeID]*arrival
	reached    bool // the node has taken a connection
	missed     int
	now        int // the step that is due
}

// asker is one connection to the node.
type asker struct {
	conn   net.Conn
	frames [][]byte
	held   int  // bytes of these
	closed bool // the node has closed it
	flood  bool // it was closed here, since the node sends more than anybody asked
	open   []*exchange
}

// What a connection holds of frames that nobody has taken. Beside what is awaited these are answers that came too late, or to nothing.
const (
	maxHeld       = 2 * wire.MaxFrameSize // bytes
	maxHeldFrames = 4096
)

// received is a frame from the node, or the end of the connection.
type received struct {
	from  *asker
	frame []byte
	ended bool
}

// Run plays a script to a node.
func Run(ctx context.Context, s *Script, o Options) (*Report, error) {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &run{
		ctx: ctx, o: &o, script: s, report: &Report{Node: s.Node, Differences: []Difference{}, LeftOut: s.LeftOut, NoFrames: s.NoFrames}, events: make(chan any),
		conns: map[uint64]*asker{}, peers: map[kraft.NodeID]*peerState{}, arrivals: map[*exchange]*arrival{}, passed: map[*exchange]bool{},
		skipped: map[*exchange]bool{}, versions: map[*exchange]int16{}, turnedAway: map[kraft.NodeID]*arrival{},
	}
	for peer := range s.Peers {
		r.peers[peer] = &peerState{list: s.heard[peer]}
	}
	defer func() {
		cancel()
		for _, c := range r.conns {
			_ = c.conn.Close()
		}
		r.all.Wait()
	}()
	began := time.Now()
	if o.Peers != nil {
		r.all.Go(r.accept)
	}
	if err := r.profiles(); err != nil {
		return nil, err
	}
	err := r.play()
	r.report.Took = time.Since(began)
	return r.report, err
}

// accept serves the node's connections to its peers until there are no more.
func (r *run) accept() {
	for {
		peer, conn, ok := r.o.Peers.next(r.ctx)
		if !ok {
			return
		}
		if r.peers[peer] == nil {
			_ = conn.Close()
			continue
		}
		stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
		r.all.Go(func() {
			r.serve(peer, conn)
			stop()
		})
	}
}

func (r *run) post(event any) bool {
	select {
	case r.events <- event:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// profiles learns which builds meet.
func (r *run) profiles() (err error) {
	if r.recorded, err = profileOf(r.o.Recorded); err != nil {
		return err
	}
	if r.live, err = profileOf(r.o.Live); err != nil {
		return err
	}
	if r.recorded == nil {
		r.recorded = r.script.build()
	}
	if r.live == nil {
		if r.live, err = r.askBuild(); err != nil {
			return err
		}
	}
	if r.recorded != nil {
		r.report.Recorded = r.recorded.Build
	}
	if r.live != nil {
		r.report.Live = r.live.Build
	}
	return nil
}

func profileOf(release string) (*compat.Profile, error) {
	if release == "" {
		return nil, nil
	}
	p, err := compat.ByRelease(release)
	return &p, err
}

// build is what the recorded node said of itself; nil if it did not.
func (s *Script) build() *compat.Profile {
	for _, st := range s.steps {
		if st.kind != stepAnswer || st.x.header.Key != wire.KeyAPIVersions {
			continue
		}
		var d wire.Decoder
		if resp, err := d.Response(st.x.header.Key, st.x.header.Version, st.x.response); err == nil {
			if v, ok := resp.(*kmsg.ApiVersionsResponse); ok && v.ErrorCode == 0 {
				if p, err := conform.Detect(v); err == nil {
					return &p
				}
			}
		}
	}
	return nil
}

// dial connects to the node. One that was never reached may have been started just now, and asks its peers before it listens.
func (r *run) dial(ctx context.Context, pause func(time.Duration)) (net.Conn, error) {
	conn, first := r.o.Dial(ctx)
	for err := first; err != nil; conn, err = r.o.Dial(ctx) {
		if r.reached {
			return nil, err
		}
		if pause(dialPause); ctx.Err() != nil {
			return nil, first
		}
	}
	r.reached = true
	return conn, nil
}

// askBuild asks the live node what it is. A node that cannot be asked cannot be replayed to.
func (r *run) askBuild() (*compat.Profile, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Patience)
	defer cancel()
	conn, err := r.dial(ctx, time.Sleep)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "understudy", "replay"
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("understudy")).AppendRequest(nil, req, 1)); err != nil {
		return nil, fmt.Errorf("ask the node for its versions: %w", err)
	}
	frame, err := readFrame(bufio.NewReader(conn))
	if err != nil {
		return nil, fmt.Errorf("ask the node for its versions: %w", err)
	}
	_, body, err := wire.ParseResponseHeader(frame, wire.KeyAPIVersions, 3)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("the node's answer to ApiVersions: %w", err)
	}
	p, err := conform.Detect(resp)
	if err != nil {
		return nil, nil // a node without a profile: nothing is explained by rules
	}
	return &p, nil
}

// errLost ends a replay whose node goes a way of its own.
var errLost = errors.New("lost")

func (r *run) play() error {
	done := time.Now() // the step before
	for i, st := range r.script.steps {
		r.now = i
		if r.o.Progress != nil {
			r.o.Progress(i, len(r.script.steps))
		}
		r.drain()
		r.rematch()
		if i > 0 && !r.o.Fast && st.ours() {
			wait := time.Duration(st.at-r.script.steps[i-1].at) - time.Since(done)
			r.until(wait, func() bool { return wait <= 0 })
		}
		var err error
		switch st.kind {
		case stepAsk:
			err = r.ask(st)
		case stepAnswer:
			err = r.await(st)
		case stepEnd:
			r.end(st)
		case stepHear:
			err = r.hear(st.x)
		case stepReply:
			r.reply(st.x)
		case stepHangUp:
			r.hangUp(st.conn)
		}
		if errors.Is(err, errLost) {
			return nil
		}
		if err != nil && st.x != nil {
			return fmt.Errorf("%s: %w", st.x, err)
		}
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		done = time.Now()
	}
	return nil
}

// ours reports whether a step is taken by the replay, and not by the node.
func (st *step) ours() bool {
	return st.kind == stepAsk || st.kind == stepReply || st.kind == stepHangUp
}

// drain takes what has come.
func (r *run) drain() {
	for {
		select {
		case e := <-r.events:
			r.take(e)
		default:
			return
		}
	}
}

func (r *run) take(event any) {
	switch e := event.(type) {
	case *arrival:
		r.receive(e)
	case *received:
		if e.ended {
			e.from.closed = true
		} else {
			e.from.hold(e.frame)
		}
	}
}

// hold keeps a frame until it is asked for. A node that sends without end is not heard further.
func (c *asker) hold(frame []byte) {
	if c.closed {
		return
	}
	c.frames = append(c.frames, frame)
	if c.held += len(frame); c.held > maxHeld || len(c.frames) > maxHeldFrames {
		c.closed, c.flood = true, true
		_ = c.conn.Close()
	}
}

// until takes events until something holds; false: patience has run out.
func (r *run) until(patience time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(strangerPatience / 4)
	defer tick.Stop()
	for !holds() {
		select {
		case e := <-r.events:
			r.take(e)
		case <-tick.C:
		case <-deadline.C:
			return false
		case <-r.ctx.Done():
			return false
		}
		r.rematch()
	}
	return true
}

// frameFor takes the answer to an exchange out of what the node has sent. What is no request has no id, and so no answer.
func (c *asker) frameFor(x *exchange) []byte {
	if !x.readable {
		return nil
	}
	for i, f := range c.frames {
		if len(f) >= 4 && bytes.Equal(f[:4], x.frame[4:8]) {
			c.frames = slices.Delete(c.frames, i, i+1)
			c.held -= len(f)
			return f
		}
	}
	return nil
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

const (
	defaultDialTimeout  = 5 * time.Second
	defaultDrainTimeout = 2 * time.Second
	defaultTapMemory    = 64 << 20
)

// Proxy relays for the controllers of its configuration.
type Proxy struct {
	cfg       Config
	clock     clock
	queue     *queue
	loop      *loop
	recorder  *recorder
	stats     counters
	dialError atomic.Uint64
	log       *folder
	listeners []net.Listener
	lastConn  atomic.Uint64
	accepting sync.WaitGroup
}

// New opens the listeners. A proxy that has been made must be run, or closed.
func New(cfg Config) (*Proxy, error) {
	cfg.Upstreams, cfg.Sinks = slices.Clone(cfg.Upstreams), slices.Clone(cfg.Sinks)
	if err := checkUpstreams(cfg.Upstreams); err != nil {
		return nil, err
	}
	if cfg.DialTimeout <= 0 {
		cfg.DialTimeout = defaultDialTimeout
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = defaultDrainTimeout
	}
	if cfg.TapMemory <= 0 {
		cfg.TapMemory = defaultTapMemory
	}
	p := &Proxy{cfg: cfg, clock: newClock(), queue: newQueue(cfg.TapMemory), log: newFolder(cfg.Log)}
	for i := range cfg.Upstreams {
		u := &p.cfg.Upstreams[i]
		ln, err := net.Listen("tcp", u.Listen)
		if err != nil {
			p.closeListeners()
			return nil, fmt.Errorf("listen on %s for node %d: %w", u.Listen, u.Node, err)
		}
		p.listeners = append(p.listeners, ln)
		if _, port, _ := net.SplitHostPort(u.Listen); port == "0" {
			u.Listen = ln.Addr().String()
		}
	}
	loop, err := newLoop(p.clock, p.queue, newRules(p.cfg.Upstreams, cfg.Faults), p.log, &p.stats)
	if err != nil {
		p.closeListeners()
		return nil, err
	}
	p.loop = loop
	p.recorder = newRecorder(&p.cfg, loop.asked.texts, p.queue, p.clock, &loop.slept)
	loop.wake = p.recorder.wake
	return p, nil
}

// Attach adds a sink. It must be called before Run.
func (p *Proxy) Attach(s Sink) {
	p.cfg.Sinks = append(p.cfg.Sinks, s)
	p.recorder.sinks = p.cfg.Sinks
}

// Addr is where the proxy listens for a node; "" if it does not.
func (p *Proxy) Addr(node kraft.NodeID) string {
	for i, u := range p.cfg.Upstreams {
		if u.Node == node {
			return p.listeners[i].Addr().String()
		}
	}
	return ""
}

// Upstreams returns the upstreams with the addresses that the listeners really have.
func (p *Proxy) Upstreams() []Upstream { return slices.Clone(p.cfg.Upstreams) }

// Run relays until the context is done. Then it stops accepting, lets open requests be answered, closes the
// connections, and ends when everything has been given to the sinks and they are closed.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.log.flush()
	dialing, stopDialing := context.WithCancel(context.Background())
	defer stopDialing()
	for i := range p.listeners {
		p.accepting.Add(1)
		go p.accept(dialing, i)
	}
	relayed, recorded := make(chan error, 1), make(chan error, 1)
	loopEnded := make(chan struct{})
	go func() {
		err := p.loop.run()
		close(loopEnded)
		relayed <- err
	}()
	go func() { recorded <- p.recorder.run(loopEnded) }()

	select {
	case <-ctx.Done():
	case <-loopEnded: // epoll failed
	}
	p.closeListeners()
	stopDialing()
	p.accepting.Wait()
	p.loop.post(func() { p.loop.drain(p.cfg.DrainTimeout) })
	return errors.Join(<-relayed, <-recorded)
}

// Close gives up a proxy that is not run.
func (p *Proxy) Close() {
	p.closeListeners()
	p.loop.shut()
}

func (p *Proxy) closeListeners() {
	for _, ln := range p.listeners {
		_ = ln.Close()
	}
}

// acceptPause is how long a listener waits after an error such as too many open files.
const acceptPause = 50 * time.Millisecond

// accept takes the connections of one listener.
func (p *Proxy) accept(ctx context.Context, i int) {
	defer p.accepting.Done()
	for {
		conn, err := p.listeners[i].Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if err != nil {
			p.log.warn("accept failed", "listener", p.cfg.Upstreams[i].Listen, "error", err.Error())
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		p.accepting.Add(1)
		go p.connect(ctx, i, conn.(*net.TCPConn))
	}
}

// connect dials the upstream for a client's connection and hands both to the loop. A client whose upstream is
// down is closed at once, as if it had reached the machine but not the process; Kafka's clients try again.
func (p *Proxy) connect(ctx context.Context, i int, client *net.TCPConn) {
	defer p.accepting.Done()
	u := &p.cfg.Upstreams[i]
	dialer := net.Dialer{Timeout: p.cfg.DialTimeout}
	if p.cfg.DialFrom.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: p.cfg.DialFrom.AsSlice(), Zone: p.cfg.DialFrom.Zone()}
	}
	server, err := dialer.DialContext(ctx, "tcp", u.Address)
	if err != nil {
		p.dialError.Add(1)
		if ctx.Err() == nil {
			p.log.warn("upstream does not answer", "from", client.RemoteAddr().String(), "upstream", u.String(), "error", err.Error())
		}
		_ = client.Close()
		return
	}
	if err := p.hand(i, client, server.(*net.TCPConn)); err != nil {
		p.log.warn("connection closed", "from", client.RemoteAddr().String(), "upstream", u.String(), "error", err.Error())
	}
}

func (p *Proxy) hand(i int, client, server *net.TCPConn) error {
	clientAddr, serverAddr := addrPort(client.RemoteAddr()), addrPort(client.LocalAddr())
	clientFD, err := detach(client)
	if err != nil {
		_ = server.Close()
		return err
	}
	serverFD, err := detach(server)
	if err != nil {
		closeFD(clientFD)
		return err
	}
	r := newRelay(p.lastConn.Add(1), i, clientFD, serverFD)
	r.client, r.server = clientAddr, serverAddr
	if !p.loop.post(func() { p.loop.add(r) }) {
		closeFD(clientFD)
		closeFD(serverFD)
	}
	return nil
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Stats returns a snapshot. It may be called at any time by any goroutine.
func (p *Proxy) Stats() Stats {
	c, r := &p.stats, p.recorder
	s := Stats{
		Open: c.open.get(), Opened: c.opened.get(), Reset: c.reset.get(), DialError: p.dialError.Load(),
		BytesRequest: c.bytes[0].get(), BytesResponse: c.bytes[1].get(),
		FramesRequest: c.frames[0].get(), FramesResponse: c.frames[1].get(),
		Gaps: c.gaps.get(), GapBytes: r.gapBytes.get(), GapFrames: r.gapFrames.get(),
		Opaque: c.opaque.get(), Unrecorded: c.unrecorded.get(), Faults: c.faults.get(), Waits: c.waits.get(),
		Recorded: r.recorded.get(), Backlog: uint64(max(0, p.queue.backlog())), Requests: map[int16]uint64{},
	}
	for key := range r.keys {
		if n := r.keys[key].get(); n > 0 {
			if key == len(r.keys)-1 {
				key = int(OtherKeys)
			}
			s.Requests[int16(key)] = n
		}
	}
	for i := range s.LatencyCounts {
		s.LatencyCounts[i] = c.latency.buckets[i].get()
	}
	s.LatencySum = time.Duration(c.latency.sum.get())
	for _, sink := range p.cfg.Sinks {
		s.Sinks = append(s.Sinks, sink.Stats())
	}
	return s
}

package proxy

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/understudy-kafka/understudy/wire"
)

// relay is one relayed connection: the client's socket, the upstream's, and a flow for each direction.
type relay struct {
	id             uint64
	upstream       int // index in Config.Upstreams
	client, server netip.AddrPort
	ends           [2]end  // client, upstream
	flows          [2]flow // requests, responses: flows[d] runs from ends[d] to the other
	gate           *gate   // nil: no fault rule can concern this connection
	announced      bool    // the recorder knows it
	closed         bool
	reset          bool
	closedAt       int64
}

// end is one socket.
type end struct {
	relay  *relay
	fd     int
	slot   int32
	events uint32 // what epoll watches for
	added  bool
	hung   bool  // both ways of the socket have ended; not watched while there is nothing to do
	flow   *flow // what is read here
	into   *flow // what is written here
}

// flow is one direction of a connection.
type flow struct {
	relay    *relay
	from, to *end
	dir      wire.Direction
	follow   boundary
	waiting  []byte // read and not yet written, since the receiver is slow; never more than one chunk or gated frame
	store    []byte // backs waiting
	seen     int64  // when waiting was read
	eof      bool   // the sender has ended its side
	done     bool   // and that has been passed on
	opaque   bool   // not Kafka's protocol: forwarded, but no longer recorded
	held     *held  // gated: what waits for its frame to be complete, or for its delay

	gap                 bool // the queue was full: what is left out so far
	gapBytes, gapFrames int64
}

func newRelay(id uint64, upstream int, clientFD, serverFD int) *relay {
	r := &relay{id: id, upstream: upstream}
	for i, fd := range [2]int{clientFD, serverFD} {
		r.ends[i] = end{relay: r, fd: fd, flow: &r.flows[i], into: &r.flows[1-i]}
		r.flows[i] = flow{relay: r, dir: wire.Direction(i), from: &r.ends[i], to: &r.ends[1-i]}
	}
	return r
}

// settled reports that nothing is under way: each request has its answer and no frame is in the middle. Of what is
// not Kafka's protocol nobody can tell.
func (r *relay) settled() bool {
	a, b := &r.flows[0], &r.flows[1]
	return a.idle() && b.idle() && (a.opaque || b.opaque || a.follow.frames == b.follow.frames)
}

func (f *flow) idle() bool {
	return len(f.waiting) == 0 && (f.opaque || f.follow.between()) && (f.held == nil || f.held.empty())
}

// wantsBytes reports whether the flow may read more.
func (f *flow) wantsBytes(draining bool) bool {
	if f.eof || len(f.waiting) > 0 || f.held != nil && f.held.full() {
		return false
	}
	return !draining || f.dir == wire.Response || !f.idle()
}

// watch tells epoll what both sockets of a connection wait for now.
func (l *loop) watch(r *relay) {
	for i := range r.ends {
		e := &r.ends[i]
		var events uint32
		if e.flow.wantsBytes(l.draining) {
			events |= unix.EPOLLIN
		}
		if len(e.into.waiting) > 0 {
			events |= unix.EPOLLOUT
		}
		if events == e.events && (e.added || e.hung) {
			continue
		}
		op := unix.EPOLL_CTL_MOD
		if !e.added {
			op = unix.EPOLL_CTL_ADD
		}
		e.events, e.added, e.hung = events, true, false
		if err := l.poll.control(op, e.fd, events, e.slot, l.generation[e.slot]); err != nil {
			l.fail(r, err)
			return
		}
	}
}

// readable takes one chunk from a flow's sender and passes it on.
func (l *loop) readable(f *flow) {
	n, errno := readFD(f.from.fd, l.chunk)
	switch {
	case errno == unix.EAGAIN:
		return
	case errno != 0:
		l.broken(f.relay, f.from, errno)
		return
	case n == 0:
		f.eof = true
		l.finish(f)
		return
	}
	seen := l.instant()
	l.stats.bytes[f.dir].add(uint64(n))
	if f.held != nil {
		l.gated(f, l.chunk[:n], seen)
		return
	}
	l.send(f, l.chunk[:n], seen)
}

// send writes bytes on. What the receiver does not take waits, and the sender with it.
func (l *loop) send(f *flow, b []byte, seen int64) {
	n, errno := writeFD(f.to.fd, b)
	if errno != 0 && errno != unix.EAGAIN {
		l.broken(f.relay, f.to, errno)
		return
	}
	if n > 0 {
		l.wrote(f, b[:n], seen)
	}
	if n < len(b) {
		f.store = append(f.store[:0], b[n:]...)
		f.waiting, f.seen = f.store, seen
	}
}

// wrote records what has been written on. A frame with a fault is recorded when all of it has been.
func (l *loop) wrote(f *flow, b []byte, seen int64) {
	if f.held == nil || f.held.telling == nil {
		l.recent = l.now()
		l.tap(f, b, seen, l.recent)
	}
}

// writable goes on with what waits.
func (l *loop) writable(f *flow) {
	if len(f.waiting) == 0 {
		return
	}
	n, errno := writeFD(f.to.fd, f.waiting)
	if errno == unix.EAGAIN {
		return
	}
	if errno != 0 {
		l.broken(f.relay, f.to, errno)
		return
	}
	l.wrote(f, f.waiting[:n], f.seen)
	f.waiting = f.waiting[n:]
	if len(f.waiting) > 0 {
		return
	}
	if f.held != nil {
		l.ungate(f)
	}
	if !f.relay.closed {
		l.finish(f)
	}
}

// finish passes the end of a flow on once everything before it has been written, and closes the connection when both
// directions have ended.
func (l *loop) finish(f *flow) {
	if !f.eof || f.done || len(f.waiting) > 0 || f.held != nil && f.held.delayed() {
		return
	}
	if f.held != nil && !f.held.empty() { // the sender ended in the middle of a frame
		rest := f.held.takeAll()
		l.send(f, rest, f.held.seen)
		if f.relay.closed || len(f.waiting) > 0 {
			return
		}
	}
	f.done = true
	if f.relay.flows[0].done && f.relay.flows[1].done {
		l.close(f.relay, false)
		return
	}
	if err := unix.Shutdown(f.to.fd, unix.SHUT_WR); err != nil && err != unix.ENOTCONN {
		l.fail(f.relay, err)
	}
}

// broken ends a connection after an error on one of its sockets; the other side sees a reset.
func (l *loop) broken(r *relay, e *end, errno syscall.Errno) {
	if r.closed {
		return
	}
	if errno != unix.ECONNRESET && errno != unix.EPIPE {
		l.report(r, e, errno)
	}
	other := &r.ends[0]
	if e == other {
		other = &r.ends[1]
	}
	if f := e.flow; len(f.waiting) > 0 && f.held == nil { // a last try for what was read before the reset
		if n, err := writeFD(other.fd, f.waiting); err == 0 && n > 0 {
			l.wrote(f, f.waiting[:n], f.seen)
		}
	}
	l.close(r, true)
}

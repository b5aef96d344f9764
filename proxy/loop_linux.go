package proxy

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/understudy-kafka/understudy/wire"
)

// chunkSize is the most that one read takes, and so the most that waits for a slow receiver.
const chunkSize = 64 << 10

// loop owns all relayed sockets. Everything in it but the mailbox and the counters belongs to its one goroutine.
type loop struct {
	poll      *poller
	clock     clock
	queue     *queue
	wake      func() // tells a sleeping recorder that there is something in the queue
	asked     *rules
	gateLimit int // the largest frame that the rules see, bytes
	log       *folder
	stats     *counters

	chunk      []byte
	relays     map[*relay]struct{}
	slots      []*end // by the slot that an event carries
	generation []int32
	freeSlots  []int32
	unsaid     []*relay // closed, but the queue had no room for it
	timers     timers
	overtaken  []*flow // hold a frame until another one has reached its receiver
	draining   bool
	recent     int64  // see instant
	entry      entry  // being built
	payload    []byte // of it, where it has to be built
	decoder    wire.Decoder

	mail struct {
		sync.Mutex
		list   []func()
		closed bool
	}
	slept atomic.Bool // the recorder waits to be woken
}

func newLoop(clk clock, q *queue, r *rules, log *folder, stats *counters) (*loop, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &loop{
		poll: poll, clock: clk, queue: q, asked: r, gateLimit: defaultGateLimit, log: log, stats: stats,
		chunk: make([]byte, chunkSize), relays: map[*relay]struct{}{},
	}, nil
}

func (l *loop) now() int64 { return l.clock.now() }

// instant is when the bytes that have just been read were there. Within one batch of events it is the instant of the
// last write, which came right before the read: asking the clock again would cost more than it tells. It is not
// before any write of which those bytes can be a consequence.
func (l *loop) instant() int64 {
	if l.recent == 0 {
		l.recent = l.now()
	}
	return l.recent
}

// post runs f on the loop's goroutine. It reports false when the loop has ended and f will not run.
func (l *loop) post(f func()) bool {
	l.mail.Lock()
	if l.mail.closed {
		l.mail.Unlock()
		return false
	}
	l.mail.list = append(l.mail.list, f)
	l.poll.wake() // under the lock: the poller is closed after mail.closed is set
	l.mail.Unlock()
	return true
}

// run relays until drain has been asked for and every connection is closed.
func (l *loop) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer l.shut()
	for !l.draining || len(l.relays) > 0 || len(l.unsaid) > 0 {
		events, err := l.poll.wait(l.patience())
		if err != nil {
			return err
		}
		l.stats.waits.add(1)
		l.recent = 0
		for i := range events {
			l.event(&events[i])
		}
		if len(l.timers.heap) > 0 {
			l.timers.run(l.now())
		}
		if len(l.unsaid) > 0 {
			l.sayClosed()
		}
		if l.slept.Load() && l.queue.backlog() > 0 {
			l.wake()
		}
	}
	return nil
}

// patience is how long the loop may wait for events, in milliseconds.
func (l *loop) patience() int {
	if len(l.unsaid) > 0 {
		return 5
	}
	if len(l.timers.heap) == 0 {
		return -1
	}
	return l.timers.next(l.now())
}

// shut ends what is left, after an error or a finished drain.
func (l *loop) shut() {
	l.draining = true
	l.mail.Lock()
	l.mail.closed = true
	rest := l.mail.list
	l.mail.Unlock()
	for _, f := range rest { // connections that came last: they are closed at once
		f()
	}
	for r := range l.relays {
		l.close(r, true)
	}
	l.poll.close()
}

func (l *loop) event(ev *unix.EpollEvent) {
	if ev.Fd == wakeSlot {
		l.poll.woken()
		l.readMail()
		return
	}
	e := l.slots[ev.Fd]
	if e == nil || l.generation[ev.Fd] != ev.Pad {
		return // closed by an earlier event of this batch
	}
	r := e.relay
	if ev.Events&unix.EPOLLOUT != 0 {
		l.writable(e.into)
	}
	if !r.closed && ev.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		if e.flow.wantsBytes(l.draining) {
			l.readable(e.flow)
		} else if ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			l.hungUp(e)
		}
	}
	l.settle(r)
}

// settle does what is left after a connection has moved on: close it if it is at rest and the loop is draining, else
// watch what it waits for now.
func (l *loop) settle(r *relay) {
	switch {
	case r.closed:
	case l.draining && r.settled():
		l.close(r, false)
	default:
		l.watch(r)
	}
}

// hungUp handles a socket that has nothing more to say while its flow may not read: an error ends the
// connection, an orderly end is left for when it can be read, and not watched until then.
func (l *loop) hungUp(e *end) {
	if errno := socketError(e.fd); errno != 0 {
		l.broken(e.relay, e, errno)
		return
	}
	if err := l.poll.control(unix.EPOLL_CTL_DEL, e.fd, 0, 0, 0); err == nil {
		e.added, e.events, e.hung = false, 0, true
	}
}

func (l *loop) readMail() {
	l.mail.Lock()
	list := l.mail.list
	l.mail.list = nil
	l.mail.Unlock()
	for _, f := range list {
		f()
	}
}

// add begins to relay between two connected sockets.
func (l *loop) add(r *relay) {
	if l.draining {
		_ = unix.Close(r.ends[0].fd)
		_ = unix.Close(r.ends[1].fd)
		return
	}
	for i := range r.ends {
		l.takeSlot(&r.ends[i])
	}
	l.relays[r] = struct{}{}
	l.stats.open.add(1)
	l.stats.opened.add(1)
	if l.asked.concern(r.upstream, anyNode) {
		r.hold()
	}
	l.announce(r)
	l.watch(r)
}

func (l *loop) takeSlot(e *end) {
	if n := len(l.freeSlots); n > 0 {
		e.slot = l.freeSlots[n-1]
		l.freeSlots = l.freeSlots[:n-1]
		l.slots[e.slot] = e
		return
	}
	e.slot = int32(len(l.slots))
	l.slots = append(l.slots, e)
	l.generation = append(l.generation, 0)
}

// close ends a connection: in order, or so that both sides see a reset.
func (l *loop) close(r *relay, reset bool) {
	if r.closed {
		return
	}
	r.closed, r.reset, r.closedAt = true, reset, l.now()
	for i := range r.ends {
		e := &r.ends[i]
		l.slots[e.slot] = nil
		l.generation[e.slot]++
		l.freeSlots = append(l.freeSlots, e.slot)
		if reset {
			closeReset(e.fd)
		} else {
			_ = unix.Close(e.fd)
		}
	}
	delete(l.relays, r)
	l.stats.open.add(^uint64(0))
	if reset {
		l.stats.reset.add(1)
	}
	l.unsaid = append(l.unsaid, r)
	l.sayClosed()
}

// fail ends a connection for a reason of our own.
func (l *loop) fail(r *relay, err error) {
	l.log.warn("connection closed", "from", r.client.String(), "upstream", l.asked.upstream(r.upstream), "error", err.Error())
	l.close(r, true)
}

// report tells of a socket error that is not a plain reset.
func (l *loop) report(r *relay, e *end, errno syscall.Errno) {
	side := "client"
	if e == &r.ends[1] {
		side = "upstream"
	}
	l.log.warn("connection lost", "side", side, "from", r.client.String(), "upstream", l.asked.upstream(r.upstream), "error", errno.Error())
}

// drain stops the loop once all connections have come to rest, or at the deadline.
func (l *loop) drain(timeout time.Duration) {
	l.draining = true
	for r := range l.relays {
		l.settle(r)
	}
	l.timers.at(l.now()+int64(timeout), func() {
		for r := range l.relays {
			l.log.warn("closed before it came to rest", "from", r.client.String(), "upstream", l.asked.upstream(r.upstream))
			l.close(r, false)
		}
	})
}

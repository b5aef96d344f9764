package proxy

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller is epoll with a way to wake it. Interest is level-triggered, so one read for each event is enough and no
// read has to find out that there is nothing more.
type poller struct {
	epoll  int
	wakeup int // an eventfd
	events [128]unix.EpollEvent
}

// wakeSlot marks the event of the eventfd.
const wakeSlot = -1

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	wakeup, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &poller{epoll: epoll, wakeup: wakeup}
	if err := p.control(unix.EPOLL_CTL_ADD, wakeup, unix.EPOLLIN, wakeSlot, 0); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() {
	_ = unix.Close(p.wakeup)
	_ = unix.Close(p.epoll)
}

// control changes the interest in a descriptor. Events for it carry the slot and its generation.
func (p *poller) control(op, fd int, events uint32, slot, generation int32) error {
	ev := unix.EpollEvent{Events: events, Fd: slot, Pad: generation}
	if err := unix.EpollCtl(p.epoll, op, fd, &ev); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// briefly is how long, in milliseconds, a wait keeps its processor of the Go scheduler.
const briefly = 1

// wait returns the events there are, or waits for at most so many milliseconds (-1: for ever). It begins with a short
// wait that the Go scheduler is not told of. Under load that is all there is, and it saves the monitor of the runtime
// from taking the processor away and giving it back for every few frames. A collection of garbage may have to wait for
// it, but not for more than a millisecond.
func (p *poller) wait(milliseconds int) ([]unix.EpollEvent, error) {
	short := briefly
	if milliseconds >= 0 {
		short = min(short, milliseconds)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(short), 0, 0)
	if errno == 0 && n > 0 {
		return p.events[:n], nil
	}
	if milliseconds == short || errno == unix.EINTR {
		return nil, nil
	}
	got, err := unix.EpollWait(p.epoll, p.events[:], milliseconds)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("epoll_wait: %w", err)
	}
	return p.events[:got], nil
}

// wake ends a wait from another goroutine.
func (p *poller) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.wakeup, one[:])
}

// woken clears the wake-up.
func (p *poller) woken() {
	var b [8]byte
	_, _ = unix.Read(p.wakeup, b[:])
}

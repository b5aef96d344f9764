package proxy

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
)

// feed writes to a pipe without ever waiting for its reader: what the pipe does not take now waits in memory, up to a
// limit. It belongs to the recorder's goroutine, which comes by every few milliseconds; a goroutine of its own would
// cost a wake-up each time.
type feed struct {
	pipe  *os.File
	raw   syscall.RawConn
	limit int

	queued []byte // what waits is queued[head:]
	head   int
	broken error
	since  atomic.Int64 // Unix nanoseconds from when on the pipe has taken nothing of what waits; 0: nothing waits
}

func newFeed(pipe *os.File, limit int) (*feed, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &feed{pipe: pipe, raw: raw, limit: limit}, nil
}

// Write takes all of b, or nothing and returns [recordings.ErrBusy].
func (f *feed) Write(b []byte) (int, error) {
	f.flush()
	if f.broken != nil {
		return 0, f.broken
	}
	n, waiting := 0, len(f.queued)-f.head
	if waiting == 0 {
		n = f.try(b)
	} else if waiting+len(b) > f.limit {
		return 0, recordings.ErrBusy
	}
	if n < len(b) {
		if f.head > len(f.queued)/2 { // rather than grow
			f.queued, f.head = f.queued[:copy(f.queued, f.queued[f.head:])], 0
		}
		f.queued = append(f.queued, b[n:]...)
		f.mark(n > 0)
	}
	return len(b), nil
}

// flush writes as much as the pipe takes now.
func (f *feed) flush() {
	if f.head == len(f.queued) || f.broken != nil {
		return
	}
	n := f.try(f.queued[f.head:])
	if f.head += n; f.head == len(f.queued) {
		f.queued, f.head = f.queued[:0], 0
		if cap(f.queued) > 1<<20 { // do not keep the memory of a long wait
			f.queued = nil
		}
	}
	f.mark(n > 0)
}

// mark keeps since.
func (f *feed) mark(moved bool) {
	switch {
	case f.head == len(f.queued):
		f.since.Store(0)
	case moved || f.since.Load() == 0:
		f.since.Store(time.Now().UnixNano())
	}
}

// try writes what the pipe takes without waiting.
func (f *feed) try(b []byte) (n int) {
	err := f.raw.Write(func(fd uintptr) bool {
		for len(b) > n {
			k, errno := syscall.Write(int(fd), b[n:])
			if errors.Is(errno, syscall.EINTR) {
				continue
			}
			if errno != nil {
				if !errors.Is(errno, syscall.EAGAIN) {
					f.broken = errno
				}
				return true
			}
			n += k
		}
		return true
	})
	if err != nil {
		f.broken = err // closed, since the reader is gone
	}
	return n
}

// end writes what is left, waiting for the reader, and closes the pipe.
func (f *feed) end() error {
	var err error
	if f.broken == nil && f.head < len(f.queued) {
		_, err = f.pipe.Write(f.queued[f.head:])
	}
	f.queued, f.head = nil, 0
	return errors.Join(err, closePipe(f.pipe))
}

// closePipe closes a pipe that may be closed already.
func closePipe(c io.Closer) error {
	if err := c.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// stalled is for how long the reader has taken nothing of what waits for it.
func (f *feed) stalled() time.Duration {
	since := f.since.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - since)
}

package proxy

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
)

// feed takes what is written to it at once or not at all, up to a limit, and passes it on to a pipe at the pace of
// the reader there.
type feed struct {
	limit int

	mu     sync.Mutex
	queued []byte
	ended  bool
	wake   chan struct{}

	moved atomic.Int64 // when the pipe last took something, Unix nanoseconds
	full  atomic.Bool  // the last write found no room
}

func newFeed(limit int) *feed {
	f := &feed{limit: limit, wake: make(chan struct{}, 1)}
	f.moved.Store(time.Now().UnixNano())
	return f
}

// Write takes all of b, or nothing and returns [recordings.ErrBusy].
func (f *feed) Write(b []byte) (int, error) {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	busy := len(f.queued) > 0 && len(f.queued)+len(b) > f.limit
	if !busy {
		f.queued = append(f.queued, b...)
	}
	f.mu.Unlock()
	f.full.Store(busy)
	if busy {
		return 0, recordings.ErrBusy
	}
	f.ring()
	return len(b), nil
}

// end lets pump return once everything has been passed on.
func (f *feed) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.ring()
}

func (f *feed) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// pump passes everything on until the end or an error of the pipe.
func (f *feed) pump(pipe io.Writer) error {
	var batch []byte
	for {
		f.mu.Lock()
		batch, f.queued = f.queued, batch[:0]
		ended := f.ended
		f.mu.Unlock()
		if len(batch) == 0 {
			if ended {
				return nil
			}
			<-f.wake
			continue
		}
		if _, err := pipe.Write(batch); err != nil {
			return err
		}
		f.moved.Store(time.Now().UnixNano())
		if cap(batch) > 1<<20 { // do not keep the memory of a rare big frame
			batch = nil
		}
	}
}

// stalled is for how long the reader has taken nothing of what waits for it.
func (f *feed) stalled() time.Duration {
	f.mu.Lock()
	waiting := len(f.queued) > 0
	f.mu.Unlock()
	if !waiting {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - f.moved.Load())
}

package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// The errors of Append.
var (
	ErrNotLeader      = errors.New("this node is not the leader")
	ErrRefused        = errors.New("the leader takes no records now")
	ErrUnknownOutcome = errors.New("the leadership was lost before the records were committed: they may or may not be kept")
	ErrStopped        = errors.New("the node has stopped")
)

// appended are records on their way to being committed.
type appended struct {
	first, last kraft.Offset
	values      [][]byte // nil: they are in the log
	done        func(kraft.Offset, error)
}

// appends are the records that wait, in the order of their offsets.
type appends struct {
	waiting []appended
	asking  *appended // is being offered to the machine
}

// Append writes records as the leader and returns the offset of the last one when they are committed: a majority holds them, and so does
// the disk of this node.
func (c *Controller) Append(ctx context.Context, values ...[]byte) (kraft.Offset, error) {
	type outcome struct {
		offset kraft.Offset
		err    error
	}
	result := make(chan outcome, 1)
	err := c.ask(ctx, func(l *loop) {
		l.offer(values, func(offset kraft.Offset, err error) { result <- outcome{offset, err} })
	})
	if err != nil {
		return 0, err
	}
	select {
	case r := <-result:
		return r.offset, r.err
	case <-ctx.Done():
		return 0, fmt.Errorf("append %d records: %w: %w", len(values), ErrUnknownOutcome, context.Cause(ctx))
	case <-c.done:
		select {
		case r := <-result:
			return r.offset, r.err
		default:
			return 0, ErrStopped
		}
	}
}

// recordOverhead is what a record without key and headers takes besides its value, at most (lengths, attributes, timestamp and offset).
const recordOverhead = 21

func (l *loop) offer(values [][]byte, done func(kraft.Offset, error)) {
	if l.ended {
		done(0, ErrStopped)
		return
	}
	size := 0
	for _, v := range values {
		size += len(v) + recordOverhead
	}
	l.appends.asking = &appended{values: values, done: done}
	l.on(&kraft.AppendRequested{Epoch: l.m.QuorumState().Epoch, Records: int32(len(values)), Size: int32(min(size, 1<<30)), Schedule: true})
	if l.appends.asking != nil { // the machine has ended
		l.appends.refused(kraft.NotLeader)
	}
}

// accepted is the machine's answer to the records on offer.
func (a *appends) accepted(last kraft.Offset) {
	if r := a.asking; r != nil {
		r.first, r.last = last-kraft.Offset(len(r.values))+1, last
		a.waiting = append(a.waiting, *r)
		a.asking = nil
	}
}

func (a *appends) refused(reason kraft.Refusal) {
	if r := a.asking; r != nil {
		a.asking = nil
		if reason == kraft.NotLeader {
			r.done(0, ErrNotLeader)
		} else {
			r.done(0, fmt.Errorf("%w: %v", ErrRefused, reason))
		}
	}
}

// take are the records of a batch that is written now.
func (a *appends) take(base, last kraft.Offset) (values [][]byte) {
	for i := range a.waiting {
		if r := &a.waiting[i]; r.first >= base && r.last <= last {
			values = append(values, r.values...)
			r.values = nil
		}
	}
	return values
}

// complete tells whose records are committed.
func (a *appends) complete(highWatermark kraft.Offset) {
	n := 0
	for ; n < len(a.waiting) && a.waiting[n].values == nil && a.waiting[n].last < highWatermark; n++ {
		a.waiting[n].done(a.waiting[n].last, nil)
	}
	a.waiting = a.waiting[:copy(a.waiting, a.waiting[n:])]
}

// drop fails the records that are not written yet.
func (a *appends) drop(err error) {
	kept := a.waiting[:0]
	for _, r := range a.waiting {
		if r.values == nil {
			kept = append(kept, r)
		} else {
			r.done(0, err)
		}
	}
	a.waiting = kept
}

// fail fails all.
func (a *appends) fail(err error) {
	for _, r := range a.waiting {
		r.done(0, err)
	}
	a.waiting = a.waiting[:0]
}

package proxy

import (
	"container/heap"
	"time"
)

// clock gives nanoseconds since the Unix epoch that never go back: the wall clock at the start and a monotonic
// clock from there on.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// timers is what the loop has to do at an instant. It belongs to the loop.
type timers struct{ heap timerHeap }

type timer struct {
	at int64
	do func()
}

// at runs do at an instant, or as soon after as the loop gets to it.
func (t *timers) at(instant int64, do func()) { heap.Push(&t.heap, timer{instant, do}) }

// next is how many milliseconds remain until the first timer, rounded up; -1 if there is none.
func (t *timers) next(now int64) int {
	if len(t.heap) == 0 {
		return -1
	}
	return int(max(0, (t.heap[0].at-now+int64(time.Millisecond)-1)/int64(time.Millisecond)))
}

// run does what is due.
func (t *timers) run(now int64) {
	for len(t.heap) > 0 && t.heap[0].at <= now {
		heap.Pop(&t.heap).(timer).do()
	}
}

type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return x
}

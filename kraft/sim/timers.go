package sim

import "github.com/understudy-kafka/understudy/kraft"

// timers are those of one node: its deadlines, and the set of those that have run out. Most calls find that nothing has run out since the
// last one, and cost a comparison.
type timers struct {
	fixed   [kraft.RequestTimer]kraft.Instant
	running uint32 // of fixed
	peers   []peerTimer
	due     kraft.TimerSet
	next    kraft.Instant // no running timer ends earlier
}

type peerTimer struct {
	timer    kraft.Timer
	deadline kraft.Instant
}

const never = kraft.Instant(1) << 62

func (t *timers) clear() {
	t.running, t.peers, t.next = 0, t.peers[:0], never
	t.due.Clear()
}

func (t *timers) reset(timer kraft.Timer, deadline kraft.Instant) {
	if !t.due.Empty() {
		t.due.Remove(timer)
	}
	t.next = min(t.next, deadline)
	if timer.Kind < kraft.RequestTimer {
		t.fixed[timer.Kind] = deadline
		t.running |= 1 << timer.Kind
		return
	}
	for i := range t.peers {
		if t.peers[i].timer == timer {
			t.peers[i].deadline = deadline
			return
		}
	}
	t.peers = append(t.peers, peerTimer{timer, deadline})
}

func (t *timers) cancel(timer kraft.Timer) {
	t.due.Remove(timer)
	if timer.Kind < kraft.RequestTimer {
		t.running &^= 1 << timer.Kind
		return
	}
	for i := range t.peers {
		if t.peers[i].timer == timer {
			t.drop(i)
			return
		}
	}
}

func (t *timers) drop(i int) {
	last := len(t.peers) - 1
	t.peers[i] = t.peers[last]
	t.peers = t.peers[:last]
}

// at is the set of the timers that have run out.
func (t *timers) at(now kraft.Instant) kraft.TimerSet {
	if now < t.next {
		return t.due
	}
	t.next = never
	for kind := kraft.NoTimer; kind < kraft.RequestTimer; kind++ {
		if t.running&(1<<kind) == 0 {
			continue
		}
		if deadline := t.fixed[kind]; deadline <= now {
			t.running &^= 1 << kind
			t.due.Add(kraft.Timer{Kind: kind})
		} else {
			t.next = min(t.next, deadline)
		}
	}
	for i := 0; i < len(t.peers); {
		if p := &t.peers[i]; p.deadline <= now {
			t.due.Add(p.timer)
			t.drop(i)
		} else {
			t.next = min(t.next, p.deadline)
			i++
		}
	}
	return t.due
}

// deadline is when a timer runs out; not ok: it does not run. One that has run out already has the deadline 0.
func (t *timers) deadline(timer kraft.Timer) (kraft.Instant, bool) {
	if t.due.Has(timer) {
		return 0, true
	}
	if timer.Kind < kraft.RequestTimer {
		return t.fixed[timer.Kind], t.running&(1<<timer.Kind) != 0
	}
	for i := range t.peers {
		if t.peers[i].timer == timer {
			return t.peers[i].deadline, true
		}
	}
	return 0, false
}

package controller

import (
	"math/rand/v2"

	"github.com/understudy-kafka/understudy/kraft"
)

// timers are the deadlines of a node. One that has run out stays due until it is reset or cancelled.
type timers struct {
	fixed [kraft.RequestTimer]kraft.Instant // never: it does not run
	peers map[kraft.Timer]kraft.Instant
	set   kraft.TimerSet // storage of due
}

const never = kraft.Instant(1) << 62

func newTimers() *timers {
	t := &timers{peers: map[kraft.Timer]kraft.Instant{}}
	for kind := range t.fixed {
		t.fixed[kind] = never
	}
	return t
}

func (t *timers) reset(timer kraft.Timer, deadline kraft.Instant) {
	if timer.Kind < kraft.RequestTimer {
		t.fixed[timer.Kind] = deadline
		return
	}
	t.peers[timer] = deadline
}

func (t *timers) cancel(timer kraft.Timer) {
	if timer.Kind < kraft.RequestTimer {
		t.fixed[timer.Kind] = never
		return
	}
	delete(t.peers, timer)
}

func (t *timers) deadline(timer kraft.Timer) kraft.Instant {
	if timer.Kind < kraft.RequestTimer {
		return t.fixed[timer.Kind]
	}
	if deadline, ok := t.peers[timer]; ok {
		return deadline
	}
	return never
}

// due is the set of the timers that have run out. It is valid until the next call.
func (t *timers) due(now kraft.Instant) kraft.TimerSet {
	t.set.Clear()
	for kind, deadline := range t.fixed {
		if deadline <= now {
			t.set.Add(kraft.Timer{Kind: kraft.TimerKind(kind)})
		}
	}
	for timer, deadline := range t.peers {
		if deadline <= now {
			t.set.AddAbsent(timer)
		}
	}
	return t.set
}

// draw is what Kafka adds to a deadline: up to the window, or the backoff of the release for an election that was lost
// (Kafka: Random.nextInt in QuorumState and CandidateState; KAFKA-18345).
func (l *loop) draw(a *kraft.ResetTimer) kraft.Instant {
	switch {
	case a.Kind == kraft.ElectionBackoffTimer:
		rule := l.cfg.Profile.Rules.ElectionBackoff
		low, high := rule.Bounds(a.Retries)
		first := low
		if high > low {
			first += rand.Int32N(high - low)
		}
		return kraft.Instant(rule.Milliseconds(first, rand.Int32N(50), l.cfg.Timeouts.ElectionBackoffMaxMs))
	case a.Window > 0:
		return kraft.Instant(rand.Int32N(a.Window))
	}
	return 0
}

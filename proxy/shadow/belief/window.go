package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// window is the recent past of a node. If nothing explains a message, the search begins again at an earlier state, and then looks
// also for what the node may have done unnoticed: a timer may have run out long before anything showed it.
type window struct {
	steps     []step
	marks     []mark
	replaying bool
	restarted bool          // what was found has the node start anew although not all its connections had ended
	ahead     []kraft.Batch // while replaying: what the steps show of the node's log
	rebirth   int           // before which step a restart is tried
	ends      bool          // a step shows that the node shuts down
	budget    int           // states that may yet be looked at
}

// step is something that happened on the node's wires.
type step struct {
	kind  stepKind
	x     *crossing
	conn  ConnID
	asked *crossing
	opens bool // it is the first request on a connection
	old   bool // a request that may have been built before judging began: it need not be explained
}

type stepKind uint8

const (
	stepOffered stepKind = iota // a message went to the node
	stepSeen                    // a message came from it
	stepClosed                  // a connection ended
	stepRevived                 // all its connections had ended, and it is heard of again
)

// mark is the set as it was before a step.
type mark struct {
	at  int
	set []*hypothesis
}

// The bounds of the window.
const (
	maxSteps  = 384
	markEvery = 64
	maxMarked = 24 // hypotheses in a set that is kept
)

// refuses reports whether a step is an answer of a later epoch that refuses a Fetch. One that has waited is refused by whoever becomes a
// follower.
func (s *step) refuses() bool {
	return s.kind == stepSeen && s.asked != nil && s.x.key == wire.KeyFetch && s.x.said.err != kraft.None && s.x.said.epoch > s.asked.said.epoch
}

// push adds a step, and now and then keeps the set as it is before it.
func (w *window) push(j *judge, s step) {
	if len(w.steps) >= maxSteps {
		w.drop(j, maxSteps/4)
	}
	last := -markEvery
	if n := len(w.marks); n > 0 {
		last = w.marks[n-1].at
	}
	if len(w.marks) == 0 || len(w.steps)-last >= markEvery && len(j.set) <= maxMarked {
		m := mark{at: len(w.steps)}
		for _, h := range j.set {
			c := j.clone(h)
			c.early = 0
			m.set = append(m.set, c)
		}
		w.marks = append(w.marks, m)
	}
	w.steps = append(w.steps, s)
}

// drop forgets the oldest steps, up to a mark.
func (w *window) drop(j *judge, n int) {
	keep := slices.IndexFunc(w.marks, func(m mark) bool { return m.at >= n })
	if keep < 0 {
		keep = len(w.marks) - 1
	}
	if keep <= 0 {
		if len(w.steps) > 4*maxSteps { // the set was too large to be kept for long
			w.clear(j)
			j.lossy()
		}
		return
	}
	from := w.marks[keep].at
	for _, m := range w.marks[:keep] {
		for _, h := range m.set {
			j.free(h)
		}
	}
	w.marks = slices.Delete(w.marks, 0, keep)
	for i := range w.marks {
		w.marks[i].at -= from
	}
	w.steps = slices.Delete(w.steps, 0, from)
}

func (w *window) clear(j *judge) {
	for _, m := range w.marks {
		for _, h := range m.set {
			j.free(h)
		}
	}
	w.marks, w.steps = w.marks[:0], w.steps[:0]
}

// search begins at a mark, first at the latest one, and returns the hypotheses that explain everything up to the last step.
func (w *window) search(j *judge) []*hypothesis {
	if j.drawn > maxDrawn {
		j.lossy()
		return nil
	}
	w.replaying = true
	w.foresee()
	defer func() { w.replaying = false }()
	now := j.now
	defer func() { j.now = now }()
	if len(w.marks) == 0 {
		return nil
	}
	for i := range w.steps {
		if s := &w.steps[i]; len(j.refusing) > 0 && s.refuses() { // one that is there already does no harm
			j.refusing = append(j.refusing, s.asked)
		}
	}
	w.ends = slices.ContainsFunc(w.steps, func(s step) bool { return s.kind == stepSeen && s.x.ends() })
	w.restarted = false
	latest, oldest := &w.marks[len(w.marks)-1], &w.marks[0]
	for _, pass := range []struct {
		from  *mark
		early uint8
	}{{latest, 1}, {latest, 4}, {oldest, 1}, {oldest, 2}, {oldest, 4}} {
		w.budget = deepStates
		if set := w.replay(j, pass.from, pass.early); len(set) > 0 {
			return set
		}
		if w.budget <= 0 {
			j.lossy()
			return nil
		}
	}
	return w.restart(j)
}

// maxRestarts bounds at how many places a restart is looked for that showed in nothing.
const maxRestarts = 8

// restart looks for a restart of the node that explains everything: the ends of its connections may have been missed. It must have
// opened new ones.
func (w *window) restart(j *judge) []*hypothesis {
	tries := 0
	for i := len(w.steps) - 1; i >= 0 && tries < maxRestarts; i-- {
		if !w.steps[i].opens {
			continue
		}
		tries++
		w.budget = deepStates / 4
		from := &w.marks[0]
		for k := range w.marks {
			if w.marks[k].at <= i {
				from = &w.marks[k]
			}
		}
		w.rebirth = i
		set := w.replay(j, from, 0)
		w.rebirth = -1
		if len(set) > 0 {
			w.restarted = true
			return set
		}
	}
	return nil
}

func (w *window) replay(j *judge, m *mark, early uint8) []*hypothesis {
	set := make([]*hypothesis, 0, len(m.set))
	for _, h := range m.set {
		set = append(set, j.clone(h))
	}
	for i, s := range w.steps[m.at:] {
		if early == 0 && w.rebirth == m.at+i {
			set = j.revive(set)
		}
		if set = j.follow(set, s, effort{surprises: 2, early: early}); len(set) == 0 {
			return nil
		}
	}
	return set
}

// follow takes a set over a step. Unless a search goes on, the hypotheses that have to explain a message stay the caller's.
func (j *judge) follow(set []*hypothesis, s step, e effort) []*hypothesis {
	if s.x != nil {
		j.now = s.x.at
	}
	switch s.kind {
	case stepOffered:
		for _, h := range set {
			j.offered(h, s.x)
		}
		return set
	case stepClosed:
		for _, h := range set {
			j.closedIn(h, s.conn)
		}
		return set
	case stepRevived:
		return j.revive(set)
	case stepSeen:
	}
	var next []*hypothesis
	if e.early == 0 {
		next = j.least(set, s.x)
	} else { // each for itself: one that took a step early must not stand in for one that takes it when it shows
		j.joined = emptied(j.joined)
		for i := range set {
			next = j.join(next, j.least(set[i:i+1], s.x))
		}
		if len(next) > 0 {
			j.spent = 0
			next = j.join(next, j.explain(set, s.x, e))
			j.window.budget -= j.spent
		}
	}
	for _, h := range set {
		if s.old && len(next) < maxBeliefs {
			next = append(next, h)
			continue
		}
		if j.window.replaying {
			j.free(h)
		}
	}
	return next
}

// least explains a message with as few surprises as possible. If all that explains it so is a request whose answer will not count, it
// may as well be one whose answer does, with one more.
func (j *judge) least(set []*hypothesis, x *crossing) (next []*hypothesis) {
	for d := uint8(0); d <= 3 && len(next) == 0; d++ {
		next = j.explained(set, x, effort{surprises: d})
		if len(next) > 0 && !j.solid && d < 3 {
			for _, h := range next {
				j.free(h)
			}
			next = j.explained(set, x, effort{surprises: d + 1})
		}
	}
	return next
}

func (j *judge) explained(set []*hypothesis, x *crossing, e effort) []*hypothesis {
	j.spent = 0
	next := j.explain(set, x, e)
	if j.window.budget -= j.spent; j.window.replaying {
		j.drawn += j.spent
	}
	return next
}

// join adds hypotheses to a set. Of equal ones the first stays, with the fewest early steps of all.
func (j *judge) join(set, more []*hypothesis) []*hypothesis {
	for _, h := range more {
		key := h.fingerprint()
		key[2] = 0
		switch known := j.joined[key]; {
		case known != nil:
			known.early = min(known.early, h.early)
			known.admit(h, true)
			j.free(h)
		case len(set) >= maxBeliefs:
			j.lossy()
			j.free(h)
		default:
			j.joined[key] = h
			set = append(set, h)
		}
	}
	return set
}

// offered puts a message on its way to the node.
func (j *judge) offered(h *hypothesis, x *crossing) {
	if !x.reply {
		h.asked = append(h.asked, askedSlot{x: x})
		return
	}
	for i := range h.open {
		if h.open[i].conn == x.conn && h.open[i].answer == nil {
			if h.open[i].answer = x; h.indifferent(x) {
				j.deliver(h, i)
				j.act(h, idle)
			}
			return
		}
	}
}

// indifferent reports whether it does not matter when the node takes an answer: all that a leader learns from it is that it may
// announce itself again.
func (h *hypothesis) indifferent(x *crossing) bool {
	e, ok := x.event.(*kraft.ReceiveBeginQuorumEpochResponse)
	return ok && h.m.Role().Kind() == kraft.LeaderRole && e.Response.Error == kraft.None && e.PartitionAnswer.Error == kraft.None &&
		!e.WrongPartition && e.LeaderEpoch == h.m.QuorumState().Epoch
}

// closedIn ends a connection. What lay on it may have reached the node, or not.
func (j *judge) closedIn(h *hypothesis, conn ConnID) {
	for i := 0; i < len(h.asked); i++ {
		s := &h.asked[i]
		switch {
		case s.x.conn != conn || s.closed:
		case s.taken:
			j.settle(h, i)
			i--
		default:
			s.closed = true
			s.could = nil
		}
	}
	for i := range h.open {
		if s := &h.open[i]; s.conn == conn && !s.hidden() {
			s.failed = true
		}
	}
	h.bury(j)
}

// maxDead bounds the messages of ended connections that the node may yet take.
const maxDead = 4

func (h *hypothesis) bury(j *judge) {
	dead := 0
	for i := len(h.asked) - 1; i >= 0; i-- {
		if !h.asked[i].closed {
			continue
		}
		if dead++; dead > maxDead {
			h.dropAsked(i)
			j.lossy()
		}
	}
}

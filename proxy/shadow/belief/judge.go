package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// judge keeps what one node may be: the set of hypotheses that explain all that crossed its wires so far.
type judge struct {
	c  *Checker
	id kraft.NodeID

	set     []*hypothesis // empty: not anchored
	trial   bool          // anchored on a guess that the node has yet to confirm
	why     string        // not anchored: the reason
	records []kraft.NodeID
	config  kraft.Config

	now      kraft.Instant
	at       *hypothesis // whose event is in hand
	choosing bool
	opens    bool        // the message in hand is the first of a connection that the node has opened
	solid    bool        // something explains the message by more than a request whose answer does not count
	refused  bool        // the message in hand is an answer that only a node writes that shuts down
	refusing []*crossing // the Fetches that the messages in hand refuse: it matters when they were taken, even an observer's
	extended bool        // a leader's log grew by what a message shows: what the node took before that matters
	role     kraft.RoleAction
	actions  kraft.Actions
	pool     []*hypothesis
	seen     map[fingerprint]*hypothesis
	accepted map[fingerprint]*hypothesis
	joined   map[fingerprint]*hypothesis
	sole     *hypothesis // the first that was accepted, until there is another to compare it with
	queue    []*hypothesis
	fresh    []*hypothesis // of the queue: the first two, until there is a third to compare them with

	mayCrash bool          // the search is for what a crash may have left
	crashed  []*hypothesis // the disks that it may have left within the events of now

	window  window
	steps   uint64 // messages explained
	lossyAt uint64 // since when an empty set proves nothing
	spent   int    // states looked at for the message in hand
	drawn   int    // states that searches of the past have looked at, less what messages explained since have paid for

	wire  wires
	stats NodeReport
}

// The bounds of a search.
const (
	maxBeliefs = 512       // hypotheses that are kept
	maxStates  = 5000      // looked at for one message
	deepStates = 60_000    // in a search of the past
	maxDrawn   = 2_000_000 // in all searches of the past that come in a row: a node that nothing explains must not hold up the others
	paid       = 100       // of these for each message that is explained
	healing    = 5000      // messages that have to be explained after something was given up
)

// lossy notes that a state was given up that may have been the true one.
func (j *judge) lossy() { j.lossyAt = j.steps + healing }

func (j *judge) clone(h *hypothesis) *hypothesis {
	var next *hypothesis
	if n := len(j.pool); n > 0 {
		next, j.pool = j.pool[n-1], j.pool[:n-1]
	} else {
		next = new(hypothesis)
	}
	h.copyInto(next)
	return next
}

func (j *judge) free(h *hypothesis) {
	if len(j.pool) < maxBeliefs {
		j.pool = append(j.pool, h)
	}
}

// effort says how far a search goes.
type effort struct {
	surprises uint8 // steps that the node takes by itself, before one message
	early     uint8 // and, over a whole window, those that no message asked for when they happened
}

// explain finds all states in which the message could have been written. The hypotheses of the set stay as they are.
//
// A state that explains the message is not followed any further: whatever else the node may have done by then it may as well have
// done a moment later. But if the message shows an append, it may have done it before the append.
func (j *judge) explain(set []*hypothesis, x *crossing, e effort) (next []*hypothesis) {
	j.seen, j.accepted = emptied(j.seen), emptied(j.accepted)
	j.queue, j.fresh = j.queue[:0], j.fresh[:0]
	j.refused = x.ends()
	j.sole, j.solid = nil, false
	for _, h := range set {
		c := j.clone(h)
		if c.surprises = 0; len(set) > 1 {
			j.enqueue(c)
			continue
		}
		c.queued = true // nearly every message is explained by the only hypothesis with no hidden step, or one
		j.queue, j.fresh = append(j.queue, c), append(j.fresh, c)
	}
	for at := 0; at < len(j.queue); at++ {
		h := j.queue[at]
		if j.spent++; j.spent > j.limit() {
			j.lossy()
			continue
		}
		var ok bool
		over := j.over(h, x)
		if !over {
			j.absorb(h)
		}
		j.extended = false
		if j.settles(h, x) && at+1 == len(j.queue) {
			if j.acceptReply(h, x) {
				j.queue = j.queue[:at]
				next, j.solid = j.keep(next, h), true
				break
			}
			j.done(h)
			j.expand(h, e, j.enqueue)
			j.appends(h, x, j.enqueue)
			continue
		}
		next, ok = j.accept(next, h, x)
		if j.solid = j.solid || ok; ok && !j.extended || over {
			j.done(h)
			continue
		}
		j.expand(h, e, j.enqueue)
		j.appends(h, x, j.enqueue)
		j.done(h)
	}
	j.release()
	return next
}

// ends reports whether a message is an answer that only a node writes that shuts down.
func (x *crossing) ends() bool {
	return x.reply && (x.said.top == kraft.BrokerNotAvailable || x.said.err == kraft.BrokerNotAvailable)
}

// over reports whether the node is past the epoch that a message tells: whatever it does from then on, it writes no more of it.
func (j *judge) over(h *hypothesis, x *crossing) bool {
	if h.m.QuorumState().Epoch <= x.said.epoch || x.said.wrong {
		return false
	}
	switch x.key {
	case wire.KeyVote, wire.KeyBeginQuorumEpoch, wire.KeyEndQuorumEpoch, wire.KeyFetch:
		return !x.reply || x.said.top == kraft.None
	}
	return !x.reply
}

// emptied is the map without its entries. One that has grown large is dropped: to clear it costs as much as it can hold.
func emptied(m map[fingerprint]*hypothesis) map[fingerprint]*hypothesis {
	if len(m) > 512 || m == nil {
		return map[fingerprint]*hypothesis{}
	}
	clear(m)
	return m
}

// release gives back what a search has looked at.
func (j *judge) release() {
	for _, h := range j.queue {
		j.free(h)
	}
	j.queue = j.queue[:0]
}

// settles reports whether an answer can be accepted in place: nothing is compared with the hypothesis any more, and it changes only if it
// explains the answer.
func (j *judge) settles(h *hypothesis, x *crossing) bool {
	if n := len(x.said.batches); !x.reply || n > 0 && x.said.batches[n-1].Last >= h.view.End || !slices.Contains(j.fresh, h) || j.over(h, x) {
		return false
	}
	i := h.askedOn(x.conn)
	return i < 0 || !h.asked[i].before
}

// enqueue plans to look at a hypothesis, unless an equal one is planned or was looked at.
func (j *judge) enqueue(n *hypothesis) {
	if len(j.queue) == 1 && len(j.fresh) == 1 {
		n.queued = true
		j.queue, j.fresh = append(j.queue, n), append(j.fresh, n)
		return
	}
	for _, h := range j.fresh {
		j.seen[h.fingerprint()] = h
	}
	j.fresh = j.fresh[:0]
	key := n.fingerprint()
	switch known := j.seen[key]; {
	case known == nil:
	case known.queued:
		known.admit(n, true)
		known.eased(n)
		j.free(n)
		return
	case known.early <= n.early && !known.admit(n, false):
		j.free(n)
		return
	default:
		n.admit(known, true)
		n.eased(known)
	}
	n.queued = true
	j.seen[key] = n
	j.queue = append(j.queue, n)
}

// done ends the look at a hypothesis. It stays to be compared with until the search ends.
func (j *judge) done(h *hypothesis) { h.queued = false }

// keep adds a hypothesis to a set, unless it has an equal one.
func (j *judge) keep(set []*hypothesis, h *hypothesis) []*hypothesis {
	if len(set) == 0 {
		j.sole = h
		return append(set, h)
	}
	if j.sole != nil {
		j.accepted[j.sole.fingerprint()] = j.sole
		j.sole = nil
	}
	key := h.fingerprint()
	if known := j.accepted[key]; known != nil {
		known.admit(h, true)
		known.eased(h)
		j.free(h)
		return set
	}
	if len(set) >= maxBeliefs {
		j.lossy()
		j.free(h)
		return set
	}
	j.accepted[key] = h
	return append(set, h)
}

func (j *judge) limit() int {
	if j.window.replaying {
		return min(maxStates, j.window.budget)
	}
	return maxStates
}

// absorb asks the requests that were not taken yet what they would be answered in this state. Where taking one changes nothing,
// the answer is all there is to it, and no hypothesis of its own is needed.
func (j *judge) absorb(h *hypothesis) {
	var before [16]byte
	looked := false
	for i := range h.asked {
		s := &h.asked[i]
		if s.taken || s.closed || s.x.event == nil || s.passive && s.serial == h.serial && !j.refuse(s.x) {
			continue
		}
		if s.passive, s.serial = false, h.serial; j.refuse(s.x) {
			continue
		}
		if j.mayBeLonger(h, s.x) || s.x.key == wire.KeyAddRaftVoter || h.advances(s.x) {
			continue
		}
		if !looked {
			before, looked = h.m.Likeness(), true
		}
		try := j.clone(h)
		t := &try.asked[i]
		t.taken, t.could = true, nil
		j.event(try, s.x.event, idle)
		s.observer = j.observes(h, s.x)
		if s.observer || !try.dead && try.m.Likeness() == before && !j.joining(h, s.x) && try.view.End == h.view.End && len(try.sent) == len(h.sent) {
			s.passive = true
			t = &try.asked[i]
			for _, a := range t.could {
				s.note(a)
			}
			s.open = t.open
		}
		j.free(try)
	}
}

// advances reports whether a request tells the leader that a voter is elsewhere than it knew: that changes it.
func (h *hypothesis) advances(x *crossing) bool {
	f, fetches := x.event.(*kraft.ReceiveFetch)
	l, leads := h.m.Role().(*kraft.Leader)
	if !fetches || !leads || f.FetchEpoch != h.m.QuorumState().Epoch {
		return false
	}
	for i := range l.Voters {
		if v := &l.Voters[i]; v.Key.ID == f.Replica.ID {
			return v.End != f.FetchOffset
		}
	}
	return false
}

// refuse reports whether a request is one that a message in hand refuses.
func (j *judge) refuse(x *crossing) bool {
	return len(j.refusing) > 0 && slices.Contains(j.refusing, x)
}

// joining reports whether a request is from a node that the leader is about to add.
func (j *judge) joining(h *hypothesis, x *crossing) bool {
	l, leads := h.m.Role().(*kraft.Leader)
	f, fetches := x.event.(*kraft.ReceiveFetch)
	return leads && fetches && joins(l, f)
}

// observes reports whether a request is a Fetch of somebody who is no voter, to a leader.
func (j *judge) observes(h *hypothesis, x *crossing) bool {
	l, ok := h.m.Role().(*kraft.Leader)
	if !ok {
		return false
	}
	f, ok := x.event.(*kraft.ReceiveFetch)
	if !ok || joins(l, f) {
		return false
	}
	for i := range l.Voters {
		v := kraft.Voter{Key: l.Voters[i].Key}
		if v.Matches(f.Replica) {
			return false
		}
	}
	return true
}

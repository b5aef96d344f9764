package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// bruteStep is one hidden step: something that the node did and nobody saw. But for what another thread does, a role action follows it,
// as there is one between any two messages in Kafka's poll loop.
type bruteStep struct {
	kind   bruteKind
	at     int             // of what came, or of what was to be sent
	expire kraft.RequestID // of a Fetch
	end    kraft.Offset    // of the leader's log
}

type bruteKind uint8

const (
	bruteIdle      bruteKind = iota // nothing but the role action
	bruteTakes                      // takes something that came
	bruteFails                      // learns that a request cannot leave
	bruteExpires                    // a Fetch has waited in vain: another thread answers it
	bruteAppends                    // its log grows, which only a leader's does by itself
	bruteShutsDown                  // is told to shut down, by another thread
)

// acts reports whether a role action is part of the step.
func (s *bruteStep) acts() bool { return s.kind != bruteExpires && s.kind != bruteShutsDown }

// begin makes the first half of a step, before the role action.
func (n *bruteNode) begin(s *bruteStep) {
	switch s.kind {
	case bruteIdle:
	case bruteTakes:
		c := n.came[s.at]
		n.came = slices.Delete(n.came, s.at, s.at+1)
		n.takes(&c)
	case bruteFails:
		r := n.unsent[s.at]
		n.unsent = slices.Delete(n.unsent, s.at, s.at+1)
		n.takes(&bruteCame{flight: bruteFlight{record: r.record, correlation: r.correlation, key: r.key}, reply: true})
	case bruteExpires:
		n.handle(&kraft.ParkedExpired{Request: s.expire}, kraft.TimerSet{})
	case bruteAppends:
		records := int32(s.end - n.log.End)
		n.handle(&kraft.AppendRequested{Epoch: n.m.QuorumState().Epoch, Records: records, Size: 60, Schedule: true}, kraft.TimerSet{})
	case bruteShutsDown:
		n.handle(&kraft.Shutdown{TimeoutMs: shutdownMs}, kraft.TimerSet{})
	}
}

// act is a role action, with what was set to run out at once in any case. chose reports whether a bootstrap server was drawn.
func (n *bruteNode) act(timers []kraft.Timer, choice int) (chose bool) {
	due := kraft.Timers(timers...)
	for _, t := range n.soon {
		due.Add(t)
	}
	n.handle(&kraft.RoleAction{Choice: choice}, due)
	return !n.ended && slices.ContainsFunc(n.q.actions.List(), func(a kraft.Action) bool { _, ok := a.(*kraft.ChooseBootstrap); return ok })
}

func (n *bruteNode) takes(c *bruteCame) {
	switch {
	case !c.reply:
		n.handle(c.message.event, kraft.TimerSet{})
	case c.message == nil:
		about := kraft.Response{From: c.flight.record, CorrelationID: c.flight.correlation, Error: kraft.BrokerNotAvailable}
		n.handle(&kraft.RequestFailed{Response: about, API: kraft.APIKey(c.flight.key)}, kraft.TimerSet{})
	default:
		head := c.message.event.(interface{ Head() *kraft.Response }).Head()
		head.From, head.CorrelationID = c.flight.record, c.flight.correlation
		n.handle(c.message.event, kraft.TimerSet{})
	}
}

// steps are all that may happen next. ends are the places that the leader's log may have grown to unseen.
func (n *bruteNode) steps(ends []kraft.Offset) (list []bruteStep) {
	if n.ended {
		return nil
	}
	list = append(list, bruteStep{})
	for i := range n.came {
		if n.inOrder(i) {
			list = append(list, bruteStep{kind: bruteTakes, at: i})
		}
	}
	for i := range n.unsent {
		if s := &n.unsent[i]; n.first(i) && n.m.Awaits(s.record, s.correlation) {
			list = append(list, bruteStep{kind: bruteFails, at: i})
		}
	}
	about := n.m.Inspect()
	for _, p := range about.Parked {
		list = append(list, bruteStep{kind: bruteExpires, expire: p.Request})
	}
	if n.m.Role().Kind() == kraft.LeaderRole {
		for _, end := range ends {
			if end > n.log.End {
				list = append(list, bruteStep{kind: bruteAppends, end: end})
			}
		}
		if !about.ShuttingDown {
			list = append(list, bruteStep{kind: bruteShutsDown})
		}
	}
	return list
}

// inOrder reports whether nothing else has come on the same connection before.
func (n *bruteNode) inOrder(i int) bool {
	conn := func(c *bruteCame) ConnID {
		if c.reply {
			return c.flight.conn
		}
		return c.message.conn
	}
	for k := range i {
		if n.came[k].reply == n.came[i].reply && conn(&n.came[k]) == conn(&n.came[i]) {
			return false
		}
	}
	return true
}

// bruteTimers are the sets of timers that may be due in a role action, but for those that make no difference to the role held, and
// those that were set to run out at once, which are. TestBruteForce_LeavesNoTimerOut holds it against all sets there are.
func bruteTimers(n *bruteNode) [][]kraft.Timer {
	one := func(kind kraft.TimerKind) []kraft.Timer { return []kraft.Timer{{Kind: kind}} }
	list := [][]kraft.Timer{nil}
	connections := n.connectionTimers()
	subsets := func(of []kraft.Timer, and ...kraft.Timer) {
		for bits := 1; bits < 1<<len(of); bits++ {
			due := slices.Clone(and)
			for i, t := range of {
				if bits>>i&1 == 1 {
					due = append(due, t)
				}
			}
			list = append(list, due)
		}
	}
	switch r := n.m.Role().(type) {
	case *kraft.Unattached, *kraft.Prospective:
		list = append(list, one(kraft.ElectionTimer))
		subsets(connections)
	case *kraft.Candidate:
		if r.BackingOff {
			return append(list, one(kraft.ElectionBackoffTimer))
		}
		list = append(list, one(kraft.ElectionTimer))
		subsets(connections)
	case *kraft.Resigned:
		list = append(list, one(kraft.ElectionTimer))
		subsets(connections)
		subsets(connections, kraft.Timer{Kind: kraft.ElectionTimer})
	case *kraft.Follower:
		list = append(list, one(kraft.FetchTimer), one(kraft.UpdateVoterTimer))
		subsets(connections)
		subsets(connections, kraft.Timer{Kind: kraft.UpdateVoterTimer})
	case *kraft.Leader:
		list = append(list, one(kraft.CheckQuorumTimer), one(kraft.BeginQuorumEpochTimer))
		var told []kraft.ReplicaKey
		for i := range r.Voters {
			if key := r.Voters[i].Key; key.ID != n.id {
				told = append(told, key)
			}
		}
		for bits := 1; bits < 1<<len(told); bits++ { // whoever is told must be silent, and have nothing on its way to it
			due := one(kraft.BeginQuorumEpochTimer)
			for i, key := range told {
				if bits>>i&1 == 1 {
					due = append(due, kraft.Timer{Kind: kraft.SilenceTimer, Peer: key}, kraft.PeerTimer(kraft.RequestTimer, key.ID), kraft.PeerTimer(kraft.BackoffTimer, key.ID))
				}
			}
			list = append(list, due)
		}
	}
	return list
}

// connectionTimers are those of the connection records that there are.
func (n *bruteNode) connectionTimers() (list []kraft.Timer) {
	for _, c := range n.m.Inspect().Connections {
		kind := kraft.RequestTimer
		if c.BackingOff {
			kind = kraft.BackoffTimer
		}
		list = append(list, kraft.PeerTimer(kind, c.ID))
	}
	return list
}

// after are the different states that one hidden step leads to.
func (n *bruteNode) after(ends []kraft.Offset, last kraft.Epoch, seen map[string]bool) (list []*bruteNode) {
	var spare *bruteNode
	fresh := func(of *bruteNode) (next *bruteNode) {
		if spare == nil {
			return of.clone()
		}
		next, spare = of.cloneInto(spare), nil
		return next
	}
	keep := func(next *bruteNode) {
		if k := next.key(); !seen[k] {
			seen[k] = true
			list = append(list, next)
		} else {
			spare = next
		}
	}
	over := n.m.QuorumState().Epoch > last // whatever it writes from now on tells that epoch; only a Fetch that has waited is answered as of then
	for _, s := range n.steps(ends) {
		if over && s.kind != bruteExpires {
			continue
		}
		half := n.clone()
		half.begin(&s)
		if !s.acts() || half.ended {
			keep(half)
			continue
		}
		sets := bruteTimers(half)
		if s.kind == bruteAppends {
			sets = [][]kraft.Timer{{{Kind: kraft.LingerTimer}}}
		}
		for _, due := range sets {
			for choice := range n.q.ids {
				next := fresh(half)
				chose := next.act(due, choice)
				keep(next)
				if !chose {
					break
				}
			}
		}
	}
	return list
}

// bruteWindow is a node as it was at some moment, and what crossed its wires since.
type bruteWindow struct {
	start   *bruteNode
	seen    []*bruteMessage
	length  int
	altered string // what was changed; "": nothing
}

// bruteLimit bounds the states that are looked at for one window; beyond it the enumeration gives up.
const bruteLimit = 30_000

// explain enumerates all that the node may have done, with so many hidden steps before each of its messages at most. Hidden steps come as
// late as they can: whatever does not have to happen before a message is seen may as well happen after it.
func (w *bruteWindow) explain(steps int) (explained, gaveUp bool) {
	ends, last := w.ends(), w.lastEpochs()
	w.start.q.shown = w.requests()
	defer func() { w.start.q.shown = nil }()
	set := []*bruteNode{w.start.clone()}
	looked := 0
	for i, m := range w.seen {
		var next []*bruteNode
		if m.closes || m.from != w.start.id {
			for _, n := range set {
				next = append(next, n.clone().comes(m)...)
			}
			set = next
			continue
		}
		kept, seen := map[string]bool{}, map[string]bool{}
		for _, n := range set {
			n.gap = i
			seen[n.key()] = true
		}
		layer := set
		for depth := 0; ; depth++ {
			var further []*bruteNode
			for _, n := range layer {
				list, awaited := n.leaves(m)
				for _, one := range list {
					if k := one.key(); !kept[k] {
						kept[k] = true
						next = append(next, one)
					}
				}
				if depth < steps && !awaited {
					further = append(further, n.after(ends, last[i], seen)...)
				}
			}
			if looked += len(further); looked > bruteLimit {
				return false, true
			}
			if layer = further; len(layer) == 0 {
				break
			}
		}
		if set = next; len(set) == 0 {
			return false, false
		}
		if m.to == m.from { // a bootstrap server may be the node itself
			for _, n := range set {
				n.comes(m)
			}
		}
	}
	return true, false
}

// ends are the places up to which the window shows that the log of the node may have grown while it led.
func (w *bruteWindow) ends() (list []kraft.Offset) {
	add := func(end kraft.Offset) {
		if end > w.start.log.End && !slices.Contains(list, end) {
			list = append(list, end)
		}
	}
	for _, m := range w.seen {
		switch e := m.event.(type) {
		case *kraft.ReceiveFetchResponse:
			for i := range e.Batches {
				add(e.Batches[i].Base)
				add(e.Batches[i].Last + 1)
			}
		case *kraft.ReceiveFetch:
			add(e.FetchOffset)
		case *kraft.ReceiveVoteRequest:
			add(e.CandidateLogEnd.LastOffset)
			if m.to == w.start.id {
				add(e.CandidateLogEnd.LastOffset + 1)
			}
		}
	}
	slices.Sort(list)
	return list
}

// requests are the bodies of the requests that the node was seen to write, and how often.
func (w *bruteWindow) requests() map[string]int {
	all := map[string]int{}
	for _, m := range w.seen {
		if !m.closes && !m.reply && m.from == w.start.id {
			all[string(m.body)]++
		}
	}
	return all
}

// lastEpochs are the latest epochs that the messages of the node tell, from each place of the window on.
func (w *bruteWindow) lastEpochs() []kraft.Epoch {
	list := make([]kraft.Epoch, len(w.seen))
	last := kraft.Epoch(-1)
	for i := len(w.seen) - 1; i >= 0; i-- {
		if m := w.seen[i]; !m.closes && m.from == w.start.id {
			var c content
			c.read(m.event)
			if last = max(last, c.epoch); c.top != kraft.None {
				last = 1 << 30
			}
		}
		list[i] = last
	}
	return list
}

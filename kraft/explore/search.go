package explore

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Options are what a search may be told.
type Options struct {
	// Limit ends the search with ErrLimit when there are that many states; 0: no limit.
	Limit int
	// Asymmetric looks at every state, also those that differ from another one in the names of nodes only.
	Asymmetric bool
	// Stop is asked after each state; true ends the search with ErrStopped.
	Stop func() bool
	// Progress is called now and then.
	Progress func(states, depth int)
}

// Report is what a search has found.
type Report struct {
	Model       string
	States      int // different ones, up to renaming
	Transitions int
	Depth       int // steps to the state that is farthest away
	Locals      int // different states of single nodes, up to renaming
	Packets     int // different messages
	Steps       int // different steps of single nodes: how often the engine was asked
	Images      int // states without the merging of symmetric ones; counted only on request

	Violation      *safety.Violation // the first one found; then the search ends
	CounterExample string            // the way to it, as a conversation

	Actions map[string]int // the actions seen, by their name
	Inputs  map[string]int // the kinds of steps taken
}

// ErrLimit says that there are more states than the search was allowed to look at.
var ErrLimit = errors.New("the limit of states is reached")

// ErrStopped says that the caller wanted no more.
var ErrStopped = errors.New("stopped before the end")

// ErrBounds says that the explorer's tables cannot hold the model.
var ErrBounds = errors.New("the model is too large")

// Explore looks at every state that the model can reach, in order of their distance. It ends at the first violation.
func Explore(m *Model, o Options) (*Report, error) {
	x, err := newExplorer(m, !o.Asymmetric)
	if err != nil {
		return nil, err
	}
	return x.search(o)
}

// search is the state of a search.
type search struct {
	x       *explorer
	o       Options
	seen    sums
	level   []uint32
	next    []uint32
	parents []uint32 // per state, the number of the one that it was reached from
	chosen  []uint16 // per state, which of its parent's successors it is
	report  Report
	broken  *safety.Violation
}

func (x *explorer) search(o Options) (*Report, error) {
	q := &search{x: x, o: o}
	q.report.Model = x.model.Name
	first, broken, err := x.initial()
	if err != nil {
		return nil, err
	}
	if broken != nil {
		q.report.Violation = broken
		return q.finish(), nil
	}
	q.meet(&first, 0, 0)
	for len(q.next) > 0 {
		q.level, q.next = q.next, q.level[:0]
		if done, err := q.expandLevel(); done || err != nil {
			return q.finish(), err
		}
		q.report.Depth++
	}
	q.report.Depth--
	return q.finish(), nil
}

// meet notes a state if it is new.
func (q *search) meet(s *state, parent uint32, choice int) {
	sum, images := q.x.sum(s)
	if !q.seen.add(sum) {
		return
	}
	q.report.Images += images
	q.next = s.pack(append(q.next, uint32(len(q.parents))), q.x.model.Nodes)
	q.parents, q.chosen = append(q.parents, parent), append(q.chosen, uint16(choice))
}

func (q *search) expandLevel() (done bool, err error) {
	var s state
	for rest := q.level; len(rest) > 0; {
		number := rest[0]
		rest = s.unpack(rest[1:], q.x.model.Nodes)
		choice := 0
		if !q.x.expand(&s, func(_ happening, next *state, broken *safety.Violation) bool {
			q.report.Transitions++
			if broken != nil {
				q.broken = broken
				return false
			}
			q.meet(next, number, choice)
			choice++
			return true
		}) {
			q.report.Violation = q.broken
			q.report.CounterExample = q.x.retell(q.path(number), q.broken)
			return true, nil
		}
		switch {
		case q.o.Limit > 0 && len(q.parents) >= q.o.Limit:
			return true, fmt.Errorf("model %s: %w: %d states at depth %d", q.x.model.Name, ErrLimit, len(q.parents), q.report.Depth)
		case choice > 1<<16-1 || len(q.x.packets) >= 1<<argBits || len(q.parents) > 1<<32-1<<20:
			return true, fmt.Errorf("model %s: %w: %d packets, %d states", q.x.model.Name, ErrBounds, len(q.x.packets), len(q.parents))
		}
		if q.o.Stop != nil && q.o.Stop() {
			return true, fmt.Errorf("model %s: %w: %d states at depth %d", q.x.model.Name, ErrStopped, len(q.parents), q.report.Depth)
		}
		if q.o.Progress != nil && number%(1<<20) == 0 {
			q.o.Progress(len(q.parents), q.report.Depth)
		}
	}
	return false, nil
}

// path lists the choices that lead from the first state to a state.
func (q *search) path(number uint32) []int {
	var choices []int
	for number != 0 {
		choices = append(choices, int(q.chosen[number]))
		number = q.parents[number]
	}
	slices.Reverse(choices)
	return choices
}

func (q *search) finish() *Report {
	r, x := &q.report, q.x
	r.States, r.Locals, r.Packets, r.Steps = len(q.parents), x.classes(), len(x.packets)-1, len(x.results)
	r.Actions, r.Inputs = map[string]int{}, map[string]int{}
	for t, n := range x.witnesses {
		r.Actions[name(t)] = n
	}
	for k, n := range x.inputs {
		if n > 0 {
			r.Inputs[inputNames[k]] = n
		}
	}
	return r
}

// classes counts the states of single nodes up to renaming.
func (x *explorer) classes() int {
	k, least := len(x.names), map[uint64]bool{}
	for i := 0; i < len(x.localSums); i += k {
		least[slices.Min(x.localSums[i:i+k])] = true
	}
	return len(least)
}

func name(t reflect.Type) string { return strings.TrimPrefix(t.String(), "*kraft.") }

// initial starts all nodes, and plays the prelude.
func (x *explorer) initial() (s state, broken *safety.Violation, err error) {
	for i, n := range x.model.Budget {
		s.budget |= uint64(n) << (4 * i)
	}
	for i := range x.model.Nodes {
		l := &local{
			node: i, log: x.model.disk(), voted: kraft.NoReplica,
			stored: kraft.QuorumState{Leader: kraft.NoNode, Voted: kraft.NoReplica},
		}
		if err := x.boot(l); err != nil {
			return s, nil, err
		}
		r := &runner{x: x, l: l, in: input{choice: x.firstNode(i)}}
		r.handle(&kraft.Start{}, kraft.TimerSet{})
		r.act()
		r.settle(0)
		if r.out.broken != nil {
			return s, r.out.broken, nil
		}
		s.nodes[i] = x.internLocal(l)
		for _, id := range r.out.sends {
			s.add(id)
		}
		if r.out.led != 0 {
			s.leaders |= uint32(i+1) << (4 * r.out.led)
		}
	}
	if x.model.Prelude {
		broken = x.prelude(&s)
	}
	return s, broken, nil
}

// firstNode is the choice of a bootstrap server with which a node asks the first one, which is going to lead.
func (x *explorer) firstNode(i int) uint8 {
	if !x.model.Discovery && (!x.model.Prelude || i < x.model.Voters) {
		return 0
	}
	return uint8((x.model.Nodes - i) % x.model.Nodes)
}

// prelude elects the first node and delivers everything, one packet after the other, until nothing is on its way.
func (x *explorer) prelude(s *state) *safety.Violation {
	elect := happening{node: 0, in: input{kind: fire, arg: uint32(kraft.ElectionTimer)}}
	var broken *safety.Violation
	e := &expansion{x: x, from: s}
	e.visit = func(_ happening, next *state, v *safety.Violation) bool {
		s.copyFrom(next)
		broken = v
		return v == nil
	}
	budget := s.budget
	s.budget = 0 // no copies, no losses
	e.take(elect, [2]int8{free, free})
	last := uint32(0)
	for limit := 0; len(s.packets) > 0 && broken == nil && limit < 200; limit++ {
		id := s.packets[0]
		if i, _ := slices.BinarySearch(s.packets, last+1); i < len(s.packets) {
			id = s.packets[i]
		}
		last = id
		h := happening{node: x.packets[id].to, packet: id}
		h.in = input{kind: deliver, arg: id, choice: x.firstNode(h.node)}
		out := *x.step(s.nodes[h.node], h.in)
		e.follow(h, [2]int8{free, free}, &out)
	}
	s.budget = budget
	return broken
}

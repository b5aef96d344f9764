package proxy

import (
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Action is what a fault rule does to a frame.
type Action uint8

// The actions of fault rules.
const (
	Drop   Action = iota // the receiver never gets the frame
	Delay                // the frame, and what follows it on its connection and direction, is held for a while
	Cut                  // the connection is closed instead of passing the frame on
	Mutate               // a field gets another value
)

func (a Action) String() string { return [...]string{"drop", "delay", "cut", "mutate"}[a] }

// anyKey and anyNode stand in a rule for what it does not restrict.
const (
	anyKey  int16        = -1
	anyNode kraft.NodeID = -1
)

// Rule is one fault rule: which frames it concerns, which of those it takes, and what it does to them.
type Rule struct {
	Text   string // as it was written
	Action Action
	Delay  time.Duration
	Field  *field // Mutate

	Key      int16 // of the message; -1: any
	Dir      wire.Direction
	From, To kraft.NodeID // sender and receiver of the frame; -1: any

	// Of the frames that it concerns, a rule takes the Nth only, each Every-th, or the First so many; at most
	// one of them is not 0. With none it takes all.
	Nth, Every, First uint64
}

// takes reports whether the rule takes the n-th frame it concerns, counted from 1.
func (r *Rule) takes(n uint64) bool {
	switch {
	case r.Nth > 0:
		return n == r.Nth
	case r.Every > 0:
		return n%r.Every == 0
	case r.First > 0:
		return n <= r.First
	}
	return true
}

// ends tells the client and the listening node of the connections that the rule is about.
func (r *Rule) ends() (client, listener kraft.NodeID) {
	if r.Dir == wire.Request {
		return r.From, r.To
	}
	return r.To, r.From
}

// concerns reports whether frames between this client and this listening node can concern the rule. A client
// of anyNode is one that has not said yet who it is.
func (r *Rule) concerns(client, listener kraft.NodeID) bool {
	c, l := r.ends()
	return (l == anyNode || l == listener) && (c == anyNode || client == anyNode || c == client)
}

// rules is the set of fault rules with their counts. It belongs to the loop.
type rules struct {
	upstreams []Upstream
	list      []*counted
}

type counted struct {
	*Rule
	index int
	seen  uint64 // frames that concerned it
}

func newRules(upstreams []Upstream, list []*Rule) *rules {
	s := &rules{upstreams: upstreams}
	for i, r := range list {
		s.list = append(s.list, &counted{Rule: r, index: i})
	}
	return s
}

// upstream names an upstream for a message to people.
func (s *rules) upstream(i int) string { return s.upstreams[i].String() }

// concern reports whether any rule can concern connections to this upstream from this client.
func (s *rules) concern(upstream int, client kraft.NodeID) bool {
	for _, r := range s.list {
		if r.concerns(client, s.upstreams[upstream].Node) {
			return true
		}
	}
	return false
}

// judge asks all rules about a frame and returns the first one that takes it, or nil. Each rule counts every frame it
// concerns, whether or not another has taken it. An unknown client concerns only rules that name none.
func (s *rules) judge(upstream int, client kraft.NodeID, key int16, dir wire.Direction) *counted {
	var taken *counted
	for _, r := range s.list {
		c, _ := r.ends()
		if r.Dir != dir || r.Key != anyKey && r.Key != key || c != anyNode && c != client ||
			!r.concerns(client, s.upstreams[upstream].Node) {
			continue
		}
		r.seen++
		if taken == nil && r.takes(r.seen) {
			taken = r
		}
	}
	return taken
}

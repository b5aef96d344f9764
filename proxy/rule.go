package proxy

import (
	"sync"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Action is what a fault rule does to a frame.
type Action uint8

// The actions of fault rules.
const (
	Drop      Action = iota // the receiver never gets the frame
	Delay                   // the frame, and what follows it on its connection and direction, is held for a while
	Cut                     // the connection is closed instead of passing the frame on
	Mutate                  // a field gets another value
	Duplicate               // the receiver gets the frame twice
	Reorder                 // the frame waits until another one reached its receiver, or a while
	Answer                  // the answer carries an error code
	Truncate                // the receiver gets the first bytes of the frame only
	CutAfter                // the connection is closed right after the frame
	Blackhole               // the frame, and all that follows it on its connection and direction, is swallowed
)

func (a Action) String() string {
	return [...]string{"drop", "delay", "cut", "mutate", "duplicate", "reorder", "answer", "truncate", "cut after", "blackhole"}[a]
}

// anyKey and anyNode stand in a rule for what it does not restrict.
const (
	anyKey  int16        = -1
	anyNode kraft.NodeID = -1
)

// Rule is one fault rule: which frames it concerns, which of those it takes, and what it does to them.
type Rule struct {
	Text   string // as it was written
	Action Action
	Delay  time.Duration // Delay and Reorder: for how long at most
	Keep   int           // Truncate: bytes
	Fields []*field      // Mutate and Answer

	Key      int16 // of the message; -1: any
	Dir      wire.Direction
	BothWays bool         // Dir does not matter
	From, To kraft.NodeID // sender and receiver of the frame; -1: any

	// Epoch is the epoch that a frame must state to concern the rule, if ByEpoch is set.
	Epoch   kraft.Epoch
	ByEpoch bool

	// Of the frames that it concerns, a rule leaves the first After alone; the following ones count anew.
	After uint64

	// Probability is the share of frames that a rule takes of those that it would take, decided by Seed and the frame's count
	// alone; 0: all.
	Probability float64
	Seed        uint64

	// Of the frames that it concerns, a rule takes the Nth only, each Every-th, or the First so many; at most
	// one of them is not 0. With none it takes all.
	Nth, Every, First uint64
}

// takes reports whether the rule takes the n-th frame it concerns, counted from 1.
func (r *Rule) takes(n uint64) bool {
	if n <= r.After {
		return false
	}
	n -= r.After
	if r.Probability > 0 && chance(r.Seed, n) >= r.Probability {
		return false
	}
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

// chance is a number from 0 to below 1 that a seed and a count decide (splitmix64).
func chance(seed, n uint64) float64 {
	z := seed + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// ends tells the client and the listening node of the connections that the rule is about, for frames of a direction.
func (r *Rule) ends(dir wire.Direction) (client, listener kraft.NodeID) {
	if dir == wire.Request {
		return r.From, r.To
	}
	return r.To, r.From
}

// concerns reports whether frames between this client and this listening node can concern the rule. A client
// of anyNode is one that has not said yet who it is.
func (r *Rule) concerns(client, listener kraft.NodeID) bool {
	if r.Action == Reorder { // any frame may let go what it holds
		return true
	}
	return (r.BothWays || r.Dir == wire.Request) && r.between(client, listener, wire.Request) ||
		(r.BothWays || r.Dir == wire.Response) && r.between(client, listener, wire.Response)
}

// between is concerns for the frames of one direction.
func (r *Rule) between(client, listener kraft.NodeID, dir wire.Direction) bool {
	c, l := r.ends(dir)
	return (l == anyNode || l == listener) && (c == anyNode || client == anyNode || c == client)
}

// rules is the set of fault rules with their counts. It belongs to the loop, but for the texts.
type rules struct {
	upstreams []Upstream
	list      []*counted
	texts     *ruleTexts
}

type counted struct {
	*Rule
	index   int
	seen    uint64 // frames that concerned it
	taken   uint64
	removed bool
}

// ruleTexts holds the text of every rule that there ever was, by index. The loop adds to it, the recorder reads it.
type ruleTexts struct {
	sync.Mutex
	list []string
}

func (t *ruleTexts) add(text string) int {
	t.Lock()
	defer t.Unlock()
	t.list = append(t.list, text)
	return len(t.list) - 1
}

func (t *ruleTexts) at(i int) string {
	t.Lock()
	defer t.Unlock()
	return t.list[i]
}

func newRules(upstreams []Upstream, list []*Rule) *rules {
	s := &rules{upstreams: upstreams, texts: new(ruleTexts)}
	for _, r := range list {
		s.add(r)
	}
	return s
}

// add takes a rule in and returns it with its number.
func (s *rules) add(r *Rule) *counted {
	c := &counted{Rule: r, index: s.texts.add(r.Text)}
	s.list = append(s.list, c)
	return c
}

// remove takes out the rule with this number, or all of them if it is below 0. It returns how many that were.
func (s *rules) remove(index int) int {
	kept := []*counted{}
	for _, r := range s.list {
		if r.removed = index < 0 || r.index == index; !r.removed {
			kept = append(kept, r)
		}
	}
	gone := len(s.list) - len(kept)
	s.list = kept
	return gone
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
// concerns, whether or not another has taken it. An unknown client concerns only rules that name none. epoch reads the epoch that the
// frame states, -1 if none.
func (s *rules) judge(upstream int, client kraft.NodeID, key int16, dir wire.Direction, epoch func() kraft.Epoch) *counted {
	var taken *counted
	for _, r := range s.list {
		c, _ := r.ends(dir)
		if r.Dir != dir && !r.BothWays || r.Key != anyKey && r.Key != key || c != anyNode && c != client ||
			!r.between(client, s.upstreams[upstream].Node, dir) || r.ByEpoch && epoch() != r.Epoch {
			continue
		}
		r.seen++
		if taken == nil && r.takes(r.seen) {
			taken = r
			r.taken++
		}
	}
	return taken
}

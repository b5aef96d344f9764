package belief

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

var (
	attachSeeds  = flag.Int("attach-seeds", 2, "quorums that are attached to at many places")
	attachFrom   = flag.Uint64("attach-from", 1, "the first of their seeds")
	attachEvery  = flag.Int("attach-every", 11, "one place in so many messages")
	attachFollow = flag.Int("attach-follow", 350, "messages that are judged from each place on")
)

// seenStep is a message or the end of a connection, and what each node was in the middle of then.
type seenStep struct {
	m      Message
	closed ConnID
	ends   bool
	states []string
}

// record plays a quorum in which everything breaks that can, and keeps what was seen.
func (s *sim) record(messages int) (list []seenStep) {
	s.tap = func(m *Message) { list = append(list, seenStep{m: *m, states: s.states()}) }
	s.tapClosed = func(conn ConnID) { list = append(list, seenStep{ends: true, closed: conn, states: s.states()}) }
	s.run(messages)
	return list
}

// states tells for each voter its role and what it waits for: the requests that it has in flight, and those that it has to answer.
func (s *sim) states() []string {
	var list []string
	for _, n := range s.nodes {
		if !n.up || !n.voter {
			continue
		}
		state := n.m.Role().Kind().String()
		if f, ok := n.m.Role().(*kraft.Follower); ok && f.Fetching {
			state = "Follower in a snapshot"
		}
		var flying []string
		for _, l := range n.links {
			if l.flying != nil {
				flying = append(flying, wire.Name(l.flying.key))
			}
		}
		slices.Sort(flying)
		list = append(list, state+", asks "+strings.Join(slices.Compact(flying), "+"))
		if len(n.asked) > 0 {
			list = append(list, state+", is asked")
		}
	}
	return list
}

// attached judges the steps as somebody does who sees nothing of what came before.
func attached(list []seenStep, from, until int, release string, settle time.Duration) []Divergence {
	var found []Divergence
	c := New(Options{Settle: settle, Found: func(d Divergence) { found = append(found, d) }, Releases: map[kraft.NodeID]string{kraft.NoNode: release}})
	open := map[ConnID]bool{}
	for i := range list[:until] {
		st := &list[i]
		if i < from {
			open[st.m.Conn] = !st.ends || open[st.m.Conn]
			continue
		}
		if st.ends {
			c.Closed(st.closed)
			continue
		}
		m := st.m
		m.Midway = open[m.Conn]
		c.Message(&m)
	}
	return found
}

// TestMidStream_FromNoStateOnIsAnybodyBlamed attaches wherever it likes, with elections, voter changes, snapshots and broken
// connections going on: a node may be in any role and in the middle of anything.
func TestMidStream_FromNoStateOnIsAnybodyBlamed(t *testing.T) {
	met := map[string]int{}
	places := 0
	for i := range uint64(short(*attachSeeds, 1)) {
		seed := *attachFrom + i
		profiles := compat.Profiles()
		p := profiles[int(seed)%len(profiles)]
		s := newSim(t, seed, p.Build, 3+int(seed)%3, 1, seed%2 == 0)
		s.slow, s.late, s.graceful = []int64{500, 3000}[seed%2], true, true
		s.snapshots, s.swallows, s.operated = true, seed%3 == 0, s.dynamic && seed%4 == 0
		list := s.record(2500)
		for from := int(seed) % *attachEvery; from < len(list); from += *attachEvery {
			places++
			for _, state := range list[from].states {
				met[state]++
			}
			for _, d := range attached(list, from, min(from+*attachFollow, len(list)), p.Build, 600*time.Millisecond) {
				t.Errorf("seed %d, Kafka %s, from step %d: node %v, message %d: %s\n%s", seed, p.Build, from, d.Node, d.Number, d.Said, strings.Join(d.Wanted, "\n"))
			}
			if t.Failed() {
				return
			}
		}
	}
	var table []string
	for state, n := range met {
		table = append(table, fmt.Sprintf("%6d %s", n, state))
	}
	slices.SortFunc(table, func(a, b string) int { return strings.Compare(b, a) })
	t.Logf("attached at %d places, where voters were\n%s", places, strings.Join(table, "\n"))
}

package twin

import (
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// TestNode_CopyIsEqualAndItsOwn: each thing that a node keeps is copied, and counts when nodes are compared.
func TestNode_CopyIsEqualAndItsOwn(t *testing.T) {
	in := oracle.NewInit(1, 0, 1)
	in.BootstrapServers = []string{oracle.Host(1)}
	start := func() *node {
		n := newNode(ProfileOf("4.4.0"), oracle.Command{Cmd: "init", Init: &in, Now: 1000}, NewCoverage(), newHostLog())
		n.do(oracle.Command{Cmd: "init", Now: 1000}, &oracle.Answer{})
		n.do(oracle.Command{Cmd: "poll", Now: 1000, Poll: 1}, &oracle.Answer{})
		return n
	}
	if n := start(); n.dead || n.m.Role().Kind() != kraft.LeaderRole || !n.equal(start()) {
		t.Fatalf("the same commands do not give the same leader: %v, %v", n.m.Role(), n.out.problems)
	}
	for name, change := range map[string]func(n *node){
		"time":      func(n *node) { n.now++ },
		"timer":     func(n *node) { n.timers[kraft.Timer{Kind: kraft.BeginQuorumEpochTimer}]++ },
		"queue":     func(n *node) { n.queue = append(n.queue, message{}) },
		"parked":    func(n *node) { n.parked = append(n.parked, parkedFetch{}) },
		"stored":    func(n *node) { n.stored = &kraft.QuorumState{Epoch: 9} },
		"in flight": func(n *node) { n.inFlight[7] = flight{} },
		"request":   func(n *node) { n.requests[7] = request{} },
		"prepared":  func(n *node) { n.prepared[7] = nil },
		"failure":   func(n *node) { n.failAt["flush"] = 1 },
		"download":  func(n *node) { n.partial = []byte{} },
		"log":       func(n *node) { n.log.truncate(0) },
		"snapshot":  func(n *node) { n.log.addSnapshot(kraft.SnapshotID{Offset: 1, Epoch: 1}, []byte{1}) },
		"a draw":    func(n *node) { n.drawn++ },
		"a birth":   func(n *node) { n.bornNext++ },
		"dead":      func(n *node) { n.dead = true },
		"the role":  func(n *node) { n.do(oracle.Command{Cmd: "resign", Now: 1000, Epoch: 1, Poll: 1}, &oracle.Answer{}) },
		"a record": func(n *node) {
			n.do(oracle.Command{Cmd: "append", Now: 1000, Epoch: 1, Records: oracle.Records(1), Poll: 1}, &oracle.Answer{})
		},
		"an instant": func(n *node) { n.m.Role().(*kraft.Leader).Voters[0].LastCaughtUp = 77 },
	} {
		n := start()
		c := n.clone()
		if !c.equal(n) {
			t.Fatalf("%s: a copy differs", name)
		}
		if change(c); c.equal(n) {
			t.Errorf("%s does not count", name)
		}
		if !n.equal(start()) {
			t.Errorf("%s: a change of the copy changes the node", name)
		}
	}
	if (*node)(nil).clone() != nil || (*node)(nil).equal(start()) {
		t.Error("no node is a node")
	}
}

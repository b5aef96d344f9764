package kraft_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

var seedFlag = flag.Uint64("seed", 0, "run the random tests with this seed only")

// seeds are the seeds of a random test. A failing one is printed; -seed takes it back.
func seeds(n uint64) []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	if testing.Short() {
		n = min(n, 10)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i) + 1
	}
	return list
}

// facts are what must hold of a whole cluster, whatever happens.
type facts struct {
	leaders   map[kraft.Epoch]kraft.NodeID
	committed []kraft.Batch
	ends      map[kraft.NodeID]kraft.QuorumState
	failure   string
}

func watch(c *cluster) *facts {
	f := &facts{leaders: map[kraft.Epoch]kraft.NodeID{}, ends: map[kraft.NodeID]kraft.QuorumState{}}
	c.seen = f.see
	return f
}

func (f *facts) fail(format string, args ...any) {
	if f.failure == "" {
		f.failure = fmt.Sprintf(format, args...)
	}
}

func (f *facts) see(n *node, action kraft.Action) {
	switch a := action.(type) {
	case *kraft.TransitionedTo:
		if a.Role != kraft.LeaderRole {
			return
		}
		if other, ok := f.leaders[a.Epoch]; ok && other != n.id {
			f.fail("nodes %v and %v lead epoch %d", other, n.id, a.Epoch)
		}
		f.leaders[a.Epoch] = n.id
	case *kraft.PersistQuorumState:
		old := f.ends[n.id]
		if a.State.Epoch < old.Epoch {
			f.fail("node %v goes from %v to %v", n.id, old, a.State)
		}
		f.ends[n.id] = a.State
	case *kraft.AdvanceHighWatermark:
		f.commit(n, a.Offset)
	case *kraft.Fatal:
		f.fail("node %v: %v at %v", n.id, a, n.event)
	}
}

// commit compares what a node counts as committed with what any node ever did.
func (f *facts) commit(n *node, offset kraft.Offset) {
	for i, b := range n.log.Batches(n.log.Start, offset, 1<<30) {
		if n.log.Start > 0 {
			return
		}
		if i >= len(f.committed) {
			f.committed = append(f.committed, b)
			continue
		}
		if c := f.committed[i]; c.Base != b.Base || c.Last != b.Last || c.Epoch != b.Epoch {
			f.fail("node %v commits %v where %v was committed", n.id, b, c)
		}
	}
}

// TestCluster_StaysSafeUnderFaults loses messages, cuts nodes off, crashes and restarts them while records are appended, then lets the
// cluster recover.
func TestCluster_StaysSafeUnderFaults(t *testing.T) {
	for _, seed := range seeds(12) {
		if failure := runFaults(seed); failure != "" {
			t.Fatalf("seed %d: %s", seed, failure)
		}
	}
}

func runFaults(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 99))
	var c *cluster
	if voters := 1 + random.IntN(5); random.IntN(2) == 0 {
		c = newCluster(seed, voters)
	} else {
		c = newDynamicCluster(seed, max(voters, 3))
	}
	f := watch(c)
	cut := kraft.NodeID(0)
	c.drop = func(from, to kraft.NodeID) bool { return from == cut || to == cut || random.IntN(20) == 0 }
	for range 60 {
		for range random.IntN(200) {
			c.turn()
		}
		switch random.IntN(6) {
		case 0:
			cut = kraft.NodeID(random.IntN(len(c.nodes) + 1))
		case 1:
			c.nodes[random.IntN(len(c.nodes))].crash()
		default:
			if l := c.leader(); l != nil {
				l.handle(&kraft.AppendRequested{Epoch: l.epoch(), Records: int32(1 + random.IntN(4)), Size: 50, Schedule: true})
			}
		}
		if f.failure != "" {
			return f.failure
		}
	}
	c.drop = nil
	c.run(func() bool { return c.leader() != nil })
	c.settle(10_000)
	leader := c.leader()
	if leader == nil {
		return "no leader: " + c.String()
	}
	for _, n := range c.nodes {
		if n.log.HighWatermark != leader.log.HighWatermark {
			return "the nodes do not agree in the end: " + c.String()
		}
	}
	return f.failure
}

package kraft_test

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// Three machines elect a leader. The loop is that of every driver: a turn for each node whenever time has passed or a message has
// come. cluster_test.go and network_test.go have the host: how actions are executed, and how they become events of another node.
func ExampleTurn() {
	c := newCluster(7, 3)
	c.seen = func(n *node, a kraft.Action) {
		if t, ok := a.(*kraft.TransitionedTo); ok {
			fmt.Printf("node %v: %v in epoch %d\n", n.id, t.Role, t.Epoch)
		}
	}
	for c.leader() == nil {
		for _, n := range c.nodes {
			kraft.Turn(n.machine, n, c.now)
		}
		c.now += 5
	}
	fmt.Println("the leader is node", c.leader().id)
	// Output:
	// node 3: Prospective in epoch 0
	// node 3: Candidate in epoch 1
	// node 1: Unattached in epoch 1
	// node 2: Unattached in epoch 1
	// node 3: Leader in epoch 1
	// the leader is node 3
}

package safety

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// Node is one replica at a moment. Machine is nil while it is down; then its log and its durable state still count.
type Node struct {
	ID      kraft.NodeID
	Machine *kraft.QuorumStateMachine
	Log     *memlog.Log
	Durable kraft.QuorumState
	// Observer: the node is not asked for the durable state, since it never votes (a broker).
	Observer bool
}

// States looks at the nodes of a quorum at a moment between two events, and returns the first invariant that is broken, or nil.
// It has no memory: what one epoch's leader committed and nobody holds any more it cannot see.
func States(nodes []Node) *Violation {
	for i := range nodes {
		n := &nodes[i]
		if v := n.alone(); v != nil {
			return v
		}
		for j := range nodes[:i] {
			if v := pair(&nodes[j], n); v != nil {
				return v
			}
		}
	}
	return nil
}

// alone is what can be said of one node.
func (n *Node) alone() *Violation {
	log := n.Log.View()
	if log.HighWatermark > log.End || log.Start > log.End {
		return broken(MonotoneWatermark, n.ID, "%v", n.Log)
	}
	if n.Machine == nil {
		return nil
	}
	role, state := n.Machine.Role(), n.Machine.QuorumState()
	switch role.Kind() {
	case kraft.ProspectiveRole, kraft.CandidateRole:
		if inspected := n.Machine.Inspect(); inspected.Voters.Find(n.ID) == nil {
			return broken(VotersOnly, n.ID, "%v among the voters %v", role, inspected.Voters)
		}
	case kraft.LeaderRole:
		if v := n.oneChange(role.(*kraft.Leader)); v != nil {
			return v
		}
	case kraft.FollowerRole, kraft.UnattachedRole, kraft.ResignedRole:
	}
	if n.Observer || role.Kind() == kraft.ProspectiveRole {
		return nil // to Prospective nothing is persisted: the file says the same of epoch and vote
	}
	if n.Durable.Epoch != state.Epoch || n.Durable.Leader != state.Leader || n.Durable.Voted.ID != state.Voted.ID {
		return broken(PersistBeforeSend, n.ID, "durable %v, in force %v", n.Durable, state)
	}
	return nil
}

// oneChange: behind the high watermark a leader has at most one Voters record of its own epoch. The batch that begins the epoch may
// renew the description of the leader itself besides one that it has inherited.
func (n *Node) oneChange(l *kraft.Leader) *Violation {
	first := max(l.HighWatermark, l.EpochStart)
	var changes int
	for _, b := range n.Log.Batches(max(first, n.Log.Start), n.Log.End, 1<<30) {
		for i, r := range b.Control {
			if r.Type == kraft.VotersRecord && b.Base+kraft.Offset(i) >= first {
				changes++
			}
		}
	}
	if changes > 1 {
		return broken(OneVoterChange, n.ID, "%d Voters records behind %d: %v", changes, first, n.Log)
	}
	return nil
}

// pair is what must hold between two nodes.
func pair(a, b *Node) *Violation {
	if leads(a) && leads(b) && a.Machine.QuorumState().Epoch == b.Machine.QuorumState().Epoch {
		return broken(ElectionSafety, b.ID, "leads epoch %d, and so does node %v", b.Machine.QuorumState().Epoch, a.ID)
	}
	start, end := max(a.Log.Start, b.Log.Start), min(a.Log.End, b.Log.End)
	x, y := a.Log.Batches(start, end, 1<<30), b.Log.Batches(start, end, 1<<30)
	agree, last := 0, -1 // the common prefix, and the last batch in whose end both agree
	for i := range min(len(x), len(y)) {
		if same(&x[i], &y[i]) {
			if agree == i {
				agree++
			}
			last = i
		}
	}
	committed := min(a.Log.HighWatermark, b.Log.HighWatermark)
	switch {
	case last >= agree:
		return broken(LogMatching, b.ID, "%v as in the log of node %v, but before it %v and not %v", y[last], a.ID, y[agree], x[agree])
	case agree < len(x) && agree < len(y) && x[agree].Base < committed && y[agree].Base < committed:
		return broken(StateMachineSafety, b.ID, "%v is committed, and %v on node %v", y[agree], x[agree], a.ID)
	}
	return nil
}

func leads(n *Node) bool { return n.Machine != nil && n.Machine.Role().Kind() == kraft.LeaderRole }

func same(a, b *kraft.Batch) bool {
	return a.Base == b.Base && a.Last == b.Last && a.Epoch == b.Epoch && a.Size == b.Size &&
		slices.EqualFunc(a.Control, b.Control, func(x, y kraft.ControlRecord) bool {
			return x.Type == y.Type && x.Leader == y.Leader && x.KRaftVersion == y.KRaftVersion && x.Voters.Equal(y.Voters)
		})
}

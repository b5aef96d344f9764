package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
)

// tickClients writes to every node that believes it leads, and lets nodes take snapshots.
func (w *World) tickClients() {
	r := &w.clients
	w.queue.push(item{at: w.now + r.between(w.opt.AppendEvery/2, w.opt.AppendEvery*3/2), kind: clientTick})
	for _, n := range w.nodes[:w.opt.nodes()] {
		if n.leads() && n.busyUntil <= w.now && n.pauseUntil <= w.now {
			w.append(n, int32(r.between(1, 3)))
		}
	}
	if w.opt.Kinds.Has(Snapshots) && !w.calm && r.chance(20) {
		w.snapshot(w.nodes[r.pick(w.opt.nodes())], r.chance(700))
	}
}

func (w *World) append(n *node, records int32) {
	n.call(&kraft.AppendRequested{Epoch: n.machine.QuorumState().Epoch, Records: records, Size: records * 40, Schedule: true})
}

// snapshot freezes what a node knows to be committed, and perhaps moves its log start there.
func (w *World) snapshot(n *node, move bool) {
	if !n.up() || n.busyUntil > w.now || n.pauseUntil > w.now {
		return
	}
	end := n.log.HighWatermark
	if w.opt.Broken == SnapshotsAhead {
		end = n.log.End
	}
	link, ok := n.chain.Before(end)
	if !ok || end <= n.log.Start {
		return
	}
	id := kraft.SnapshotID{Offset: end, Epoch: link.Epoch}
	if latest, ok := n.log.LatestSnapshot(); ok && latest.Offset >= end {
		return
	}
	if w.opt.Broken == SnapshotsWrongly {
		link.Hash++
	}
	n.log.AddSnapshot(id, int64(100+end%64), w.contentsAt(n, end))
	n.snapshots = append(n.snapshots, snapshotLink{id, link})
	w.fail(w.history.Snapshot(n.id, end, link))
	w.note(noteSnapshot, n, id.String())
	n.call(&kraft.SnapshotCreated{ID: id})
	if move && n.up() && n.log.MoveStart(id) {
		n.chain.MoveStart(n.log.Start)
	}
}

// contentsAt are the control values in force at an offset.
func (w *World) contentsAt(n *node, end kraft.Offset) kraft.SnapshotContents {
	if w.opt.Broken == SnapshotsUnlinked {
		return kraft.SnapshotContents{}
	}
	return n.log.ContentsAt(end)
}

// tickAdmin is what operators do: they add and remove voters and raise kraft.version.
func (w *World) tickAdmin() {
	if w.calm {
		return
	}
	r := &w.clients
	w.queue.push(item{at: w.now + r.between(w.opt.AdminEvery/2, w.opt.AdminEvery*3/2), kind: adminTick})
	leader, other, what := w.nodes[r.pick(w.opt.nodes())], w.nodes[r.pick(w.opt.nodes())], r.pick(3)
	if !leader.leads() || leader.busyUntil > w.now || leader.pauseUntil > w.now {
		return
	}
	switch {
	case what == 0 && w.opt.Kinds.Has(Upgrade) && !w.opt.Dynamic:
		w.note(noteUpgrade, leader, "")
		leader.call(&kraft.UpgradeKRaftVersion{Epoch: leader.machine.QuorumState().Epoch, Version: 1})
	case what == 1 && w.opt.Kinds.Has(Voters):
		w.addVoter(leader, other)
	case what == 2 && w.opt.Kinds.Has(Voters):
		w.removeVoter(leader, other.id)
	}
}

func (w *World) operator(n *node) kraft.Request {
	c := n.slot()
	c.from = nil
	return kraft.Request{
		ID: requestID(n.slotOf(c), c.generation), Version: 0, Listener: listener, From: kraft.NoNode, ClusterID: presentClusterID,
	}
}

func (w *World) addVoter(leader, voter *node) {
	if voter.broker || !voter.up() {
		return
	}
	w.note(noteAdd, leader, voter.replicaKey().ID.String())
	leader.call(&kraft.ReceiveAddRaftVoter{
		Request: w.operator(leader), Voter: voter.replicaKey(), Endpoints: voter.endpoints(), AckWhenCommitted: true,
	})
}

// removeVoter removes a voter, the leader itself perhaps, where Kafka can go on whatever happens next.
func (w *World) removeVoter(leader *node, id kraft.NodeID) {
	_, voters := leader.lastVoters()
	v := voters.Find(id)
	if v == nil || v.Key.DirectoryID.IsZero() || !w.canRemove(leader.replicaKey(), voters, v.Key) {
		return
	}
	w.note(noteRemove, leader, id.String())
	leader.call(&kraft.ReceiveRemoveRaftVoter{Request: w.operator(leader), Voter: v.Key})
}

// canRemove: the set without the voter has a majority that is alive. If the leader is not in that set, because it removes itself or has done
// so before and stayed (see the scenario removed-leader-stays), it may die as the only one that has the new set beside the voter that goes.
// Neither of them stands for election by that set, and neither grants a vote to a shorter log; so those that stay must be a majority of the
// set that they still know. Kafka is stuck otherwise.
func (w *World) canRemove(leader kraft.ReplicaKey, voters kraft.VoterSet, gone kraft.ReplicaKey) bool {
	stays := leader != gone && voters.IsVoter(leader)
	return w.survives(voters, kraft.NoReplica, gone) && (stays || w.survives(voters, gone, kraft.NoReplica))
}

package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// append asks a leader to write records and returns the offset of the last one.
func (n *node) append(records int32) kraft.Offset {
	n.outcomes = nil
	n.handle(&kraft.AppendRequested{Epoch: n.epoch(), Records: records, Size: 100, Schedule: true})
	return n.outcomes[0].(*kraft.Accepted).LastOffset
}

// committed waits until all nodes know that the offset is committed.
func (c *cluster) committed(offset kraft.Offset) {
	c.run(func() bool {
		for _, n := range c.nodes {
			if !n.ended && n.log.HighWatermark <= offset {
				return false
			}
		}
		return true
	})
}

func TestCluster_CommitsWhatIsAppended(t *testing.T) {
	for _, voters := range []int{1, 2, 3, 5} {
		c := newCluster(1, voters)
		leader := c.lead()
		c.committed(leader.append(3))
		c.committed(leader.append(2))
		for _, n := range c.nodes {
			if n.log.End != leader.log.End || n.log.End != 6 {
				t.Errorf("%d voters: node %v ends at %d, the leader at %d, want 6", voters, n.id, n.log.End, leader.log.End)
			}
		}
	}
}

func TestCluster_ElectsAnotherLeaderWhenTheFirstIsGone(t *testing.T) {
	c := newCluster(2, 3)
	first := c.lead()
	epoch := first.epoch()
	first.ended = true
	second := c.lead()
	if second == first || second.epoch() <= epoch {
		t.Errorf("node %v leads epoch %d after node %v led %d", second.id, second.epoch(), first.id, epoch)
	}
}

func TestCluster_TruncatesWhatTheNewLeaderDoesNotHold(_ *testing.T) {
	c := newCluster(3, 3)
	old := c.lead()
	c.drop = func(from, to kraft.NodeID) bool { return from == old.id || to == old.id }
	lost := old.append(5)
	c.run(func() bool { return old.log.End > lost })
	c.run(func() bool { l := c.leader(); return l != nil && l != old && l.log.End > 1 })
	fresh := c.leader()
	fresh.append(1)
	c.drop = nil
	c.run(func() bool { return old.log.EndOffset() == fresh.log.EndOffset() && old.log.End > 2 })
}

func TestCluster_ResignsWhenNoMajorityFetches(t *testing.T) {
	c := newCluster(4, 3)
	leader := c.lead()
	resigned := false
	c.seen = func(n *node, a kraft.Action) {
		if r, ok := a.(*kraft.TransitionedTo); ok && n == leader && r.Role == kraft.ResignedRole {
			resigned = true
		}
	}
	c.drop = func(from, to kraft.NodeID) bool { return from == leader.id || to == leader.id }
	start := c.now
	c.run(func() bool { return resigned })
	if passed := c.now - start; passed < 2500 || passed > 3100 {
		t.Errorf("resigned after %d ms, want one and a half fetch timeouts", passed)
	}
}

func TestCluster_ShutsDownWhenAnotherLeads(t *testing.T) {
	c := newCluster(5, 3)
	leader := c.lead()
	leader.handle(&kraft.Shutdown{TimeoutMs: 5000})
	done := false
	c.seen = func(n *node, a kraft.Action) {
		if s, ok := a.(*kraft.ShutdownDone); ok && n == leader {
			done = s.OK
		}
	}
	c.run(func() bool { return leader.ended })
	if !done {
		t.Error("the shutdown ran out of time")
	}
	if next := c.lead(); next == leader {
		t.Error("no other leader")
	}
}

func TestCluster_ShutdownRunsOutOfTime(t *testing.T) {
	c := newCluster(6, 3)
	leader := c.lead()
	c.drop = func(kraft.NodeID, kraft.NodeID) bool { return true }
	var done *kraft.ShutdownDone
	c.seen = func(n *node, a kraft.Action) {
		if s, ok := a.(*kraft.ShutdownDone); ok && n == leader {
			done = &kraft.ShutdownDone{OK: s.OK}
		}
	}
	leader.handle(&kraft.Shutdown{TimeoutMs: 1000})
	c.run(func() bool { return leader.ended })
	if done == nil || done.OK {
		t.Errorf("got %v", done)
	}
}

func TestCluster_ResignsOnRequest(_ *testing.T) {
	c := newCluster(7, 3)
	leader := c.lead()
	leader.handle(&kraft.Resign{Epoch: leader.epoch()})
	c.run(func() bool { l := c.leader(); return l != nil && l != leader })
}

func TestCluster_FetchesASnapshot(t *testing.T) {
	c := newCluster(8, 3)
	leader := c.lead()
	end := leader.append(10)
	c.committed(end)
	id := kraft.SnapshotID{Offset: leader.log.End, Epoch: leader.epoch()}
	leader.log.AddSnapshot(id, 3<<20, kraft.SnapshotContents{})
	leader.handle(&kraft.SnapshotCreated{ID: id})
	if !leader.log.MoveStart(id) {
		t.Fatal("the log start does not move")
	}
	var wiped *node
	for _, n := range c.nodes {
		if n != leader {
			wiped = n
		}
	}
	fresh := wiped.config
	wiped.ended = true
	c.nodes = deleteNode(c.nodes, wiped)
	chunks := 0
	c.seen = func(_ *node, a kraft.Action) {
		if _, ok := a.(*kraft.AppendSnapshot); ok {
			chunks++
		}
	}
	n := c.add(fresh)
	c.run(func() bool { return n.log.Start == id.Offset && n.log.HighWatermark == id.Offset })
	if chunks != 3 {
		t.Errorf("%d chunks, want 3", chunks)
	}
	c.committed(leader.append(1))
}

func deleteNode(nodes []*node, n *node) []*node {
	var kept []*node
	for _, o := range nodes {
		if o != n {
			kept = append(kept, o)
		}
	}
	return kept
}

func TestCluster_WritesTheVotersOfTheBootstrapCheckpoint(t *testing.T) {
	c := newDynamicCluster(9, 3)
	leader := c.lead()
	s := leader.machine.Inspect()
	if s.KRaftVersion != 1 || s.VotersOffset != 2 || s.Voters.Len() != 3 {
		t.Errorf("version %d, voters %v at %d", s.KRaftVersion, s.Voters, s.VotersOffset)
	}
}

func TestCluster_AddsAndRemovesVoters(t *testing.T) {
	c := newDynamicCluster(10, 3)
	leader := c.lead()
	cfg := config(4)
	cfg.BootstrapServers = []kraft.Address{address(1), address(2), address(3)}
	n := c.add(cfg)
	c.run(func() bool { // only an observer that has caught up is taken
		l, ok := leader.machine.Role().(*kraft.Leader)
		return ok && len(l.Observers) == 1 && l.Observers[0].LastCaughtUp > 0
	})
	leader.ask(func(r kraft.Request) kraft.Event {
		return &kraft.ReceiveAddRaftVoter{Request: r, Voter: dynamicVoter(4).Key, Endpoints: endpoints(4), AckWhenCommitted: true}
	})
	c.run(func() bool { return len(leader.outcomes) > 0 })
	if got := leader.outcomes[0].(*kraft.ReplyAddRaftVoter); got.Error != kraft.None || got.Message != kraft.NullMessage {
		t.Fatalf("added: %v", got)
	}
	if got := n.machine.Inspect().Voters.Len(); got != 4 {
		t.Fatalf("the new voter sees %d voters", got)
	}

	leader.outcomes = nil
	leader.ask(func(r kraft.Request) kraft.Event {
		return &kraft.ReceiveRemoveRaftVoter{Request: r, Voter: dynamicVoter(leader.id).Key}
	})
	c.run(func() bool { return len(leader.outcomes) > 0 })
	if got := leader.outcomes[0].(*kraft.ReplyRemoveRaftVoter); got.Error != kraft.None {
		t.Fatalf("removed: %v", got)
	}
	c.run(func() bool { l := c.leader(); return l != nil && l != leader })
	if got := c.leader().machine.Inspect().Voters; got.Len() != 3 || got.Find(leader.id) != nil {
		t.Errorf("voters %v", got)
	}
}

func TestCluster_JoinsByItself(_ *testing.T) {
	c := newDynamicCluster(11, 3)
	c.lead()
	cfg := config(4)
	cfg.BootstrapServers, cfg.AutoJoin = []kraft.Address{address(1), address(2), address(3)}, true
	n := c.add(cfg)
	c.run(func() bool { return n.machine.Inspect().Voters.Find(4) != nil })
}

func TestCluster_ReplacesItsFormerSelf(_ *testing.T) {
	c := newDynamicCluster(12, 3)
	leader := c.lead()
	lost := c.nodes[0]
	if lost == leader {
		lost = c.nodes[1]
	}
	lost.ended = true
	c.nodes = deleteNode(c.nodes, lost)
	cfg := config(lost.id)
	cfg.BootstrapServers, cfg.AutoJoin = []kraft.Address{address(1), address(2), address(3)}, true
	cfg.DirectoryID = kraft.DirectoryID{1: 9}
	n := c.add(cfg)
	c.run(func() bool {
		v := n.machine.Inspect().Voters.Find(lost.id)
		return v != nil && v.Key.DirectoryID == cfg.DirectoryID
	})
}

func TestCluster_UpgradesKRaftVersion(_ *testing.T) {
	c := newCluster(13, 3)
	leader := c.lead()
	c.run(func() bool {
		leader.outcomes = nil
		leader.handle(&kraft.UpgradeKRaftVersion{Epoch: leader.epoch(), Version: 1, ValidateOnly: true})
		_, ok := leader.outcomes[0].(*kraft.Accepted)
		return ok
	})
	leader.handle(&kraft.UpgradeKRaftVersion{Epoch: leader.epoch(), Version: 1})
	c.run(func() bool {
		for _, n := range c.nodes {
			if s := n.machine.Inspect(); s.KRaftVersion != 1 || !s.Voters.IsVoter(dynamicVoter(1).Key) || s.VotersOffset < 0 {
				return false
			}
		}
		return true
	})
}

func TestCluster_SendsItsNewDescription(_ *testing.T) {
	c := newDynamicCluster(14, 3)
	leader := c.lead()
	n := c.nodes[0]
	if n == leader {
		n = c.nodes[1]
	}
	n.config.KRaftVersions.Max = 2
	n.crash()
	c.run(func() bool { return leader.machine.Inspect().Voters.Find(n.id).Versions.Max == 2 })
}

func TestCluster_DescribesItself(t *testing.T) {
	c := newCluster(15, 3)
	leader := c.lead()
	cfg := leader.config
	cfg.ID, cfg.DirectoryID, cfg.Endpoints, cfg.CanBecomeVoter = 9, directory(9), endpoints(9), false
	observer := c.add(cfg)
	c.run(func() bool { return observer.log.HighWatermark > 0 })
	leader.outcomes = nil
	leader.ask(func(r kraft.Request) kraft.Event { return &kraft.ReceiveDescribeQuorum{Request: r} })
	c.run(func() bool { return len(leader.outcomes) > 0 })
	got := leader.outcomes[0].(*kraft.ReplyDescribeQuorum)
	if got.LeaderID != leader.id || len(got.Voters) != 3 || len(got.Observers) != 1 || len(got.Nodes) != 3 {
		t.Errorf("described %v", got)
	}
	observer.ended = true
	c.tick = 100
	c.settle(301_000)
	leader = c.leader()
	leader.outcomes = nil
	leader.ask(func(r kraft.Request) kraft.Event { return &kraft.ReceiveDescribeQuorum{Request: r} })
	c.run(func() bool { return len(leader.outcomes) > 0 })
	if got := leader.outcomes[0].(*kraft.ReplyDescribeQuorum); len(got.Observers) != 0 {
		t.Errorf("a silent observer is still there: %v", got.Observers)
	}
}

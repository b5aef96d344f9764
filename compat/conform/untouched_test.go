package conform

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestQuorumState_SeesEachChange: the proof that the suite leaves a live quorum alone compares what was with what is. Each change that
// the suite could make has a twin here, and what an idle quorum does by itself is none.
func TestQuorumState_SeesEachChange(t *testing.T) {
	state := func() quorumState {
		s := quorumState{files: map[string]string{"0/quorum-state": "epoch 3", "0/1.log": "abc", "0/1-7.checkpoint.part": "y"}, transitions: 4, leader: 1, epoch: 3, voters: 3, observers: 1, leaderAt: "x:1", logEnd: 9}
		for i := range 5 {
			s.files[fmt.Sprintf("0/%d", i)] = "same"
		}
		return s
	}
	for _, x := range []struct {
		name   string
		change func(*quorumState)
		says   string // "": it is none
	}{
		{"nothing", func(*quorumState) {}, ""},
		{"NoOps are appended", func(s *quorumState) { s.files["0/1.log"] += "d"; s.logEnd++ }, ""},
		{"a snapshot is made", func(s *quorumState) { s.files["0/2.checkpoint"] = "x" }, ""},
		{"a snapshot is begun", func(s *quorumState) { s.files["0/3.checkpoint.part"] = "x" }, ""},
		{"a snapshot is finished", func(s *quorumState) { delete(s.files, "0/1-7.checkpoint.part") }, ""},
		{"a pre-vote is asked for", func(s *quorumState) { s.transitions++ }, ""},
		{"the epoch on disk moves", func(s *quorumState) { s.files["0/quorum-state"] = "epoch 4" }, `0/quorum-state was "epoch 3", is "epoch 4"`},
		{"the log is truncated", func(s *quorumState) { s.files["0/1.log"] = "ab" }, "0/1.log was"},
		{"the log is written anew", func(s *quorumState) { s.files["0/1.log"] = "abX" }, "0/1.log was"},
		{"a file is gone", func(s *quorumState) { delete(s.files, "0/0") }, "0/0 is gone"},
		{"a file is new", func(s *quorumState) { s.files["0/new"] = "" }, "0/new is new"},
		{"another leads", func(s *quorumState) { s.leader, s.leaderAt = 2, "x:2" }, "before the suite"},
		{"the epoch moves", func(s *quorumState) { s.epoch++ }, "before the suite"},
		{"a voter joins", func(s *quorumState) { s.voters++ }, "before the suite"},
		{"an observer stays", func(s *quorumState) { s.observers++ }, "before the suite"},
		{"a node ends", func(s *quorumState) { s.fatal++ }, "before the suite"},
	} {
		t.Run(x.name, func(t *testing.T) {
			after := state()
			x.change(&after)
			found := strings.Join(state().changes(after), "\n")
			if (found == "") != (x.says == "") || !strings.Contains(found, x.says) {
				t.Errorf("found %q, want %q", found, x.says)
			}
		})
	}
}

// TestQuorumState_SeesATargetThatChanges has a real node change its state between the two looks, as one case that is not harmless would.
func TestQuorumState_SeesATargetThatChanges(t *testing.T) {
	node := ourVoters(t, 1, 1, 1, fastTimers)[0]
	if err := node.start(); err != nil {
		t.Fatal(err)
	}
	o := node.options()
	look := func() quorumState {
		target, err := discover(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		s := quorumState{files: map[string]string{}, leader: target.Leader, epoch: target.Epoch}
		s.read(t, node.dir)
		return s
	}
	before := look()
	if err := bumpEpoch(t.Context(), o.Address, before.epoch+7); err != nil {
		t.Fatal(err)
	}
	after := look()
	files := quorumState{files: maps.Clone(after.files), leader: before.leader, epoch: before.epoch}
	if found := strings.Join(before.changes(files), "\n"); !strings.Contains(found, "quorum-state was ") {
		t.Errorf("in its files: %q", found)
	}
	files = quorumState{files: maps.Clone(before.files), leader: kraft.NodeID(1), epoch: after.epoch}
	if found := strings.Join(before.changes(files), "\n"); !strings.Contains(found, "before the suite") {
		t.Errorf("in what it says: %q", found)
	}
}

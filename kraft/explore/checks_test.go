package explore

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

func logOf(t *testing.T, watermark kraft.Offset, epochs ...kraft.Epoch) *memlog.Log {
	t.Helper()
	log := memlog.New()
	for i, e := range epochs {
		if err := log.Append(kraft.Batch{Base: kraft.Offset(i), Last: kraft.Offset(i), Epoch: e, Size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	log.Flush()
	log.AdvanceHighWatermark(watermark)
	return log
}

// The invariants that the explorer itself looks after, each with what breaks it and what only just does not.
func TestChecks_EachIsTripped(t *testing.T) {
	x, err := newExplorer(&Model{Name: "checks", Nodes: 2, Voters: 2, Epochs: 4}, true)
	if err != nil {
		t.Fatal(err)
	}
	at := func(node int, epoch kraft.Epoch, log *memlog.Log) *local {
		return &local{node: node, epoch: epoch, log: log, logID: x.internLog(log), voted: kraft.NoReplica}
	}
	known := x.compare(0, at(0, 2, logOf(t, 2, 1, 2))).commit // 0@1 and 1@2 are committed in epoch 2
	snapshot := func(id kraft.SnapshotID) *memlog.Log {
		log := logOf(t, 2, 1, 2, 2)
		log.AddSnapshot(id, snapshotSize, kraft.SnapshotContents{})
		return log
	}
	observed := func(told kraft.Epoch, a kraft.Action) *safety.Violation {
		l := at(0, 1, logOf(t, 2, 1, 1, 1))
		l.told, l.voted = told, kraft.ReplicaKey{ID: 2}
		return l.observe(a, nil)
	}
	vote := func(epoch kraft.Epoch, id kraft.NodeID) kraft.Action {
		return &kraft.SendVoteRequest{Epoch: epoch, Candidate: kraft.ReplicaKey{ID: id}}
	}
	for _, tt := range []struct {
		name string
		got  *safety.Violation
		want safety.Invariant
		fine bool
	}{
		{"the same is committed", x.compare(known, at(1, 2, logOf(t, 1, 1, 1))).broken, 0, true},
		{"something else is committed", x.compare(known, at(1, 2, logOf(t, 2, 1, 1))).broken, safety.StateMachineSafety, false},
		{"a leader with everything", x.complete(known, at(1, 3, logOf(t, 0, 1, 2, 3))), 0, true},
		{"a leader without a committed record", x.complete(known, at(1, 3, logOf(t, 0, 1, 1, 3))), safety.LeaderCompleteness, false},
		{"a leader without what was committed after it", x.complete(known, at(1, 2, logOf(t, 0, 1, 1))), 0, true},
		{"a snapshot of what is committed", x.compare(known, at(1, 2, snapshot(kraft.SnapshotID{Offset: 2, Epoch: 2}))).broken, 0, true},
		{"a snapshot of something else", x.compare(known, at(1, 2, snapshot(kraft.SnapshotID{Offset: 2, Epoch: 1}))).broken, safety.SnapshotIsPrefix, false},
		{"a snapshot beyond it", x.compare(known, at(1, 2, snapshot(kraft.SnapshotID{Offset: 3, Epoch: 2}))).broken, safety.SnapshotIsPrefix, false},
		{"logs that fork", x.match(at(0, 1, logOf(t, 0, 1, 2)), at(1, 1, logOf(t, 0, 1, 3))), 0, true},
		{"logs that fork and meet again", x.match(at(0, 1, logOf(t, 0, 1, 2, 3)), at(1, 1, logOf(t, 0, 1, 1, 3))), safety.LogMatching, false},
		{"a vote given again", observed(3, vote(3, 2)), 0, true},
		{"a second vote", observed(3, vote(3, 1)), safety.OneVote, false},
		{"a vote in the next epoch", observed(3, vote(4, 1)), 0, true},
		{"a vote in an older epoch", observed(3, vote(2, 2)), safety.MonotoneEpoch, false},
		{"an epoch that falls", observed(3, &kraft.PersistQuorumState{State: kraft.QuorumState{Epoch: 2}}), safety.MonotoneEpoch, false},
		{"a truncation to the watermark", observed(3, &kraft.TruncateTo{Offset: 2}), 0, true},
		{"a truncation below it", observed(3, &kraft.TruncateTo{Offset: 1}), safety.TruncationBound, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			switch {
			case tt.fine && tt.got != nil:
				t.Error(tt.got)
			case !tt.fine && (tt.got == nil || tt.got.Invariant != tt.want):
				t.Errorf("%v, want %v", tt.got, tt.want)
			}
		})
	}
}

package memlog

import (
	"fmt"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func batch(base, last kraft.Offset, epoch kraft.Epoch) kraft.Batch {
	return kraft.Batch{Base: base, Last: last, Epoch: epoch, Size: 10}
}

func filled(t *testing.T) *Log {
	t.Helper()
	l := New()
	if err := l.Append(batch(0, 0, 1), batch(1, 5, 1), batch(6, 6, 2)); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLog_CrashLosesWhatWasNotFlushed(t *testing.T) {
	l := filled(t)
	l.Flush()
	l.AssignEpoch(3)
	if err := l.Append(batch(7, 9, 3)); err != nil {
		t.Fatal(err)
	}
	l.AdvanceHighWatermark(8)
	l.Crash(false)
	if last, _ := l.LastEpoch(); l.End != 7 || last != 2 || l.HighWatermark != 0 || l.Flushed() != 7 {
		t.Errorf("%v", l)
	}
}

func TestLog_CrashMayFindWhatWasNotFlushed(t *testing.T) {
	l := filled(t)
	l.Crash(true)
	if l.End != 7 || l.Flushed() != 7 {
		t.Errorf("%v", l)
	}
}

func TestLog_TruncatesInsideABatch(t *testing.T) {
	l := filled(t)
	l.Flush()
	l.TruncateTo(3)
	if l.End != 3 || len(l.batches) != 1 || l.Flushed() != 3 {
		t.Errorf("%v with %v", l, l.batches)
	}
	if err := l.Append(batch(2, 4, 3)); err == nil {
		t.Error("a batch that begins before the end is appended")
	}
	if err := l.Append(batch(3, 4, 3)); err != nil {
		t.Error(err)
	}
	if got := l.Base(2); got != 3 {
		t.Errorf("the batch at or behind the gap begins at %d", got)
	}
}

func TestLog_ReadsAtLeastOneBatch(t *testing.T) {
	l := filled(t)
	tests := []struct {
		from, upTo kraft.Offset
		bytes      int32
		want       int
	}{{0, 7, 100, 3}, {0, 7, 1, 1}, {0, 7, 20, 2}, {3, 7, 100, 2}, {0, 1, 100, 1}, {7, 7, 100, 0}}
	for _, tt := range tests {
		if got := l.Batches(tt.from, tt.upTo, tt.bytes); len(got) != tt.want {
			t.Errorf("[%d,%d) in %d bytes: %v", tt.from, tt.upTo, tt.bytes, got)
		}
	}
	for offset, want := range map[kraft.Offset]kraft.Offset{0: 0, 3: 1, 6: 6, 7: 7} {
		if got := l.Base(offset); got != want {
			t.Errorf("base of %d is %d, want %d", offset, got, want)
		}
	}
}

func TestLog_HistoryIsSnapshotThenLog(t *testing.T) {
	l := filled(t)
	voters := kraft.NewVoterSet(kraft.Voter{Key: kraft.ReplicaKey{ID: 1}})
	b := batch(7, 8, 2)
	b.Control = []kraft.ControlRecord{{Type: kraft.LeaderChangeRecord}, {Type: kraft.VotersRecord, Voters: voters}}
	if err := l.Append(b); err != nil {
		t.Fatal(err)
	}
	l.AdvanceHighWatermark(9)
	l.AddSnapshot(kraft.SnapshotID{Offset: 6, Epoch: 1}, 100, kraft.SnapshotContents{
		KRaftVersion: 1, HasKRaftVersion: true, Voters: voters, HasVoters: true,
	})
	if !l.MoveStart(kraft.SnapshotID{Offset: 6, Epoch: 1}) || l.MoveStart(kraft.SnapshotID{Offset: 6, Epoch: 1}) {
		t.Fatal("the start does not move once")
	}
	var offsets []kraft.Offset
	for _, h := range l.History() {
		offsets = append(offsets, h.Offset)
	}
	if want := []kraft.Offset{5, 5, 7, 8}; len(offsets) != len(want) || offsets[0] != 5 || offsets[3] != 8 {
		t.Errorf("history at %v, want %v", offsets, want)
	}
	if _, ok := l.Contents(kraft.SnapshotID{Offset: 9}); ok {
		t.Error("an unknown snapshot has contents")
	}
}

func TestExecute_SnapshotPieces(t *testing.T) {
	l := filled(t)
	id := kraft.SnapshotID{Offset: 20, Epoch: 2}
	ev := &kraft.ReceiveFetchSnapshotResponse{}
	steps := []struct {
		action kraft.Action
		event  kraft.Event
		fails  bool
	}{
		{&kraft.BeginSnapshotFetch{ID: id}, nil, false},
		{&kraft.AppendSnapshot{ID: id, Position: 3, Bytes: 5}, ev, true},
		{&kraft.AppendSnapshot{ID: id, Bytes: 5}, ev, false},
		{&kraft.InstallSnapshot{ID: id, Size: 9}, ev, true},
		{&kraft.AbandonSnapshotFetch{ID: id}, nil, false},
		{&kraft.AppendSnapshot{ID: id, Position: 5, Bytes: 4}, ev, true},
		{&kraft.BeginSnapshotFetch{ID: id}, nil, false},
		{&kraft.AppendSnapshot{ID: id, Bytes: 9}, ev, false},
		{&kraft.InstallSnapshot{ID: id, Size: 9}, &kraft.RoleAction{}, true},
		{&kraft.InstallSnapshot{ID: id, Size: 9}, ev, false},
	}
	for i, step := range steps {
		done, err := l.Execute(step.action, step.event)
		if !done || (err != nil) != step.fails {
			t.Errorf("step %d, %v: %t %v", i, step.action, done, err)
		}
	}
	if l.Start != 20 || l.End != 20 || l.Flushed() != 20 {
		t.Errorf("%v", l)
	}
	if err := l.Append(batch(20, 29, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Execute(&kraft.InstallSnapshot{ID: kraft.SnapshotID{Offset: 25, Epoch: 2}}, ev); err == nil {
		t.Error("a snapshot that does not lie beyond the log is installed")
	}
}

func TestExecute_OnlyActionsOfTheLog(t *testing.T) {
	l := New()
	if done, _ := l.Execute(&kraft.Fatal{}, nil); done {
		t.Error("Fatal is no action of the log")
	}
	for _, a := range []kraft.Action{
		&kraft.AppendLeaderChange{Batch: batch(0, 0, 1)}, &kraft.AppendControl{Batch: batch(1, 1, 1)},
		&kraft.AppendRecords{Batch: batch(2, 3, 1)}, &kraft.AssignEpoch{Epoch: 2, Start: 4}, &kraft.FlushLog{},
		&kraft.AdvanceHighWatermark{Offset: 4}, &kraft.TruncateTo{Offset: 4},
	} {
		if done, err := l.Execute(a, nil); !done || err != nil {
			t.Errorf("%v: %t %v", a, done, err)
		}
	}
	if done, err := l.Execute(&kraft.AppendFetched{Take: 1}, &kraft.RoleAction{}); !done || err == nil {
		t.Error("batches without a Fetch response")
	}
	ev := &kraft.ReceiveFetchResponse{Batches: []kraft.Batch{batch(4, 6, 2)}}
	if _, err := l.Execute(&kraft.AppendFetched{Take: 1}, ev); err != nil || l.View().End != 7 {
		t.Errorf("%v %v", l, err)
	}
}

// A truncation inside a batch leaves a gap before the log end, which no disk knows of.
func TestLog_CrashForgetsTheGapOfATruncation(t *testing.T) {
	l := filled(t)
	l.TruncateTo(3)
	l.Flush()
	l.Crash(false)
	if l.End != 1 || l.Flushed() != 1 {
		t.Errorf("%v", l)
	}
	l.TruncateTo(0)
	l.Crash(true)
	if l.End != 0 {
		t.Errorf("an empty log: %v", l)
	}
}

// Kafka recovers by reading every batch: of two epochs in the wrong order the newer one is found again (LogSegment.recover).
func TestLog_CrashFindsTheNewerEpochBeforeAnOlderOne(t *testing.T) {
	l := New()
	if err := l.Append(batch(0, 1, 7), batch(2, 3, 6)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(l.Epochs); got != "[6@2]" {
		t.Errorf("after the append %s", got)
	}
	l.Crash(true)
	if got := fmt.Sprint(l.Epochs); got != "[7@0]" {
		t.Errorf("after the crash %s", got)
	}
}

package kraft

import "testing"

func TestLogView_Validate(t *testing.T) {
	// epochs 1 from 0, 3 from 10, 4 from 20; the log begins at 10 with the snapshot 10@1, a later one is 15@3
	l := LogView{
		Start: 10, End: 25, HighWatermark: 20, Epochs: EpochCache{{1, 10}, {3, 12}, {4, 20}},
		Snapshots: []Snapshot{{ID: SnapshotID{10, 1}}, {ID: SnapshotID{15, 3}}},
	}
	whole := LogView{End: 25, Epochs: EpochCache{{1, 0}, {3, 12}, {4, 20}}}
	tests := []struct {
		name   string
		log    *LogView
		offset Offset
		epoch  Epoch
		want   Position
		at     OffsetAndEpoch
	}{
		{"the beginning of a whole log, whatever the epoch", &whole, 0, 9, ValidPosition, OffsetAndEpoch{}},
		{"before the log", &l, 9, 3, SnapshotPosition, OffsetAndEpoch{15, 3}},
		{"at its start with another epoch", &l, 10, 3, SnapshotPosition, OffsetAndEpoch{15, 3}},
		{"at its start with the epoch of the snapshot", &l, 10, 1, ValidPosition, OffsetAndEpoch{10, 1}},
		{"an epoch before the oldest snapshot", &l, 12, 0, SnapshotPosition, OffsetAndEpoch{15, 3}},
		{"inside", &l, 15, 3, ValidPosition, OffsetAndEpoch{15, 3}},
		{"beyond its epoch", &l, 21, 3, DivergingPosition, OffsetAndEpoch{20, 3}},
		{"an epoch that is not there", &l, 15, 2, DivergingPosition, OffsetAndEpoch{12, 1}},
		{"beyond the end", &l, 26, 4, DivergingPosition, OffsetAndEpoch{25, 4}},
		{"an epoch that is newer than all", &l, 25, 7, DivergingPosition, OffsetAndEpoch{25, 4}},
		{"the end", &l, 25, 4, ValidPosition, OffsetAndEpoch{25, 4}},
		{"an epoch before all of a whole log", &whole, 5, 0, DivergingPosition, OffsetAndEpoch{0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, at := tt.log.Validate(tt.offset, tt.epoch); got != tt.want || at != tt.at {
				t.Errorf("got %d %v, want %d %v", got, at, tt.want, tt.at)
			}
		})
	}
}

// The end of the oldest snapshot stands for the epoch that was asked for.
func TestLogView_EndOffsetForEpochOfTheOldestSnapshot(t *testing.T) {
	l := LogView{Start: 10, End: 12, Epochs: EpochCache{{3, 10}}, Snapshots: []Snapshot{{ID: SnapshotID{10, 2}}}}
	if got := l.EndOffsetForEpoch(2); got != (OffsetAndEpoch{10, 2}) {
		t.Errorf("got %v", got)
	}
	if got := l.EndOffsetForEpoch(1); got != (OffsetAndEpoch{10, 2}) {
		t.Errorf("an epoch that it covers: %v", got)
	}
}

func TestLogView_LastEpoch(t *testing.T) {
	tests := []struct {
		name string
		log  LogView
		want Epoch
		ok   bool
	}{
		{"empty", LogView{}, 0, true},
		{"of the cache", LogView{End: 3, Epochs: EpochCache{{2, 0}}}, 2, true},
		{"of the snapshot", LogView{Start: 5, End: 5, Snapshots: []Snapshot{{ID: SnapshotID{5, 3}}}}, 3, true},
		{"of a snapshot elsewhere", LogView{Start: 5, End: 6, Snapshots: []Snapshot{{ID: SnapshotID{5, 3}}}}, 3, false},
	}
	for _, tt := range tests {
		if got, ok := tt.log.LastEpoch(); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %d %t", tt.name, got, ok)
		}
	}
}

func TestLogView_TruncationPoint(t *testing.T) {
	l := LogView{End: 25, Epochs: EpochCache{{1, 0}, {3, 12}, {4, 20}}}
	tests := []struct {
		diverging OffsetAndEpoch
		want      Offset
	}{
		{OffsetAndEpoch{7, 0}, 7},
		{OffsetAndEpoch{99, 0}, 25},
		{OffsetAndEpoch{15, 3}, 15},
		{OffsetAndEpoch{23, 3}, 20},
		{OffsetAndEpoch{14, 2}, 12},
		{OffsetAndEpoch{30, 9}, 25},
	}
	for _, tt := range tests {
		if got := l.TruncationPoint(tt.diverging); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.diverging, got, tt.want)
		}
	}
}

// At the end no record goes, but an epoch that was only assigned does.
func TestLogView_TruncateToTheEndTrimsTheEpochs(t *testing.T) {
	l := LogView{End: 5, Epochs: EpochCache{{1, 0}}}
	l.AssignEpoch(2)
	if got, _ := l.LastEpoch(); got != 2 {
		t.Fatalf("last epoch %d", got)
	}
	l.TruncateTo(5)
	if got, _ := l.LastEpoch(); got != 1 || l.End != 5 {
		t.Errorf("last epoch %d, end %d", got, l.End)
	}
}

func TestLogView_MoveStart(t *testing.T) {
	l := LogView{End: 20, HighWatermark: 15, Epochs: EpochCache{{1, 0}, {2, 8}}}
	for _, id := range []SnapshotID{{5, 1}, {10, 2}, {18, 2}} {
		l.AddSnapshot(Snapshot{ID: id})
		l.AddSnapshot(Snapshot{ID: id})
	}
	for _, tt := range []struct {
		id   SnapshotID
		want bool
	}{{SnapshotID{6, 1}, false}, {SnapshotID{18, 2}, false}, {SnapshotID{10, 2}, true}, {SnapshotID{5, 1}, false}} {
		if got := l.MoveStart(tt.id); got != tt.want {
			t.Errorf("to %v: %t", tt.id, got)
		}
	}
	if l.Start != 10 || len(l.Snapshots) != 2 || len(l.Epochs) != 1 || l.Epochs[0] != (EpochStart{2, 10}) {
		t.Errorf("%v", &l)
	}
}

func TestLogView_TruncateToLatestSnapshot(t *testing.T) {
	l := LogView{End: 20, Epochs: EpochCache{{1, 0}, {2, 8}}}
	if l.TruncateToLatestSnapshot() {
		t.Error("without a snapshot")
	}
	l.AddSnapshot(Snapshot{ID: SnapshotID{20, 2}})
	if l.TruncateToLatestSnapshot() {
		t.Error("that does not reach beyond the end")
	}
	l.AddSnapshot(Snapshot{ID: SnapshotID{10, 3}})
	if !l.TruncateToLatestSnapshot() || l.Start != 10 || l.End != 10 || l.HighWatermark != 10 || len(l.Snapshots) != 1 {
		t.Errorf("%v", &l)
	}
}

func TestLogView_HighWatermarkIsClamped(t *testing.T) {
	l := LogView{Start: 5, End: 9}
	for offset, want := range map[Offset]Offset{3: 5, 7: 7, 12: 9} {
		if l.AdvanceHighWatermark(offset); l.HighWatermark != want {
			t.Errorf("%d becomes %d", offset, l.HighWatermark)
		}
	}
}

func TestLogView_BaseOfBatchesAppendedInTheEvent(t *testing.T) {
	l := LogView{End: 9, BatchBase: func(Offset) Offset { return 2 }, appended: []Offset{5, 7}}
	for offset, want := range map[Offset]Offset{3: 2, 5: 5, 6: 5, 8: 7, 9: 9, 12: 12} {
		if got := l.Base(offset); got != want {
			t.Errorf("base of %d is %d, want %d", offset, got, want)
		}
	}
	l = LogView{End: 9}
	if got := l.Base(4); got != 4 {
		t.Errorf("batches of one record: %d", got)
	}
}

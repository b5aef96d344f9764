package storage_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

func TestLog_CrashLosesWhatWasNotFlushed(t *testing.T) {
	fsys := memory()
	l := filled(t, fsys, storage.Options{})
	must(t, l.AssignEpoch(4), l.Append(data(10, 3, 4, 10)))
	l.AdvanceHighWatermark(9)
	l = open(t, fsys.Crash(nil), storage.Options{})
	if last, _ := l.LastEpoch(); l.End != 10 || last != 3 || l.HighWatermark != 0 || l.Flushed() != 10 {
		t.Errorf("%v", l.View())
	}
}

func TestLog_TruncatesInsideABatch(t *testing.T) {
	for _, segment := range []int64{0, 1} {
		fsys := memory()
		l := filled(t, fsys, storage.Options{SegmentBytes: segment})
		must(t, l.TruncateTo(3))
		if l.End != 3 || l.Flushed() != 3 {
			t.Errorf("%v", l.View())
		}
		if err := l.Append(data(2, 2, 3, 0)); err == nil || l.Err() != nil {
			t.Error("a batch that begins before the end is appended, or ends the log")
		}
		must(t, l.Append(data(3, 2, 5, 0)))
		if got := l.Base(2); got != 3 {
			t.Errorf("the batch at or behind the gap begins at %d", got)
		}
		must(t, l.Flush())
		want := l.View().String()
		if got := open(t, fsys.Crash(nil), storage.Options{}).View().String(); got != want {
			t.Errorf("reopened %s, want %s", got, want)
		}
	}
}

// A truncation inside a batch leaves a gap before the log end, which no disk knows of.
func TestLog_RestartForgetsTheGapOfATruncation(t *testing.T) {
	fsys := memory()
	l := filled(t, fsys, storage.Options{})
	must(t, l.TruncateTo(3), l.Close())
	if l := open(t, fsys, storage.Options{}); l.End != 1 {
		t.Errorf("%v", l.View())
	}
}

func TestLog_ReadsAtLeastOneBatchAndCutsTheLast(t *testing.T) {
	for _, segment := range []int64{0, 1} {
		l := filled(t, memory(), storage.Options{SegmentBytes: segment})
		all, err := l.Read(nil, 0, 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		b0, b1 := data(0, 1, 1, 10), data(1, 5, 1, 10)
		want := append(append(append(bytes.Clone(b0), b1...), voters(t, 6, 2, 3)...), data(8, 2, 3, 10)...)
		if !bytes.Equal(all, want) {
			t.Fatalf("%d bytes, want the %d that were appended", len(all), len(want))
		}
		for _, tt := range []struct {
			name       string
			from, upTo kraft.Offset
			max        int32
			want       []byte
		}{
			{"first whole", 0, 10, 1, b0},
			{"last cut", 0, 10, int32(len(b0)) + 9, want[:len(b0)+9]},
			{"from inside a batch", 3, 6, 1 << 20, b1},
			{"up to inside a batch", 0, 2, 1 << 20, want[:len(b0)+len(b1)]},
			{"up to a batch's begin", 0, 1, 1 << 20, b0},
			{"nothing", 5, 5, 100, nil},
			{"at the end", 10, 11, 100, nil},
		} {
			got, err := l.Read(nil, tt.from, tt.upTo, tt.max)
			if err != nil || !bytes.Equal(got, tt.want) {
				t.Errorf("%s, segments of %d: %d bytes, want %d, %v", tt.name, segment, len(got), len(tt.want), err)
			}
		}
	}
}

func TestLog_BaseFindsTheBatch(t *testing.T) {
	for _, segment := range []int64{0, 1, 300} {
		l := filled(t, memory(), storage.Options{SegmentBytes: segment})
		for offset, want := range map[kraft.Offset]kraft.Offset{0: 0, 1: 1, 3: 1, 6: 6, 7: 6, 8: 8, 9: 8, 10: 10} {
			if got := l.Base(offset); got != want {
				t.Errorf("segments of %d: base of %d is %d, want %d", segment, offset, got, want)
			}
		}
	}
}

func TestLog_RollsBySizeAndByTime(t *testing.T) {
	l := filled(t, memory(), storage.Options{SegmentBytes: 1})
	if got := l.SegmentBases(); len(got) != 4 || got[3] != 8 {
		t.Errorf("segments begin at %v", got)
	}
	l = filled(t, memory(), storage.Options{SegmentMs: 6}) // time stamps are 1000 + base offset
	if got := l.SegmentBases(); len(got) != 2 || got[1] != 8 {
		t.Errorf("segments begin at %v", got)
	}
}

func TestLog_HistoryIsSnapshotThenLog(t *testing.T) {
	fsys := memory()
	l := filled(t, fsys, storage.Options{SegmentBytes: 1})
	l.AdvanceHighWatermark(10)
	offsets := func(l *storage.Log) (list []kraft.Offset) {
		t.Helper()
		h, err := l.History()
		must(t, err)
		for _, e := range h {
			list = append(list, e.Offset)
		}
		return list
	}
	if got := offsets(l); len(got) != 2 || got[0] != 6 || got[1] != 7 {
		t.Errorf("history at %v", got)
	}
	snapshot(t, l, kraft.SnapshotID{Offset: 6, Epoch: 1})
	if moved, err := l.MoveStart(kraft.SnapshotID{Offset: 6, Epoch: 1}); !moved || err != nil {
		t.Fatal(moved, err)
	}
	for range 2 {
		if got := offsets(l); len(got) != 3 || got[0] != 5 || got[1] != 6 || got[2] != 7 {
			t.Errorf("history at %v", got)
		}
		must(t, l.Close())
		l = open(t, fsys, storage.Options{})
	}
	must(t, l.TruncateTo(7)) // within the batch, which goes as a whole
	if got := offsets(l); len(got) != 1 {
		t.Errorf("after the truncation: %v", got)
	}
}

func TestLog_MovedStartIsKnownAfterARestart(t *testing.T) {
	for _, offset := range []kraft.Offset{8, 10} {
		fsys := memory()
		l := filled(t, fsys, storage.Options{SegmentBytes: 1})
		l.AdvanceHighWatermark(10)
		snapshot(t, l, kraft.SnapshotID{Offset: 1, Epoch: 1})
		snapshot(t, l, kraft.SnapshotID{Offset: offset, Epoch: map[kraft.Offset]kraft.Epoch{8: 2, 10: 3}[offset]})
		if moved, err := l.MoveStart(l.Snapshots[1].ID); !moved || err != nil {
			t.Fatal(moved, err)
		}
		l = open(t, fsys.Crash(nil), storage.Options{})
		if l.Start != offset || l.End != 10 || len(l.Snapshots) != 1 {
			t.Errorf("%v", l.View())
		}
	}
}

func TestLog_FailedWriteOrSyncEndsIt(t *testing.T) {
	boom := errors.New("no more")
	for _, kind := range []string{"write", "sync"} {
		fsys := memory()
		l := filled(t, fsys, storage.Options{})
		failing(fsys, kind, ".log", boom)
		err := errors.Join(l.Append(data(10, 1, 3, 0)), l.Flush())
		fsys.Before = nil
		if !errors.Is(err, boom) || !bytes.Contains([]byte(err.Error()), []byte("00000000000000000000.log")) {
			t.Errorf("%s: %v", kind, err)
		}
		for what, err := range map[string]error{
			"append": l.Append(data(10, 1, 3, 0)), "flush": l.Flush(), "truncate": l.TruncateTo(1), "epoch": l.AssignEpoch(9),
			"persist": l.Persist(kraft.QuorumState{Epoch: 9}, 0, kraft.VoterSet{}), "close": l.Close(),
		} {
			if !errors.Is(err, boom) {
				t.Errorf("%s after a failed %s: %v", what, kind, err)
			}
		}
	}
}

func TestLog_CleansByAgeAndBySize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  storage.Options
		now   int64
		start kraft.Offset
	}{
		{"young and small", storage.Options{}, 2000, 0},
		{"old", storage.Options{RetentionMs: 100}, 2000, 8},
		{"large", storage.Options{RetentionBytes: 10, RetentionMs: -1}, 2000, 8},
		{"large enough after one", storage.Options{RetentionBytes: 1240, RetentionMs: -1}, 2000, 6},
		{"without limits", storage.Options{RetentionBytes: -1, RetentionMs: -1}, 1 << 50, 0},
	} {
		tt.opts.SegmentBytes = 1
		l := filled(t, memory(), tt.opts)
		l.AdvanceHighWatermark(10)
		for _, id := range []kraft.SnapshotID{{Offset: 1, Epoch: 1}, {Offset: 6, Epoch: 1}, {Offset: 8, Epoch: 2}} {
			snapshot(t, l, id)
		}
		cleaned, err := l.Clean(tt.now)
		if err != nil || l.Start != tt.start || cleaned != (tt.start > 0) {
			t.Errorf("%s: %t %v, %v (%d bytes)", tt.name, cleaned, err, l.View(), l.Size())
		}
	}
}

func TestLog_ContentsOfASnapshotInTransfer(t *testing.T) {
	l := filled(t, memory(), storage.Options{})
	id := kraft.SnapshotID{Offset: 30, Epoch: 5}
	b := voters(t, 0, 5, 3)
	for cut := range len(b) {
		_, err := l.Execute(&kraft.BeginSnapshotFetch{ID: id}, nil)
		must(t, err)
		_, err = l.Execute(&kraft.AppendSnapshot{ID: id, Bytes: int32(cut)}, &storage.Payload{Chunk: b[:cut]})
		must(t, err)
		if c, err := l.PartialContents(b[cut:]); err != nil || c.Voters.Len() != 3 || c.KRaftVersion != 1 {
			t.Fatalf("cut at %d: %+v %v", cut, c, err)
		}
	}
	if _, err := l.Execute(&kraft.AbandonSnapshotFetch{ID: id}, nil); err != nil {
		t.Error(err)
	}
	if _, err := l.PartialContents(nil); err == nil {
		t.Error("contents of nothing")
	}
}

func TestLog_AFetchedSnapshotThatMovesNoLogEndsTheProcess(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   kraft.SnapshotID
		make bool // a snapshot of that id is written here while it is fetched
	}{
		{"held by now", kraft.SnapshotID{Offset: 6, Epoch: 1}, true},
		{"behind the log", kraft.SnapshotID{Offset: 6, Epoch: 1}, false},
	} {
		l := filled(t, memory(), storage.Options{})
		l.AdvanceHighWatermark(10)
		b := snapshotBytes(tt.id)
		_, err := l.Execute(&kraft.BeginSnapshotFetch{ID: tt.id}, nil)
		must(t, err)
		_, err = l.Execute(&kraft.AppendSnapshot{ID: tt.id, Bytes: int32(len(b))}, &storage.Payload{Chunk: b})
		must(t, err)
		if tt.make {
			snapshot(t, l, tt.id)
		}
		if _, err = l.Execute(&kraft.InstallSnapshot{ID: tt.id, Size: int64(len(b))}, nil); !errors.Is(err, storage.ErrLogAhead) {
			t.Errorf("%s: %v, want %v", tt.name, err, storage.ErrLogAhead)
		}
	}
}

package storage_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
)

const firstLog = logDir + "/00000000000000000000.log"

// failing lets all operations of a kind on files with the suffix fail.
func failing(fsys *memfs.FS, kind, suffix string, err error) {
	fsys.Before = func(op memfs.Op) (int, error) {
		if op.Kind == kind && strings.HasSuffix(op.Name, suffix) {
			return op.Size / 2, err
		}
		return 0, nil
	}
}

// flip changes one byte of a file.
func flip(fsys *memfs.FS, name string, at int) {
	b := fsys.Files()[name]
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x40
	fsys.Put(name, b)
}

func TestOpen_RepairsTheTail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*memfs.FS)
		end    kraft.Offset
	}{
		{"cut within the last batch", func(f *memfs.FS) { b := f.Files()[firstLog]; f.Put(firstLog, b[:len(b)-3]) }, 8},
		{"cut within its header", func(f *memfs.FS) { b := f.Files()[firstLog]; f.Put(firstLog, b[:len(b)-len(data(8, 2, 3, 10))+7]) }, 8},
		{"a changed byte", func(f *memfs.FS) { flip(f, firstLog, -1) }, 8},
		{"zeros behind", func(f *memfs.FS) { f.Put(firstLog, append(f.Files()[firstLog], make([]byte, 5000)...)) }, 10},
		{"a length beyond the file", func(f *memfs.FS) {
			f.Put(firstLog, append(f.Files()[firstLog], 0, 0, 0, 0, 0, 0, 0, 10, 0x7f, 0xff, 0xff, 0xff))
		}, 10},
		{"no index", func(f *memfs.FS) { must(t, f.Remove(logDir+"/00000000000000000000.index")) }, 10},
		{"an index of garbage", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000000.index", []byte("garbage!")) }, 10},
		{"no epochs", func(f *memfs.FS) { must(t, f.Remove(logDir+"/leader-epoch-checkpoint")) }, 10},
		{"epochs of garbage", func(f *memfs.FS) { f.Put(logDir+"/leader-epoch-checkpoint", []byte("0\n7\n")) }, 10},
		{"an index without log", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000077.index", nil) }, 10},
		{"a snapshot in transfer", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000007-0000000001-1.checkpoint.part", []byte("x")) }, 10},
		{"a deleted snapshot", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000007-0000000001.checkpoint.deleted", []byte("x")) }, 10},
		{"a temporary file", func(f *memfs.FS) { f.Put(logDir+"/quorum-state.tmp", []byte("x")) }, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := memory()
			must(t, filled(t, fsys, storage.Options{}).Close())
			must(t, fsys.Remove(path.Join(logDir, storage.MarkFile)))
			tt.damage(fsys)
			l := open(t, fsys, storage.Options{})
			if l.End != tt.end {
				t.Errorf("%v, want an end of %d", l.View(), tt.end)
			}
			if want := "[1@0 2@6 3@8]"; tt.end == 10 && !strings.Contains(l.String(), want) {
				t.Errorf("%v, want epochs %s", l.View(), want)
			}
			must(t, l.Append(data(l.End, 1, 3, 0)), l.Close())
			for name := range fsys.Files() {
				if strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".deleted") || strings.HasSuffix(name, ".tmp") || strings.Contains(name, "77.index") {
					t.Errorf("%s is left", name)
				}
			}
			if l := open(t, fsys, storage.Options{}); l.End != tt.end+1 {
				t.Errorf("again: %v", l.View())
			}
		})
	}
}

// What must not be repaired is an error that says what to do, and leaves every byte as it was.
func TestOpen_RefusesWithoutDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*memfs.FS)
		kind   error
		says   []string
	}{
		{
			"damage before the last segment", func(f *memfs.FS) { flip(f, logDir+"/00000000000000000001.log", 80) }, storage.ErrCorrupt,
			[]string{"00000000000000000001.log", "at byte 0", "cut the log to offset 1"},
		},
		{"no snapshot before the start", func(f *memfs.FS) { must(t, f.Remove(firstLog)) }, storage.ErrCorrupt, []string{"begins at offset 1", "restore the snapshot"}},
		{"an empty snapshot", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000006-0000000001.checkpoint", nil) }, storage.ErrCorrupt, []string{"empty snapshot"}},
		{"segments that overlap", func(f *memfs.FS) { f.Put(logDir+"/00000000000000000003.log", data(3, 1, 1, 0)) }, storage.ErrCorrupt, []string{"00000000000000000003.log", "reaches up to 6"}},
		{"a newer quorum-state", func(f *memfs.FS) { f.Put(logDir+"/quorum-state", []byte(`{"data_version":2}`)) }, storage.ErrVersion, []string{"quorum-state", "data_version 2"}},
		{"a quorum-state of garbage", func(f *memfs.FS) { f.Put(logDir+"/quorum-state", []byte(`{"leaderId":1`)) }, storage.ErrCorrupt, []string{"quorum-state", "vote twice"}},
		{"another topic", func(f *memfs.FS) {
			f.Put(logDir+"/partition.metadata", []byte("version: 0\ntopic_id: Ed0_z6eWSMito5mSxIgznw"))
		}, storage.ErrIdentity, []string{"another topic"}},
		{"newer state", func(f *memfs.FS) {
			f.Put(logDir+"/quorum-state", []byte(`{"leaderId":1,"leaderEpoch":5,"votedId":-1,"data_version":7}`))
		}, storage.ErrVersion, []string{"quorum-state", "7", "use a release that knows this version"}},
		{"newer epochs", func(f *memfs.FS) { f.Put(logDir+"/leader-epoch-checkpoint", []byte("1\n0\n")) }, storage.ErrVersion, []string{"leader-epoch-checkpoint", `version "1"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := memory()
			must(t, filled(t, fsys, storage.Options{SegmentBytes: 1, Unmarked: true}).Close())
			tt.damage(fsys)
			before := fsys.Files()
			_, err := storage.Open(fsys, logDir, storage.Options{})
			if !errors.Is(err, tt.kind) {
				t.Fatalf("%v, want %v", err, tt.kind)
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			after := fsys.Files()
			for name, b := range before {
				if string(after[name]) != string(b) {
					t.Errorf("%s has changed", name)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%d files, before %d", len(after), len(before))
			}
		})
	}
}

func TestOpen_CutsDamagedSegmentsOnRequest(t *testing.T) {
	fsys := memory()
	must(t, filled(t, fsys, storage.Options{SegmentBytes: 1}).Close())
	flip(fsys, logDir+"/00000000000000000006.log", 80)
	l := open(t, fsys, storage.Options{CutDamaged: true})
	if l.End != 6 || len(l.Recovered) < 2 {
		t.Errorf("%v %q", l.View(), l.Recovered)
	}
	must(t, l.Append(data(6, 1, 4, 0)), l.Close())
	if l := open(t, fsys, storage.Options{}); l.End != 7 {
		t.Errorf("%v", l.View())
	}
}

func TestOpen_DiskFullAndReadOnlyAreClear(t *testing.T) {
	fsys := memory()
	l := filled(t, fsys, storage.Options{})
	fsys.Capacity = 1
	if err := l.Append(data(10, 1, 3, 5000)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), ".log") || !strings.Contains(err.Error(), "free space on this disk") {
		t.Errorf("%v", err)
	}
	fsys.Capacity = 0
	if l := open(t, fsys, storage.Options{}); l.End != 10 {
		t.Errorf("after a full disk: %v", l.View())
	}
	fsys.ReadOnly = true
	if _, err := storage.Open(memoryReadOnly(), logDir, storage.Options{}); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "mount the file system for writing") {
		t.Errorf("%v", err)
	}
}

// A disk that cannot be read must never look like a torn tail: whichever read fails, Open fails, and every byte stays as it was.
func TestOpen_AReadThatFailsIsNoDamage(t *testing.T) {
	for _, opts := range []storage.Options{{SegmentBytes: 1, Unmarked: true}, {SegmentBytes: 1}} { // scanned, marked
		for at := 0; ; at++ {
			fsys := memory()
			l := filled(t, fsys, opts)
			l.AdvanceHighWatermark(10)
			snapshot(t, l, kraft.SnapshotID{Offset: 8, Epoch: 2})
			must(t, l.Persist(kraft.QuorumState{Epoch: 3, Leader: 1, Voted: kraft.NoReplica}, 1, kraft.VoterSet{}), l.Close())
			fsys.Put(logDir+"/"+firstTail, data(10, 1, 3, 10)[:40]) // a tail that an Open which goes on would cut
			before, n, failed := fsys.Files(), 0, ""
			fsys.Read = func(name string, _ int64) error {
				if n++; n == at+1 {
					failed = name
					return syscall.EIO
				}
				return nil
			}
			_, err := storage.Open(fsys, logDir, opts)
			if failed == "" {
				if at < 5 || err != nil {
					t.Errorf("after %d reads: %v", at, err)
				}
				break
			}
			if strings.HasSuffix(failed, storage.MarkFile) {
				continue // then all is read
			}
			if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), path.Base(failed)) || !strings.Contains(err.Error(), "the disk fails") {
				t.Errorf("read %d, of %s: %v", at, failed, err)
			}
			for name, b := range fsys.Files() {
				if string(before[name]) != string(b) {
					t.Errorf("read %d, of %s: %s has changed", at, failed, name)
				}
			}
		}
	}
}

// firstTail is a segment behind those of filled.
const firstTail = "00000000000000000010.log"

// A log that cannot read says so and ends, as after a write that failed.
func TestLog_AReadThatFailsIsSaid(t *testing.T) {
	fsys := memory()
	l := filled(t, fsys, storage.Options{})
	fsys.Read = func(string, int64) error { return syscall.EIO }
	if _, err := l.Read(nil, 0, 10, 1<<20); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), ".log") {
		t.Errorf("%v", err)
	}
	fsys.Read = nil
	if err := l.Append(data(10, 1, 3, 10)); !errors.Is(err, syscall.EIO) {
		t.Errorf("it goes on: %v", err)
	}
	if l := open(t, fsys, storage.Options{}); l.End != 10 {
		t.Errorf("%v", l.View())
	}
}

func memoryReadOnly() *memfs.FS {
	fsys := memory()
	fsys.ReadOnly = true
	return fsys
}

// The mark of a clean shutdown must not hide what has been changed since.
func TestOpen_TrustsTheMarkOnlyWhileItHolds(t *testing.T) {
	fsys := memory()
	must(t, filled(t, fsys, storage.Options{SegmentBytes: 1}).Close())
	reads := open(t, fsys, storage.Options{})
	want := reads.View().String()
	history, err := reads.History()
	must(t, err, reads.Close())
	if len(history) != 2 {
		t.Errorf("history %v", history)
	}
	marked := open(t, fsys, storage.Options{})
	if got := marked.View().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for offset, base := range map[kraft.Offset]kraft.Offset{3: 1, 7: 6, 9: 8} {
		if got := marked.Base(offset); got != base {
			t.Errorf("base of %d is %d", offset, got)
		}
	}
	must(t, marked.Close())
	name := logDir + "/00000000000000000008.log"
	flip(fsys, name, 80) // the same size, another time
	if l := open(t, fsys, storage.Options{}); l.End != 8 {
		t.Errorf("a changed segment is taken: %v", l.View())
	}
}

// A leader that writes an older epoch behind a newer one is against the protocol; Kafka appends it all the same, and finds the newer epoch
// again when it recovers (LogSegment.recover), whether the end was clean or not.
func TestOpen_FindsTheNewerEpochBeforeAnOlderOne(t *testing.T) {
	for _, unmarked := range []bool{false, true} {
		fsys := memory()
		opts := storage.Options{Unmarked: unmarked}
		l := open(t, fsys, opts)
		must(t, l.Append(data(0, 2, 7, 10)), l.Append(data(2, 2, 6, 10)))
		if got := fmt.Sprint(l.Epochs); got != "[6@2]" {
			t.Errorf("after the append %s", got)
		}
		must(t, l.Close())
		for range 2 {
			l = open(t, fsys, opts)
			if got := fmt.Sprint(l.Epochs); got != "[7@0]" {
				t.Errorf("unmarked %t: opened with %s", unmarked, got)
			}
			must(t, l.Close())
		}
	}
}

// Kafka makes the file empty before it writes it for the first time, and reads it as no epochs.
func TestOpen_AnEmptyFileOfEpochsIsInOrder(t *testing.T) {
	fsys := memory()
	must(t, filled(t, fsys, storage.Options{Unmarked: true}).Close())
	fsys.Put(logDir+"/leader-epoch-checkpoint", nil)
	if l := open(t, fsys, storage.Options{}); len(l.Recovered) != 0 || len(l.Epochs) != 3 {
		t.Errorf("epochs %v, recovered %v", l.Epochs, l.Recovered)
	}
}

// sparse is a file of zeros behind a header.
type sparse struct{ head []byte }

func (s sparse) ReadAt(b []byte, at int64) (int, error) {
	if len(b) > 4<<20 {
		return 0, fmt.Errorf("a read of %d bytes", len(b))
	}
	clear(b)
	if at < int64(len(s.head)) {
		copy(b, s.head[at:])
	}
	return len(b), nil
}

// A length that no batch has must not cost that much memory, even where the file is long enough.
func TestScanner_TakesNoLengthThatNoBatchHas(t *testing.T) {
	head := data(0, 1, 1, 10)
	binary.BigEndian.PutUint32(head[8:], 1<<31-13)
	_, _, err := storage.NewScanner(sparse{head}, 0, 3<<30).Next()
	var damage *storage.Damage
	if !errors.As(err, &damage) || damage.Position != 0 || !strings.Contains(err.Error(), "2147483647 bytes, above the 134217728") {
		t.Error(err)
	}
}

package recordings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// smallDisk is a file on a disk that takes no more than room bytes in all.
type smallDisk struct {
	bytes  []byte
	room   int
	synced int
	closed bool
}

func (d *smallDisk) WriteAt(b []byte, offset int64) (int, error) {
	n := min(len(b), d.room-int(offset))
	d.bytes = append(d.bytes[:offset], b[:max(n, 0)]...)
	if n < len(b) {
		return max(n, 0), syscall.ENOSPC
	}
	return n, nil
}

func (d *smallDisk) Truncate(size int64) error { d.bytes = d.bytes[:size]; return nil }
func (d *smallDisk) Sync() error               { d.synced = len(d.bytes); return nil }
func (d *smallDisk) Close() error              { d.closed = true; return nil }

func writerOn(t *testing.T, f file, opts Options) *Writer {
	t.Helper()
	w, err := newWriter(&store{base: "disk", create: func(string) (file, error) { return f, nil }}, opts)
	if err != nil {
		t.Fatal(err)
	}
	w.store.index = nil
	return w
}

// TestWriter_FullDiskLosesCountedFrames fills a disk, frees it again and looks whether every frame that was given to
// the writer is in the recording or in a gap.
func TestWriter_FullDiskLosesCountedFrames(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprintf("background %v", background), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			disk := &smallDisk{room: 2500}
			t.Chdir(t.TempDir())
			w := writerOn(t, disk, Options{ChunkSize: 1500, Background: background})
			stories := []*story{newStory(1), newStory(2), newStory(3)}
			stories[2].votes(3).add(Observation{Kind: KindClose})
			given := map[uint64]int64{}
			put := func(list []Observation) (errs int) {
				for i := range list {
					err := w.Write(&list[i])
					if background {
						err = errors.Join(err, w.Flush())
					}
					if err != nil {
						errs++
						if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "disk-000001.pcapng.zst") {
							t.Fatalf("error does not name file and cause: %v", err)
						}
					}
					if list[i].Kind == KindFrame {
						given[list[i].Conn.ID]++
					}
				}
				return errs
			}
			put(stories[0].votes(10).list)
			failures := put(stories[1].votes(10 + rng.IntN(20)).list)
			failures += put(stories[2].list)
			if failures == 0 {
				t.Fatal("the disk never was full")
			}
			disk.room = 1 << 20
			for _, s := range stories[:2] {
				from := len(s.list)
				put(s.votes(5).list[from:])
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			checkNothingUnsaid(t, disk.bytes, given)
			if st := w.Stats(); st.Frames.Load() != st.Written.Load()+st.Lost.Load() || st.Lost.Load() == 0 {
				t.Errorf("frames %d, written %d, lost %d", st.Frames.Load(), st.Written.Load(), st.Lost.Load())
			}
		})
	}
}

// checkNothingUnsaid reads a recording and compares the frames in it and in its gaps with those given, by connection.
func checkNothingUnsaid(t *testing.T, recording []byte, given map[uint64]int64) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(recording), "disk")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Damage(); len(d) > 0 {
		t.Errorf("damage: %v", d)
	}
	got, open := map[uint64]int64{}, map[uint64]bool{}
	next := map[string]uint64{}
	gapped := map[string]bool{}
	for _, o := range list {
		direction := fmt.Sprint(o.Conn.ID, o.Dir)
		switch o.Kind {
		case KindOpen:
			open[o.Conn.ID] = true
		case KindFrame:
			if o.Seq != next[direction] && !gapped[direction] {
				t.Errorf("conn %d: %s %d follows %d without a gap", o.Conn.ID, o.Dir, o.Seq, next[direction])
			}
			next[direction], gapped[direction] = o.Seq+1, false
			got[o.Conn.ID]++
		case KindGap:
			gapped[direction] = true
			got[o.Conn.ID] += o.Gap.Frames
			if !strings.Contains(o.Gap.Reason, "no space left") && !strings.Contains(o.Gap.Reason, "keep up") {
				t.Errorf("gap does not say why: %q", o.Gap.Reason)
			}
		case KindClose:
			open[o.Conn.ID] = false
		}
	}
	for id, n := range given {
		if got[id] != n {
			t.Errorf("conn %d: %d frames given, %d in the recording and its gaps", id, n, got[id])
		}
	}
	if open[3] {
		t.Error("the close of conn 3 was lost without a word")
	}
}

func TestWriter_DevFull(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := newWriter(&store{base: tempBase(t), create: func(string) (file, error) {
		return os.OpenFile("/dev/full", os.O_WRONLY, 0)
	}}, Options{})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("create on a full disk: %v, %v", w, err)
	}
}

func TestWriter_BacklogIsBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	gate := make(chan struct{})
	disk := &gatedDisk{smallDisk: smallDisk{room: 1 << 30}, gate: gate}
	w := writerOn(t, disk, Options{Background: true, Backlog: 8000, ChunkSize: 2000})
	s := newStory(1).votes(500)
	refused := 0
	for i := range s.list {
		if err := w.Write(&s.list[i]); err != nil {
			refused++
			if !errors.Is(err, errBacklog) {
				t.Fatal(err)
			}
		}
	}
	if refused == 0 {
		t.Error("no chunk was given up")
	}
	if n := w.backlog.Load(); n > 8000+2*2000 {
		t.Errorf("%d bytes wait", n)
	}
	close(gate)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkNothingUnsaid(t, disk.bytes, map[uint64]int64{1: 1000})
}

// gatedDisk lets the header through and then waits.
type gatedDisk struct {
	smallDisk
	gate chan struct{}
}

func (d *gatedDisk) WriteAt(b []byte, offset int64) (int, error) {
	if offset > 0 {
		<-d.gate
	}
	return d.smallDisk.WriteAt(b, offset)
}

func TestWriter_SegmentsRotateBySizeAndAge(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts Options
	}{
		{"size", Options{ChunkSize: 800, SegmentSize: 1500}},
		{"age", Options{ChunkSize: 800, SegmentAge: 30 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := newStory(1).votes(50).list
			base := tempBase(t)
			w := writeAll(t, base, tt.opts, list)
			names := segmentsOf(base)
			if len(names) < 3 || int64(len(names)) != w.Stats().Segments.Load() {
				t.Fatalf("segments %v", names)
			}
			got, r := mustRead(t, base)
			if len(got) != len(list) || len(r.Damage()) != 0 {
				t.Errorf("%d observations of %d, damage %v", len(got), len(list), r.Damage())
			}
			number := uint64(0)
			for _, o := range got {
				if o.Number <= number {
					t.Fatalf("number %d follows %d", o.Number, number)
				}
				number = o.Number
			}
			// A segment alone opens its connections midway, and keeps its numbers.
			alone, r := mustRead(t, names[1])
			if alone[0].Kind != KindOpen || !alone[0].Conn.Midway || alone[1].Number != alone[0].Number || len(r.Damage()) != 0 {
				t.Errorf("second segment alone: %s, then %s, damage %v", brief(alone[0]), brief(alone[1]), r.Damage())
			}
			if i := len(got) - 1; alone[1].Number <= 2 || alone[1].Number > got[i].Number {
				t.Errorf("second segment begins with number %d", alone[1].Number)
			}
			if err := os.Remove(names[1]); err != nil {
				t.Fatal(err)
			}
			got, r = mustRead(t, base)
			if d := r.Damage(); len(d) != 1 || !errors.Is(d[0], ErrMissingSegment) || d[0].File != names[2] {
				t.Errorf("a missing segment: damage %v", d)
			}
			gaps := 0
			for _, o := range got {
				if o.Kind == KindGap {
					gaps++
				}
			}
			if gaps != 2 {
				t.Errorf("a missing segment: %d gaps, want one for each direction", gaps)
			}
		})
	}
}

func TestWriter_NeverOverwrites(t *testing.T) {
	base := tempBase(t)
	writeAll(t, base, Options{}, newStory(1).list)
	if _, err := Create(base, Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), base) {
		t.Errorf("second recording of the same name: %v", err)
	}
}

func TestWriter_ChunksAreWrittenWhenOld(t *testing.T) {
	t.Chdir(t.TempDir())
	disk := &smallDisk{room: 1 << 20}
	w := writerOn(t, disk, Options{ChunkAge: 10 * time.Millisecond})
	s := newStory(1).votes(2) // the observations are a millisecond apart
	for i := range s.list {
		if err := w.Write(&s.list[i]); err != nil {
			t.Fatal(err)
		}
	}
	header := len(disk.bytes)
	if err := w.Tick(s.list[0].At.Seen + 9_999_999); err != nil || len(disk.bytes) != header {
		t.Errorf("a young chunk was written, or %v", err)
	}
	if err := w.Tick(s.list[0].At.Seen + 10_000_000); err != nil || len(disk.bytes) == header {
		t.Errorf("an old chunk was not written, or %v", err)
	}
	s.at += int64(time.Second)
	before := len(disk.bytes)
	for i := range 2 {
		s.votes(1)
		if err := w.Write(&s.list[len(s.list)-1]); err != nil {
			t.Fatal(err)
		}
		s.at += int64(time.Second)
		if grown := len(disk.bytes) > before; grown != (i > 0) {
			t.Errorf("observation %d: written %v", i, grown)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWriter_DurabilityDecidesWhatIsOnTheDisk(t *testing.T) {
	for _, tt := range []struct {
		policy Durability
		synced func(disk *smallDisk, seconds int) bool
	}{
		{DurabilityNone, func(d *smallDisk, _ int) bool { return d.synced == 0 }},
		{DurabilityInterval, func(d *smallDisk, seconds int) bool { return (d.synced > 0) == (seconds >= 1) }},
		{DurabilityFrame, func(d *smallDisk, _ int) bool { return d.synced == len(d.bytes) && d.synced > 0 }},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			t.Chdir(t.TempDir())
			disk := &smallDisk{room: 1 << 20}
			w := writerOn(t, disk, Options{Durability: tt.policy, ChunkSize: 1})
			w.store.synced = newStory(1).at
			s := newStory(1).votes(3)
			for seconds, o := range s.list[:3] {
				o.At.Seen += int64(seconds) * int64(time.Second)
				if err := w.Write(&o); err != nil {
					t.Fatal(err)
				}
				if !tt.synced(disk, seconds) {
					t.Errorf("after %d s: %d of %d bytes on the disk", seconds, disk.synced, len(disk.bytes))
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if all := disk.synced == len(disk.bytes); all != (tt.policy != DurabilityNone) {
				t.Errorf("closed with %d of %d bytes on the disk", disk.synced, len(disk.bytes))
			}
		})
	}
}

func TestWriter_RefusesWhatIsNoObservation(t *testing.T) {
	w, err := NewWriter(new(bytes.Buffer), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Observation{
		{Kind: KindFrame},
		{Kind: KindGap, Conn: testConn(1)},
		{Kind: KindClose + 1, Conn: testConn(1)},
		{Kind: KindFrame, Conn: testConn(1), Dir: 2},
		{Kind: KindFrame, Conn: testConn(1), Frame: wire.Frame{Bytes: []byte{1}, Size: 2}},
	} {
		if err := w.Write(&o); !errors.Is(err, errNotObservation) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWriter_StreamEndsWithItsError(t *testing.T) {
	out := &smallPipe{room: 3000}
	w, err := NewWriter(out, Options{ChunkSize: 500})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, o := range newStory(1).votes(100).list {
		if err := w.Write(&o); err != nil {
			if failed++; !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
		}
	}
	if failed < 2 {
		t.Errorf("%d failures of a broken pipe", failed)
	}
	if err := w.Close(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("closed with %v", err)
	}
}

type smallPipe struct{ room int }

func (p *smallPipe) Write(b []byte) (int, error) {
	if p.room -= len(b); p.room < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

package recordings

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestFollow_ReadsWhileItIsWritten writes a recording in steps whenever its follower waits for more.
func TestFollow_ReadsWhileItIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts Options
	}{
		{"one segment", Options{ChunkSize: 700}},
		{"rotation", Options{ChunkSize: 700, SegmentSize: 1000}},
		{"every frame", Options{ChunkSize: 1, SegmentSize: 3000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := tempBase(t)
			list := newStory(1).votes(40).list
			var w *Writer
			written, waits := 0, 0
			step := func() error {
				waits++
				if w == nil { // the follower is there first
					var err error
					w, err = Create(base, tt.opts)
					return err
				}
				if written == len(list) {
					return w.Close()
				}
				for range min(7, len(list)-written) {
					if err := w.Write(&list[written]); err != nil {
						return err
					}
					written++
				}
				return nil
			}
			r, err := followWith(base, &follower{pause: step})
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(list) || len(r.Damage()) > 0 {
				t.Errorf("%d observations of %d, damage %v", len(got), len(list), r.Damage())
			}
			if waits < 5 {
				t.Errorf("the follower waited only %d times", waits)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFollow_SurvivesARecorderThatFailed follows a recorder whose disk was full for a while, and one that died and
// left half a chunk before a later segment.
func TestFollow_SurvivesARecorderThatFailed(t *testing.T) {
	base := tempBase(t)
	list := newStory(1).votes(40).list
	var w *Writer
	var disk *cappedFile
	written := 0
	r, err := followWith(base, &follower{pause: func() error {
		if w == nil {
			s := &store{base: base}
			s.create = func(name string) (file, error) {
				f, err := createFile(name)
				disk = &cappedFile{file: f, room: 2000}
				return disk, err
			}
			var err error
			w, err = newWriter(s, Options{ChunkSize: 700})
			return err
		}
		if written == len(list) {
			return w.Close()
		}
		if written > 50 {
			disk.room = 1 << 20
		}
		_ = w.Write(&list[written]) // fails in the middle
		written++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	h := sortOut(got)
	lost := int64(0)
	for _, o := range h.gaps {
		lost += o.Gap.Frames
	}
	if int64(len(h.frames))+lost != 80 || lost == 0 || len(r.Damage()) > 0 {
		t.Errorf("%d frames and %d in gaps of 80, damage %v", len(h.frames), lost, r.Damage())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// cappedFile is a file on a disk with so much room. What fits of a write that fails stays there, since
// cutting it off fails too.
type cappedFile struct {
	file
	room int64
}

func (f *cappedFile) WriteAt(b []byte, offset int64) (int, error) {
	if room := f.room - offset; int64(len(b)) > room {
		n, _ := f.file.WriteAt(b[:max(room, 0)], offset)
		return n, errors.New("no space left on device")
	}
	return f.file.WriteAt(b, offset)
}

func (f *cappedFile) Truncate(int64) error { return errors.New("cannot be cut") }

func TestFollow_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Follow(ctx, tempBase(t))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		var o Observation
		done <- r.Next(&o)
	}()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestReader_LivePipe(t *testing.T) {
	in, out := io.Pipe()
	w := make(chan error, 1)
	list := newStory(1).votes(5).list
	step := make(chan struct{})
	go func() {
		rec, err := NewWriter(out, Options{ChunkSize: 1})
		for i := range list {
			if err == nil {
				err = rec.Write(&list[i])
			}
			if err == nil {
				err = rec.Flush()
			}
			<-step // not before the reader has got it
		}
		if err == nil {
			err = rec.Close()
		}
		w <- errors.Join(err, out.Close())
	}()
	r, err := NewReader(in, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		var o Observation
		if err := r.Next(&o); err != nil || o.Kind != list[i].Kind || o.Seq != list[i].Seq {
			t.Fatalf("observation %d: %s, %v", i, brief(o), err)
		}
		step <- struct{}{}
	}
	var o Observation
	if err := r.Next(&o); !errors.Is(err, io.EOF) || len(r.Damage()) > 0 {
		t.Errorf("%v, damage %v", err, r.Damage())
	}
	if err := <-w; err != nil {
		t.Error(err)
	}
}

package recordings

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/understudy-kafka/understudy/wire"
)

// reluctant takes nothing now and then, and nothing in part.
type reluctant struct {
	bytes.Buffer
	calls int
}

func (r *reluctant) Write(b []byte) (int, error) {
	if r.calls++; r.calls%3 == 0 {
		return 0, ErrBusy
	}
	return r.Buffer.Write(b)
}

func TestPipe_IsReadAsItIsAndWithoutComments(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Pipe: true})
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(1).votes(20)
	for i := range s.list {
		if err := w.Write(&s.list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("Vote v2")) {
		t.Error("a frame has a comment")
	}
	r, err := NewReader(&out, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAll(r)
	if err != nil || len(list) != len(s.list) || len(r.Damage()) > 0 {
		t.Errorf("%d observations of %d, damage %v, %v", len(list), len(s.list), r.Damage(), err)
	}
}

func TestPipe_WhatABusyReaderDoesNotTakeIsToldAsGaps(t *testing.T) {
	var out reluctant
	w, err := NewWriter(&out, Options{Pipe: true, ChunkSize: 3000})
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(1).votes(200)
	refused := 0
	for i := range s.list {
		if err := w.Write(&s.list[i]); errors.Is(err, ErrBusy) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil && !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if refused == 0 {
		t.Fatal("the reader was never busy")
	}
	r, err := NewReader(&out.Buffer, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var frames, gaps [2]int64
	for _, o := range list {
		switch {
		case o.Kind == KindFrame:
			frames[o.Dir]++
		case o.Kind == KindGap && o.Gap.Frames > 0:
			gaps[o.Dir] += o.Gap.Frames
		}
	}
	for _, dir := range []wire.Direction{wire.Request, wire.Response} {
		if frames[dir]+gaps[dir] != 200 || gaps[dir] == 0 {
			t.Errorf("%s: %d frames and %d in gaps, of 200", dir, frames[dir], gaps[dir])
		}
	}
}

// TestPipe_BlocksMayLieAcrossReads: a pipe hands out what is there, not whole blocks.
func TestPipe_BlocksMayLieAcrossReads(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Pipe: true})
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(1)
	for i := range 300 {
		s.frame(wire.Request, requestFrame(wire.KeyVote, 2, int32(i), bytes.Repeat([]byte("x"), 2000)))
	}
	for i := range s.list {
		if err := w.Write(&s.list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(out.Bytes()), "halves": iotest.HalfReader(bytes.NewReader(out.Bytes())),
		"bytes": iotest.OneByteReader(bytes.NewReader(out.Bytes())),
	} {
		r, err := NewReader(in, name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := readAll(r)
		if err != nil || len(list) != len(s.list) || len(r.Damage()) > 0 {
			t.Errorf("%s: %d observations of %d, damage %v, %v", name, len(list), len(s.list), r.Damage(), err)
		}
	}
}

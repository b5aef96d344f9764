package proxy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

// TestFeed_TakesAllOrNothingAndNeverWaits writes at random and reads at random. What was taken arrives, whole and in
// order; what was refused does not.
func TestFeed_TakesAllOrNothingAndNeverWaits(t *testing.T) {
	rng := seeded(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := newFeed(w, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []byte
	busy := 0
	for range 4000 {
		b := noise(rng, 1+rng.IntN(3000))
		switch n, err := f.Write(b); {
		case err == nil && n == len(b):
			want = append(want, b...)
		case errors.Is(err, recordings.ErrBusy) && n == 0:
			busy++
		default:
			t.Fatalf("%d bytes of %d, %v", n, len(b), err)
		}
		if waiting := len(f.queued) - f.head; waiting > 300_000 || cap(f.queued) > 2<<20 {
			t.Fatalf("%d bytes wait, in %d", waiting, cap(f.queued))
		}
		if ahead := len(want) - len(got) - (len(f.queued) - f.head); rng.IntN(3) == 0 && ahead > 0 {
			piece := make([]byte, min(ahead, 1+rng.IntN(6000)))
			n, err := r.Read(piece)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, piece[:n]...)
			f.flush()
		}
	}
	if busy == 0 {
		t.Error("the limit was never reached")
	}
	if f.stalled() == 0 {
		t.Error("something waits, and the feed does not say so")
	}
	rest := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r)
		rest <- b
	}()
	if err := f.end(); err != nil {
		t.Error(err)
	}
	if got = append(got, <-rest...); !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrive of %d, or others", len(got), len(want))
	}
}

func TestFeed_WithoutAReaderFailsForGood(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFeed(w, 1000)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	_, _ = f.Write([]byte("first"))
	if n, err := f.Write([]byte("second")); err == nil || n != 0 || errors.Is(err, recordings.ErrBusy) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := f.end(); err != nil {
		t.Error(err)
	}
}

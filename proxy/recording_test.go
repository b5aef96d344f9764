package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// disk is a file that can be full for a while.
type disk struct {
	bytes.Buffer
	full atomic.Bool
}

func (d *disk) Write(b []byte) (int, error) {
	if d.full.Load() {
		return 0, fmt.Errorf("%w: %w", recordings.ErrBusy, syscall.ENOSPC)
	}
	return d.Buffer.Write(b)
}

// TestRecording_AFullDiskIsAGapAndNotAWait: frames are forwarded all the time, and when there is room again the recording
// says what is missing.
func TestRecording_AFullDiskIsAGapAndNotAWait(t *testing.T) {
	d, log := new(disk), new(logs)
	w, err := recordings.NewWriter(d, recordings.Options{ChunkSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewRecording("quorum", w, zerolog.New(log))
	up := newServer(t)
	up.serve(func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	p := startProxy(t, up.addr(), func(c *Config) { c.Sinks = append(c.Sinks, sink) })
	client := p.dial(1)
	exchange(t, client, 100, 200)
	eventually(t, "frames are written", func() bool { return w.Stats().Written.Load() > 100 })
	if s := sink.Stats(); !s.Up || s.Errors != 0 {
		t.Errorf("stats of a working disk: %+v", s)
	}
	d.full.Store(true)
	exchange(t, client, 100, 200)
	eventually(t, "frames are lost", func() bool { return sink.Stats().Lost > 100 })
	if s := sink.Stats(); s.Up || s.Errors == 0 || !strings.Contains(s.LastError, "no space left") {
		t.Errorf("stats of a full disk: %+v", s)
	}
	d.full.Store(false)
	exchange(t, client, 100, 200)
	p.end()
	if !sink.Stats().Up {
		t.Errorf("stats of a disk that works again: %+v", sink.Stats())
	}
	if text := log.String(); !strings.Contains(text, "forwarding goes on") || strings.Count(text, "\n") > 5 {
		t.Errorf("log: %s", text)
	}
	r, err := recordings.NewReader(&d.Buffer, "disk")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var frames, lost [2]int64
	var o recordings.Observation
	for err = r.Next(&o); err == nil; err = r.Next(&o) {
		switch o.Kind {
		case recordings.KindFrame:
			frames[o.Dir]++
		case recordings.KindGap:
			lost[o.Dir] += o.Gap.Frames
		case recordings.KindOpen, recordings.KindClose:
		}
	}
	if !errors.Is(err, io.EOF) || len(r.Damage()) > 0 {
		t.Errorf("reading ends with %v, damage %v", err, r.Damage())
	}
	for _, dir := range []wire.Direction{wire.Request, wire.Response} {
		if lost[dir] == 0 || frames[dir]+lost[dir] != 300 {
			t.Errorf("%s: %d frames and %d in gaps, of 300", dir, frames[dir], lost[dir])
		}
	}
	if n := len(p.sink.kinds(recordings.KindFrame)); n != 600 {
		t.Errorf("the other sink got %d frames, want 600", n)
	}
}

// BenchmarkRecorder is the work for one request and its response behind the tap, with a recording.
func BenchmarkRecorder(b *testing.B) {
	w, err := recordings.NewWriter(io.Discard, recordings.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tp := newTapping(64 << 20)
	tp.rec.sinks = []Sink{NewRecording("nowhere", w, zerolog.Nop())}
	r := newRelay(1, 0, -1, -1)
	request, answer := fetchFrame(b), fetchAnswer()
	b.ReportAllocs()
	for b.Loop() {
		tp.tap(&r.flows[0], request, tp.now(), tp.now())
		tp.tap(&r.flows[1], answer, tp.now(), tp.now())
		tp.rec.drain()
	}
	if err := w.Close(); err != nil || tp.rec.sinks[0].Stats().Errors > 0 {
		b.Fatal(err, tp.rec.sinks[0].Stats())
	}
}

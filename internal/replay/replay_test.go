package replay

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list is a source over a slice.
type list []recordings.Observation

func (l *list) Next(o *recordings.Observation) error {
	if len(*l) == 0 {
		return io.EOF
	}
	*o, *l = (*l)[0], (*l)[1:]
	return nil
}

func frame(conn *recordings.Conn, dir wire.Direction, at int64, payload string) recordings.Observation {
	return recordings.Observation{
		Kind: recordings.KindFrame, Conn: conn, Dir: dir, At: wire.Stamp{Seen: at},
		Frame: wire.Frame{Bytes: []byte(payload), Size: len(payload)},
	}
}

func TestPlay_CarriesEveryFrameInRecordedOrder(t *testing.T) {
	a := &recordings.Conn{ID: 1, Node: 1}
	b := &recordings.Conn{ID: 2, Node: 2, Midway: true}
	src := list{
		{Kind: recordings.KindOpen, Conn: a},
		frame(a, wire.Request, 1, "vote"),
		frame(b, wire.Request, 2, "fetch"),
		frame(a, wire.Response, 3, "granted"),
		{Kind: recordings.KindClose, Conn: a, Reset: true},
		frame(b, wire.Response, 4, ""),
	}
	script, err := Load(&src)
	if err != nil {
		t.Fatal(err)
	}
	if got := script.Nodes(); len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Fatalf("nodes %v", got)
	}
	stage, err := NewStage(script)
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	dial := map[kraft.NodeID]string{1: stage.Addr(1), 2: stage.Addr(2)}
	n, err := stage.Play(context.Background(), dial, Pace{})
	if err != nil || n != script.Frames() || n != 4 {
		t.Fatalf("played %d frames of %d: %v", n, script.Frames(), err)
	}
}

func TestPlay_SaysWhenAFrameIsSwallowed(t *testing.T) {
	conn := &recordings.Conn{ID: 1, Node: 1}
	src := list{frame(conn, wire.Request, 1, "vote")}
	script, err := Load(&src)
	if err != nil {
		t.Fatal(err)
	}
	stage, err := NewStage(script)
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	stage.StepTimeout = 50 * time.Millisecond
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // accepts, connects on, and swallows what comes
		defer close(done)
		in, err := hole.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", stage.Addr(1))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, in)
		_ = in.Close()
		_ = out.Close()
	}()
	_, err = stage.Play(context.Background(), map[kraft.NodeID]string{1: hole.Addr().String()}, Pace{})
	_ = hole.Close()
	<-done
	if !errors.Is(err, errStuck) {
		t.Fatalf("error %v, want %v", err, errStuck)
	}
}

func TestLoad_RefusesWhatCannotBePlayed(t *testing.T) {
	known := &recordings.Conn{ID: 1, Node: 1}
	unknown := &recordings.Conn{ID: 1, Node: kraft.NoNode}
	for _, tc := range []struct {
		name string
		o    recordings.Observation
	}{
		{"unknown node", frame(unknown, wire.Request, 1, "x")},
		{"gap", recordings.Observation{Kind: recordings.KindGap, Conn: known, Gap: &recordings.Gap{Reason: "overflow"}}},
		{"cut frame", recordings.Observation{Kind: recordings.KindFrame, Conn: known, Frame: wire.Frame{Cut: true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Load(&list{tc.o}); err == nil {
				t.Fatal("no error")
			}
		})
	}
}

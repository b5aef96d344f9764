package conform

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

// spoilt leads the conversations of cases to a node that answers each request with the same bytes, and hangs up if there are none.
func spoilt(t *testing.T, answer func(correlation []byte) []byte) Dialer {
	address := listen(t, func(conn net.Conn) {
		for {
			frame := make([]byte, 4)
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			size := binary.BigEndian.Uint32(frame)
			if size < 8 || size > maxAnswer {
				return
			}
			frame = make([]byte, size)
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			out := answer(frame[4:8])
			if _, err := conn.Write(out); err != nil || len(out) == 0 {
				return
			}
		}
	})
	return func(ctx context.Context, _ string) (net.Conn, error) { return plain(ctx, address) }
}

// TestRun_SaysWhatIsWrongWithAnAnswer of a node whose answers are none, and which is not slow.
func TestRun_SaysWhatIsWrongWithAnAnswer(t *testing.T) {
	t.Parallel()
	node := ourVoters(t, 1, 1, 1, fastTimers)[0]
	if err := node.start(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, match string
		answer      []byte
		says        string
	}{
		{"an empty frame", "^vote/v2/refuses-other-cluster$", []byte{0, 0, 0, 0}, "response header of 0 bytes"},
		{"a negative size", "^vote/v2/refuses-other-cluster$", []byte{255, 255, 255, 255}, "what it sends is no frame: "},
		{"a size of 2 GB", "^vote/v2/refuses-other-cluster$", []byte{127, 255, 255, 255}, "what it sends is no frame: "},
		{"no frame where the end is wanted", "^framing/closes/unknown-api-key$", []byte{255, 255, 255, 255}, "what it sends is no frame: "},
		{"an empty frame where the end is wanted", "^framing/closes/unknown-api-key$", []byte{0, 0, 0, 0}, "it is answered, want the connection to be closed"},
		{"the end", "^vote/v2/refuses-other-cluster$", nil, "the connection was closed without an answer"},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := node.options()
			o.Match = regexp.MustCompile(x.match)
			o.ask = spoilt(t, func([]byte) []byte { return x.answer })
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r := &report.Results[0]; r.Outcome != Failed || !strings.Contains(r.Why, x.says) {
				t.Errorf("%s: %s, want %q", r.Outcome, r.Why, x.says)
			}
			var text strings.Builder
			if err := report.WriteText(&text, false); err != nil || strings.Contains(text.String(), "heard: nothing") {
				t.Errorf("%v, as if there were no answer:\n%s", err, &text)
			}
		})
	}
}

// TestConverse_AWriteThatFailsIsTheEnd: a node may close the connection while a request is on its way.
func TestConverse_AWriteThatFailsIsTheEnd(t *testing.T) {
	near, far := net.Pipe()
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Patience: time.Second, ask: func(context.Context, string) (net.Conn, error) { return near, nil }}
	c := Case{Steps: []Step{{Key: 18, Version: 3, Closes: true}}}
	talk, err := converse(t.Context(), &o, &c, facts{})
	if err == nil || len(talk) != 1 || !talk[0].Closed {
		t.Fatalf("%v: %+v", err, talk)
	}
	if err := judge(&c, &Target{}, talk); err != nil {
		t.Error(err)
	}
}

// TestResult_ManyHugeAnswersAreNotKept by a report, whatever a node says.
func TestResult_ManyHugeAnswersAreNotKept(t *testing.T) {
	kept, answers := 0, 0
	for range 10 {
		r := Result{Outcome: Failed, Why: "wrong", Talk: []Spoken{{Answer: make([]byte, maxAnswer)}}}
		r.forget(&kept)
		if answers += len(r.Talk); len(r.Talk) == 0 && r.Why != "wrong; what was said is left out, with 16777216 bytes of answers" {
			t.Error(r.Why)
		}
	}
	if answers != maxKept/maxAnswer || kept != maxKept {
		t.Errorf("%d answers with %d bytes are kept, want %d", answers, kept, maxKept)
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// TestWatch_ShowsTheQuorum plays a capture to the view, and looks at what it drew last.
func TestWatch_ShowsTheQuorum(t *testing.T) {
	for _, screen := range []bool{false, true} {
		var out strings.Builder
		w := &liveView{out: &out, screen: screen}
		c := shadow.New(shadow.Options{Events: w.show})
		in, err := recordings.OpenAny(nil, quorumCapture)
		if err != nil {
			t.Fatal(err)
		}
		var o recordings.Observation
		for in.Next(&o) == nil {
			c.Observe(&o)
		}
		_ = in.Close()
		c.Finish()
		first := "cluster TXF4XRjuRNetQb9gT4jDvg  epoch "
		at := strings.LastIndex(out.String(), first)
		if at < 0 {
			t.Fatal(out.String())
		}
		view := out.String()[at:]
		for _, want := range []string{
			"leader 2", "NODE  ROLE      VOTER  EPOCH  LOG END  LAG  WATERMARK  LAST SEEN  VERDICT", "gone", "leader", "observer", "CONFORMS",
			"node 2 leads epoch 3", "first high watermark of epoch 3 is",
		} {
			if !strings.Contains(view, want) {
				t.Errorf("screen %t: %q is not in:\n%s", screen, want, view)
			}
		}
		if got := strings.Contains(view, "\033["); got != screen {
			t.Errorf("screen %t: escapes %t", screen, got)
		}
		if n := strings.Count(view, "\n"); n > 20 {
			t.Errorf("%d lines", n)
		}
	}
}

func TestWatch_NamesWhoBrokeWhat(t *testing.T) {
	var out strings.Builder
	w := &liveView{out: &out}
	f := &shadow.Finding{Rule: "M9", Name: "watermark-never-falls", Text: "it fell"}
	for range 2 {
		w.show(shadow.Event{Kind: shadow.EventFinding, Node: 1, Finding: f, Text: f.Text})
	}
	w.show(shadow.Event{Kind: shadow.EventFinding, Node: 1, Finding: &shadow.Finding{Rule: "M1", Name: "vote-once"}})
	for range 30 {
		w.show(shadow.Event{Kind: shadow.EventLeader, Node: 1, Text: "node 1 leads"})
	}
	q := &shadow.Quorum{Leader: 1, Epoch: 5, Watermark: -1, Nodes: []shadow.NodeView{
		{ID: 1, Role: shadow.RoleLeader, Seen: true, Connected: true, LogEnd: 12, Watermark: -1, Voter: true, LastSeen: 1},
		{ID: 2, Role: shadow.RoleFollower, Seen: true, Connected: true, LogEnd: 9, Voter: true, LastSeen: 1_500_000_001},
		{ID: 3, Role: shadow.RoleUnknown, LogEnd: -1, Watermark: -1, Epoch: -1, Voter: true},
	}}
	w.show(shadow.Event{Kind: shadow.EventState, At: 2_000_000_001, Quorum: q})
	for _, want := range []string{"DIVERGES M9 M1", "INCONCLUSIVE", "  3    0 ", "500ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "node 1 leads"); n != watchedEvents {
		t.Errorf("%d events in view", n)
	}
}

package demo

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

const second = 1_000_000_000

func candidate(at int64, node kraft.NodeID, epoch kraft.Epoch) *shadow.Event {
	return &shadow.Event{
		Kind: shadow.EventCandidate, At: at * second, Node: node, Candidate: node, Epoch: epoch,
		Text: fmt.Sprintf("node %s asks for votes in epoch %d, log end 7@1", node, epoch),
	}
}

func vote(at int64, node, to kraft.NodeID, granted bool, text string) *shadow.Event {
	return &shadow.Event{Kind: shadow.EventVote, At: at * second, Node: node, Candidate: to, Epoch: 2, Granted: granted, Text: text}
}

func TestTimeline_OneLineForEachEvent(t *testing.T) {
	finding := &shadow.Finding{Rule: "M1", Name: "vote-once", Node: 3, Epoch: 2}
	for _, tc := range []struct {
		name string
		tell func(*Timeline)
		want string
	}{
		{"candidate and votes", func(l *Timeline) {
			l.Event(candidate(1, 2, 2))
			l.Event(vote(2, 3, 2, true, "node 3 grants the vote of node 2 in epoch 2"))
			l.Event(vote(3, 1, 2, false, "node 1 refuses the vote of node 2 in epoch 2"))
			l.Event(vote(4, 1, 2, false, "node 1 answers FENCED_LEADER_EPOCH to the vote request of node 2 in epoch 2"))
		}, `
    1.00s      2     2  asks for votes, log end 7@1
    2.00s      2     3  grants the vote to 2
    3.00s      2     1  refuses the vote to 2
    4.00s      2     1  answers FENCED_LEADER_EPOCH to 2
`},
		{"leader, watermark, resignation", func(l *Timeline) {
			l.Event(&shadow.Event{Kind: shadow.EventLeader, At: second, Node: 2, Epoch: 2})
			l.Event(&shadow.Event{Kind: shadow.EventWatermark, At: 2 * second, Node: 2, Epoch: 2, Watermark: 48})
			l.Event(&shadow.Event{Kind: shadow.EventState, At: 2 * second, Node: -1, Epoch: 2})
			l.Event(&shadow.Event{Kind: shadow.EventResigned, At: 3 * second, Node: 2, Epoch: 2})
			l.Event(&shadow.Event{Kind: shadow.EventDirectory, At: 3 * second, Node: 2, Epoch: -1})
		}, `
    1.00s      2     2  leads
    2.00s      2     2  first high watermark 48
    3.00s      2     2  resigns
    3.00s            2  has another directory id
`},
		{"an action waits for the events before it, which arrive later", func(l *Timeline) {
			l.Did(Action{At: 2 * second, What: "SIGKILL leader 1"})
			l.Event(candidate(1, 2, 2))
			l.Event(candidate(3, 3, 2))
		}, `
    1.00s      2     2  asks for votes, log end 7@1
    2.00s               -- SIGKILL leader 1
    3.00s      2     3  asks for votes, log end 7@1
`},
		{"an action that nothing follows", func(l *Timeline) {
			l.Did(Action{At: second, What: "start"})
			l.Overdue(second)
			l.Overdue(second + 1)
			l.Did(Action{At: 5 * second, What: "stop"})
		}, `
    1.00s               -- start
    5.00s               -- stop
`},
		{"a finding comes behind the frame that proves it", func(l *Timeline) {
			l.Event(&shadow.Event{Kind: shadow.EventFinding, At: second, Node: 3, Epoch: 2, Finding: finding})
			l.Event(vote(1, 3, 2, true, ""))
			l.Event(candidate(2, 3, 2))
		}, `
    1.00s      2     3  grants the vote to 2
    1.00s      2     3  DIVERGES: M1 vote-once
    2.00s      2     3  asks for votes, log end 7@1
`},
		{"a finding of a frame that is no event", func(l *Timeline) {
			l.Event(&shadow.Event{Kind: shadow.EventFinding, At: second, Node: 3, Epoch: 2, Finding: finding})
			l.Event(candidate(2, 3, 2))
		}, `
    1.00s      2     3  DIVERGES: M1 vote-once
    2.00s      2     3  asks for votes, log end 7@1
`},
		{"connections to a dead node are no new life", func(l *Timeline) {
			l.Down(1, true)
			l.Event(&shadow.Event{Kind: shadow.EventRestarted, At: second, Node: 1, Epoch: -1})
			l.Down(1, false)
			l.Event(&shadow.Event{Kind: shadow.EventRestarted, At: 2 * second, Node: 1, Epoch: -1})
		}, `
    2.00s            1  is back
`},
		{"no clock where there is no terminal", func(l *Timeline) { l.Clock(second) }, "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			l := NewTimeline(&out, Style{}, 0)
			tc.tell(l)
			l.End()
			got := strings.TrimPrefix(out.String(), "     time  epoch  node\n")
			if want := tc.want[1:]; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// The running clock must be gone before the next line is written, and in the end.
func TestTimeline_ClockIsReplacedByTheNextLine(t *testing.T) {
	var out bytes.Buffer
	l := NewTimeline(&out, Style{on: true}, 0)
	l.Event(candidate(1, 2, 2))
	l.Clock(2 * second)
	l.Clock(3 * second)
	l.Event(candidate(4, 2, 3))
	l.Clock(5 * second)
	l.End()
	got := out.String()
	if strings.Count(got, "\r\x1b[K") != 2 || !strings.HasSuffix(got, "\r\x1b[K") || strings.Count(got, "\n") != 3 {
		t.Errorf("got %q", got)
	}
}

func TestStyle_ColoursTerminalsOnly(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, out := range []any{&bytes.Buffer{}, file} {
		style := Style{on: true}
		switch out := out.(type) {
		case *bytes.Buffer:
			style = StyleFor(out)
		case *os.File:
			style = StyleFor(out)
		}
		if got := style.Bad("x"); got != "x" {
			t.Errorf("%T is coloured: %q", out, got)
		}
	}
	if got := (Style{on: true}).Bad("x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

func TestCompareLeaders_CountsEpochsThatDiffer(t *testing.T) {
	one := []Led{{1, 1}, {3, 2}}
	for _, tc := range []struct {
		name string
		logs []Led
		want int
	}{
		{"the same", one, 0},
		{"another leader", []Led{{1, 1}, {3, 3}}, 1},
		{"an epoch that was not seen", []Led{{1, 1}, {2, 1}, {3, 2}}, 1},
		{"an epoch that the logs do not know", []Led{{1, 1}}, 1},
		{"two leaders of one epoch", []Led{{1, 1}, {3, 2}, {3, 3}}, 1},
		{"empty logs", nil, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if got := CompareLeaders(&out, Style{}, one, tc.logs); got != tc.want {
				t.Errorf("%d epochs differ, want %d\n%s", got, tc.want, out.String())
			}
			if strings.Contains(out.String(), "differs") != (tc.want > 0) {
				t.Errorf("it says\n%s", out.String())
			}
		})
	}
}

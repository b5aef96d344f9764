package demo

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// Timeline writes what happens in a quorum, one line for each event, as it happens. It has one owner.
//
// What the checker saw and what was done to the quorum come on different ways: the events of the checker arrive late, but in
// order. So an action waits until an event behind it has arrived, or Overdue has been called.
type Timeline struct {
	out    io.Writer
	style  Style
	begin  int64 // ns
	headed bool

	waiting []Action
	finding *shadow.Event // waits for the event of its own frame, which the checker tells next
	down    map[kraft.NodeID]bool
	status  bool // the last line of the terminal is a running clock
}

// NewTimeline writes to out. begin is the instant that counts as zero, in nanoseconds since the Unix epoch.
func NewTimeline(out io.Writer, style Style, begin int64) *Timeline {
	return &Timeline{out: out, style: style, begin: begin, down: map[kraft.NodeID]bool{}}
}

// Did takes in something that was done to the quorum.
func (t *Timeline) Did(a Action) { t.waiting = append(t.waiting, a) }

// Down takes in that a node was ended: what is seen of connections to it is not a new life.
func (t *Timeline) Down(id kraft.NodeID, down bool) { t.down[id] = down }

// Clock shows on a terminal that time passes while nothing happens.
func (t *Timeline) Clock(now int64) {
	if t.style.on {
		t.status = true
		fmt.Fprint(t.out, "\r"+t.style.Faint(fmt.Sprintf("  %6.2fs", t.since(now))))
	}
}

// Overdue writes what waits and is older than an instant.
func (t *Timeline) Overdue(until int64) {
	if t.finding != nil && t.finding.At < until {
		t.found()
	}
	for len(t.waiting) > 0 && t.waiting[0].At < until {
		a := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.line(a.At, "", "", t.style.Title("-- "+a.What))
	}
}

// Event takes in what the checker saw.
func (t *Timeline) Event(e *shadow.Event) {
	t.Overdue(e.At)
	if e.Kind == shadow.EventFinding {
		t.found()
		t.finding = e
		return
	}
	t.event(e)
	t.found()
}

// found writes the finding that waits, if one does.
func (t *Timeline) found() {
	if e := t.finding; e != nil {
		t.finding = nil
		t.line(e.At, strconv.Itoa(int(e.Epoch)), e.Node.String(), t.style.Bad("DIVERGES: "+e.Finding.Rule+" "+e.Finding.Name))
	}
}

func (t *Timeline) event(e *shadow.Event) {
	epoch, node := strconv.Itoa(int(e.Epoch)), e.Node.String()
	switch e.Kind {
	case shadow.EventCandidate:
		what := "asks for votes"
		if e.PreVote {
			what = "asks for pre-votes"
		}
		if _, logEnd, ok := strings.Cut(e.Text, ", "); ok {
			what += ", " + logEnd
		}
		t.line(e.At, epoch, node, what)
	case shadow.EventVote:
		t.line(e.At, epoch, node, t.vote(e))
	case shadow.EventLeader:
		t.line(e.At, epoch, node, t.style.Notable("leads"))
	case shadow.EventWatermark:
		t.line(e.At, epoch, node, t.style.Good("first high watermark "+strconv.FormatInt(int64(e.Watermark), 10)))
	case shadow.EventResigned:
		t.line(e.At, epoch, node, "resigns")
	case shadow.EventRestarted:
		if !t.down[e.Node] {
			t.line(e.At, "", node, "is back")
		}
	case shadow.EventDirectory:
		t.line(e.At, "", node, t.style.Warm("has another directory id"))
	case shadow.EventFinding, shadow.EventState, shadow.EventVerdict:
	}
}

func (t *Timeline) vote(e *shadow.Event) string {
	what := " the vote to "
	if e.PreVote {
		what = " the pre-vote to "
	}
	what += e.Candidate.String()
	_, answer, failed := strings.Cut(e.Text, " answers ")
	switch {
	case e.Granted:
		return t.style.Good("grants") + what
	case failed:
		code, _, _ := strings.Cut(answer, " ")
		return t.style.Warm("answers "+code) + " to " + e.Candidate.String()
	}
	return t.style.Warm("refuses") + what
}

func (t *Timeline) since(at int64) float64 { return float64(max(at-t.begin, 0)) / 1e9 }

func (t *Timeline) line(at int64, epoch, node, text string) {
	if t.status {
		t.status = false
		fmt.Fprint(t.out, "\r\x1b[K")
	}
	if !t.headed {
		t.headed = true
		fmt.Fprintln(t.out, t.style.Faint("     time  epoch  node"))
	}
	fmt.Fprintf(t.out, "  %6.2fs  %5s  %4s  %s\n", t.since(at), epoch, node, text)
}

// End leaves the cursor where the next text may begin.
func (t *Timeline) End() {
	t.Overdue(math.MaxInt64)
	if t.status {
		t.status = false
		fmt.Fprint(t.out, "\r\x1b[K")
	}
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// liveView is the live view of a quorum in a terminal: it is drawn anew with each state that the checker tells, once a second.
type liveView struct {
	out      io.Writer
	screen   bool // a terminal: the view stays in place
	drawn    bool
	latest   []string
	findings map[kraft.NodeID]string // the rules that a node broke
}

// watchedEvents is how many of the latest events are in view.
const watchedEvents = 8

// show takes in an event.
func (w *liveView) show(e shadow.Event) {
	switch e.Kind {
	case shadow.EventState:
		if e.Quorum != nil {
			w.draw(e.At, e.Quorum)
		}
	case shadow.EventVerdict:
	default:
		text := e.Text
		if e.Finding != nil {
			text = e.Finding.Rule + " " + e.Finding.Name + ": " + text
		}
		if e.Kind == shadow.EventFinding {
			w.broke(e.Node, e.Finding.Rule)
			text = "DIVERGES " + text
		}
		w.latest = append(w.latest, time.Unix(0, e.At).Format("15:04:05.000")+"  "+text)
		if len(w.latest) > watchedEvents {
			w.latest = w.latest[1:]
		}
	}
}

// broke notes which rules a node broke.
func (w *liveView) broke(node kraft.NodeID, rule string) {
	if w.findings == nil {
		w.findings = map[kraft.NodeID]string{}
	}
	if known := w.findings[node]; !strings.Contains(" "+known+" ", " "+rule+" ") {
		w.findings[node] = strings.TrimSpace(known + " " + rule)
	}
}

// draw writes the view. On a terminal it overwrites the one before, line by line, so that nothing flickers.
func (w *liveView) draw(at int64, q *shadow.Quorum) {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s  epoch %s  leader %s  high watermark %s  %s\n\n", dash(q.ClusterID), number(int64(q.Epoch)), number(int64(q.Leader)),
		number(int64(q.Watermark)), time.Unix(0, at).Format("15:04:05"))
	end := kraft.Offset(-1)
	for i := range q.Nodes {
		if q.Nodes[i].ID == q.Leader {
			end = q.Nodes[i].LogEnd
		}
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tROLE\tVOTER\tEPOCH\tLOG END\tLAG\tWATERMARK\tLAST SEEN\tVERDICT")
	for i := range q.Nodes {
		n := &q.Nodes[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, role(n), yesNo(n.Voter), number(int64(n.Epoch)), number(int64(n.LogEnd)),
			lag(end, n), number(int64(n.Watermark)), ago(at, n.LastSeen), w.verdict(n))
	}
	_ = table.Flush() // a strings.Builder takes everything
	if len(w.latest) > 0 {
		b.WriteString("\n" + strings.Join(w.latest, "\n") + "\n")
	}
	text := b.String()
	if w.screen {
		home := "\033[H"
		if !w.drawn {
			w.drawn, home = true, "\033[2J\033[H"
		}
		text = home + strings.ReplaceAll(text, "\n", "\033[K\n") + "\033[J"
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(w.out, text) // a terminal that has gone needs no view
}

func (w *liveView) verdict(n *shadow.NodeView) string {
	switch broken := w.findings[n.ID]; {
	case broken != "":
		return shadow.Diverges.String() + " " + broken
	case !n.Seen:
		return shadow.Inconclusive.String()
	}
	return shadow.Conforms.String()
}

func role(n *shadow.NodeView) string {
	if n.Seen && !n.Connected {
		return "gone"
	}
	return string(n.Role)
}

// lag is how many records a node lacks of the leader's log, as far as both are known.
func lag(end kraft.Offset, n *shadow.NodeView) string {
	if end < 0 || n.LogEnd < 0 {
		return "-"
	}
	return fmt.Sprint(max(0, end-n.LogEnd))
}

func ago(now, then int64) string {
	if then == 0 {
		return "-"
	}
	return time.Duration(max(0, now-then)).Round(100 * time.Millisecond).String()
}

func number(v int64) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprint(v)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

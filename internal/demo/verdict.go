package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// Verdict writes the verdict and what was judged of each node that decided something.
func Verdict(out io.Writer, style Style, r *shadow.Report) {
	fmt.Fprintf(out, "  Verdict: %s, judged %d of %d decisions\n", style.Verdict(r.Verdict), r.Judged, r.Decisions)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Decisions == 0 && !n.Voter { // a broker answers nobody here
			continue
		}
		fmt.Fprintf(out, "    node %-3s %s  judged %3d of %3d\n", n.ID, style.Verdict(n.Verdict), n.Judged, n.Decisions)
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(out, "    %s\n", reason)
	}
}

// Verdict is a verdict in its colour.
func (s Style) Verdict(v shadow.Verdict) string {
	switch v {
	case shadow.Conforms:
		return s.Good(v.String())
	case shadow.Diverges:
		return s.Bad(v.String())
	case shadow.Inconclusive:
	}
	return s.Warm(v.String())
}

// Finding writes a divergence: the rule, who broke it, and the frames that prove it.
func Finding(out io.Writer, style Style, f *shadow.Finding) {
	fmt.Fprintf(out, "  %s %s %s: node %s, epoch %d\n", style.Bad("DIVERGES"), f.Rule, f.Name, f.Node, f.Epoch)
	for _, rule := range shadow.Rules() {
		if rule.ID == f.Rule {
			fmt.Fprintf(out, "    rule    %s\n", rule.Says)
			fmt.Fprintf(out, "    from    %s\n", rule.Source)
			fmt.Fprintf(out, "    stakes  %s\n", rule.Why)
		}
	}
	fmt.Fprintf(out, "    seen    %s\n", f.Text)
	for i := range f.Proof {
		fmt.Fprintf(out, "    frame   %d  %s\n", f.Proof[i].Number, f.Proof[i].Line)
	}
}

// Led is a leader of an epoch.
type Led struct {
	Epoch  kraft.Epoch  `json:"epoch"`
	Leader kraft.NodeID `json:"leader"`
}

// Leaders lists the leaders that a report knows, by epoch.
func Leaders(r *shadow.Report) []Led {
	var list []Led
	for i := range r.Quorum.Elections {
		if e := &r.Quorum.Elections[i]; e.Leader >= 0 {
			list = append(list, Led{e.Epoch, e.Leader})
		}
	}
	return list
}

// LeaderText says who led, as in "node 1 in epoch 1, node 2 in epoch 3".
func LeaderText(list []Led) string {
	texts := make([]string, len(list))
	for i, l := range list {
		texts[i] = fmt.Sprintf("node %s in epoch %d", l.Leader, l.Epoch)
	}
	return strings.Join(texts, ", ")
}

// CompareLeaders writes who led each epoch as seen on the wire and by the nodes' own logs, and returns in how many epochs
// the two differ.
func CompareLeaders(out io.Writer, style Style, wire, logs []Led) (differ int) {
	fmt.Fprintln(out, style.Faint("    epoch  on the wire  in the logs"))
	type pair struct{ wire, logs []string }
	epochs := map[kraft.Epoch]*pair{}
	var order []kraft.Epoch
	at := func(e kraft.Epoch) *pair {
		if epochs[e] == nil {
			epochs[e] = &pair{}
			order = append(order, e)
		}
		return epochs[e]
	}
	for _, l := range wire {
		at(l.Epoch).wire = append(at(l.Epoch).wire, l.Leader.String())
	}
	for _, l := range logs {
		at(l.Epoch).logs = append(at(l.Epoch).logs, l.Leader.String())
	}
	slices.Sort(order)
	for _, e := range order {
		p := epochs[e]
		verdict := style.Good("same")
		if !slices.Equal(p.wire, p.logs) {
			differ++
			verdict = style.Bad("differs")
		}
		fmt.Fprintf(out, "    %5d  %11s  %11s  %s\n", e, strings.Join(p.wire, " and "), strings.Join(p.logs, " and "), verdict)
	}
	return differ
}

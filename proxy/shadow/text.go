package shadow

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	w := &textWriter{out: out}
	r.writeHead(w)
	r.writeNodes(w)
	r.writeElections(w)
	r.writeFindings(w)
	r.writeAdvisories(w)
	r.writeUnjudged(w)
	r.writeVerdict(w)
	return w.err
}

// textWriter keeps the first error.
type textWriter struct {
	out io.Writer
	err error
}

func (w *textWriter) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func (r *Report) writeHead(w *textWriter) {
	c := &r.Counts
	w.line("%d frames on %d connections, %d of them of the raft layer, %s", c.Frames, c.Connections, c.RaftFrames, r.span())
	if r.Quorum.ClusterID != "" {
		w.line("cluster %s, %s", r.Quorum.ClusterID, r.voters())
	}
	if c.Midway > 0 {
		w.line("%d connections were open already: what went before is not judged, a verdict is about what was seen", c.Midway)
	}
	for _, extra := range []struct {
		count      uint64
		what, rest string
	}{{c.Gaps, "gap", ""}, {c.Undecodable, "frame", " that cannot be decoded"}, {c.Faults, "frame", " met by a fault rule"}} {
		switch extra.count {
		case 0:
		case 1:
			w.line("1 %s%s", extra.what, extra.rest)
		default:
			w.line("%d %ss%s", extra.count, extra.what, extra.rest)
		}
	}
	if r.Cut != "" {
		w.line("the input ended early: %s; what came before is judged", r.Cut)
	}
}

func (r *Report) voters() string {
	if len(r.Quorum.Voters) == 0 {
		return "no voter set was seen"
	}
	list := make([]string, len(r.Quorum.Voters))
	for i, v := range r.Quorum.Voters {
		list[i] = v.ID.String()
	}
	slices.Sort(list)
	return "voters " + strings.Join(list, ", ")
}

func (r *Report) span() string {
	if r.From == 0 {
		return "no time passed"
	}
	return fmt.Sprintf("%s to %s UTC (%s)", time.Unix(0, r.From).UTC().Format("2006-01-02 15:04:05.000"), clock(r.To),
		time.Duration(r.To-r.From).Round(time.Millisecond))
}

func clock(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05.000") }

func (r *Report) writeNodes(w *textWriter) {
	if len(r.Nodes) == 0 {
		return
	}
	w.line("")
	table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tROLE\tEPOCH\tLEADER\tLOG END\tWATERMARK\tRELEASE\tDIRECTORY ID\tLISTENER\tVERDICT\tJUDGED")
	for i := range r.Nodes {
		n := &r.Nodes[i]
		role := string(n.Role)
		if !n.Connected && n.Seen {
			role = "gone"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d of %d\n", n.ID, role, known(int64(n.Epoch)), known(int64(n.Leader)),
			logEnd(n), known(int64(n.Watermark)), orDash(n.Release), orDash(n.DirectoryID), orDash(n.Listener), n.verdict(), n.Judged, n.Decisions)
	}
	if err := table.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	for i := range r.Nodes {
		for _, v := range r.Nodes[i].Intervals {
			if v.Verdict != Conforms {
				w.line("node %s %s %s..%s: %s", r.Nodes[i].ID, v.Verdict, clock(v.From), clock(v.To), v.Reason)
			}
		}
	}
}

// verdict is the verdict in words; a node that was asked nothing decided nothing.
func (n *NodeReport) verdict() string {
	if n.Verdict == Inconclusive && n.Decisions == 0 && n.Seen {
		return "not asked"
	}
	return n.Verdict.String()
}

func known(v int64) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprint(v)
}

func logEnd(n *NodeReport) string {
	if n.LogEnd < 0 {
		return "-"
	}
	return kraft.LogEnd{LastEpoch: n.LastEpoch, LastOffset: n.LogEnd}.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (r *Report) writeElections(w *textWriter) {
	if len(r.Quorum.Elections) == 0 {
		return
	}
	w.line("\nElections")
	for i := range r.Quorum.Elections {
		w.line("  %s", r.Quorum.Elections[i].String())
	}
}

// String is the election on one line.
func (e *Election) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  epoch %d", clock(e.Began), e.Epoch)
	for i := range e.Candidates {
		b.WriteString("  " + e.Candidates[i].String())
	}
	switch {
	case e.Leader >= 0 && e.Watermark >= 0:
		fmt.Fprintf(&b, "  -> leader %s at %s, first high watermark %d at %s", e.Leader, clock(e.LeaderAt), e.Watermark, clock(e.WatermarkAt))
	case e.Leader >= 0:
		fmt.Fprintf(&b, "  -> leader %s at %s", e.Leader, clock(e.LeaderAt))
	default:
		b.WriteString("  -> no leader seen")
	}
	if e.ResignedAt != 0 {
		fmt.Fprintf(&b, ", gave up at %s", clock(e.ResignedAt))
	}
	return b.String()
}

// String is the candidate and the answers it got.
func (c *Candidate) String() string {
	what := "candidate"
	if c.PreVote {
		what = "pre-vote for"
	}
	var granted, refused []string
	for _, b := range c.Ballots {
		switch {
		case b.Granted:
			granted = append(granted, b.Voter.String())
		case b.Error != kraft.None:
			refused = append(refused, b.Voter.String()+" "+b.Error.String())
		default:
			refused = append(refused, b.Voter.String())
		}
	}
	text := what + " " + c.ID.String()
	if len(granted) > 0 {
		text += " +" + strings.Join(granted, ",")
	}
	if len(refused) > 0 {
		text += " -" + strings.Join(refused, ",")
	}
	return text
}

func (r *Report) writeFindings(w *textWriter) {
	if len(r.Findings) == 0 {
		return
	}
	w.line("\nFindings")
	for i := range r.Findings {
		f := &r.Findings[i]
		w.line("  %s %s: node %s, epoch %s, at %s%s", f.Rule, f.Name, nodeName(f.Node), known(int64(f.Epoch)), clock(f.at()), times(f.Count))
		writeWhy(w, "    ", f, r.rule(f.Rule))
		for j := range f.Proof {
			w.line("    %s", f.Proof[j].String())
		}
	}
	if r.Dropped > 0 {
		w.line("  and %d more", r.Dropped)
	}
}

func (r *Report) writeAdvisories(w *textWriter) {
	if len(r.Advisories) == 0 {
		return
	}
	w.line("\nAdvisories, no part of the verdict")
	for i := range r.Advisories {
		f := &r.Advisories[i]
		w.line("  %s %s: %s%s", f.Rule, f.Name, f.Text, times(f.Count))
		for _, rule := range Advisories() {
			if rule.ID == f.Rule {
				w.line("    why it matters: %s (%s)", rule.Why, rule.Source)
			}
		}
		for j := range f.Proof {
			w.line("    %s", f.Proof[j].String())
		}
	}
}

// String is the frame on one line: where it is, and what it says.
func (e *Evidence) String() string {
	where := fmt.Sprintf("frame %d (connection %d, %s %d, %s)", e.Number, e.Conn, e.Dir, e.Seq, clock(e.At))
	if e.Stream > 0 {
		where = fmt.Sprintf("stream %d %s", e.Stream, where)
	}
	return where + ": " + e.Line
}

func times(n uint64) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

func (r *Report) rule(id string) *Rule {
	for i := range r.Rules {
		if r.Rules[i].ID == id {
			return &r.Rules[i]
		}
	}
	return nil
}

func (r *Report) writeUnjudged(w *textWriter) {
	if len(r.Unjudged) > 0 {
		w.line("\nNot judged")
		for _, u := range merged(r.Unjudged) {
			w.line("  %d at %s: %s", u.Count, u.Where, u.Reason)
		}
	}
	if len(r.Notes) > 0 {
		w.line("\nNotes")
		for _, n := range r.Notes {
			w.line("  %s", n)
		}
	}
}

func (r *Report) writeVerdict(w *textWriter) {
	w.line("\n%s: judged %d of %d decisions%s", r.Verdict, r.Judged, r.Decisions, strings.Join(append([]string{""}, r.Reasons...), "; "))
}

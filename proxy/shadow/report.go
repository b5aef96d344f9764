package shadow

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow/belief"
)

// Report is what a checker has to say about a stream.
type Report struct {
	Verdict    Verdict      `json:"verdict"`
	Reasons    []string     `json:"reasons,omitempty"` // why it is inconclusive
	Decisions  uint64       `json:"decisions"`         // answers that decide something
	Judged     uint64       `json:"judged"`            // of these, decoded, attributed to a node and put to every rule
	Nodes      []NodeReport `json:"nodes"`
	Unjudged   []Unjudged   `json:"unjudged,omitempty"`
	Findings   []Finding    `json:"findings"`
	Dropped    uint64       `json:"findingsDropped,omitempty"` // findings beyond those listed
	Advisories []Finding    `json:"advisories,omitempty"`      // remarks on what is legal; no part of the verdict
	Quorum     Quorum       `json:"quorum"`
	Rules      []Rule       `json:"rules"`
	Notes      []string     `json:"notes,omitempty"`
	Counts     Counts       `json:"counts"`
	From       int64        `json:"from"` // nanoseconds since the Unix epoch
	To         int64        `json:"to"`
	Cut        string       `json:"cut,omitempty"` // why the input ended early

	Tier2 []belief.NodeReport `json:"tier2,omitempty"` // how far the second tier came
}

// NodeReport is the verdict on one node.
type NodeReport struct {
	NodeView
	Verdict   Verdict    `json:"verdict"`
	Decisions uint64     `json:"decisions"`
	Judged    uint64     `json:"judged"`
	Intervals []Interval `json:"intervals"`
	Unjudged  []Unjudged `json:"unjudged,omitempty"`
}

// Unjudged counts decisions that were not judged, with the reason.
type Unjudged struct {
	Where  string `json:"where"` // a node or a listener
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Finish ends the stream and returns the report. The checker takes no observation after it.
func (c *Checker) Finish() *Report {
	if c.window != nil {
		c.closeWindow()
	}
	c.second.file(c, math.MaxInt64)
	r := c.Report()
	c.emit(Event{Kind: EventVerdict, At: c.last, Node: kraft.NoNode, Epoch: r.Quorum.Epoch, Text: r.Verdict.String(), Report: r})
	return r
}

// Report is the report on what came so far. Observations that wait for the name of a listener are not in it.
func (c *Checker) Report() *Report {
	r := &Report{
		Quorum: c.Quorum(), Findings: c.findings.list(), Dropped: c.findings.dropped, Rules: Rules(),
		Notes: slices.Clone(c.notes), Counts: c.counts, From: c.first, To: c.last, Cut: c.cut,
	}
	for _, v := range r.Quorum.Nodes {
		r.Nodes = append(r.Nodes, c.nodeReport(v))
	}
	for _, e := range c.endpointList {
		if e.unjudged > 0 {
			r.Unjudged = append(r.Unjudged, Unjudged{"listener " + e.name, e.reason, e.unjudged})
			r.Decisions += e.unjudged
		}
	}
	for i := range r.Nodes {
		r.Decisions += r.Nodes[i].Decisions
		r.Judged += r.Nodes[i].Judged
		r.Unjudged = append(r.Unjudged, r.Nodes[i].Unjudged...)
	}
	c.unproven(r)
	r.Advisories = c.advisories()
	c.tier2Notes(r)
	r.overall()
	return r
}

func (c *Checker) nodeReport(v NodeView) NodeReport {
	n := c.nodes[v.ID]
	r := NodeReport{NodeView: v, Verdict: Conforms}
	if n == nil {
		r.Verdict = Inconclusive
		return r
	}
	r.Decisions, r.Judged, r.Intervals = n.decisions, n.judged, slices.Clone(n.intervals)
	for _, reason := range n.reasons {
		r.Unjudged = append(r.Unjudged, Unjudged{"node " + n.id.String(), reason.reason, reason.count})
	}
	diverges := slices.ContainsFunc(n.intervals, func(i Interval) bool { return i.Verdict == Diverges })
	switch {
	case diverges:
		r.Verdict = Diverges
	case r.Decisions == 0, r.Judged*100 < r.Decisions*enough: // what was never asked, or not seen, conforms to nothing
		r.Verdict = Inconclusive
	}
	return r
}

// unproven remarks on findings that wait in vain for the proof that a node kept its disk.
func (c *Checker) unproven(r *Report) {
	for _, n := range c.nodeList {
		for i := range n.pending {
			f := &n.pending[i].finding
			r.Notes = append(r.Notes, f.Rule+" "+f.Name+" is not held against node "+n.id.String()+
				", which may have been restarted on another disk in between: "+f.Text)
		}
	}
}

// merged returns the unjudged decisions, the most first.
func merged(list []Unjudged) []Unjudged {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Unjudged) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func percent(n int) string { return strconv.Itoa(n) + " %" }

package shadow

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit's XML, as CI servers read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a suite for each node with a case for each rule, and one suite for what no node is
// to blame for. A finding is a failure; where a verdict is inconclusive, the case that says so is skipped, with the reasons.
func (r *Report) WriteJUnit(out io.Writer) error {
	all := junitSuites{Name: "understudy check"}
	run := junitSuite{Name: "quorum"}
	for i := range r.Findings {
		if f := &r.Findings[i]; r.node(f) == nil {
			run.add(junitCase{Name: f.Rule + " " + f.Name, Class: "quorum", Failure: failure(f, r.rule(f.Rule))})
		}
	}
	verdict := junitCase{Name: "enough was judged", Class: "quorum"}
	if r.Verdict == Inconclusive {
		verdict.Skipped = &junitMessage{Message: strings.Join(r.Reasons, "; ")}
	}
	run.add(verdict)
	suites := []junitSuite{run}
	for i := range r.Nodes {
		suites = append(suites, r.suite(&r.Nodes[i]))
	}
	for i := range suites {
		s := &suites[i]
		s.Time = fmt.Sprintf("%.3f", float64(r.To-r.From)/1e9)
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
	}
	all.Suites = suites
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// node is the node of a finding; nil if it is none of those listed.
func (r *Report) node(f *Finding) *NodeReport {
	for i := range r.Nodes {
		if r.Nodes[i].ID == f.Node {
			return &r.Nodes[i]
		}
	}
	return nil
}

// suite is the suite of a node.
func (r *Report) suite(n *NodeReport) junitSuite {
	s := junitSuite{Name: "node " + n.ID.String()}
	for i := range r.Rules {
		rule := &r.Rules[i]
		c := junitCase{Name: rule.ID + " " + rule.Name, Class: s.Name}
		for j := range r.Findings {
			if f := &r.Findings[j]; f.Rule == rule.ID && f.Node == n.ID {
				if c.Failure == nil {
					c.Failure = failure(f, rule)
				} else {
					c.Failure.Text += "\n" + failure(f, rule).Text
				}
			}
		}
		s.add(c)
	}
	judged := junitCase{Name: "judged", Class: s.Name}
	if n.Verdict == Inconclusive && (n.Voter || n.Decisions > 0) { // who is no voter may well be asked nothing
		judged.Skipped = &junitMessage{Message: fmt.Sprintf("judged %d of %d decisions", n.Judged, n.Decisions)}
	}
	s.add(judged)
	return s
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// failure is a finding in words.
func failure(f *Finding, rule *Rule) *junitMessage {
	var b strings.Builder
	w := &textWriter{out: &b}
	writeWhy(w, "", f, rule)
	for i := range f.Proof {
		w.line("%s", f.Proof[i].String())
	}
	return &junitMessage{Message: f.Text + times(f.Count), Text: b.String()}
}

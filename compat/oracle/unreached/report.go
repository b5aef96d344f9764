package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// report is JaCoCo's XML, as far as it is needed.
type report struct {
	Packages []struct {
		Name    string       `xml:"name,attr"`
		Classes []class      `xml:"class"`
		Sources []sourceFile `xml:"sourcefile"`
	} `xml:"package"`
}

type class struct {
	Name     string    `xml:"name,attr"`
	Source   string    `xml:"sourcefilename,attr"`
	Methods  []method  `xml:"method"`
	Counters []counter `xml:"counter"`
}

type method struct {
	Name     string    `xml:"name,attr"`
	Line     int       `xml:"line,attr"`
	Counters []counter `xml:"counter"`
}

type counter struct {
	Type    string `xml:"type,attr"`
	Missed  int    `xml:"missed,attr"`
	Covered int    `xml:"covered,attr"`
}

type sourceFile struct {
	Name  string `xml:"name,attr"`
	Lines []line `xml:"line"`
}

// line counts instructions and branches that were missed and covered.
type line struct {
	Number            int `xml:"nr,attr"`
	Missed            int `xml:"mi,attr"`
	Covered           int `xml:"ci,attr"`
	BranchesMissed    int `xml:"mb,attr"`
	BranchesNotMissed int `xml:"cb,attr"`
}

func parse(text []byte) (*report, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false // the document type names a file that is not there
	r := &report{}
	return r, d.Decode(r)
}

func find(list []counter, kind string) counter {
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	return counter{}
}

// print lists the classes that were used at all and have a branch that was not taken: their methods, and the lines. A method that was
// never called is named as such, without its lines.
func (r *report) print(out io.Writer) error {
	var all counter
	for _, p := range r.Packages {
		for i := range p.Classes {
			c := &p.Classes[i]
			branches := find(c.Counters, "BRANCH")
			if find(c.Counters, "METHOD").Covered == 0 {
				continue
			}
			all.Missed += branches.Missed
			all.Covered += branches.Covered
			if branches.Missed == 0 {
				continue
			}
			name := strings.ReplaceAll(strings.TrimPrefix(c.Name, "org/apache/kafka/raft/"), "/", ".")
			if _, err := fmt.Fprintf(out, "%s: %d of %d branches\n", name, branches.Missed, branches.Missed+branches.Covered); err != nil {
				return err
			}
			at := slices.IndexFunc(p.Sources, func(s sourceFile) bool { return s.Name == c.Source })
			for _, m := range c.unreached() {
				if _, err := fmt.Fprintf(out, "\t%s\n", m.text(p.Sources, at, c.end(m))); err != nil {
					return err
				}
			}
		}
	}
	_, err := fmt.Fprintf(out, "%d of %d branches of the classes in use were not taken\n", all.Missed, all.Missed+all.Covered)
	return err
}

// unreached are the methods with a branch that was not taken, in order of their lines.
func (c *class) unreached() []method {
	list := slices.DeleteFunc(slices.Clone(c.Methods), func(m method) bool { return find(m.Counters, "BRANCH").Missed == 0 })
	slices.SortFunc(list, func(a, b method) int { return a.Line - b.Line })
	return list
}

// end is the line that the next method begins at. A lambda lies inside of the method that it is written in.
func (c *class) end(of method) int {
	end := 1 << 30
	for _, m := range c.Methods {
		if m.Line > of.Line && m.Line < end && (of.isLambda() || !m.isLambda()) {
			end = m.Line
		}
	}
	return end
}

func (m method) isLambda() bool { return strings.HasPrefix(m.Name, "lambda$") }

func (m method) text(sources []sourceFile, at, end int) string {
	if find(m.Counters, "METHOD").Covered == 0 {
		return fmt.Sprintf("%s (line %d): never called", m.Name, m.Line)
	}
	var lines []string
	for i := 0; at >= 0 && i < len(sources[at].Lines); i++ {
		l := sources[at].Lines[i]
		if l.Number >= m.Line && l.Number < end && l.BranchesMissed > 0 {
			lines = append(lines, fmt.Sprintf("%d (%d of %d)", l.Number, l.BranchesMissed, l.BranchesMissed+l.BranchesNotMissed))
		}
	}
	return m.Name + ": " + strings.Join(lines, ", ")
}

package conform

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
)

// listOfCases is a short name of what is asked of each release: of the text of every case, scenario and attack (id, rule, level, source,
// what is done, requests and expectations, the bytes that are altered), of which releases a killer ends, and of the requests and
// expectations that scenarios have in their code. How a scenario or an attack goes about it has no text, and is not in it.
func listOfCases(t testing.TB) string {
	t.Helper()
	h := sha256.New()
	for _, p := range compat.Profiles() {
		fmt.Fprintln(h, p.Build)
		for _, c := range Cases(p) {
			describe(h, &c, nil)
		}
		for _, s := range Scenarios(p) {
			describe(h, &s.Case, s.kills)
			fmt.Fprintln(h, s.restarts, s.dynamic, s.hostile)
		}
		for _, a := range Attacks(p) {
			describe(h, &a.Case, a.kills)
		}
	}
	for _, text := range assertionsInCode(t) {
		fmt.Fprintln(h, text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// describe writes all of a case that has a text.
func describe(w io.Writer, c *Case, k *killer) {
	fmt.Fprintf(w, "%s%t\n", c.Explain(), c.Fresh)
	if k != nil {
		fmt.Fprintln(w, k.issue, k.releases())
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		client := "default"
		if s.Header.clientID != nil {
			client = strconv.Quote(*s.Header.clientID)
		}
		fmt.Fprintf(w, "%d %d %q %q %t %d %t %s %d %x\n", s.Key, s.Version, s.Ask, s.Want, s.Closes, s.Send, s.Tag, client, s.Header.correlation, s.Header.tags)
		if s.Frame != nil {
			sample := make([]byte, 64)
			for i := range sample {
				sample[i] = byte(i)
			}
			fmt.Fprintf(w, "%x\n", s.Frame(sample))
		}
	}
}

// assertion is a text that has PATH OP VALUE in it: an edit of a request or an expectation.
var assertion = regexp.MustCompile(`(^|\s)(v\d+[+-]:)?[@a-zA-Z][\w.\[\]]*(!=|>=|<=|=)([^=]|$)`)

// assertionsInCode are the texts in the package's code that ask or expect something, in alphabetical order: they may move.
func assertionsInCode(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.Contains(lit.Value, "\n") && assertion.MatchString(strings.Trim(lit.Value, "\"`")) {
				texts = append(texts, lit.Value)
			}
			return true
		})
	}
	slices.Sort(texts)
	return texts
}

// TestMatrix_TheListOfCasesHasWhatTheySay changes a case in each of its texts: none of the changes goes unnoticed.
func TestMatrix_TheListOfCasesHasWhatTheySay(t *testing.T) {
	text := func(change func(*Case, *Step)) string {
		c := Case{ID: "vote/v0/x", Says: "s", Does: "d", Source: "o", Level: Must, Steps: []Step{{Ask: "a=1", Want: []string{"b=1"}, Check: &check{says: "c"}}}}
		change(&c, &c.Steps[0])
		var b strings.Builder
		describe(&b, &c, nil)
		return b.String()
	}
	id := "id"
	seen := map[string]string{}
	for name, change := range map[string]func(*Case, *Step){
		"nothing": func(*Case, *Step) {},
		"id":      func(c *Case, _ *Step) { c.ID = "y" }, "rule": func(c *Case, _ *Step) { c.Says = "y" }, "does": func(c *Case, _ *Step) { c.Does = "y" },
		"source": func(c *Case, _ *Step) { c.Source = "y" }, "level": func(c *Case, _ *Step) { c.Level = Should }, "quirk": func(c *Case, _ *Step) { c.Rule = "y" },
		"role": func(c *Case, _ *Step) { c.Role = Leader }, "fresh": func(c *Case, _ *Step) { c.Fresh = true },
		"key": func(_ *Case, s *Step) { s.Key = 1 }, "version": func(_ *Case, s *Step) { s.Version = 1 }, "ask": func(_ *Case, s *Step) { s.Ask = "a=2" },
		"want": func(_ *Case, s *Step) { s.Want = []string{"b=2"} }, "closes": func(_ *Case, s *Step) { s.Closes = true }, "send": func(_ *Case, s *Step) { s.Send = inPieces },
		"tag": func(_ *Case, s *Step) { s.Tag = true }, "check": func(_ *Case, s *Step) { s.Check = &check{says: "y"} },
		"frame":     func(_ *Case, s *Step) { s.Frame = func(b []byte) []byte { return b } },
		"frame cut": func(_ *Case, s *Step) { s.Frame = func(b []byte) []byte { return b[1:] } },
		"client":    func(_ *Case, s *Step) { s.Header.clientID = &id }, "correlation": func(_ *Case, s *Step) { s.Header.correlation = 1 }, "tags": func(_ *Case, s *Step) { s.Header.tags = []byte{1} },
	} {
		if other, ok := seen[text(change)]; ok {
			t.Errorf("a case with another %s reads as one with another %s", name, other)
		}
		seen[text(change)] = name
	}
	all := map[string]bool{}
	for _, x := range assertionsInCode(t) {
		all[x] = true
	}
	for _, want := range []string{"p.currentLeaderEpoch=$epoch+1 p.fetchOffset=$end", "a>=2 b=0", one, "errorCode=NONE p.errorCode=NONE p.leaderId=$node p.leaderEpoch=$epoch "} {
		if !all[strconv.Quote(want)] {
			t.Errorf("%q is not among the %d assertions of the code", want, len(all))
		}
	}
}

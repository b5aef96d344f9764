package conform

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// recordings are runs against real nodes: RELEASE-VOTERS-ROLE. `go test -run Kafka -record` writes them.
func recordings(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(list) < 5 {
		t.Fatalf("%d recordings: %v", len(list), err)
	}
	return list
}

// playedRun runs the suite against a recorded node.
func playedRun(t testing.TB, name string, change func(*Options)) *Report {
	t.Helper()
	return playedRunOf(t, loadPlayed(t, name), change)
}

func playedRunOf(t testing.TB, p *played, change func(*Options)) *Report {
	t.Helper()
	o := Options{NodeID: p.node}
	o.Address, o.Dial = p.dial(t)
	if change != nil {
		change(&o)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCases_AreWellFormed(t *testing.T) {
	rules := map[string]bool{}
	for _, r := range compat.Rules() {
		rules[r.Name] = true
	}
	for _, p := range compat.Profiles() {
		seen := map[string]bool{}
		cases := Cases(p)
		for i := range cases {
			c := &cases[i]
			if seen[c.ID] {
				t.Errorf("%s: %s is there twice", p.Build, c.ID)
			}
			seen[c.ID] = true
			if c.Says == "" || c.Source == "" || len(c.Steps) == 0 {
				t.Errorf("%s: %s lacks its rule, its source or its steps", p.Build, c.ID)
			}
			if (c.Level == Quirk) != (c.Rule != "") || c.Rule != "" && !rules[c.Rule] {
				t.Errorf("%s: %s is %s, of the rule %q", p.Build, c.ID, c.Level, c.Rule)
			}
			for j := range c.Steps {
				s := &c.Steps[j]
				if r, ok := p.Range(kraft.APIKey(s.Key)); s.Frame == nil && (!ok || s.Version < r.Min || s.Version > r.Max) {
					t.Errorf("%s: %s asks %s v%d, which the release does not serve", p.Build, c.ID, apiName(s.Key), s.Version)
				}
				if !s.Closes && len(s.Want) == 0 && s.Check == nil {
					t.Errorf("%s: %s asserts nothing of an answer", p.Build, c.ID)
				}
			}
		}
		if len(cases) < 200 {
			t.Errorf("%s: %d cases", p.Build, len(cases))
		}
		t.Logf("%s: %d cases", p.Build, len(cases))
	}
}

// TestCases_BrokenTwinsAreSeen alters what real nodes answered: each assertion of each case, one at a time, and what
// every answer must keep. One twin of each case is a node that is asked through a socket. A case that no twin fails must not be; every case of
// every release must have passed somewhere.
func TestCases_BrokenTwinsAreSeen(t *testing.T) {
	twinsOf, nodes := map[string]int{}, 0
	for _, name := range recordings(t) {
		report := playedRun(t, name, nil)
		if report.Verdict() != Passed {
			_ = report.WriteText(t.Output(), false)
			t.Fatalf("%s is not passed when played", name)
		}
		var asNodes []twin
		for i := range report.Results {
			r := &report.Results[i]
			if r.Outcome != Passed || twinsOf[r.Case.ID] > 0 {
				continue
			}
			asNode := twin{id: r.Case.ID}
			err := twins(r, func(what string, talk []Spoken) {
				twinsOf[r.Case.ID]++
				if isQuick(what) {
					asNode.what, asNode.talk = what, talk
				}
				if judge(r.Case, r.Target, talk) == nil {
					t.Errorf("%s: %s passes a node that breaks %s", name, r.Case.ID, what)
				}
			})
			if err != nil {
				t.Errorf("%s: %s: %v", name, r.Case.ID, err)
			}
			asNodes = append(asNodes, asNode)
		}
		nodes += len(asNodes)
		askTwins(t, name, asNodes)
	}
	total := 0
	for _, n := range twinsOf {
		total += n
	}
	for _, p := range compat.Profiles() {
		cases := Cases(p)
		for i := range cases {
			if twinsOf[cases[i].ID] == 0 {
				t.Errorf("%s: %s has never been passed by a real node, so nothing shows that a broken one fails it", p.Build, cases[i].ID)
			}
		}
	}
	t.Logf("%d broken twins, %d of them asked through sockets", total, nodes)
}

// TestRun_SeesABrokenNode runs the suite against nodes that differ from a real one by a single habit, through sockets.
func TestRun_SeesABrokenNode(t *testing.T) {
	leader := "testdata/4.4.0-dynamic-leader.json.gz"
	for _, x := range []struct {
		name, match, fails string
		alter              func(request, answer []byte) []byte
	}{
		{"truncates its answers", "^vote/v2/", "vote/v2/not-granted-below-a-leader", func(request, answer []byte) []byte {
			if request[1] != byte(wire.KeyVote) {
				return answer
			}
			return answer[:len(answer)-1]
		}},
		{"swaps correlation ids", "^framing/", "framing/one-request", func(request, answer []byte) []byte {
			if request[1] == byte(wire.KeyDescribeQuorum) && request[3] == 0 {
				answer[3] ^= 1
			}
			return answer
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := loadPlayed(t, leader)
			p.alter = x.alter
			report := playedRunOf(t, p, func(o *Options) { o.Match = regexp.MustCompile(x.match) })
			if report.Verdict() != Failed {
				t.Fatalf("verdict %s: %s", report.Verdict(), report.Summary())
			}
			var b strings.Builder
			if err := report.WriteText(&b, false); err != nil || !strings.Contains(b.String(), x.fails) {
				t.Errorf("%v; the report does not name %s:\n%s", err, x.fails, b.String())
			}
		})
	}
}

func TestReports_NameEveryCase(t *testing.T) {
	report := playedRun(t, "testdata/4.4.0-dynamic-follower.json.gz", func(o *Options) { o.Match = regexp.MustCompile("^(vote|describe-quorum)/") })
	var text, js, junit, html, md bytes.Buffer
	column := []Column{{"node 2", report}}
	for _, err := range []error{report.WriteText(&text, true), report.WriteJSON(&js), report.WriteJUnit(&junit), WriteHTML(&html, column), WriteMarkdown(&md, column)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var parsed struct {
		Verdict string
		Cases   []struct{ ID, Outcome string }
	}
	if err := json.Unmarshal(js.Bytes(), &parsed); err != nil || len(parsed.Cases) != len(report.Results) || parsed.Verdict != "pass" {
		t.Errorf("JSON: %v, %d cases of %d, verdict %q", err, len(parsed.Cases), len(report.Results), parsed.Verdict)
	}
	var suite junitSuite
	if err := xml.Unmarshal(junit.Bytes(), &suite); err != nil || len(suite.Cases) != len(report.Results) || suite.Skipped != report.Count(Skipped) {
		t.Errorf("JUnit: %v, %d cases of %d", err, len(suite.Cases), len(report.Results))
	}
	for i := range report.Results {
		r := &report.Results[i]
		if r.Outcome == Passed && !strings.Contains(text.String(), r.Case.ID) {
			t.Errorf("the text does not name %s", r.Case.ID)
		}
		row := withoutVersion(r.Case.ID)
		if !strings.Contains(html.String(), "<code>"+row+"</code>") || !strings.Contains(md.String(), "`"+row+"`") {
			t.Errorf("a matrix does not name %s", row)
		}
	}
}

func TestTarget_SameQuorumMayHaveAGrownLog(t *testing.T) {
	target := func(change func(*Target)) *Target {
		t := &Target{Leader: 1, Epoch: 3, facts: facts{"logStart": int64(5), "logEnd": int64(9), "highWatermark": int64(9)}}
		change(t)
		return t
	}
	before := target(func(*Target) {})
	for _, x := range []struct {
		name   string
		change func(*Target)
		same   bool
	}{
		{"nothing", func(*Target) {}, true},
		{"the log grew", func(t *Target) { t.facts["logEnd"], t.facts["highWatermark"] = int64(12), int64(11) }, true},
		{"a new epoch", func(t *Target) { t.Epoch++ }, false},
		{"another leader", func(t *Target) { t.Leader = 2 }, false},
		{"a snapshot was made", func(t *Target) { t.facts["snapshotEnd"] = int64(8) }, false},
		{"the log was cleaned", func(t *Target) { t.facts["logStart"] = int64(8) }, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			if target(x.change).same(before) != x.same {
				t.Errorf("same: %v, want %v", !x.same, x.same)
			}
		})
	}
}

func TestReport_VerdictIsThatOfTheWorstCase(t *testing.T) {
	for _, x := range []struct {
		name     string
		outcomes []Outcome
		want     Outcome
	}{
		{"all passed", []Outcome{Passed, Skipped}, Passed},
		{"nothing applies", []Outcome{Skipped}, Inconclusive},
		{"one could not be judged", []Outcome{Passed, Inconclusive}, Inconclusive},
		{"one failed", []Outcome{Inconclusive, Failed, Passed}, Failed},
	} {
		t.Run(x.name, func(t *testing.T) {
			var r Report
			for _, o := range x.outcomes {
				r.Results = append(r.Results, Result{Outcome: o})
			}
			if have := r.Verdict(); have != x.want {
				t.Errorf("verdict %s, want %s", have, x.want)
			}
		})
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// varies is what differs from run to run: directory, ports, times, sizes, and the numbers of packet blocks, which
// count the opening and closing of connections too.
var varies = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`127\.0\.0\.1:[2-6]\d{4}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`(?m)^  +\d+\.\d\ds`), "     TIME"},
	{regexp.MustCompile(`recording, \d+ kB`), "recording, N kB"},
	{regexp.MustCompile(`(?m)^    +\d+  (\d->\d)`), "        N  $1"},
	{regexp.MustCompile(`frame   \d+`), "frame   N"},
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant (-update writes it)\n%s", got, want)
	}
}

func TestDemo_TextTellsTheStory(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := command(t, "demo", "--speed", "0", "--dir", dir)
	if code != exitFine || errs != "" {
		t.Fatalf("exit code %d, stderr %q\n%s", code, errs, out)
	}
	text := strings.ReplaceAll(out, dir, "DIR")
	for _, v := range varies {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	golden(t, "demo.txt", text)
	if strings.ContainsRune(out, '\x1b') {
		t.Error("colours where there is no terminal")
	}
}

// The recorded quorum conforms, all of it judged; the altered vote is found under the right rule, node, epoch and frames.
func TestDemo_AlteredVoteIsReportedWithRuleNodeEpochAndFrames(t *testing.T) {
	code, out, errs := command(t, "demo", "--speed", "0", "--dir", t.TempDir(), "-o", "json")
	if code != exitFine || errs != "" {
		t.Fatalf("exit code %d, stderr %q", code, errs)
	}
	var got demoSummary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !got.OK || len(got.Acts) != 3 || !got.Acts[0].OK || !got.Acts[1].OK || !got.Acts[2].OK {
		t.Fatalf("summary %s", out)
	}
	play, altered := got.Acts[0], got.Acts[2]
	if play.Verdict != "CONFORMS" || play.Frames != 668 || play.Decisions == 0 || play.Judged != play.Decisions {
		t.Errorf("act 1: %+v", play)
	}
	// truth.json of the capture: leaders_by_epoch
	if demo.LeaderText(play.Leaders) != "node 1 in epoch 1, node 2 in epoch 3" {
		t.Errorf("leaders %v", play.Leaders)
	}
	if f := altered.Finding; altered.Verdict != "DIVERGES" || f == nil || f.Rule != "M1" || f.Node != 2 || f.Epoch != 2 || len(f.Frames) != 2 {
		t.Fatalf("act 3: %+v, finding %+v", altered, altered.Finding)
	}
	asked, answered := frameAt(t, altered.Recording, altered.Finding.Frames[0]), frameAt(t, altered.Recording, altered.Finding.Frames[1])
	if asked.Dir != wire.Request || asked.Conn.Node != 3 || asked.Fault != nil {
		t.Errorf("the first frame of the proof is %+v, want node 2's request for votes to node 3", asked)
	}
	if answered.Dir != wire.Response || answered.Conn.Node != 2 || answered.Fault == nil || !bytes.Contains([]byte(answered.Fault.Rule), []byte("VoteGranted=true")) {
		t.Errorf("the second frame of the proof is %+v, want node 2's altered answer", answered)
	}
}

func frameAt(t *testing.T, file string, number uint64) (o recordings.Observation) {
	t.Helper()
	r, err := recordings.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if err := r.Next(&o); err != nil {
			t.Fatalf("frame %d of %s: %v", number, file, err)
		}
		if o.Kind == recordings.KindFrame && o.Number == number {
			return o
		}
	}
}

func TestDemo_RefusesWrongFlags(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "quorum-000001.pcapng.zst"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"speed", []string{"--speed", "-1"}, exitUsage, "--speed -1"},
		{"not a number", []string{"--speed", "NaN"}, exitUsage, "--speed NaN"},
		{"output", []string{"-o", "xml"}, exitUsage, "text or json"},
		{"release", []string{"--kafka", "newest"}, exitUsage, `"newest"`},
		{"too old", []string{"--kafka", "3.0.0"}, exitUsage, "3.0.0"},
		{"speed of real controllers", []string{"--kafka", "4.4.0", "--speed", "1"}, exitUsage, "recorded quorum"},
		{"both", []string{"--recorded", "--kafka", "4.4.0"}, exitUsage, "one of them"},
		{"keep of nothing", []string{"--keep"}, exitUsage, "--kafka"},
		{"no Kafka there", []string{"--kafka-home", full, "--dir", full}, exitUsage, full},
		{"argument", []string{"4.4.0"}, exitUsage, "4.4.0"},
		{"directory that cannot be", []string{"--dir", filepath.Join(full, "quorum-000001.pcapng.zst", "x")}, exitRuntime, "quorum-000001"},
		{"recording that exists", []string{"--dir", full}, exitRuntime, "quorum-000001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			code, _, errs := command(t, append([]string{"demo"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.says) {
				t.Errorf("exit code %d, want %d; stderr %q, want it to say %q", code, tc.code, errs, tc.says)
			}
			if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
				t.Errorf("%s is left behind", left[0].Name())
			}
		})
	}
}

func TestDemo_SummaryOfAFailureSaysWhy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quorum-000001.pcapng.zst"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, "demo", "--dir", dir, "-o", "json")
	var got demoSummary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code != exitRuntime || got.OK || !strings.Contains(got.Error, "quorum-000001") || !strings.Contains(errs, got.Error) {
		t.Errorf("exit code %d, summary %+v, stderr %q", code, got, errs)
	}
}

// cancelAt cancels when a text is written.
type cancelAt struct {
	text   string
	cancel context.CancelFunc
	out    bytes.Buffer
}

func (c *cancelAt) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.text) {
		c.cancel()
	}
	return c.out.Write(b)
}

func TestDemo_InterruptEndsItAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelAt{text: "start controllers", cancel: cancel}
	var errs bytes.Buffer
	begin := time.Now()
	code := run(ctx, []string{"demo", "--speed", "0.01", "--dir", t.TempDir()}, bytes.NewReader(nil), out, &errs)
	if code != exitRuntime || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
	if took := time.Since(begin); took > 30*time.Second { // at this speed it would take 25 minutes
		t.Errorf("it took %s", took)
	}
}

func quiet() *show { return &show{out: io.Discard} }

// What comes out otherwise than it should must never end in exit code 0.
func TestDemo_UnexpectedVerdictsFail(t *testing.T) {
	report := func(v shadow.Verdict, f ...shadow.Finding) *demoAct {
		return &demoAct{Name: "act", report: &shadow.Report{Verdict: v, Findings: f}}
	}
	both := func(f shadow.Finding) *shadow.Report {
		return report(shadow.Diverges, f, shadow.Finding{Rule: shadow.Tier2, Node: 2, Epoch: 2}).report
	}
	forged := &demo.Forgery{Voter: 2, Candidate: 3, VotedFor: 2, Epoch: 2}
	for _, tc := range []struct {
		name string
		err  error
		code int
	}{
		{"the recorded quorum diverges", quiet().conforms(report(shadow.Diverges, shadow.Finding{Rule: "M2", Text: "two leaders"})), exitFinding},
		{"the recorded quorum is inconclusive", quiet().conforms(report(shadow.Inconclusive)), exitInconclusive},
		{"the altered vote is not found", quiet().caught(report(shadow.Conforms), forged), exitFinding},
		{"something else is found as well", quiet().caught(report(shadow.Diverges, shadow.Finding{}, shadow.Finding{}), forged), exitFinding},
		{"another rule", isForgery(both(shadow.Finding{Rule: "M2", Node: 2, Epoch: 2}), forged), exitFinding},
		{"another node", isForgery(both(shadow.Finding{Rule: "M1", Node: 3, Epoch: 2}), forged), exitFinding},
		{"the first tier alone", isForgery(report(shadow.Diverges, shadow.Finding{Rule: "M1", Node: 2, Epoch: 2}).report, forged), exitFinding},
		{"another epoch", isForgery(both(shadow.Finding{Rule: "M1", Node: 2, Epoch: 3}), forged), exitFinding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var exit *exitError
			if !errors.As(tc.err, &exit) || exit.code != tc.code || exit.err == nil {
				t.Errorf("error %v, want exit code %d with a message", tc.err, tc.code)
			}
		})
	}
	if err := isForgery(both(shadow.Finding{Rule: "M1", Node: 2, Epoch: kraft.Epoch(2)}), forged); err != nil {
		t.Errorf("the right finding is refused: %v", err)
	}
}

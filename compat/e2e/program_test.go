package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
)

// program is a running `understudy proxy`.
type program struct {
	*child.Process
	t      *testing.T
	output kafkatest.Output
	record string // base name of the recording
}

// startProxy runs `understudy proxy` for the upstreams and returns when it listens. It ends with the test.
func startProxy(t *testing.T, upstreams []string, flags ...string) *program {
	t.Helper()
	_, port, _ := strings.Cut(upstreams[0], ":")
	dir := filepath.Join(t.ArtifactDir(), "proxy-"+strings.SplitN(port, "=", 2)[0]) // a test may have several
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, record: filepath.Join(dir, "run")}
	args := []string{"proxy", "--record", p.record, "--dial-from", kafka.DialFrom}
	for _, u := range upstreams {
		args = append(args, "--upstream", u)
	}
	var addresses []string
	for _, u := range upstreams {
		addresses = append(addresses, u[strings.LastIndex(u, "=")+1:])
	}
	p.Process = kafkatest.StartProxy(t, exec.Command(builtBinary, append(args, flags...)...), &p.output, addresses...)
	return p
}

// finish ends the proxy in order and expects it to say that all went well.
func (p *program) finish() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		p.t.Fatal(err)
	}
	if p.ExitCode() != 0 {
		p.t.Errorf("the proxy ended with %s:\n%s", p.Exit(), p.output.String())
	}
}

// segments are the files of the recording.
func (p *program) segments() []string {
	p.t.Helper()
	return kafkatest.Segments(p.t, p.record)
}

// understudy runs a command that ends by itself and returns its output and exit code.
func understudy(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, builtBinary, args...)
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if errOut.Len() > 0 {
		t.Logf("understudy %s: %s", args[0], errOut.String())
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// verdict is what the tests read of `understudy check -o json`.
type verdict struct {
	Verdict   string   `json:"verdict"`
	Reasons   []string `json:"reasons"`
	Decisions uint64   `json:"decisions"`
	Judged    uint64   `json:"judged"`
	Nodes     []struct {
		ID          int32  `json:"id"`
		Voter       bool   `json:"voter"`
		Verdict     string `json:"verdict"`
		Decisions   uint64 `json:"decisions"`
		Judged      uint64 `json:"judged"`
		Release     string `json:"release"`
		DirectoryID string `json:"directoryId"`
	} `json:"nodes"`
	Unjudged []struct {
		Where, Reason string
		Count         uint64
	} `json:"unjudged"`
	Findings []json.RawMessage `json:"findings"`
	Quorum   struct {
		ClusterID string     `json:"clusterId"`
		Elections []election `json:"elections"`
	} `json:"quorum"`
	Counts struct {
		Frames, RaftFrames, Gaps, Undecodable uint64
	} `json:"counts"`
}

type election struct {
	Epoch      int32       `json:"epoch"`
	Leader     int32       `json:"leader"`
	Candidates []candidate `json:"candidates"`
}

type candidate struct {
	ID      int32    `json:"id"`
	PreVote bool     `json:"preVote"`
	Ballots []answer `json:"ballots"`
}

type answer struct {
	Voter   int32  `json:"voter"`
	Granted bool   `json:"granted"`
	Error   int16  `json:"error"`
	Count   uint64 `json:"count"`
}

// check runs `understudy check -o json`, with both tiers.
func check(t *testing.T, files ...string) (verdict, int) {
	t.Helper()
	out, code := understudy(t, append([]string{"check", "-o", "json"}, files...)...)
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("check exited with %d: %v\n%s", code, err, out)
	}
	return v, code
}

func (v *verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v, %d of %d decisions judged, %+v", v.Verdict, v.Reasons, v.Judged, v.Decisions, v.Counts)
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "\n  node %d (%s): %s, %d of %d", n.ID, n.Release, n.Verdict, n.Judged, n.Decisions)
	}
	for _, u := range v.Unjudged {
		fmt.Fprintf(&b, "\n  not judged: %d at %s: %s", u.Count, u.Where, u.Reason)
	}
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	return b.String()
}

package mixed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/child"
)

// witness is `understudy record` in front of all controllers.
type witness struct {
	*child.Process
	base   string
	output bytes.Buffer // to be read once the process has ended
}

func startWitness(t *testing.T, q *kafka.Quorum) *witness {
	t.Helper()
	dir := t.ArtifactDir()
	w := &witness{base: filepath.Join(dir, "witness")}
	args := []string{"record", "--record", w.base, "--dial-from", kafka.DialFrom, "--include-records"}
	for _, u := range q.Upstreams() {
		args = append(args, "--upstream", u)
	}
	cmd := exec.Command(builtBinary, args...)
	cmd.Stdout, cmd.Stderr = &w.output, &w.output
	var err error
	if w.Process, err = child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("what the proxy said:\n%s", w.output.String())
		}
	})
	for _, u := range q.Upstreams() {
		waitListening(t, w, u[strings.LastIndex(u, "=")+1:])
	}
	return w
}

func waitListening(t *testing.T, w *witness, address string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ln, err := net.Listen("tcp", address) // dialling would make a connection that is recorded
		if err != nil {
			return // taken: by the proxy
		}
		_ = ln.Close()
		if w.Ended() || time.Now().After(end) {
			t.Fatalf("the proxy does not listen on %s", address)
		}
	}
}

// verdict is what the tests read of `understudy check -o json`.
type verdict struct {
	Verdict   string   `json:"verdict"`
	Reasons   []string `json:"reasons"`
	Decisions uint64   `json:"decisions"`
	Judged    uint64   `json:"judged"`
	Nodes     []struct {
		ID        int32  `json:"id"`
		Voter     bool   `json:"voter"`
		Verdict   string `json:"verdict"`
		Decisions uint64 `json:"decisions"`
		Judged    uint64 `json:"judged"`
		Release   string `json:"release"`
	} `json:"nodes"`
	Findings []json.RawMessage `json:"findings"`
}

// conforms ends the witness and expects that everyone behaved as Kafka's code would.
func (w *witness) conforms(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(w.base + "-*.pcapng.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recording %s: %v", w.base, err)
	}
	cmd := exec.CommandContext(ctx, builtBinary, append([]string{"check", "-o", "json"}, files...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var v verdict
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
	t.Logf("%s, %d of %d decisions judged", v.Verdict, v.Judged, v.Decisions)
	for _, n := range v.Nodes {
		t.Logf("  node %d (%s): %s, %d of %d", n.ID, n.Release, n.Verdict, n.Judged, n.Decisions)
		if n.Voter && n.Verdict != "CONFORMS" {
			t.Errorf("node %d (%s): %s", n.ID, n.Release, n.Verdict)
		}
	}
	if v.Verdict != "CONFORMS" || len(v.Findings) > 0 || v.Judged*100 < v.Decisions*80 || v.Decisions == 0 {
		t.Errorf("%s %v: %d of %d decisions judged\n%s", v.Verdict, v.Reasons, v.Judged, v.Decisions, bytes.Join(raw(v.Findings), []byte("\n")))
	}
}

func raw(list []json.RawMessage) (all [][]byte) {
	for _, m := range list {
		all = append(all, m)
	}
	return all
}

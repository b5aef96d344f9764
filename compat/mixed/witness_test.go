package mixed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// witness is `understudy record` in front of all controllers.
type witness struct {
	*child.Process
	base   string
	output kafkatest.Output
}

func startWitness(t *testing.T, q *kafka.Quorum, flags ...string) *witness {
	t.Helper()
	dir := t.ArtifactDir()
	w := &witness{base: filepath.Join(dir, "witness")}
	args := []string{"record", "--record", w.base, "--dial-from", kafka.DialFrom, "--include-records"}
	args = append(args, flags...)
	var addresses []string
	for _, u := range q.Upstreams() {
		args, addresses = append(args, "--upstream", u), append(addresses, u[strings.LastIndex(u, "=")+1:])
	}
	w.Process = kafkatest.StartProxy(t, exec.Command(builtBinary, args...), &w.output, addresses...)
	return w
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

// conforms ends the witness and expects that everyone behaved as Kafka's code would, by these tiers of the checker.
func (w *witness) conforms(t *testing.T, tiers ...string) {
	t.Helper()
	v := w.accusesNobody(t, tiers...)
	for _, n := range v.Nodes {
		if n.Voter && n.Verdict != "CONFORMS" {
			t.Errorf("node %d (%s): %s", n.ID, n.Release, n.Verdict)
		}
	}
	if v.Verdict != "CONFORMS" || v.Judged*100 < v.Decisions*95 || v.Decisions == 0 {
		t.Errorf("%s %v: %d of %d decisions judged", v.Verdict, v.Reasons, v.Judged, v.Decisions)
	}
}

// accusesNobody ends the witness and expects that these tiers of the checker find nothing; it returns what the first one says.
func (w *witness) accusesNobody(t *testing.T, tiers ...string) (first verdict) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	for i, tier := range tiers {
		if v := w.check(ctx, t, tier); i == 0 {
			first = v
		}
	}
	return first
}

// check has the recording judged. The second tier may not be able to follow a node to the end, but it must accuse nobody.
func (w *witness) check(ctx context.Context, t *testing.T, tier string) (v verdict) {
	t.Helper()
	cmd := exec.CommandContext(ctx, builtBinary, append([]string{"check", "--tier", tier, "-o", "json"}, kafkatest.Segments(t, w.base)...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
	t.Logf("tier %s: %s, %d of %d decisions judged", tier, v.Verdict, v.Judged, v.Decisions)
	for _, n := range v.Nodes {
		t.Logf("  node %d (%s): %s, %d of %d", n.ID, n.Release, n.Verdict, n.Judged, n.Decisions)
	}
	if v.Verdict == "DIVERGES" || len(v.Findings) > 0 {
		t.Errorf("tier %s: %s %v\n%s", tier, v.Verdict, v.Reasons, bytes.Join(raw(v.Findings), []byte("\n")))
	}
	return v
}

func raw(list []json.RawMessage) (all [][]byte) {
	for _, m := range list {
		all = append(all, m)
	}
	return all
}

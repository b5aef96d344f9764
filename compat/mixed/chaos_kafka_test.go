package mixed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// faults changes the rules of the witness while it runs.
type faults struct{ http.Client }

func dialFaults(path string) *faults {
	return &faults{http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}}
}

func (f *faults) do(ctx context.Context, t *testing.T, method, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://proxy/faults", strings.NewReader(body))
	must(t, err)
	resp, err := f.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %q: %s: %s", method, body, resp.Status, text)
	}
	return text
}

// taken is how many frames the rules in force have taken.
func (f *faults) taken(ctx context.Context, t *testing.T) (n uint64) {
	t.Helper()
	var list []struct{ Taken uint64 }
	must(t, json.Unmarshal(f.do(ctx, t, http.MethodGet, ""), &list))
	for _, rule := range list {
		n += rule.Taken
	}
	return n
}

// disturbed is a quorum behind a witness that takes fault rules. Nothing of the quorum runs yet.
func disturbed(t *testing.T, limit time.Duration, cfg kafka.Config) (*loaded, *faults) {
	t.Helper()
	dir, err := os.MkdirTemp("", "faults") //nolint:usetesting // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	control := filepath.Join(dir, "faults")
	q := &loaded{quorum: &quorum{t: t, ctx: kafkatest.Deadline(t, limit), ours: []kraft.NodeID{ours}}}
	cfg.Proxied = true
	q.Quorum = kafkatest.New(t, cfg)
	q.witness = startWitness(t, q.Quorum, "--control", "unix:"+control)
	f := dialFaults(control)
	t.Cleanup(f.CloseIdleConnections)
	return q, f
}

// chaos is a mixed quorum to which bad things happen.
type chaos struct {
	*loaded
	dice   *rand.Rand
	faults *faults
	votes  map[kraft.NodeID]map[kraft.Epoch]kraft.ReplicaKey
	kills  int
	done   map[string]int
}

// startChaos has two controllers of Kafka, one of ours and an observer of ours, under load.
func startChaos(t *testing.T, limit time.Duration) *chaos {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	q, faults := disturbed(t, limit, kafka.Config{
		Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Brokers: 1, Timeouts: quick, Source: source(t, ours, observer),
	})
	must(t, q.Start(q.ctx, append(q.Controllers(), observer)...))
	q.ready()
	q.load = startLoad(q.ctx, q.Quorum)
	t.Cleanup(func() { q.load.end() })
	c := &chaos{loaded: q, dice: rand.New(rand.NewPCG(seed, 0)), faults: faults, votes: map[kraft.NodeID]map[kraft.Epoch]kraft.ReplicaKey{}, done: map[string]int{}}
	return c
}

// between is a duration from one up to another.
func (c *chaos) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.dice.Int64N(int64(most-least)))
}

func (c *chaos) someone() kraft.NodeID { return kraft.NodeID(1 + c.dice.IntN(3)) }

// wait passes some time.
func (c *chaos) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		c.t.Fatal(c.ctx.Err())
	}
}

// kill ends a node by SIGKILL and looks at the vote that it leaves.
func (c *chaos) kill(id kraft.NodeID) {
	t := c.t
	t.Helper()
	must(t, c.Kill(id))
	c.kills++
	state, ok, err := storage.ReadQuorumState(storage.OS(), filepath.Join(c.Node(id).DataDir, storage.PartitionDir))
	must(t, err)
	if !ok || state.Voted == kraft.NoReplica {
		return
	}
	if c.votes[id] == nil {
		c.votes[id] = map[kraft.Epoch]kraft.ReplicaKey{}
	}
	if before, ok := c.votes[id][state.Epoch]; ok && before != state.Voted {
		t.Errorf("node %v voted for %v and for %v in epoch %d", id, before, state.Voted, state.Epoch)
	}
	c.votes[id][state.Epoch] = state.Voted
}

// links are faults of the network between two nodes.
var links = []string{
	"partition %v->%v", "cut any from %v to %v every 3", "cut after any from %v to %v probability 0.3", "cut any response from %v to %v every 4",
	"delay 150ms any from %v to %v", "blackhole any from %v to %v after 2", "delay 400ms any response from %v to %v probability 0.3",
}

// trouble does one bad thing and ends it.
func (c *chaos) trouble() {
	t, id := c.t, c.someone()
	t.Helper()
	what := [...]string{"kill", "kill ours", "stop", "pause", "link", "link", "isolate", "kill and link"}[c.dice.IntN(8)]
	c.done[what]++
	switch what {
	case "kill", "kill ours":
		if what == "kill ours" {
			id = ours
		}
		c.kill(id)
		c.wait(c.between(0, 1500*time.Millisecond))
		must(t, c.Start(c.ctx, id))
	case "stop":
		must(t, c.Stop(c.ctx, id))
		must(t, c.Start(c.ctx, id))
	case "pause":
		must(t, c.Pause(id))
		c.wait(c.between(200*time.Millisecond, 3*time.Second))
		must(t, c.Resume(id))
	case "link":
		c.breakLinks(id, id%3+1)
		c.wait(c.between(500*time.Millisecond, 3*time.Second))
	case "isolate":
		c.breakLinks(id, id%3+1, (id+1)%3+1)
		c.wait(c.between(500*time.Millisecond, 3*time.Second))
	case "kill and link":
		c.breakLinks(id, id%3+1)
		c.kill(id%3 + 1)
		must(t, c.Start(c.ctx, id%3+1))
	}
	c.faults.do(c.ctx, t, http.MethodDelete, "")
}

// breakLinks disturbs what goes from a node to others, and with luck what comes back.
func (c *chaos) breakLinks(id kraft.NodeID, others ...kraft.NodeID) {
	var rules []string
	for _, other := range others {
		rules = append(rules, fmt.Sprintf(links[c.dice.IntN(len(links))], id, other))
		if c.dice.IntN(2) == 0 {
			rules = append(rules, fmt.Sprintf(links[c.dice.IntN(len(links))], other, id))
		}
	}
	c.faults.do(c.ctx, c.t, http.MethodPost, strings.Join(rules, "\n"))
}

// end heals everything and compares.
func (c *chaos) end() {
	t := c.t
	t.Helper()
	c.faults.do(c.ctx, t, http.MethodDelete, "")
	c.ready()
	must(t, c.WriteMetadata(c.ctx, "last", 10))
	acked := c.load.end()
	described, _ := c.described()
	for _, n := range c.Nodes() {
		must(t, reaches(c.ctx, n, described.HighWatermark))
	}
	must(t, c.Err())
	led := map[kraft.NodeID]int{}
	for _, e := range c.Truth().Leaders() {
		led[e.Node]++
	}
	t.Logf("trouble %v, %d kills; epochs led by node: %v", c.done, c.kills, led)
	must(t, c.CloseInOrder())
	c.witness.accusesNobody(t, "1") // the second tier does not know what a fault does to a frame
	logsAgree(t, c.Quorum, described.HighWatermark, acked)
}

// TestMatrix_AMixedQuorumOutlivesChaos: for a while (UNDERSTUDY_CHAOS says for how long) nodes of both kinds are killed, stopped and paused and
// links between them cut, delayed and swallowed. Then all logs are equal, and nothing that was acknowledged is lost; the checker accuses nobody.
func TestMatrix_AMixedQuorumOutlivesChaos(t *testing.T) {
	t.Parallel()
	kafkatest.NeedKafka(t)
	if !kafkatest.Matrix() {
		t.Skip("make test-matrix runs it")
	}
	lasts := time.Minute
	if text := os.Getenv("UNDERSTUDY_CHAOS"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		must(t, err)
	}
	c := startChaos(t, lasts+9*time.Minute)
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		c.trouble()
		c.wait(c.between(0, 1500*time.Millisecond))
	}
	c.end()
}

// TestMatrix_KilledNodesOfBothKindsLoseNothing: SIGKILL after SIGKILL, of one node or of two at once, while records are written.
func TestMatrix_KilledNodesOfBothKindsLoseNothing(t *testing.T) {
	t.Parallel()
	kafkatest.NeedKafka(t)
	if !long() {
		t.Skip("make test-mixed runs it")
	}
	c := startChaos(t, 30*time.Minute)
	for c.kills < 50 {
		victims := []kraft.NodeID{ours}
		if c.dice.IntN(2) == 0 {
			victims[0] = c.someone()
		}
		if c.dice.IntN(3) == 0 {
			victims = append(victims, victims[0]%3+1)
		}
		c.wait(c.between(0, time.Second))
		for _, id := range victims {
			c.kill(id)
		}
		must(t, c.Start(c.ctx, victims...))
		if c.kills%5 == 0 {
			c.ready()
		}
	}
	c.end()
}

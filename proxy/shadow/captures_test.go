package shadow

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

var captures = []string{"412-static-follower-restart", "440-dynamic-start-kill"}

func captureFile(name, file string) string {
	return filepath.Join("..", "..", "recordings", "testdata", "captures", name, file)
}

// capture reads all observations of a capture of a real quorum, and calls visit for each.
func capture(t testing.TB, name string, visit func(*recordings.Observation)) {
	t.Helper()
	in, err := recordings.OpenAny(nil, captureFile(name, "capture.pcap.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(&o)
	}
}

// truth is what Kafka's own logs say of a capture.
type truth struct {
	ClusterID string `json:"cluster_id"`
	Nodes     map[kraft.NodeID]struct {
		Version   string `json:"version"`
		Directory string `json:"directory_id"`
	} `json:"nodes"`
	Leaders map[kraft.Epoch]struct {
		Leader kraft.NodeID `json:"leader"`
		T      int64        `json:"t"`
	} `json:"leaders_by_epoch"`
	Transitions []struct {
		T     int64        `json:"t"`
		Node  kraft.NodeID `json:"node"`
		Role  string       `json:"role"`
		Epoch kraft.Epoch  `json:"epoch"`
	} `json:"transitions"`
}

func readTruth(t *testing.T, name string) (want truth) {
	t.Helper()
	raw, err := os.ReadFile(captureFile(name, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// counter counts answers by node and api key.
type counter map[string]int

func (counter) rule() *Rule   { return &Rule{} }
func (counter) hears() []Kind { return nil }
func (n counter) observe(_ *Checker, m *message) {
	n[fmt.Sprintf("node %s %s", m.sender.id, wire.Name(m.key))]++
}

func (n counter) closed(c *Checker, o *recordings.Observation) {
	k := c.conns[connKey{o.Conn.Stream, o.Conn.ID}]
	if k == nil || k.ep.node == nil {
		return
	}
	for i := range k.open {
		n[fmt.Sprintf("node %s %s", k.ep.node.id, wire.Name(k.open[i].ref.key))]++
	}
}

func TestCaptures_EqualKafkasOwnLogs(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			c, answers := New(Options{}), counter{}
			for k := KindFetchResponse; k < kinds; k += 2 {
				c.monitors[k] = append(c.monitors[k], answers)
			}
			cut := counter{} // requests that were open when their connection ended
			capture(t, name, func(o *recordings.Observation) {
				if o.Kind == recordings.KindClose {
					cut.closed(c, o)
				}
				c.Observe(o)
			})
			r := c.Finish()
			if r.Verdict != Conforms || r.Judged*100 < r.Decisions*enough || r.Decisions == 0 {
				t.Errorf("%s, judged %d of %d: %v %v", r.Verdict, r.Judged, r.Decisions, r.Reasons, r.Findings)
			}
			want := readTruth(t, name)
			sameElections(t, &want, r)
			sameNodes(t, &want, r)
			votes, sent := kafkaLogs(t, name, c.last)
			if got := ballots(r); !maps.Equal(got, votes) {
				t.Errorf("votes on the wire:\n%v\nin Kafka's logs:\n%v", got, votes)
			}
			for what, n := range sent { // an answer to a connection that has ended is logged, and not seen
				if answers[what] > n || answers[what]+cut[what] < n {
					t.Errorf("%s: %d answers on the wire, %d in Kafka's logs, %d open when their connection ended", what, answers[what], n, cut[what])
				}
			}
			if len(answers) != len(sent) {
				t.Errorf("answers on the wire:\n%v\nin Kafka's logs:\n%v", answers, sent)
			}
		})
	}
}

func sameElections(t *testing.T, want *truth, r *Report) {
	leaders := map[kraft.Epoch]kraft.NodeID{}
	for _, e := range r.Quorum.Elections {
		if e.Leader >= 0 {
			leaders[e.Epoch] = e.Leader
			if at := want.Leaders[e.Epoch].T; e.LeaderAt/1e6 < at-1 || e.LeaderAt/1e6 > at+500 {
				t.Errorf("epoch %d: leader named at %d, led from %d", e.Epoch, e.LeaderAt/1e6, at)
			}
			if e.Watermark < 0 {
				t.Errorf("epoch %d: no first high watermark", e.Epoch)
			}
		}
	}
	for epoch, w := range want.Leaders {
		if leaders[epoch] != w.Leader {
			t.Errorf("epoch %d: leader %s, want %s", epoch, nodeName(leaders[epoch]), w.Leader)
		}
	}
	if len(leaders) != len(want.Leaders) {
		t.Errorf("leaders %v, want %v", leaders, want.Leaders)
	}
	stood := map[string]bool{}
	for _, e := range r.Quorum.Elections {
		for _, cand := range e.Candidates {
			if !cand.PreVote {
				stood[fmt.Sprintf("%s in %d", cand.ID, e.Epoch)] = true
			}
		}
	}
	for _, tr := range want.Transitions {
		if what := fmt.Sprintf("%s in %d", tr.Node, tr.Epoch); tr.Role == "Candidate" && !stood[what] {
			t.Errorf("candidate %s is not in the timeline", what)
		}
	}
}

func sameNodes(t *testing.T, want *truth, r *Report) {
	if r.Quorum.ClusterID != want.ClusterID {
		t.Errorf("cluster %s, want %s", r.Quorum.ClusterID, want.ClusterID)
	}
	for id, w := range want.Nodes {
		i := slices.IndexFunc(r.Nodes, func(n NodeReport) bool { return n.ID == id })
		if i < 0 {
			t.Errorf("node %s is not in the report", id)
			continue
		}
		if n := &r.Nodes[i]; n.DirectoryID != w.Directory || n.Release != w.Version {
			t.Errorf("node %s: release %s, directory id %s; want %s, %s", id, n.Release, n.DirectoryID, w.Version, w.Directory)
		}
	}
}

// ballots counts the votes of a report as Kafka's log words them.
func ballots(r *Report) map[string]int {
	list := map[string]int{}
	for _, e := range r.Quorum.Elections {
		for _, cand := range e.Candidates {
			epoch := e.Epoch
			if cand.PreVote {
				epoch--
			}
			for _, b := range cand.Ballots {
				result := "rejected"
				if b.Granted {
					result = "granted"
				}
				list[fmt.Sprintf("node %s: %s for %s in %d, preVote=%t", b.Voter, result, cand.ID, epoch, cand.PreVote)] += int(b.Count)
			}
		}
	}
	return list
}

var (
	voteLine = regexp.MustCompile(`^(\d+) INFO .* Vote request .*replicaEpoch=(\d+), replicaId=(\d+),.*preVote=(true|false).* is (granted|rejected) `)
	sentLine = regexp.MustCompile(`^(\d+) TRACE .* Sent response OutboundResponse\(correlationId=\d+, data=(\w+)ResponseData`)
)

// kafkaLogs reads from the nodes' logs which votes they gave and how many answers of each kind they sent, until
// the capture ended.
func kafkaLogs(t *testing.T, name string, until int64) (votes, sent map[string]int) {
	votes, sent = map[string]int{}, map[string]int{}
	files, err := filepath.Glob(captureFile(name, "node-*.log.zst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		node := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "node-"), ".log.zst")
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if m := voteLine.FindStringSubmatch(lines.Text()); m != nil && early(m[1], until) {
				votes[fmt.Sprintf("node %s: %s for %s in %s, preVote=%s", node, m[5], m[3], m[2], m[4])]++
			}
			if m := sentLine.FindStringSubmatch(lines.Text()); m != nil && early(m[1], until) {
				sent["node "+node+" "+m[2]]++
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return votes, sent
}

func early(millis string, until int64) bool {
	at, err := strconv.ParseInt(millis, 10, 64)
	return err == nil && at*1e6 <= until
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// live is one real quorum that many tests disturb, one after the other. Each has a proxy of its own, so a recording of its own.
type live struct {
	t       *testing.T
	ctx     context.Context
	q       *kafka.Quorum
	profile compat.Profile
	control string // address of the proxies' control API
	dir     string
	runs    int
}

// onlyLive ends a test of the tier that `make test-live` selects.
func onlyLive(t *testing.T) {
	t.Helper()
	if os.Getenv("UNDERSTUDY_LIVE") == "" {
		t.Skip("minutes of a real quorum; make test-live runs it")
	}
}

// liveReleases are the releases of the live tests: 4.4.0, or those that UNDERSTUDY_RELEASES names.
func liveReleases() []string {
	if list := strings.Fields(os.Getenv("UNDERSTUDY_RELEASES")); len(list) > 0 {
		return list
	}
	return []string{"4.4.0"}
}

// metadataTopic is the name of the one topic of the raft layer.
const metadataTopic = "__cluster_metadata"

// newLive prepares three controllers with Kafka's own timeouts, that write a record and answer all parked Fetches ten times a second,
// and have a snapshot soon.
func newLive(t *testing.T, release string) *live {
	t.Helper()
	cfg := kafka.Config{
		Release: kafka.MustRelease(release), Voters: kafka.Dynamic, Proxied: true, Timeouts: kafka.Timeouts{IdleIntervalMs: 100},
		Properties: map[string]string{"metadata.log.max.record.bytes.between.snapshots": "2000"},
	}
	ports, err := kafka.TakePorts(1)
	must(t, err)
	profile, err := compat.ByRelease(release)
	must(t, err)
	l := &live{t: t, ctx: kafkatest.Deadline(t, 20*time.Minute), q: kafkatest.New(t, cfg), profile: profile, control: "127.0.0.1:" + strconv.Itoa(ports[0]), dir: t.ArtifactDir()}
	return l
}

// scene is what stands behind the letters of a rule: L leads, F and G follow, E is the epoch and N the one after it.
type scene struct {
	L, F, G kraft.NodeID
	E       kraft.Epoch
}

// fill puts the scene's numbers into a rule.
func (s scene) fill(rule string) string {
	return strings.NewReplacer("{L}", s.L.String(), "{F}", s.F.String(), "{G}", s.G.String(),
		"{E}", strconv.Itoa(int(s.E)), "{N}", strconv.Itoa(int(s.E)+1)).Replace(rule)
}

// either puts the scene's numbers into a rule, once for each way in which {V} may be meant.
func (s scene) either(rule string) []string {
	if !strings.Contains(rule, "{V}") {
		return []string{s.fill(rule)}
	}
	return []string{s.fill(strings.ReplaceAll(rule, "{V}", "{F}->{G}")), s.fill(strings.ReplaceAll(rule, "{V}", "{G}->{F}"))}
}

// liveRun is one proxy before the quorum.
type liveRun struct {
	*live
	scene
	proxy  *child.Process
	output kafkatest.Output
	record string
	began  time.Time
}

// begin puts a proxy before the quorum, starts what does not run, and waits until all follow one leader and Fetches flow.
func (l *live) begin(t *testing.T, flags ...string) *liveRun {
	t.Helper()
	l.runs++
	r := &liveRun{live: l, record: filepath.Join(l.dir, fmt.Sprintf("run-%03d", l.runs)), began: time.Now()}
	args := []string{"proxy", "--record", r.record, "--dial-from", kafka.DialFrom, "--control", l.control}
	addresses := []string{l.control}
	for _, u := range l.q.Upstreams() {
		args = append(args, "--upstream", u)
		addresses = append(addresses, u[strings.LastIndex(u, "=")+1:])
	}
	r.proxy = kafkatest.StartProxy(t, exec.Command(builtBinary, append(args, flags...)...), &r.output, addresses...)
	r.settle(t)
	return r
}

// settle starts controllers that have ended, waits for a leader that all follow, and learns the scene.
func (r *liveRun) settle(t *testing.T) {
	t.Helper()
	answers := uint64(5)
	for range 8 {
		var ended []kraft.NodeID
		for _, id := range r.q.Controllers() {
			if !r.q.Running(id) {
				ended = append(ended, id)
			}
		}
		if len(ended) > 0 {
			must(t, r.q.Start(r.ctx, ended...))
			answers = 15 // its registration is answered when it is committed, and a proxy that stops waits for answers
		}
		leader, err := r.q.WaitLeader(r.ctx)
		if err == nil {
			err = r.q.WaitReady(r.ctx)
		}
		if err != nil {
			if r.ctx.Err() != nil {
				t.Fatal(err)
			}
			continue // a node has ended just now
		}
		r.scene = scene{L: leader.Node, E: leader.Epoch}
		for _, id := range r.q.Controllers() {
			switch {
			case id == r.L:
			case r.F == 0:
				r.F = id
			default:
				r.G = id
			}
		}
		if r.flows(t, answers, 4*time.Second) {
			return
		}
	}
	t.Fatalf("the quorum does not settle:\n%s", r.q.Summary())
}

// neverTaken ends a rule that counts the frames it concerns and takes none of them.
const neverTaken = " after 4000000000"

// flows reports whether the leader answers so many more Fetches of both followers.
func (r *liveRun) flows(t *testing.T, answers uint64, limit time.Duration) bool {
	t.Helper()
	probes := []string{r.fill("drop Fetch response {L}->{F}" + neverTaken), r.fill("drop Fetch response {L}->{G}" + neverTaken)}
	r.add(t, probes...)
	ok := r.until(t, limit, func(rules map[string]faultCount) bool {
		return rules[probes[0]].Seen >= answers && rules[probes[1]].Seen >= answers
	})
	r.heal(t)
	return ok
}

// faultCount is what the control API tells of a rule.
type faultCount struct {
	Rule        string `json:"rule"`
	Seen, Taken uint64
}

// add puts rules in force.
func (r *liveRun) add(t *testing.T, rules ...string) {
	t.Helper()
	r.call(t, http.MethodPost, strings.Join(rules, "\n"), nil)
}

// heal takes all rules out.
func (r *liveRun) heal(t *testing.T) {
	t.Helper()
	r.call(t, http.MethodDelete, "", nil)
}

func (r *liveRun) call(t *testing.T, method, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, method, "http://"+r.control+"/faults", strings.NewReader(body))
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }() // it was only read
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %q: %s %s", method, body, resp.Status, text)
	}
	if into != nil {
		must(t, json.Unmarshal(text, into))
	}
}

// until waits until the rules' counts are as wanted, and reports whether they came to be.
func (r *liveRun) until(t *testing.T, limit time.Duration, cond func(rules map[string]faultCount) bool) bool {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		var list []faultCount
		r.call(t, http.MethodGet, "", &list)
		rules := map[string]faultCount{}
		for _, c := range list {
			rules[c.Rule] = c
		}
		if cond(rules) {
			return true
		}
		if time.Now().After(end) || r.ctx.Err() != nil {
			return false
		}
	}
}

// taken waits until of each group of rules one has taken a frame.
func (r *liveRun) taken(t *testing.T, limit time.Duration, groups ...[]string) bool {
	t.Helper()
	return r.until(t, limit, func(counts map[string]faultCount) bool {
		for _, rules := range groups {
			if !slices.ContainsFunc(rules, func(rule string) bool { return counts[rule].Taken > 0 }) {
				return false
			}
		}
		return true
	})
}

// end stops the proxy and returns its exit code and the files of its recording.
func (r *liveRun) end(t *testing.T) (code int, files []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	must(t, r.proxy.Stop(ctx))
	return r.proxy.ExitCode(), kafkatest.Segments(t, r.record)
}

// guest is a client of the test's own that asks controllers through the proxy, as a raft client that is no voter.
type guest struct {
	id    kraft.NodeID
	key   kraft.DirectoryID
	admin *kafka.Admin
	run   *liveRun
}

// newGuest connects to a node.
func (r *liveRun) newGuest(t *testing.T, id, to kraft.NodeID) *guest {
	t.Helper()
	a, err := kafka.DialAdmin(r.ctx, r.q.Node(to).Advertised, "raft-client-"+id.String())
	must(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return &guest{id: id, key: kraft.DirectoryID{0x77, 15: byte(id)}, admin: a, run: r}
}

func ask[T any](t *testing.T, g *guest, req kmsg.Request) T {
	t.Helper()
	resp, err := g.admin.Request(g.run.ctx, req)
	must(t, err)
	return resp.(T)
}

// vote asks for a vote in an epoch, with a log that is longer than any.
func (g *guest) vote(t *testing.T, epoch kraft.Epoch, of kraft.NodeID) kmsg.VoteResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrVoteRequest()
	req.Version = 1
	req.ClusterID, req.VoterID = &g.run.q.ClusterID, int32(of)
	topic, p := kmsg.NewVoteRequestTopic(), kmsg.NewVoteRequestTopicPartition()
	topic.Topic = metadataTopic
	p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(epoch), int32(g.id), g.key
	p.LastOffsetEpoch, p.LastOffset = int32(epoch)-1, 1<<40
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return ask[*kmsg.VoteResponse](t, g, req).Topics[0].Partitions[0]
}

// fetch fetches from an offset, without waiting.
func (g *guest) fetch(t *testing.T, epoch kraft.Epoch, offset int64) kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version = 17
	req.ClusterID, req.ReplicaState.ID, req.ReplicaState.Epoch, req.MaxBytes = &g.run.q.ClusterID, int32(g.id), -1, 1<<20
	topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	topic.TopicID = wire.MetadataTopicID
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.PartitionMaxBytes, p.ReplicaDirectoryID = int32(epoch), offset, 0, 1<<20, g.key
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return ask[*kmsg.FetchResponse](t, g, req).Topics[0].Partitions[0]
}

// snapshot fetches a snapshot from its beginning.
func (g *guest) snapshot(t *testing.T, epoch kraft.Epoch, id kmsg.FetchResponseTopicPartitionSnapshotID) {
	t.Helper()
	if resp := ask[*kmsg.FetchSnapshotResponse](t, g, g.snapshotRequest(epoch, id)); resp.ErrorCode != 0 || len(resp.Topics) != 1 {
		t.Fatalf("snapshot %+v: %+v", id, resp)
	}
}

func (g *guest) snapshotRequest(epoch kraft.Epoch, id kmsg.FetchResponseTopicPartitionSnapshotID) kmsg.Request {
	req := kmsg.NewPtrFetchSnapshotRequest()
	req.Version = 1
	req.ClusterID, req.ReplicaID, req.MaxBytes = &g.run.q.ClusterID, int32(g.id), 1<<20
	topic, p := kmsg.NewFetchSnapshotRequestTopic(), kmsg.NewFetchSnapshotRequestTopicPartition()
	topic.Topic = metadataTopic
	p.CurrentLeaderEpoch, p.SnapshotID.EndOffset, p.SnapshotID.Epoch, p.ReplicaDirectoryID = int32(epoch), id.EndOffset, id.Epoch, g.key
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

// describe asks for the state of the quorum.
func (g *guest) describe(t *testing.T) {
	t.Helper()
	ask[*kmsg.DescribeQuorumResponse](t, g, describeRequest())
}

func describeRequest() kmsg.Request {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	topic, p := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	topic.Topic, topic.Partitions = metadataTopic, append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

// altered is a frame that a fault rule met, and who wrote it.
type altered struct {
	rule   string
	writer kraft.NodeID // kraft.NoNode: not a node
	o      recordings.Observation
}

// alteredFrames finds in a recording what fault rules met, without the checker's help.
func alteredFrames(t *testing.T, files []string) (list []altered) {
	t.Helper()
	in, err := recordings.OpenAny(nil, files...)
	must(t, err)
	defer func() { _ = in.Close() }() // it was only read
	clients := map[*recordings.Conn]kraft.NodeID{}
	for {
		var o recordings.Observation
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		must(t, err)
		if o.Kind != recordings.KindFrame {
			continue
		}
		writer := o.Conn.Node
		if o.Dir == wire.Request {
			sent := o.Frame.Bytes
			if o.Fault != nil && len(o.Fault.Sent) > 0 {
				sent = o.Fault.Sent
			}
			if h, _, err := wire.ParseRequestHeader(sent); err == nil {
				clients[o.Conn] = kraft.NoNode
				if n, err := strconv.Atoi(strings.TrimPrefix(string(h.ClientID), "raft-client-")); err == nil {
					clients[o.Conn] = kraft.NodeID(n)
				}
			}
			writer = clients[o.Conn]
		}
		if o.Fault != nil {
			fault := *o.Fault
			o.Fault = &fault
			list = append(list, altered{fault.Rule, writer, o})
		}
	}
}

func TestScene_FillsTheLettersOfARule(t *testing.T) {
	s := scene{L: 3, F: 1, G: 2, E: 7}
	for rule, want := range map[string][]string{
		"drop Vote {F}->{L} epoch {E}":    {"drop Vote 1->3 epoch 7"},
		"drop Vote {V} epoch {N} nth 1":   {"drop Vote 1->2 epoch 8 nth 1", "drop Vote 2->1 epoch 8 nth 1"},
		"drop Fetch response {L}->99":     {"drop Fetch response 3->99"},
		"partition {F}->{G}":              {"partition 1->2"},
		"mutate Fetch field LeaderID={L}": {"mutate Fetch field LeaderID=3"},
	} {
		if got := s.either(rule); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", rule, got, want)
		}
	}
}

package mixed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// staying has the nodes of ours keep the leadership.
func staying(source kafka.Source) kafka.Source {
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := source(ctx, release)
		return stayers{d}, err
	}
}

type stayers struct{ kafka.Dist }

func (d stayers) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	cmd := d.Dist.Command(ctx, jvm, class, args...)
	if cmd.Path == builtBinary && cmd.Args[1] == "join" {
		cmd.Args = append(cmd.Args, "--on-leadership", "stay")
	}
	return cmd
}

// calm is for tests in which a leader shall stay one while the tools, a JVM each, take the processors.
var calm = kafka.Timeouts{ElectionMs: 500, FetchMs: 3000, RequestMs: 3000, BackoffMaxMs: 300, IdleIntervalMs: 100}

// quorumInfo is what the leader answers to DescribeQuorum.
type quorumInfo struct {
	leader kraft.NodeID
	epoch  kraft.Epoch
	voters []kraft.ReplicaKey
	ports  map[kraft.NodeID]uint16
}

// describe asks the controllers themselves until one of them leads: Kafka's tool is a process of a second.
func describe(ctx context.Context, t *testing.T, q *kafka.Quorum) (d quorumInfo) {
	t.Helper()
	for ctx.Err() == nil {
		for _, id := range q.Controllers() {
			if d, ok := describeBy(ctx, q.Node(id)); ok {
				return d
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no controller answers DescribeQuorum:\n%s", q.Summary())
	return d
}

func describeBy(ctx context.Context, n kafka.Node) (d quorumInfo, ok bool) {
	a, err := kafka.DialAdmin(ctx, n.Listener, "test")
	if err != nil {
		return d, false
	}
	defer func() { _ = a.Close() }()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	resp, err := a.Request(limit, req)
	if err != nil {
		return d, false
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		return d, false
	}
	p := r.Topics[0].Partitions[0]
	d = quorumInfo{leader: kraft.NodeID(p.LeaderID), epoch: kraft.Epoch(p.LeaderEpoch), ports: map[kraft.NodeID]uint16{}}
	for _, v := range p.CurrentVoters {
		d.voters = append(d.voters, kraft.ReplicaKey{ID: kraft.NodeID(v.ReplicaID), DirectoryID: v.ReplicaDirectoryID})
	}
	slices.SortFunc(d.voters, func(a, b kraft.ReplicaKey) int { return cmp.Compare(a.ID, b.ID) })
	for _, node := range r.Nodes {
		for _, l := range node.Listeners {
			d.ports[kraft.NodeID(node.NodeID)] = l.Port
		}
	}
	return d, true
}

// voters waits until exactly these are the voters, each under its own directory id.
func voters(ctx context.Context, t *testing.T, q *kafka.Quorum, want ...kraft.NodeID) quorumInfo {
	t.Helper()
	var keys []kraft.ReplicaKey
	for _, id := range want {
		keys = append(keys, kraft.ReplicaKey{ID: id, DirectoryID: q.Node(id).Directory})
	}
	for {
		d := describe(ctx, t, q)
		if slices.Equal(d.voters, keys) {
			return d
		}
		if ctx.Err() != nil {
			t.Fatalf("the voters are %v, want %v", d.voters, keys)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// toolAgrees compares with what Kafka's own tool says.
func toolAgrees(ctx context.Context, t *testing.T, q *kafka.Quorum, want ...kraft.NodeID) {
	t.Helper()
	d, err := q.Describe(ctx)
	must(t, err)
	for i, v := range d.Voters {
		if len(d.Voters) != len(want) || v.Key != (kraft.ReplicaKey{ID: want[i], DirectoryID: q.Node(want[i]).Directory}) {
			t.Fatalf("Kafka's tool says that the voters are %v, want %v", d.Voters, want)
		}
	}
}

// edit changes a line of a node's property file.
func edit(t *testing.T, q *kafka.Quorum, id kraft.NodeID, name, value string) {
	t.Helper()
	file := q.Node(id).ConfigFile
	text, err := os.ReadFile(file)
	must(t, err)
	var kept []string
	for l := range strings.Lines(string(text)) {
		if !strings.HasPrefix(l, name+"=") {
			kept = append(kept, l)
		}
	}
	must(t, os.WriteFile(file, []byte(strings.Join(kept, "")+name+"="+value+"\n"), 0o644))
}

// TestKafka_VotersAreChangedByKafkasTools: Kafka's own tool makes our node a voter and takes it out again; while ours leads it does the same
// with a controller of Kafka. A new address is told by UpdateRaftVoter, and with auto-join the node makes itself a voter.
func TestKafka_VotersAreChangedByKafkasTools(t *testing.T) {
	needTime(t)
	releases := []string{"4.4.0"}
	if kafkatest.Matrix() {
		releases = []string{"4.4.0", "4.0.0"}
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 8*time.Minute)
			r := kafka.MustRelease(release)
			q := kafkatest.New(t, kafka.Config{Release: r, Voters: kafka.Standalone, Timeouts: calm, Source: staying(source(t, ours))})
			must(t, q.Start(ctx, 1, ours))
			must(t, q.AddController(ctx, ours))
			voters(ctx, t, q, 1, ours)

			must(t, q.Start(ctx, 2))
			must(t, q.AddController(ctx, 2))
			must(t, q.WaitReady(ctx, 1, 2, ours))
			for { // a machine that is busy may elect another leader meanwhile
				lead := oursStays(ctx, t, q)
				must(t, q.RemoveController(ctx, 2))
				voters(ctx, t, q, 1, ours)
				must(t, q.AddController(ctx, 2))
				if d := voters(ctx, t, q, 1, 2, ours); d.leader == ours && d.epoch == lead.Epoch {
					break
				}
			}

			moves(ctx, t, q)
			must(t, q.RemoveController(ctx, ours))
			d, atEnd := voters(ctx, t, q, 1, 2), []kraft.NodeID{1, 2}
			if r.AtLeast(4, 2) {
				joinsItself(ctx, t, q)
				atEnd = append(atEnd, ours)
			} else if d.leader == ours {
				t.Errorf("ours leads and is no voter: %+v", d)
			}
			toolAgrees(ctx, t, q, atEnd...)
			must(t, q.Err())
		})
	}
}

// oursStays makes ours the leader: the only one with the whole log. A machine that is busy may elect another one first.
func oursStays(ctx context.Context, t *testing.T, q *kafka.Quorum) kafka.Elected {
	t.Helper()
	for {
		leader, err := q.WaitLeader(ctx)
		must(t, err)
		if leader.Node == ours {
			return leader
		}
		behind := 3 - leader.Node
		must(t, q.Pause(behind))
		for i := range 2 { // what its Fetch is answered with waits in its socket
			must(t, q.WriteMetadata(ctx, fmt.Sprintf("missed-%d-%d", leader.Epoch, i), 5))
		}
		must(t, q.Kill(leader.Node))
		must(t, q.Resume(behind))
		_, err = q.WaitEpochAbove(ctx, leader.Epoch)
		must(t, err)
		must(t, q.Restart(ctx, leader.Node))
		must(t, q.WaitReady(ctx, 1, 2, ours))
	}
}

// moves restarts ours at another port: its entry among the voters follows.
func moves(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	ports, err := kafka.TakePorts(1)
	must(t, err)
	address := "CONTROLLER://127.0.0.1:" + itoa(ports[0])
	must(t, q.Stop(ctx, ours))
	edit(t, q, ours, "listeners", address)
	edit(t, q, ours, "advertised.listeners", address)
	must(t, q.Start(ctx, ours))
	for {
		d := describe(ctx, t, q)
		if int(d.ports[ours]) == ports[0] {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the voters listen at %v: ours does not at %s", d.ports, address)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// joinsItself restarts ours, which is no voter, with auto-join.
func joinsItself(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	must(t, q.Stop(ctx, ours))
	edit(t, q, ours, "controller.quorum.auto.join.enable", "true")
	must(t, q.Start(ctx, ours))
	voters(ctx, t, q, 1, 2, ours)
}

// TestMatrix_KRaftVersionIsRaisedWithOurs: Kafka's tool turns a static quorum into a dynamic one; ours has told the leader who it is.
func TestMatrix_KRaftVersionIsRaisedWithOurs(t *testing.T) {
	needTime(t)
	if !kafkatest.Matrix() {
		t.Skip("make test-matrix runs it")
	}
	for _, release := range []string{"4.4.0", "4.1.2"} {
		t.Run(release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 5*time.Minute)
			q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: quick, Source: source(t, ours)})
			_, err := q.StartAll(ctx)
			must(t, err)
			for {
				err := q.UpgradeKRaftVersion(ctx)
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
			voters(ctx, t, q, 1, 2, ours)
			toolAgrees(ctx, t, q, 1, 2, ours)
			must(t, q.Err())
		})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/compat/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// somePlayed are cases of each group, with those that send what no frame is.
const somePlayed = "^(framing|apiversions|vote/v2|fetch/v17|describe)/"

// recordAlone has the suite ask a node through a proxy what any client may ask.
func recordAlone(t *testing.T, upstream string, o conform.Options) []string {
	t.Helper()
	return recordBefore(t, []string{upstream}, func() {
		report, err := conform.Run(t.Context(), o)
		must(t, err)
		if report.Verdict() != conform.Passed {
			_ = report.WriteText(t.Output(), false)
			t.Error("the recorded node does not conform")
		}
		t.Logf("recorded: %s", report.Summary())
	})
}

// same expects no difference, though no frame came of some connections.
func same(t *testing.T, r *replay.Report) {
	t.Helper()
	if r.Outcome() != replay.Same || r.Compared < 20 {
		t.Errorf("%s: %d answers compared, %d differences", r.Outcome(), r.Compared, len(r.Differences))
	}
	if text := strings.Join(r.NoFrames, "\n"); !strings.Contains(text, "size -1") {
		t.Errorf("the frame of size -1 is not told: %q", text)
	}
}

// TestOurNode_ReplayOfTheSuiteHasNoDifference records the suite before a node of ours and plays that to it again.
func TestOurNode_ReplayOfTheSuiteHasNoDifference(t *testing.T) {
	ports, err := kafka.TakePorts(2)
	must(t, err)
	listens, advertised := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	startOurs(t, listens, kraft.Address{Host: "127.0.0.1", Port: uint16(ports[1])})
	files := recordAlone(t, "1="+listens+"="+advertised, conform.Options{
		Address: advertised, NodeID: kraft.NoNode, Match: regexp.MustCompile(somePlayed), Release: "4.4.0", Patience: 5 * time.Second,
	})
	same(t, play(t.Context(), t, load(t, files), listens, "4.4.0"))
}

// startOurs runs the only voter of a quorum until the test ends.
func startOurs(t *testing.T, listens string, advertised kraft.Address) {
	t.Helper()
	const cluster = "Zb2Q7XmVQ3yq0Yt0cJ3n0A"
	data := filepath.Join(t.TempDir(), "1")
	key := kraft.ReplicaKey{ID: 1}
	endpoints := kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: advertised})
	voters := kraft.NewVoterSet(kraft.Voter{Key: key, Endpoints: endpoints})
	must(t, storage.Format(storage.OS(), &storage.FormatSpec{
		ClusterID: cluster, NodeID: 1, DirectoryID: storage.NewDirectoryID(), MetadataDir: data, Controller: true, OneCheckpoint: true, Now: time.Now(),
	}))
	dir, err := storage.OpenDirectory(storage.OS(), data, storage.Identity{ClusterID: cluster, NodeID: 1})
	must(t, err)
	ln, err := net.Listen("tcp", listens)
	must(t, err)
	profile, err := compat.ByRelease("4.4.0")
	must(t, err)
	c, err := controller.New(controller.Config{
		Directory: dir, Profile: profile, Endpoints: endpoints, Leadership: controller.Stay, StaticVoters: voters,
		Timeouts:  kraft.QuorumTimeouts{ElectionMs: 200, FetchMs: 2000, ElectionBackoffMaxMs: 150, RequestMs: 1000, RetryBackoffMs: 20},
		Listeners: []controller.Listener{{Name: "CONTROLLER", Listener: ln}}, Log: zerolog.Nop(),
	})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	t.Cleanup(func() {
		c.Close()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestMatrix_ReplayOfTheSuiteHasNoDifference is the part of `make test-replay` that does not depend on elections: the only voter of a
// quorum that writes nothing by itself is asked the same twice.
func TestMatrix_ReplayOfTheSuiteHasNoDifference(t *testing.T) {
	if !kafkatest.Matrix() {
		t.Skip("the long tier: make test-matrix")
	}
	replayOfTheSuite(t, somePlayed)
}

// TestRealNode_ReplayOfTheWholeSuiteHasNoDifference does it with all cases.
func TestRealNode_ReplayOfTheWholeSuiteHasNoDifference(t *testing.T) {
	if os.Getenv("UNDERSTUDY_REPLAY") == "" {
		t.Skip("minutes of a real node; make test-replay runs it")
	}
	replayOfTheSuite(t, "")
}

func replayOfTheSuite(t *testing.T, match string) {
	t.Helper()
	const release = "4.4.0"
	ctx := kafkatest.Deadline(t, 6*time.Minute)
	q := kafkatest.New(t, kafka.Config{
		Release: kafka.MustRelease(release), Voters: kafka.Static, Controllers: 1, Proxied: true, Timeouts: timeouts,
		Properties: map[string]string{"metadata.max.idle.interval.ms": "0"},
	})
	must(t, q.Start(ctx, 1))
	for range 5 { // it writes its registration a second or two after it leads, and nothing afterwards
		before := highWatermark(ctx, t, q)
		files := recordAlone(t, q.Upstreams()[0], conform.Options{Address: q.Node(1).Advertised, NodeID: kraft.NoNode, Match: regexp.MustCompile(match), Release: release})
		report := play(ctx, t, load(t, files), q.Node(1).Listener, release)
		if after := highWatermark(ctx, t, q); after != before {
			t.Logf("the log has grown from %d to %d: again", before, after)
			continue
		}
		same(t, report)
		must(t, q.Kill(1))
		return
	}
	t.Error("the log of an idle quorum grows five times")
}

// highWatermark asks the only voter of a quorum how far its log is committed. Its raft thread runs before it listens.
func highWatermark(ctx context.Context, t *testing.T, q *kafka.Quorum) int64 {
	t.Helper()
	for {
		a, err := kafka.DialAdmin(ctx, q.Node(1).Listener, "watermark")
		if err == nil {
			req := kmsg.NewPtrDescribeQuorumRequest()
			topic := kmsg.NewDescribeQuorumRequestTopic()
			topic.Topic, topic.Partitions = wire.MetadataTopic, append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
			req.Version, req.Topics = 2, append(req.Topics, topic)
			var resp kmsg.Response
			resp, err = a.Request(ctx, req)
			_ = a.Close()
			if d, ok := resp.(*kmsg.DescribeQuorumResponse); ok && err == nil && len(d.Topics) == 1 && d.Topics[0].Partitions[0].HighWatermark > 0 {
				return d.Topics[0].Partitions[0].HighWatermark
			}
		}
		if ctx.Err() != nil {
			t.Fatal(errors.Join(err, ctx.Err()))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

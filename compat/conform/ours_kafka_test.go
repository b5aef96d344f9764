package conform

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// ourNodes is a release of Kafka whose controllers are run by our binary.
type ourNodes struct {
	kafka.Dist
	binary string
}

func (d *ourNodes) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	switch {
	case class == "kafka.Kafka":
		return exec.CommandContext(ctx, d.binary, "join", "--config", args[0], "--on-leadership", "stay", "--release", d.Release().String(), "--log-format", "kafka")
	case class == "kafka.tools.StorageTool" && args[0] == "format":
		return exec.CommandContext(ctx, d.binary, append(args, "--release-version", d.Release().MetadataVersion())...)
	}
	return d.Dist.Command(ctx, jvm, class, args...)
}

// ourSource builds our binary and runs it in place of Kafka's controllers.
func ourSource(t *testing.T) kafka.Source {
	t.Helper()
	binary, err := kafkatest.BuildProgram(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kafkas := kafka.DefaultSource("", func(text string) { t.Log(text) })
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := kafkas(ctx, release)
		return &ourNodes{Dist: d, binary: binary}, err
	}
}

// TestKafka_OurNodesKeepTheSameRules runs the suite against nodes of ours, by the rules of 4.4.0.
func TestKafka_OurNodesKeepTheSameRules(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Kafka's jars for its formats; make test-kafka runs it")
	}
	source := ourSource(t)
	release := kafka.MustRelease("4.4.0")
	kinds := []kafka.Voters{kafka.Static}
	if kafkatest.Matrix() {
		kinds = append(kinds, kafka.Dynamic)
	}
	for _, voters := range kinds {
		t.Run(voters.String(), func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 4*time.Minute)
			q := kafkatest.New(t, kafka.Config{Release: release, Source: source, Voters: voters, Controllers: 2, Timeouts: kafka.Timeouts{FetchMs: 6000}})
			if err := q.Start(ctx); err != nil {
				t.Fatal(err)
			}
			first, err := q.WaitLeader(ctx)
			if err == nil {
				err = bumpEpoch(ctx, q.Node(first.Node).Listener, first.Epoch+1)
			}
			if err == nil {
				_, err = q.WaitEpochAbove(ctx, first.Epoch+1)
			}
			if err == nil {
				err = q.WaitReady(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range q.Controllers() {
				report, err := Run(ctx, Options{
					Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID, Release: "4.4.0", Hostility: Killers, Restart: restartingNode(q, id), Dying: 300 * time.Millisecond,
					Progress: keeping(t, "understudy", fmt.Sprintf("%s-%s", voters, id)),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %s", report.Target, report.Summary())
				mustPass(t, report)
			}
		})
	}
	if !kafkatest.Matrix() {
		return
	}
	t.Run("own quorum", func(t *testing.T) {
		ctx := kafkatest.Deadline(t, 6*time.Minute)
		q := kafkatest.New(t, kafka.Config{Release: release, Source: source, Voters: kafka.Static, Timeouts: ownTimeouts})
		if err := q.Start(ctx, 1); err != nil {
			t.Fatal(err)
		}
		report, err := RunOwn(ctx, OwnOptions{
			Options: Options{Address: q.Node(1).Listener, NodeID: 1, ClusterID: q.ClusterID, Release: "4.4.0", Restart: restarting(q), Hostility: Killers, Progress: keeping(t, "understudy", "own")},
			Voters:  map[kraft.NodeID]string{2: q.Node(2).Listener, 3: q.Node(3).Listener},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", report.Target, report.Summary())
		mustPass(t, report)
	})
}

// mustPass fails the test unless the report is good.
func mustPass(t *testing.T, report *Report) {
	t.Helper()
	if report.Verdict() != Passed {
		_ = report.WriteText(t.Output(), false)
		t.Fail()
	}
}

package conform

import (
	"context"
	"os/exec"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
)

// ourNodes is a release of Kafka whose controllers are run by our binary.
type ourNodes struct {
	kafka.Dist
	*ourProgram
}

// ourProgram is our binary in place of Kafka's controllers.
type ourProgram struct {
	binary string
	kafkas atomic.Bool // Kafka's own controllers are started still: see takeOver
}

func (d *ourNodes) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	switch {
	case d.kafkas.Load():
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
	return buildOurs(t).source(t)
}

func buildOurs(t *testing.T) *ourProgram {
	t.Helper()
	binary, err := kafkatest.BuildProgram(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &ourProgram{binary: binary}
}

func (p *ourProgram) source(t *testing.T) kafka.Source {
	kafkas := kafka.DefaultSource("", func(text string) { t.Log(text) })
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := kafkas(ctx, release)
		return &ourNodes{Dist: d, ourProgram: p}, err
	}
}

// afterKafkas starts a quorum of Kafka's controllers, has it make a snapshot and starts ours on the directories that it leaves: alone they have
// no records to make one of.
func (p *ourProgram) afterKafkas(ctx context.Context, t *testing.T, x quorumUnderTest) *kafka.Quorum {
	t.Helper()
	own := &ourProgram{binary: p.binary} // another quorum may have begun with ours
	own.kafkas.Store(true)
	x.source, x.snapshot = own.source(t), true
	q := startQuorum(ctx, t, x)
	elected, err := q.WaitLeader(ctx)
	for _, id := range q.Controllers() {
		if err == nil {
			err = q.Stop(ctx, id)
		}
	}
	own.kafkas.Store(false)
	if err == nil {
		err = q.Start(ctx)
	}
	if err == nil {
		elected, err = q.WaitEpochAbove(ctx, elected.Epoch)
	}
	if err == nil {
		err = awaitSnapshot(ctx, q.Node(elected.Node).Listener)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
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
			q := startQuorum(ctx, t, quorumUnderTest{release: "4.4.0", voters: voters, source: source})
			for _, id := range q.Controllers() {
				report, err := Run(ctx, Options{
					Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID, Release: "4.4.0", Hostility: Killers, Restart: restartingNode(q, id), Dying: 300 * time.Millisecond,
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
		o := ownOptions(q, kafka.Static)
		o.Release, o.Hostility, o.Match = "4.4.0", Killers, regexp.MustCompile("^(durability|hostile)/") // a process that is killed; the rest is TestOwn's
		report, err := RunOwn(ctx, o)
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

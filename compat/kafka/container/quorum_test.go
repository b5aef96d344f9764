package container_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/container"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// kafkaImages are the images of Kafka that `make test-containers` has built.
func kafkaImages(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts containers, and the short tier needs no container engine")
	}
	var kafkas []string
	for image := range strings.SplitSeq(os.Getenv("UNDERSTUDY_IMAGES"), ",") {
		if strings.Contains(image, "/kafka:") {
			kafkas = append(kafkas, image)
		}
	}
	if len(kafkas) == 0 {
		t.Fatal("UNDERSTUDY_IMAGES names no image of Kafka: run `make test-containers`, which builds them")
	}
	return kafkas
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuorum_ConformsThroughTrouble is what TestKafka_ReportEqualsKafkasOwnLogs of compat/e2e does with jars: a broker,
// topics, a paused follower, SIGKILL of the leader, its restart, and a verdict that is held against Kafka's own logs.
func TestQuorum_ConformsThroughTrouble(t *testing.T) {
	for i, image := range kafkaImages(t) {
		voters := []kafka.Voters{kafka.Static, kafka.Dynamic}[i%2]
		t.Run(image+" "+voters.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			q := container.Start(t, container.Config{Image: image, Config: kafka.Config{Voters: voters, Brokers: 1}})
			watched, endWatch := context.WithCancel(ctx)
			defer endWatch()
			bypass := make(chan kafka.Bypass, 1)
			go func() {
				b, err := q.WatchBypass(watched)
				if err != nil {
					t.Error(err)
				}
				bypass <- b
			}()
			must(t, q.CreateTopics(ctx, 1, "a", "b", "c"))
			follower := q.First.Node%3 + 1
			must(t, q.Pause(follower))
			must(t, q.WriteMetadata(ctx, "while-one-is-paused", 20))
			must(t, q.Resume(follower))
			must(t, q.Kill(q.First.Node))
			second, err := q.WaitEpochAbove(ctx, q.First.Epoch)
			must(t, err)
			must(t, q.Restart(ctx, q.First.Node))
			must(t, q.WaitReady(ctx))
			d, err := q.Describe(ctx)
			must(t, err)
			if len(d.Voters) != 3 || d.ClusterID != q.ClusterID {
				t.Errorf("Kafka's own tool describes %+v", d)
			}
			t.Logf("%s, then %s", q.First, second)
			endWatch()
			if b := <-bypass; len(b.Around) > 0 || b.Proxied == 0 {
				t.Errorf("connections around the proxy: %v; through it: %d", b.Around[:min(len(b.Around), 5)], b.Proxied)
			}
			keepsTheRules(ctx, t, q)
			report := q.MustConform(t)
			t.Logf("%s, %d of %d decisions judged, %d frames", report.Verdict, report.Judged, report.Decisions, report.Counts.Frames)
			sameLeaders(t, report, q.Truth())
		})
	}
}

// keepsTheRules asks each controller what the conformance suite asks of a live quorum.
func keepsTheRules(ctx context.Context, t *testing.T, q *container.Quorum) {
	t.Helper()
	for _, id := range q.Controllers() {
		report, err := conform.Run(ctx, conform.Options{Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID})
		must(t, err)
		t.Logf("%s: %s", report.Target, report.Summary())
		if report.Verdict() != conform.Passed {
			_ = report.WriteText(t.Output(), false)
			t.Fail()
		}
	}
}

// sameLeaders holds the elections that the shadow saw against what the nodes wrote down.
func sameLeaders(t *testing.T, report *shadow.Report, truth kafka.Truth) {
	t.Helper()
	elected := map[int32]int32{}
	for _, e := range report.Quorum.Elections {
		elected[int32(e.Epoch)] = int32(e.Leader)
	}
	leaders := truth.Leaders()
	if len(leaders) < 2 {
		t.Errorf("the nodes' logs tell of %d leaders, want two and more", len(leaders))
	}
	for _, l := range leaders {
		if got, ok := elected[int32(l.Epoch)]; !ok || got != int32(l.Node) {
			t.Errorf("%s, and the shadow saw leader %d in that epoch (seen: %t)", l, got, ok)
		}
	}
}

// TestJudge_FindsWhatIsForged is the broken twin of MustConform. An answer that the proxy forges is held against nobody,
// unless the shadow is told to take it for the sender's.
func TestJudge_FindsWhatIsForged(t *testing.T) {
	images := kafkaImages(t)
	rule, err := proxy.ParseRule("mutate Fetch response field HighWatermark+=1000 every 5")
	must(t, err)
	q := container.Start(t, container.Config{Image: images[len(images)-1], Faults: []*proxy.Rule{rule}})
	must(t, q.WriteMetadata(t.Context(), "some", 40))
	if report := q.MustConform(t); len(report.Findings) > 0 {
		t.Errorf("%d findings", len(report.Findings))
	}
	report, err := q.Judge(shadow.Options{FaultAsPeer: true})
	must(t, err)
	if report.Verdict != shadow.Diverges {
		t.Errorf("a forged high watermark makes %s", report.Verdict)
	}
}

// TestImage_OfUnderstudyChecksARecording runs the program from its own image, which has no shell and no root.
func TestImage_OfUnderstudyChecksARecording(t *testing.T) {
	images := kafkaImages(t)
	q := container.Start(t, container.Config{Image: images[0], Config: kafka.Config{Voters: kafka.Static}})
	q.MustConform(t)
	dir := filepath.Dir(q.Recording()[0])
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(q.Recording()[0], 0o644)) // the image's user is not ours
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network", "none", "-v", dir+":/data:ro",
		"understudy:local", "check", filepath.Base(q.Recording()[0])).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "CONFORMS") {
		t.Errorf("check in a container: %v\n%s", err, out)
	}
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/recordings"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestKafka_ReportEqualsKafkasOwnLogs is the main job: start through the proxy, elect, a broker, 20 topics, SIGKILL of
// the leader, another leader, restart. All that understudy says of it is held against what Kafka's nodes wrote down.
func TestKafka_ReportEqualsKafkasOwnLogs(t *testing.T) {
	kafkatest.NeedKafka(t)
	for _, b := range kafkatest.Builds() {
		t.Run(b.String(), func(t *testing.T) {
			r := killAndRestartLeader(t, b)
			full := r.proxy.segments()

			v, code := check(t, full...)
			t.Logf("%s", &v)
			if code != 0 || v.Verdict != "CONFORMS" {
				t.Errorf("check exits with %d: %s", code, v.Verdict)
			}
			if v.Judged*100 < v.Decisions*95 || v.Decisions == 0 {
				t.Errorf("only %d of %d decisions are judged", v.Judged, v.Decisions)
			}
			for _, n := range v.Nodes {
				if n.Voter && (n.Verdict != "CONFORMS" || n.Release == "") {
					t.Errorf("node %d: %s, release %q", n.ID, n.Verdict, n.Release)
				}
			}
			if v.Counts.Undecodable != 0 || v.Counts.RaftFrames == 0 {
				t.Errorf("%d of %d raft frames cannot be decoded", v.Counts.Undecodable, v.Counts.RaftFrames)
			}
			if v.Quorum.ClusterID != r.quorum.ClusterID {
				t.Errorf("cluster id %q, want %q", v.Quorum.ClusterID, r.quorum.ClusterID)
			}
			if err := compareWithTruth(&v, r.quorum.Truth(), votesOnWire(t, full[0])); err != nil {
				t.Error(err)
			}
			equal, err := compareStreams(recordedStreams(t, full[0]), r.witness.streams())
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d bytes on %d connections are equal to what the controllers got and sent", equal, len(r.witness.streams()))
			if len(r.bypass.Around) > 0 || r.bypass.Proxied == 0 {
				t.Errorf("connections around the proxy: %v; through it: %d, in %d readings", r.bypass.Around, r.bypass.Proxied, r.bypass.Readings)
			}

			if text, _ := understudy(t, "check", full[0]); !strings.HasSuffix(r.proxy.output.String(), text) {
				t.Errorf("the live checker said\n%s\nand the recording is judged so:\n%s", r.proxy.output.String(), text)
			}

			redacted := redact(t, full)
			rv, rcode := check(t, redacted...)
			if rcode != code || !reflect.DeepEqual(v, rv) {
				t.Errorf("the redacted recording is judged otherwise: %s\nthe full one: %s", &rv, &v)
			}
			for _, f := range append(full, redacted...) {
				tsharkReads(t, f, v.Counts.Frames, v.Counts.Gaps)
			}
		})
	}
}

// mainJob is what a run leaves.
type mainJob struct {
	quorum  *kafka.Quorum
	proxy   *program
	witness *witness
	bypass  kafka.Bypass
}

func killAndRestartLeader(t *testing.T, b kafkatest.Build) *mainJob {
	t.Helper()
	ctx := kafkatest.Deadline(t, 6*time.Minute)
	r := &mainJob{quorum: kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(b.Release), Voters: b.Voters, Brokers: 1, Proxied: true})}
	q := r.quorum
	var upstreams []string
	r.witness, upstreams = newWitness(t, q)
	r.proxy = startProxy(t, upstreams, "--include-records")

	watched, endWatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	var watchErr error
	watching.Go(func() { r.bypass, watchErr = q.WatchBypass(watched) })
	defer watching.Wait()
	defer endWatch()

	_, err := q.StartAll(ctx)
	must(t, err)
	var topics []string
	for i := range 20 {
		topics = append(topics, fmt.Sprintf("topic-%d", i))
	}
	must(t, q.CreateTopics(ctx, 1, topics...))
	first, err := q.WaitLeader(ctx)
	must(t, err)
	must(t, q.Kill(first.Node))
	second, err := q.WaitEpochAbove(ctx, first.Epoch)
	must(t, err)
	must(t, q.Restart(ctx, first.Node))
	must(t, q.WaitReady(ctx))
	t.Logf("%s, then %s", first, second)
	// At once, so that no further election begins while the nodes go.
	must(t, q.Close())
	endWatch()
	watching.Wait()
	must(t, watchErr)
	r.proxy.finish()
	return r
}

// redact writes a recording again as it would have been without --include-records.
func redact(t *testing.T, files []string) []string {
	t.Helper()
	in, err := recordings.OpenAny(nil, files...)
	must(t, err)
	defer in.Close()
	base := filepath.Join(t.TempDir(), "redacted")
	w, err := recordings.Create(base, recordings.Options{})
	must(t, err)
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		must(t, w.Write(&o))
	}
	must(t, w.Close())
	out := kafkatest.Segments(t, base)
	if size(t, out[0]) >= size(t, files[0]) {
		t.Errorf("the redacted recording has %d bytes, the full one %d", size(t, out[0]), size(t, files[0]))
	}
	return out
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	return info.Size()
}

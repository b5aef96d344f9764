package mixed

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// TestMatrix_SnapshotsGoBothWays: ours begins with a snapshot of a leader that is Kafka's, and a controller of Kafka with one of ours, byte by
// byte. What Kafka understands of ours it tells again in a snapshot of its own.
func TestMatrix_SnapshotsGoBothWays(t *testing.T) {
	t.Parallel()
	kafkatest.NeedKafka(t)
	releases := []string{"4.4.0"}
	switch {
	case long():
		releases = append(releases, "4.0.0")
	case !kafkatest.Matrix():
		t.Skip("make test-matrix runs it")
	}
	for _, r := range releases {
		t.Run(r, func(t *testing.T) {
			t.Parallel()
			ctx, release := kafkatest.Deadline(t, 10*time.Minute), kafka.MustRelease(r)
			who := &cast{ours: map[kraft.NodeID][]string{ours: nil}}
			q := &quorum{t: t, ctx: ctx, ours: []kraft.NodeID{ours}}
			q.Quorum = kafkatest.New(t, kafka.Config{
				Release: release, Voters: kafka.Dynamic, Timeouts: quick, Source: who.source(t), Properties: snapshotsSoon(release),
			})
			must(t, q.Start(ctx, 1, 2))
			must(t, q.WaitReady(ctx, 1, 2))
			grow(ctx, t, q.Quorum, "load", 1, 2)
			if long() && release.AtLeast(4, 1) { // Kafka cleans once a minute
				for i := 0; logBegin(t, q.Node(1)) == 0 || logBegin(t, q.Node(2)) == 0; i++ {
					must(t, q.WriteMetadata(ctx, fmt.Sprintf("more-%d", i), 40))
				}
			}
			must(t, q.Start(ctx, ours))
			must(t, q.WaitReady(ctx, 1, 2, ours))
			fetched(ctx, t, q.Quorum, ours)
			grow(ctx, t, q.Quorum, "more", ours)

			must(t, q.Stop(ctx, ours))
			who.give(ours, true, "--on-leadership", "stay") // until now an election would have left nobody who writes
			q.stay = true
			must(t, q.Start(ctx, ours))
			must(t, q.WaitReady(ctx, 1, 2, ours))
			lead := q.oursMustLead()
			const wiped = 1
			must(t, q.Kill(wiped))
			must(t, q.Wipe(wiped))
			from := logSize(q.Node(wiped))
			must(t, q.Start(ctx, wiped))
			name, held := fetched(ctx, t, q.Quorum, wiped)
			must(t, q.WaitReady(ctx, wiped))
			if id, _ := storage.ParseSnapshotName(name); !says(q.Node(wiped), from, "oading snapshot", fmt.Sprint(id.Offset)) {
				t.Errorf("Kafka's node does not say that it loads %s", name)
			}
			must(t, q.Stop(ctx, ours))
			q.leadsAbove(false, lead.Epoch)
			must(t, q.WriteMetadata(ctx, "last", 30)) // enough for another snapshot
			waitFor(ctx, t, "a snapshot of the node that was wiped", func() bool { return latest(t, q.Node(wiped)) > name })
			allTold(t, held, readSnapshot(t, q.Node(wiped), latest(t, q.Node(wiped))))
			must(t, q.Err())
		})
	}
}

// snapshotsSoon has snapshots made every few kilobytes. A controller of Kafka appends what a Fetch brings at once, and ends if that is more than a
// segment holds: so segments are as large as nobody lags behind here. Up to 4.0 they are as large as can be, since ours takes no smaller ones under
// that name.
func snapshotsSoon(release kafka.Release) map[string]string {
	p := release.SnapshotsSoon()
	for name := range p {
		if !strings.Contains(name, "segment") {
			continue
		}
		if !release.AtLeast(4, 1) {
			delete(p, name)
			continue
		}
		if p[name] = "1048576"; long() {
			p[name] = "65536"
		}
	}
	return p
}

// grow writes until nodes have one snapshot more.
func grow(ctx context.Context, t *testing.T, q *kafka.Quorum, prefix string, ids ...kraft.NodeID) {
	t.Helper()
	for _, id := range ids {
		before := latest(t, q.Node(id))
		for i := 0; latest(t, q.Node(id)) == before; i++ {
			must(t, q.WriteMetadata(ctx, fmt.Sprintf("%s-%v-%d", prefix, id, i), 20))
		}
	}
}

// fetched waits for the snapshot that a node without a log has fetched, and compares it with that of the leader, who may have a newer one by
// then.
func fetched(ctx context.Context, t *testing.T, q *kafka.Quorum, id kraft.NodeID) (name string, content []byte) {
	t.Helper()
	waitFor(ctx, t, "a log that begins with a snapshot", func() bool { return logBegin(t, q.Node(id)) > 0 })
	leader, err := q.WaitLeader(ctx)
	must(t, err)
	name = fmt.Sprintf("%020d-*.checkpoint", logBegin(t, q.Node(id)))
	files, err := filepath.Glob(filepath.Join(q.Node(id).DataDir, storage.PartitionDir, name))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("node %v has %v of %s", id, files, name)
	}
	name = filepath.Base(files[0])
	got, want := readSnapshot(t, q.Node(id), name), readSnapshot(t, q.Node(leader.Node), name)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: node %v has %d bytes, the leader %v another %d", name, id, len(got), leader.Node, len(want))
	}
	t.Logf("node %v has fetched %s, %d bytes, from %v", id, name, len(got), leader.Node)
	return name, got
}

// logBegin is the offset of a node's first segment.
func logBegin(t *testing.T, n kafka.Node) kraft.Offset {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.DataDir, storage.PartitionDir, "*.log"))
	must(t, err)
	if len(files) == 0 {
		return -1
	}
	var first kraft.Offset
	if _, err := fmt.Sscanf(filepath.Base(files[0]), "%d.log", &first); err != nil {
		t.Fatal(err)
	}
	return first
}

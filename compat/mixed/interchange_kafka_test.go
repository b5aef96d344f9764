package mixed

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// long reports whether the long forms are asked for: make test-mixed does.
func long() bool { return os.Getenv("UNDERSTUDY_MIXED") != "" }

// waitFor looks until something is so.
func waitFor(ctx context.Context, t *testing.T, what string, f func() bool) {
	t.Helper()
	for !f() {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// says reports whether the log of a node has a line with both texts behind a position.
func says(n kafka.Node, from int64, texts ...string) bool {
	log, err := os.ReadFile(n.LogFile)
	if err != nil || int64(len(log)) < from {
		return false
	}
lines:
	for line := range strings.Lines(string(log[from:])) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return true
	}
	return false
}

func logSize(n kafka.Node) int64 {
	info, err := os.Stat(n.LogFile)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestMatrix_ADirectoryGoesFromKafkaToOursAndBack: under load a controller of Kafka is stopped or killed, ours goes on as the same voter on
// the same directory, writes a snapshot, is stopped or killed, and Kafka's goes on. Each reads the log and the snapshots of the other.
func TestMatrix_ADirectoryGoesFromKafkaToOursAndBack(t *testing.T) {
	t.Parallel()
	kafkatest.NeedKafka(t)
	builds, swaps := kafkatest.Builds()[:1], 2
	switch {
	case long():
		builds, swaps = kafkatest.Builds()[:2], 10
	case !kafkatest.Matrix():
		t.Skip("make test-matrix runs it")
	}
	for _, b := range builds {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			interchange(t, b, swaps)
		})
	}
}

func interchange(t *testing.T, b kafkatest.Build, swaps int) {
	who := &cast{ours: map[kraft.NodeID][]string{}}
	release := kafka.MustRelease(b.Release)
	q := &loaded{quorum: &quorum{t: t, ctx: kafkatest.Deadline(t, 15*time.Minute)}}
	q.Quorum = kafkatest.New(t, kafka.Config{
		Release: release, Voters: b.Voters, Proxied: true, Timeouts: quick, Source: who.source(t), Properties: snapshotsSoon(release),
	})
	q.witness = startWitness(t, q.Quorum)
	must(t, q.Start(q.ctx))
	q.ready()
	q.load = startLoad(q.ctx, q.Quorum)
	t.Cleanup(func() { q.load.end() })

	end := func(i int, id kraft.NodeID) {
		if i%2 == 0 {
			must(t, q.Kill(id))
		} else {
			must(t, q.Stop(q.ctx, id))
		}
	}
	for i := range swaps {
		id := kraft.NodeID(i%3 + 1)
		n := q.Node(id)
		must(t, q.WriteMetadata(q.ctx, fmt.Sprintf("more-%d", i), 20)) // whatever the load has come to
		waitFor(q.ctx, t, "a snapshot of Kafka", func() bool { return latest(t, n) != "" })
		end(i, id)
		theirs, from := latest(t, n), logSize(n)
		who.give(id, true)
		must(t, q.Start(q.ctx, id))
		q.ready()
		for j := 0; latest(t, n) <= theirs || !says(n, from, "Successfully wrote snapshot"); j++ {
			must(t, q.WriteMetadata(q.ctx, fmt.Sprintf("more-%d-%d", i, j), 40))
		}
		end(i+1, id)
		mine, from := latest(t, n), logSize(n)
		held := readSnapshot(t, n, mine) // Kafka may drop it
		who.give(id, false)
		must(t, q.Start(q.ctx, id))
		q.ready()
		snapshot, _ := storage.ParseSnapshotName(mine)
		if !says(n, from, "oading snapshot", fmt.Sprintf("%d", snapshot.Offset)) {
			t.Errorf("swap %d: Kafka's node %v does not say that it loads the snapshot %s of ours", i, id, mine)
		}
		waitFor(q.ctx, t, "Kafka's snapshot of what it has read", func() bool { return latest(t, n) > mine })
		allTold(t, held, readSnapshot(t, n, latest(t, n)))
		t.Logf("swap %d, node %v: Kafka's snapshot %s, ours %s", i, id, theirs, mine)
	}
	must(t, q.WriteMetadata(q.ctx, "last", 10))
	acked := q.load.end()
	q.compare(acked)
}

var loadName = regexp.MustCompile(`(load|missed|more)-[0-9-]+`)

// allTold: each record that one snapshot holds is in another one, which Kafka has made of what it understood.
func allTold(t *testing.T, ours, theirs []byte) {
	t.Helper()
	names := loadNames(ours)
	if len(names) == 0 {
		t.Error("the snapshot of ours holds no record of the load")
	}
	if untold := missing(names, loadNames(theirs)); len(untold) > 0 {
		t.Errorf("Kafka's snapshot has not %d of %d records of the snapshot of ours: %v", len(untold), len(names), untold[:min(len(untold), 5)])
	}
}

// loadNames are the names that records hold. None is a part of another one: what follows a name in its record is no digit.
func loadNames(content []byte) (all []string) {
	for _, name := range loadName.FindAll(content, -1) {
		all = append(all, string(name))
	}
	return all
}

// missing are the names that are not among others.
func missing(names, others []string) []string {
	known := map[string]bool{}
	for _, name := range others {
		known[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return known[name] })
}

// compare ends everything in order and looks at what is left.
func (q *loaded) compare(acked []string) {
	t := q.t
	t.Helper()
	described, _ := q.described()
	for _, n := range q.Nodes() {
		must(t, reaches(q.ctx, n, described.HighWatermark))
	}
	must(t, q.Err())
	must(t, q.CloseInOrder())
	q.witness.conforms(t, "1", "2")
	nothingIsLost(t, q.Quorum, described.HighWatermark, acked)
}

package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/need"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// releases are those of the tier; 3.9.2 is only read.
func releases(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real controllers: run without -short")
	}
	if kafkatest.Matrix() {
		return []string{"3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}
	}
	return []string{"4.0.0", "4.4.0"}
}

// dist is an installed release whose tools can be run.
func dist(t testing.TB, release kafka.Release) kafka.Dist {
	t.Helper()
	need.For(t, "java")
	d, err := kafka.DefaultSource("", func(s string) { t.Log(s) })(kafkatest.Deadline(t, 5*time.Minute), release)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dumpLog prints files of batches with Kafka's own tool.
func dumpLog(t *testing.T, d kafka.Dist, files ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := child.Run(command(ctx, d, files))
	if err != nil {
		t.Fatalf("DumpLogSegments: %v\n%s", err, child.Tail(out, 20))
	}
	return out
}

func command(ctx context.Context, d kafka.Dist, files []string) *exec.Cmd {
	return d.Command(ctx, kafka.JVM{}, d.Release().DumpLogSegmentsClass(), "--cluster-metadata-decoder", "--files", strings.Join(files, ","))
}

// logFiles lists the segments and snapshots of a data directory.
func logFiles(t *testing.T, data string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.log", "*.checkpoint"} {
		list, err := filepath.Glob(filepath.Join(data, "__cluster_metadata-0", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) == 0 {
		t.Fatalf("no log in %s", data)
	}
	return files
}

// copyDir copies a directory of a stopped node.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// segmentBytes is large enough for several entries in the index of a segment.
const segmentBytes = 20_000

// made is a quorum that has run, rolled segments and made snapshots, and is stopped.
func made(t *testing.T, release string, voters kafka.Voters) *kafka.Quorum {
	t.Helper()
	r := kafka.MustRelease(release)
	properties := r.SnapshotsSoon()
	properties["metadata.max.idle.interval.ms"] = "10"
	properties["metadata.max.retention.bytes"] = "104857600" // nothing goes, however long the test takes
	for key := range properties {
		if strings.Contains(key, "segment") {
			properties[key] = itoa(segmentBytes)
		}
	}
	q, leader := kafkatest.Start(t, kafka.Config{Release: r, Controllers: 1, Voters: voters, Properties: properties})
	ctx := kafkatest.Deadline(t, 2*time.Minute)
	if err := churn(ctx, q, leader.Node); err != nil {
		t.Fatal(err)
	}
	locked(t, q.Node(leader.Node))
	if err := q.Stop(ctx, leader.Node); err != nil {
		t.Fatal(err)
	}
	return q
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// eachBatch calls visit with all batches of a file, which must be whole.
func eachBatch(t *testing.T, file string, visit func(b *wire.Batch, at int64)) {
	t.Helper()
	f, err := storage.OS().OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	in := storage.NewScanner(f, 0, size)
	for {
		b, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		visit(b, at)
	}
}

func voterIDs(ids []kraft.NodeID) kraft.VoterSet {
	var list []kraft.Voter
	for _, id := range ids {
		list = append(list, kraft.Voter{Key: kraft.ReplicaKey{ID: id}})
	}
	return kraft.NewVoterSet(list...)
}

func segmentNames(t *testing.T, data string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(data, storage.PartitionDir, "*.log"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no segments in %s: %v", data, err)
	}
	return list
}

func lastSegment(t *testing.T, data string) string {
	t.Helper()
	list := segmentNames(t, data)
	return filepath.Base(list[len(list)-1])
}

// readAll are the bytes of all batches that end before the offset, up to a torn tail.
func readAll(t *testing.T, data string, upTo kraft.Offset) (all []byte) {
	t.Helper()
	for _, file := range segmentNames(t, data) {
		b, err := os.ReadFile(file)
		must(t, err)
		for {
			batch, rest, err := wire.NextBatch(b)
			if err != nil || !batch.CRCValid() || batch.LastOffset() >= upTo {
				break
			}
			all, b = append(all, batch.Bytes...), rest
		}
	}
	return all
}

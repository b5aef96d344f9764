package mixed

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// cast says which nodes are ours, and with what flags of join. It may be changed while a node does not run: the next start is by the other
// program, on the same directory and the same property file.
type cast struct {
	mu   sync.Mutex
	ours map[kraft.NodeID][]string
}

func (c *cast) give(id kraft.NodeID, toOurs bool, flags ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if toOurs {
		c.ours[id] = flags
	} else {
		delete(c.ours, id)
	}
}

func (c *cast) has(id kraft.NodeID) (flags []string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	flags, ok = c.ours[id]
	return flags, ok
}

func (c *cast) source(t testing.TB) kafka.Source {
	return c.over(kafka.DefaultSource("", func(text string) { t.Log(text) }))
}

// over is a source whose nodes are ours where the cast says so.
func (c *cast) over(kafkas kafka.Source) kafka.Source {
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := kafkas(ctx, release)
		return &castDist{Dist: d, cast: c}, err
	}
}

type castDist struct {
	kafka.Dist
	cast *cast
}

func (d *castDist) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	if class == "kafka.Kafka" {
		id, as := nodeOf(args[0])
		if flags, ok := d.cast.has(id); ok {
			return exec.CommandContext(ctx, builtBinary, slices.Concat(
				[]string{"join", "--config", args[0], "--as", as, "--release", d.Release().String(), "--log-format", "kafka"}, flags)...)
		}
	}
	return d.Dist.Command(ctx, jvm, class, args...)
}

// snapshots are the names of a node's snapshots, the oldest first, without the one that formatting made.
func snapshots(t *testing.T, n kafka.Node) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.DataDir, storage.PartitionDir, "*.checkpoint"))
	must(t, err)
	for _, f := range files {
		if name := filepath.Base(f); name != storage.SnapshotName(kraft.BootstrapSnapshot) {
			names = append(names, name)
		}
	}
	return names
}

// latest is the newest of them, "" if there is none.
func latest(t *testing.T, n kafka.Node) string {
	t.Helper()
	if names := snapshots(t, n); len(names) > 0 {
		return names[len(names)-1]
	}
	return ""
}

func readSnapshot(t *testing.T, n kafka.Node, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(n.DataDir, storage.PartitionDir, name))
	must(t, err)
	return b
}

// kept is what a node that has ended has kept: its latest snapshot, and its log from an offset on.
type kept struct {
	id       kraft.NodeID
	snapshot []byte
	log      []byte
	start    kraft.Offset
}

func readKept(t *testing.T, n kafka.Node, watermark kraft.Offset) kept {
	t.Helper()
	k := kept{id: n.ID, log: upTo(t, readLog(t, n), watermark, n.ID)}
	if name := latest(t, n); name != "" {
		k.snapshot = readSnapshot(t, n, name)
	}
	if b, _, err := wire.NextBatch(k.log); err == nil {
		k.start = b.BaseOffset
	}
	return k
}

// from is the log from an offset on.
func (k *kept) from(t *testing.T, offset kraft.Offset) []byte {
	t.Helper()
	log := k.log
	for len(log) > 0 {
		b, rest, err := wire.NextBatch(log)
		must(t, err)
		if b.BaseOffset >= offset {
			break
		}
		log = rest
	}
	return log
}

// nothingIsLost compares nodes that have ended, where some logs may begin later than others: they are equal where they overlap, up to the
// watermark, and each node has every record that was acknowledged, in its snapshot or behind it.
func nothingIsLost(t *testing.T, q *kafka.Quorum, watermark kraft.Offset, acked []string) {
	t.Helper()
	var all []kept
	start := kraft.Offset(0)
	for _, n := range q.Nodes() {
		k := readKept(t, n, watermark)
		all, start = append(all, k), max(start, k.start)
	}
	for _, k := range all {
		first, other := all[0].from(t, start), k.from(t, start)
		if !bytes.Equal(first, other) {
			t.Errorf("the logs of nodes %v and %v differ between %d and %d: %d and %d bytes", all[0].id, k.id, start, watermark, len(first), len(other))
		}
		lost := slices.DeleteFunc(slices.Clone(acked), func(name string) bool {
			return bytes.Contains(k.snapshot, []byte(name)) || bytes.Contains(k.log, []byte(name))
		})
		if len(lost) > 0 {
			t.Errorf("node %v has lost %d acknowledged records: %s", k.id, len(lost), strings.Join(lost[:min(len(lost), 5)], " "))
		}
	}
	t.Logf("logs from %d to %d are equal on %d nodes; %d acknowledged records are there", start, watermark, len(all), len(acked))
}

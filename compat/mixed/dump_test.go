package mixed

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// segments are the files of a node's log, in order.
func segments(t *testing.T, n kafka.Node) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.DataDir, storage.PartitionDir, "*.log"))
	must(t, err)
	if len(files) == 0 {
		t.Fatalf("node %v has no log", n.ID)
	}
	return files
}

// dumpsAgree prints the log of a node of ours and of one of Kafka by Kafka's DumpLogSegments, and that of Kafka by `understudy dump`: they say the
// same up to the watermark. The nodes must have ended.
func dumpsAgree(t *testing.T, q *quorum, watermark kraft.Offset) {
	t.Helper()
	const theirs = kraft.NodeID(1)
	both := append(segments(t, q.Node(theirs)), segments(t, q.Node(ours))...)
	out, err := q.Tool(q.ctx, q.Node(theirs).Release.DumpLogSegmentsClass(), "--cluster-metadata-decoder", "--files", strings.Join(both, ","))
	must(t, err)
	dump := func(id kraft.NodeID) string { return batchLines(t, filesOf(out, q.Node(id)), watermark) }
	want := dump(theirs)
	sameLines(t, "DumpLogSegments of the log of ours", dump(ours), want)
	if q.Node(theirs).Release == kafka.MustRelease("4.4.0") { // whose lines ours are
		out, err := child.Run(exec.CommandContext(q.ctx, builtBinary, append([]string{"dump", "--secrets"}, segments(t, q.Node(theirs))...)...))
		must(t, err)
		sameLines(t, "understudy dump of the log of Kafka", batchLines(t, out, watermark), want)
	}
	t.Logf("%d lines of DumpLogSegments are the same", strings.Count(want, "\n"))
}

// filesOf is what DumpLogSegments, a process of a second or more, has printed of the files of one node.
func filesOf(dump string, n kafka.Node) string {
	var b strings.Builder
	of := false
	for l := range strings.Lines(dump) {
		if file, ok := strings.CutPrefix(l, "Dumping "); ok {
			of = strings.HasPrefix(file, n.DataDir+string(filepath.Separator))
		}
		if of {
			b.WriteString(l)
		}
	}
	return b.String()
}

// batchLines are the lines of the batches before an offset.
func batchLines(t *testing.T, dump string, before kraft.Offset) string {
	t.Helper()
	var b strings.Builder
	within := false
	for l := range strings.Lines(dump) {
		if text, ok := strings.CutPrefix(l, "baseOffset: "); ok {
			var base kraft.Offset
			_, err := fmt.Sscan(text, &base)
			must(t, err)
			within = base < before
		} else if !strings.HasPrefix(l, "|") {
			within = false
		}
		if within {
			b.WriteString(l)
		}
	}
	return b.String()
}

func sameLines(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want && want != "" {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s, line %d:\n%s\nwant\n%s", what, i+1, g[i], w[i])
			return
		}
	}
	t.Errorf("%s: %d lines, want %d", what, len(g), len(w))
}

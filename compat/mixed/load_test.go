package mixed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// load writes metadata through whoever is the active controller, one record after the other, until it is ended.
type load struct {
	cancel context.CancelFunc
	done   chan struct{}
	acked  []string // names that are in a record which the active controller has acknowledged; to be read when done is closed
}

func startLoad(ctx context.Context, q *kafka.Quorum) *load {
	l := &load{done: make(chan struct{})}
	ctx, l.cancel = context.WithCancel(ctx)
	go func() {
		defer close(l.done)
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("load-%06d", i)
			if q.WriteMetadata(ctx, name, 1) == nil {
				l.acked = append(l.acked, name+"-0")
			}
		}
	}()
	return l
}

func (l *load) end() []string {
	l.cancel()
	<-l.done
	return l.acked
}

// readLog is the log of a node that has ended, from its first record on.
func readLog(t *testing.T, n kafka.Node) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.DataDir, storage.PartitionDir, "*.log"))
	must(t, err)
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		all = append(all, b...)
	}
	return all
}

// upTo cuts a log at an offset, and fails if it does not reach it.
func upTo(t *testing.T, log []byte, offset kraft.Offset, who kraft.NodeID) []byte {
	t.Helper()
	size, end := 0, kraft.Offset(0)
	for end < offset {
		b, _, err := wire.NextBatch(log[size:])
		if err != nil {
			t.Fatalf("the log of node %v ends at %d, before the high watermark %d: %v", who, end, offset, err)
		}
		if b.BaseOffset >= offset {
			break
		}
		size, end = size+len(b.Bytes), b.LastOffset()+1
	}
	return log[:size]
}

// logsAgree compares what the nodes have on their disks, which must have ended: byte for byte up to the watermark, and with every record
// that was acknowledged.
func logsAgree(t *testing.T, q *kafka.Quorum, watermark kraft.Offset, acked []string) {
	t.Helper()
	var first []byte
	for _, n := range q.Nodes() {
		log := readLog(t, n)
		if upTo := upTo(t, log, watermark, n.ID); first == nil {
			first = upTo
		} else if !bytes.Equal(first, upTo) {
			t.Errorf("the log of node %v differs from that of node 1 before %d: %d and %d bytes", n.ID, watermark, len(upTo), len(first))
		}
		for _, name := range acked {
			if !bytes.Contains(first, []byte(name)) {
				t.Errorf("node %v has lost %s, which was acknowledged", n.ID, name)
			}
		}
	}
	t.Logf("%d bytes of log up to %d are equal on %d nodes; %d acknowledged records are there", len(first), watermark, len(q.Nodes()), len(acked))
}

// holds reports whether a node, which may be writing, has the log up to an offset.
func holds(n kafka.Node, offset kraft.Offset) (found bool) {
	eachOnDisk(n, func(last kraft.Offset) bool {
		found = last+1 >= offset
		return !found
	})
	return found
}

// eachOnDisk calls f with the last offset of each whole batch in the newest file of a node's log, until it returns false.
func eachOnDisk(n kafka.Node, f func(last kraft.Offset) bool) {
	files, err := filepath.Glob(filepath.Join(n.DataDir, storage.PartitionDir, "*.log"))
	if err != nil || len(files) == 0 {
		return
	}
	log, err := os.ReadFile(files[len(files)-1])
	for err == nil && len(log) > 0 {
		var b wire.Batch
		if b, log, err = wire.NextBatch(log); err == nil && !f(b.LastOffset()) {
			return
		}
	}
}

// nodeLog is what a node has said.
func nodeLog(t *testing.T, n kafka.Node) []byte {
	t.Helper()
	text, err := os.ReadFile(n.LogFile)
	must(t, err)
	return text
}

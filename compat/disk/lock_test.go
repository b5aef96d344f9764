package disk

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// locked checks that a directory that Kafka runs on cannot be opened here.
func locked(t *testing.T, node kafka.Node) {
	t.Helper()
	if _, err := storage.OpenDirectory(storage.OS(), node.DataDir, storage.Identity{NodeID: node.ID}); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("the directory of a running Kafka opens: %v", err)
	}
}

// kafkaIsRefused holds the directory of a stopped node open here: Kafka must not start on it, and leave it as it is.
func kafkaIsRefused(t *testing.T, q *kafka.Quorum) {
	t.Helper()
	node := q.Node(1)
	dir, err := storage.OpenDirectory(storage.OS(), node.DataDir, storage.Identity{NodeID: node.ID, ClusterID: q.ClusterID})
	must(t, err)
	l, err := dir.OpenLog(storage.Options{Unmarked: true})
	must(t, err)
	before := readContents(t, node.DataDir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = q.Start(ctx, 1)
	if err == nil {
		_, err = q.WaitLeader(ctx)
	}
	if err == nil || !strings.Contains(err.Error(), "Failed to acquire lock on file .lock in "+node.DataDir) {
		t.Errorf("Kafka on a directory that is open here: %v", err)
	}
	if after := readContents(t, node.DataDir); len(after) != len(before) || l.Append(nil) != nil {
		t.Errorf("%d offsets, before %d; %v", len(after), len(before), l.Err())
	}
	must(t, l.Close(), dir.Close())
}

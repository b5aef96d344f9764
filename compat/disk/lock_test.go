package disk

import (
	"errors"
	"testing"

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

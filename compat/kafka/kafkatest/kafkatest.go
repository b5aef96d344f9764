// Package kafkatest runs real Kafka quorums in tests: it installs what is missing where it can, fails instead of
// skipping, and ends every process with the test.
package kafkatest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/need"
)

// Matrix reports whether the long tier was asked for: `make test-matrix` sets UNDERSTUDY_MATRIX.
func Matrix() bool { return os.Getenv("UNDERSTUDY_MATRIX") != "" }

var quorums atomic.Int32

// New prepares a quorum that ends with the test. Its files lie in the test's artifact directory: `go test -artifacts`
// keeps them.
func New(t testing.TB, cfg kafka.Config) *kafka.Quorum {
	t.Helper()
	need.For(t, "java")
	if os.Getenv("KAFKA_HOME") == "" {
		need.For(t, "mvn")
	}
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.ArtifactDir(), fmt.Sprintf("quorum-%d", quorums.Add(1))) // a test may have several
		if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(text string) { t.Log(text) }
	}
	q, err := kafka.New(Deadline(t, 5*time.Minute), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the quorum when the test failed:\n%s%s", q.Summary(), story(q))
		}
		if err := q.Close(); err != nil {
			t.Errorf("close the quorum: %v", err)
		}
	})
	return q
}

// Start is New with all nodes running and ready.
func Start(t testing.TB, cfg kafka.Config) (*kafka.Quorum, kafka.Elected) {
	t.Helper()
	q := New(t, cfg)
	leader, err := q.StartAll(Deadline(t, 5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return q, leader
}

// Deadline is a context that ends with the test or after the given time.
func Deadline(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// story is each role change, for the log of a failed test.
func story(q *kafka.Quorum) string {
	var b strings.Builder
	for _, x := range q.Truth().Transitions {
		b.WriteString("    " + x.String() + "\n")
	}
	return b.String()
}

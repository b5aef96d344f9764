package oracle_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// versions are the builds that a test steps: all six in the matrix, else the first and the last.
func versions(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("steps the real KafkaRaftClient in a Java process: run without -short")
	}
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		return oracle.Versions
	}
	return []string{oracle.Versions[0], oracle.Versions[len(oracle.Versions)-1]}
}

func start(t *testing.T, b oracle.Build) *oracle.Oracle {
	t.Helper()
	// It is ended by Close, not by the test's context: a virtual machine that is killed writes no coverage.
	o, err := oracle.Start(context.WithoutCancel(t.Context()), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return o
}

// from tells whether the version is at least the given release.
func from(version, release string) bool {
	return slices.Index(oracle.Versions, version) >= slices.IndexFunc(oracle.Versions, func(v string) bool { return v >= release })
}

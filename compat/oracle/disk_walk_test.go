package oracle_test

import (
	"os"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
)

// TestKafka_RandomWalksOverKafkasFiles plays random histories with a machine beside each real client that keeps its log in Kafka's own
// files, with crashes that lose what was not synced.
func TestKafka_RandomWalksOverKafkasFiles(t *testing.T) {
	steps := 1200
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps = 20_000
	}
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: version}))
			tw.Disk = func() *twin.Disk {
				return &twin.Disk{FS: memfs.New(), Dir: "data/__cluster_metadata-0", Crash: func(f storage.FS) storage.FS { return f.(*memfs.FS).Crash(nil) }}
			}
			if err := walk.Run(tw, version, *flagSeed, steps, tw.Reset); err != nil {
				t.Fatal(err)
			}
		})
	}
}

package oracle_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
)

var (
	flagBuild = flag.String("build", "", "release to step; empty: those of the tier")
	flagSteps = flag.Int("steps", 0, "random steps on each build; 0: those of the tier")
	flagSeed  = flag.Uint64("seed", 1, "seed of the random walks")
	flagState = flag.Int64("state-every", 4, "compare the whole state after every n-th step")
	flagSave  = flag.String("save", filepath.Join(os.TempDir(), "understudy-oracle"), "directory for schedules that fail")
	flagHome  = flag.String("kafka-home", os.Getenv("KAFKA_LIBS"), "a local Kafka, or the directory of its jars, to step instead of a release")
	flagAs    = flag.String("rules", "", "release whose rules the machine keeps to; empty: that of the build")
)

// TestKafka_RandomWalks plays random histories with a machine beside each real client.
func TestKafka_RandomWalks(t *testing.T) {
	steps, builds := 3000, versions(t)
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps = 50_000
	}
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	if *flagBuild != "" {
		builds = []string{*flagBuild}
	}
	if *flagHome != "" {
		builds = []string{"local"}
	}
	for _, version := range builds {
		t.Run(version, func(t *testing.T) {
			b := oracle.Build{Version: version}
			if version == "local" {
				var err error
				if b, err = oracle.LocalBuild(*flagHome); err != nil {
					t.Fatal(err)
				}
			}
			walkBeside(t, b, steps)
		})
	}
}

func walkBeside(t *testing.T, b oracle.Build, steps int) {
	tw := twin.New(start(t, b))
	tw.StateEvery = *flagState
	tw.SendsOurs = func(node string) bool { return (node[len(node)-1]-'0')%2 == 0 } // a mixed quorum: every other node speaks our bytes
	if *flagAs != "" {
		tw.SetProfile(twin.ProfileOf(*flagAs))
	}
	began := time.Now()
	err := walk.Run(tw, b.Version, *flagSeed, steps, tw.Reset)
	t.Logf("Kafka %s, seed %d: %d steps, %.0f a second", b.Version, *flagSeed, tw.Steps, float64(tw.Steps)/time.Since(began).Seconds())
	var d *twin.Difference
	if errors.As(err, &d) {
		history, _, _ := strings.Cut(err.Error(), "\n")
		schedule, smallest := tw.Shrink(tw.Schedule(), d)
		file := filepath.Join(*flagSave, fmt.Sprintf("%s-seed%d.jsonl", b.Version, *flagSeed))
		if saveErr := twin.Save(file, schedule, smallest); saveErr != nil {
			t.Error(saveErr)
		}
		t.Fatalf("%s\nshrunk to %d commands, saved as %s\n%v", history, len(schedule), file, smallest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		tw.Report(os.Stdout)
	}
}

// TestKafka_SavedSchedules replays the schedules that once found a difference, on the builds that they are named after.
func TestKafka_SavedSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schedules: %v", err)
	}
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: version}))
			for _, file := range files {
				schedule, err := twin.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := tw.Replay(schedule); err != nil {
					t.Errorf("%s: %v", filepath.Base(file), err)
				}
			}
		})
	}
}

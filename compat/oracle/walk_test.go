package oracle_test

import (
	"flag"
	"fmt"
	"os"
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
	for _, version := range builds {
		t.Run(version, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: version}))
			tw.StateEvery = *flagState
			began := time.Now()
			err := walk.Run(tw, version, *flagSeed, steps, tw.Reset)
			t.Logf("Kafka %s, seed %d: %d steps, %.0f a second", version, *flagSeed, tw.Steps, float64(tw.Steps)/time.Since(began).Seconds())
			if err != nil {
				t.Error(err)
			}
			if testing.Verbose() {
				tw.Coverage.Print(os.Stdout)
				fmt.Println("unvisited:", tw.Coverage.Unvisited())
			}
		})
	}
}

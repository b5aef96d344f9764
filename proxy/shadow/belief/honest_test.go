package belief

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	simSeed = flag.Uint64("sim-seed", 0, "the one seed of the simulated quorum to play; 0: many")
	simRuns = flag.Int("sim-runs", 0, "how many simulated quorums with other seeds are played")
	simLong = flag.Int("sim-messages", 1200, "how many messages of each are judged")
)

// known are seeds that are played always: each has shown a mistake of this package once.
var known = []uint64{3, 4, 138, 704}

func TestHonestQuorums_AreNeverBlamed(t *testing.T) {
	seeds := known
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	for range *simRuns {
		seeds = append(seeds[:len(seeds):len(seeds)], rand.Uint64())
	}
	for i, seed := range seeds {
		releases := []string{"4.0.0", "4.0.1", "4.1.0", "4.2.0", "4.3.0", "4.4.0"}
		shape := rand.New(rand.NewPCG(seed, 5))
		s := newSim(t, seed, releases[shape.IntN(len(releases))], 2+shape.IntN(4), shape.IntN(3), shape.IntN(2) == 0)
		s.slow = []int64{200, 2000, 5000}[shape.IntN(3)]
		s.run(*simLong)
		if len(s.found) > 0 || t.Failed() {
			s.report(t)
			t.Fatalf("-sim-seed=%d (run %d), Kafka %s, dynamic %t, %d nodes, legs of %d us", seed, i, s.profile.Build, s.dynamic, len(s.nodes), s.slow)
		}
		judged, messages := uint64(0), uint64(0)
		for _, r := range s.c.Report() {
			judged += r.Judged
			messages += r.Messages
		}
		if testing.Verbose() {
			t.Logf("-sim-seed=%d, %s, %d nodes, dynamic %t, slow %d: judged %d of %d", seed, s.profile.Build, len(s.nodes), s.dynamic, s.slow, judged, messages)
			s.report(t)
		}
	}
}

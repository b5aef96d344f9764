package belief

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	simSeed = flag.Uint64("sim-seed", 0, "the one seed of the simulated quorum to play; 0: many")
	simRuns = flag.Int("sim-runs", 0, "how many simulated quorums with other seeds are played")
	simFrom = flag.Uint64("sim-from", 0, "the first of these seeds; 0: random ones")
	simLong = flag.Int("sim-messages", 1200, "how many messages of each are judged")
)

// known are seeds that are played always: each has shown a mistake of this package once.
var known = []uint64{3, 4, 7, 138, 704, 2081, 3455, 20016, 20064, 20097, 20123, 20214, 20638, 20790, 21036, 21408, 21529, 21589, 40439, 50051, 60654, 71827, 73005, 73161, 204909, 206482, 302981, 306640, 310442}

// mixedFrom is the first seed that may have several releases in a quorum, and Fetches that wait for too long: those below have shown
// their mistakes without.
const mixedFrom = 70_000

// abruptFrom is the first seed whose processes may be told to end in the middle of a turn.
const abruptFrom = 100_000

// regular is how many quorums are played in each long run of the tests: 300,000 messages and more.
const regular = 320

func TestHonestQuorums_AreNeverBlamed(t *testing.T) {
	seeds := known[:short(len(known), 6)]
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	if *simSeed == 0 && *simRuns == 0 && !testing.Short() {
		for i := range uint64(regular) {
			seeds = append(seeds[:len(seeds):len(seeds)], mixedFrom+i)
		}
	}
	for i := range *simRuns {
		seed := *simFrom + uint64(i)
		if *simFrom == 0 {
			seed = rand.Uint64()
		}
		seeds = append(seeds[:len(seeds):len(seeds)], seed)
	}
	judged, messages, all, blamed, beliefs := uint64(0), uint64(0), uint64(0), 0, uint64(0)
	for i, seed := range seeds {
		s := anyQuorum(t, seed)
		s.run(*simLong)
		if len(s.found) > 0 || t.Failed() && blamed == 0 {
			blamed++
			s.report(t)
			t.Errorf("-sim-seed=%d (run %d), Kafka %s, dynamic %t, %d nodes, legs of %d us, snapshots %t, losses %t, operated %t, mixed %t, from %d",
				seed, i, s.profile.Build, s.dynamic, len(s.nodes), s.slow, s.snapshots, s.swallows, s.operated, s.mixed, s.begin)
		}
		for _, r := range s.c.Report() {
			all += r.Messages
			beliefs += r.Beliefs
			if s.begin == 0 {
				judged += r.Judged
				messages += r.Messages - r.Unjudged[NoProfile]
			}
		}
		if *simSeed != 0 {
			s.report(t)
		}
		if (i+1)%100 == 0 && *simRuns > 0 {
			t.Logf("%d messages in %d quorums, %d have a node blamed", all, i+1, blamed)
		}
	}
	t.Logf("%d messages in %d quorums, %.1f states in the mean; of those judged from their first message on, %d of %d were explained; %d have a node blamed",
		all, len(seeds), float64(beliefs)/float64(all), judged, messages, blamed)
	if len(seeds) > 1 && 100*judged < 95*messages {
		t.Errorf("judged only %d of %d messages", judged, messages)
	}
}

// short is n, or less in the short tier, where the race detector makes everything ten times as slow.
func short(n, less int) int {
	if testing.Short() {
		return min(n, less)
	}
	return n
}

// anyQuorum is a quorum of a release, size and pace that the seed decides.
func anyQuorum(t *testing.T, seed uint64) *sim {
	releases := []string{"4.0.0", "4.0.1", "4.1.0", "4.2.0", "4.3.0", "4.4.0"}
	shape := rand.New(rand.NewPCG(seed, 5))
	s := newSim(t, seed, releases[shape.IntN(len(releases))], 2+shape.IntN(6), shape.IntN(3), shape.IntN(2) == 0)
	s.slow = []int64{200, 2000, 5000}[shape.IntN(3)]
	s.graceful, s.snapshots, s.swallows = shape.IntN(3) == 0, shape.IntN(3) == 0, shape.IntN(4) == 0
	if shape.IntN(3) == 0 {
		s.begin = shape.IntN(600)
	}
	s.operated = s.dynamic && shape.IntN(3) == 0
	s.late, s.abrupt = seed >= mixedFrom, seed >= abruptFrom
	if s.late && shape.IntN(3) == 0 {
		s.mix()
	}
	return s
}

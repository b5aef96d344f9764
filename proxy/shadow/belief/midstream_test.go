package belief

import (
	"flag"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
)

var everyMidStream = flag.Bool("sim-midstream", false, "attach to quorums of every release and size")

// TestMidStream_EveryVoterIsJudgedWithinTenSeconds attaches to quorums in which nothing happens but appends: no message names the voters,
// and the leader was elected long ago. Later everything breaks that can.
func TestMidStream_EveryVoterIsJudgedWithinTenSeconds(t *testing.T) {
	seed, step := uint64(1), 5
	if testing.Short() {
		step = len(compat.Profiles())
	}
	for i, p := range compat.Profiles() {
		for _, voters := range []int{3, 5} {
			for _, dynamic := range []bool{false, true} {
				seed++
				if *everyMidStream || i%step == 0 && dynamic == (voters == 5) {
					attach(t, seed, p.Build, voters, dynamic)
				}
			}
		}
	}
}

func attach(t *testing.T, seed uint64, build string, voters int, dynamic bool) {
	s := newSim(t, seed, build, voters, 2, dynamic)
	s.slow, s.calm, s.begin = 500, true, 2000
	s.c.options.Settle = 2 * time.Second
	s.run(s.begin)
	attached := s.now
	s.after(10_000_000, func() {
		for _, n := range s.nodes[:voters] {
			if j := s.c.judgeOf(n.id); j == nil || len(j.set) == 0 || j.trial || j.stats.Judged < 20 {
				t.Errorf("node %v is not judged", n.id)
			}
		}
		s.disturb()
	})
	s.play(func() bool { return s.now < attached+14_000_000 })
	if len(s.found) > 0 || t.Failed() {
		s.report(t)
		t.Fatalf("seed %d, Kafka %s, %d voters, dynamic %t", seed, build, voters, dynamic)
	}
}

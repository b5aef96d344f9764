package belief

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/mutants"
)

var (
	flagMutants = flag.String("mutants", "", "comma-separated names of mutants to look for, sample or all; empty: none")
	flagTries   = flag.Int("mutant-tries", 6, "quorums that are played with a mutant until it is found")
)

// sampled is the n-th part of the mutants that -mutants=sample looks for.
const sampled = 12

// TestMutants_AreFoundThroughTheWire gives one voter of a quorum an engine with one rule broken. Whoever writes what the right engine
// would not have written must be found.
func TestMutants_AreFoundThroughTheWire(t *testing.T) {
	if *flagMutants == "" {
		t.Skip("a hunt of minutes: -mutants=sample, -mutants=all or names")
	}
	if !mutants.Inside(t) {
		return
	}
	var changed, found int
	var after []int
	for _, m := range mutants.All() {
		wanted := m.Number()%sampled == 0
		if *flagMutants != "sample" {
			wanted = *flagMutants == "all" || slices.Contains(strings.Split(*flagMutants, ","), m.Name)
		}
		if !wanted || m.Equivalent != "" {
			continue
		}
		release := "4.4.0"
		if !m.In(release) {
			if release = "4.0.0"; !m.In(release) {
				release = "4.0.2"
			}
		}
		differs, took, others := hunt(t, m, release)
		if others > 0 {
			t.Errorf("%s: the right nodes are blamed", m)
		}
		switch {
		case !differs:
			t.Logf("        %s: never shows", m)
		case took < 0:
			changed++
			t.Logf("MISSED  %s", m)
		default:
			changed++
			found++
			after = append(after, took)
			t.Logf("%7d %s", took, m)
		}
	}
	slices.Sort(after)
	if found > 0 {
		t.Logf("found %d of %d mutants that show; messages until then: median %d, nine of ten %d", found, changed, after[found/2], after[found*9/10])
	}
}

// hunt plays quorums with a mutant until it is found.
func hunt(t *testing.T, m *mutants.Mutant, release string) (differs bool, took, others int) {
	for try := range *flagTries {
		s := newSim(t, uint64(try)+1, release, 3+try%3, 1, try%2 == 1)
		s.slow = []int64{1000, 200, 3000}[try%3]
		s.snapshots, s.graceful, s.operated = try%3 == 1, try%3 == 2, s.dynamic && try > 2
		s.victim = 1
		s.wrong = func(on bool) {
			if on {
				m.Select()
			} else {
				(*mutants.Mutant)(nil).Select()
			}
		}
		s.run(2500)
		(*mutants.Mutant)(nil).Select()
		differs = differs || s.changedAt > 0
		for _, d := range s.found {
			if d.Node != s.victim {
				others++
			} else if s.changedAt > 0 {
				return true, s.seen - s.changedAt, others
			}
		}
	}
	return differs, -1, others
}

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
	var found, explained, unjudged int
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
		got := hunt(t, m, release)
		if got.others > 0 {
			t.Errorf("%s: the right nodes are blamed", m)
		}
		switch {
		case got.found:
			found++
			after = append(after, got.after)
			t.Logf("%7d %s", got.after, m)
		case got.unjudged != "":
			unjudged++
			t.Logf("UNJUDGED %s: %s", m, got.unjudged)
		case got.differs > 0:
			explained++
			t.Logf("EXPLAINED %s: in %d quorums", m, got.differs)
		default:
			t.Logf("        %s: never shows", m)
		}
	}
	slices.Sort(after)
	if found > 0 {
		t.Logf("%d mutants are found, after %d messages in the median, %d in nine of ten; %d write nothing else than some correct node would; %d were not judged",
			found, after[found/2], after[found*9/10], explained, unjudged)
	}
}

// hunted is what came of the hunt for a mutant.
type hunted struct {
	differs  int    // quorums in which it has written something else than the right engine
	found    bool   // by what it wrote
	after    int    // so many messages later
	unjudged string // it was not found, and of what it wrote then not all was judged
	others   int    // right nodes that were blamed
}

// hunt plays quorums with a mutant until it is found.
func hunt(t *testing.T, m *mutants.Mutant, release string) (got hunted) {
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
		for _, d := range s.found {
			if d.Node != s.victim {
				got.others++
			} else if s.changedAt > 0 {
				got.found, got.after = true, s.seen-s.changedAt
				return got
			}
		}
		if s.changedAt == 0 {
			continue
		}
		got.differs++
		for why, n := range s.unjudged(s.victim) {
			if n > s.unjudgedBefore[why] {
				got.unjudged = why
			}
		}
	}
	return got
}

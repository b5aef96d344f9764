package oracle_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
	"github.com/understudy-kafka/understudy/kraft/mutants"
)

var (
	flagMutants = flag.String("mutants", "", "comma-separated names of mutants to look for; empty: all")
	flagHunt    = flag.Duration("hunt", 0, "how long to look for mutants; 0: as long as there are steps")
)

// errAllFound ends a walk early.
var errAllFound = errors.New("nothing is left to be found")

// hunt plays random histories until every variant has been found or the steps are spent, and returns what is left.
func hunt(t *testing.T, version string, seed uint64, steps int, rest func(), variants []*twin.Variant) []*twin.Variant {
	t.Helper()
	f := twin.NewFlock(start(t, oracle.Build{Version: version}), rest, variants...)
	f.StateEvery = *flagState
	began := time.Now()
	err := walk.Run(f, version, seed, steps, func() error {
		if len(f.Alive) == 0 || *flagHunt > 0 && time.Since(began) > *flagHunt {
			return errAllFound
		}
		return f.Reset()
	})
	if err != nil && !errors.Is(err, errAllFound) {
		t.Fatal(err)
	}
	t.Logf("Kafka %s, seed %d: %d of %d found in %d steps, %.0f s", version, seed, len(variants)-len(f.Alive), len(variants), f.Steps,
		time.Since(began).Seconds())
	if rest != nil {
		rest()
	}
	return f.Alive
}

// TestKafka_MutantsAreFound measures the comparison itself: the machine with a rule broken must be told from Kafka.
func TestKafka_MutantsAreFound(t *testing.T) {
	builds := versions(t)
	if !mutants.Inside(t) {
		return
	}
	steps := 3000
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps = 50_000
		builds = []string{"4.4.0", "4.0.0", "4.0.2"} // one of them has each rule
	}
	slices.Reverse(builds)
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	var all []*twin.Variant
	taken := map[string]bool{}
	for _, version := range builds {
		var variants []*twin.Variant
		for _, m := range mutants.All() {
			if taken[m.Name] || !m.In(version) || *flagMutants != "" && !slices.Contains(strings.Split(*flagMutants, ","), m.Name) {
				continue
			}
			taken[m.Name] = true
			variants = append(variants, &twin.Variant{Name: m.Name, Select: m.Select})
		}
		if len(variants) == 0 {
			continue
		}
		all = append(all, variants...)
		for _, v := range hunt(t, version, *flagSeed, steps, (*mutants.Mutant)(nil).Select, variants) {
			t.Logf("not found: %s", v.Name)
		}
	}
	report(t, all)
}

// report shows how long the variants survived.
func report(t *testing.T, variants []*twin.Variant) {
	t.Helper()
	var taken []int64
	for _, v := range variants {
		if v.Found != nil {
			taken = append(taken, v.Steps)
			t.Logf("%7d %s", v.Steps, v.Name)
		}
	}
	slices.Sort(taken)
	if n := len(taken); n > 0 {
		t.Logf("found %d of %d; steps: median %d, nine of ten %d, most %d", n, len(variants), taken[n/2], taken[n*9/10], taken[n-1])
	}
}

// TestKafka_SwappedProfilesAreFound gives the machine the rules of another release.
func TestKafka_SwappedProfilesAreFound(t *testing.T) {
	steps := 3000
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps = 50_000
	}
	for _, version := range versions(t) {
		own, err := compat.ByRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		var variants []*twin.Variant
		for _, other := range compat.Profiles() {
			if len(compat.Differences(own, other)) > 0 {
				variants = append(variants, &twin.Variant{Name: "rules of " + other.Build, Profile: &other})
			}
		}
		for _, v := range hunt(t, version, *flagSeed, steps, nil, variants) {
			t.Errorf("not found in Kafka %s: %s", version, v.Name)
		}
		report(t, variants)
	}
}

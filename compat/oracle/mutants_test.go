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

// bounded ends a walk when nothing is left or the time is over.
type bounded struct {
	*twin.Flock
	until time.Time
}

func (b *bounded) Do(c oracle.Command) (*oracle.Answer, error) {
	if len(b.Alive) == 0 || time.Now().After(b.until) {
		return nil, errAllFound
	}
	return b.Flock.Do(c)
}

// hunt plays random histories until every variant has been found or the steps or the time are spent, and returns what is left.
func hunt(t *testing.T, version string, steps int, limit time.Duration, rest func(), variants []*twin.Variant) []*twin.Variant {
	t.Helper()
	b := &bounded{twin.NewFlock(start(t, oracle.Build{Version: version}), rest, variants...), time.Now().Add(limit)}
	b.StateEvery = *flagState
	began := time.Now()
	if err := walk.Run(b, version, *flagSeed, steps, b.Reset); err != nil && !errors.Is(err, errAllFound) {
		t.Fatal(err)
	}
	t.Logf("Kafka %s, seed %d: %d of %d found in %d steps, %.0f s", version, *flagSeed, len(variants)-len(b.Alive), len(variants), b.Steps,
		time.Since(began).Seconds())
	return b.Alive
}

// sampled is the n-th part of the mutants that is looked for outside of the matrix.
const sampled = 8

// TestKafka_MutantsAreFound measures the comparison itself: the machine with a rule broken must be told from Kafka. What it fails
// below is a floor under what was measured, not the aim, which is 98 %.
func TestKafka_MutantsAreFound(t *testing.T) {
	builds := versions(t)
	if !mutants.Inside(t) {
		return
	}
	steps, limit, each, floor := 3000, 4*time.Minute, sampled, 15
	builds = builds[len(builds)-1:]
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps, limit, each, floor = 50_000, 150*time.Second, 1, 50
		builds = []string{"4.0.2", "4.0.0", "4.4.0"} // one of them has each rule
	}
	slices.Reverse(builds)
	if *flagBuild != "" {
		builds = []string{*flagBuild}
	}
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	if *flagHunt > 0 {
		limit = *flagHunt
	}
	var all, left []*twin.Variant
	taken := map[string]bool{}
	for _, version := range builds {
		var variants []*twin.Variant
		for _, m := range mutants.All() {
			wanted := m.Number()%each == 0
			if *flagMutants != "" {
				wanted = slices.Contains(strings.Split(*flagMutants, ","), m.Name)
			}
			if wanted && m.In(version) && !taken[m.Name] {
				taken[m.Name] = true
				variants = append(variants, &twin.Variant{Name: m.Name, Select: m.Select})
			}
		}
		if len(variants) > 0 {
			all = append(all, variants...)
			left = append(left, hunt(t, version, steps, limit, (*mutants.Mutant)(nil).Select, variants)...)
		}
	}
	report(t, all)
	for _, v := range left {
		t.Logf("not found: %s", v.Name)
	}
	if found := len(all) - len(left); *flagMutants == "" && found*100 < floor*len(all) {
		t.Errorf("%d of %d mutants are found, want at least %d %%", found, len(all), floor)
	}
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
		for _, v := range hunt(t, version, steps, 2*time.Minute, nil, variants) {
			t.Errorf("not found in Kafka %s: %s", version, v.Name)
		}
		report(t, variants)
	}
}

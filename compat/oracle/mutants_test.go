package oracle_test

import (
	"errors"
	"flag"
	"fmt"
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
	flagHunt    = flag.Duration("hunt", 24*time.Hour, "how long to look for mutants at most")
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

// hunt plays the scripts, the golden conversations and random histories until every variant has been found or the steps or the time
// are spent, and returns what is left.
func hunt(t *testing.T, version string, steps int, rest func(), variants []*twin.Variant) []*twin.Variant {
	t.Helper()
	b := &bounded{twin.NewFlock(start(t, oracle.Build{Version: version}), rest, variants...), time.Now().Add(*flagHunt)}
	began := time.Now()
	told := func(by string) {
		t.Logf("Kafka %s, %s: %d of %d found in %d steps, %.0f s", version, by, len(variants)-len(b.Alive), len(variants), b.Steps,
			time.Since(began).Seconds())
	}
	huntInScripts(t, b.Flock, version)
	told("scripts")
	huntInGoldens(t, b.Flock, version)
	told("and conversations")
	b.StateEvery = *flagState
	if err := walk.Run(b, version, *flagSeed, steps, b.Reset); err != nil && !errors.Is(err, errAllFound) {
		t.Fatal(err)
	}
	told(fmt.Sprintf("and random histories of seed %d", *flagSeed))
	return b.Alive
}

// huntInGoldens holds every golden conversation of the build with the real client, the machine and the variants.
func huntInGoldens(t *testing.T, f *twin.Flock, version string) {
	t.Helper()
	for _, g := range goldens(t) {
		if !slices.Contains(g.Builds, version) || len(f.Alive) == 0 {
			continue
		}
		if _, err := g.Play(version, goldenPlayers(f)); err != nil {
			t.Fatal(err)
		}
		if err := f.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// huntInScripts plays the scripts that show what no conversation does.
func huntInScripts(t *testing.T, f *twin.Flock, version string) {
	t.Helper()
	checks := 0
	for _, sc := range scripts {
		if !sc.hunt || len(f.Alive) == 0 {
			continue
		}
		sc.run(&scene{T: t, Cluster: oracle.NewCluster(f), version: version, checks: &checks})
		if err := f.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// sampled is the n-th part of the mutants that is looked for outside of the matrix.
const sampled = 8

// open are the mutants that the differential run does not find and that are not shown to be equivalent either, with the reason.
var open = map[string]string{}

// TestKafka_MutantsAreFound measures the comparison itself: the machine with a rule broken must be told from Kafka, by a conversation, by a
// script or in a random history.
func TestKafka_MutantsAreFound(t *testing.T) {
	builds := versions(t)
	if !mutants.Inside(t) {
		return
	}
	steps, each, floor := 600, sampled, 90
	builds = builds[len(builds)-1:]
	if os.Getenv("UNDERSTUDY_MATRIX") != "" {
		steps, each, floor = 6000, 1, 98
		builds = []string{"4.0.2", "4.0.0", "4.4.0"} // one of them has each rule
	}
	slices.Reverse(builds)
	if *flagBuild != "" {
		builds = []string{*flagBuild}
	}
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	var all []*twin.Variant
	taken := map[string]bool{}
	for _, version := range builds {
		variants := wanted(version, each, taken)
		if len(variants) > 0 {
			all = append(all, variants...)
			hunt(t, version, steps, mutants.Rest, variants)
		}
	}
	report(t, all)
	judge(t, all, floor, each == 1)
}

// wanted are the mutants of a release that are to be found and have not been taken yet.
func wanted(version string, each int, taken map[string]bool) []*twin.Variant {
	var variants []*twin.Variant
	for _, m := range mutants.All() {
		yes := m.Number()%each == 0
		if *flagMutants != "" {
			yes = slices.Contains(strings.Split(*flagMutants, ","), m.Name)
		}
		if yes && m.In(version) && !taken[m.Name] {
			taken[m.Name] = true
			variants = append(variants, &twin.Variant{Name: m.Name, Select: m.Select, Passed: m.Passed})
		}
	}
	return variants
}

// judge counts. A mutant that is called equivalent and is found all the same is an error in the proof. When all are looked for, each one that
// is not found has its reason.
func judge(t *testing.T, all []*twin.Variant, floor int, everyOne bool) {
	t.Helper()
	found, total := 0, 0
	for _, v := range all {
		m, err := mutants.ByName(v.Name)
		switch {
		case err != nil:
			t.Fatal(err)
		case m.Equivalent != "" && v.Found != nil:
			t.Errorf("%s is called equivalent, but is found:\n%v", v.Name, v.Found)
		case m.Equivalent != "":
			t.Logf("not found: %s, equivalent: %s", v.Name, m.Equivalent)
			continue
		case v.Found != nil:
			found++
		case open[v.Name] != "":
			t.Logf("not found: %s, open: %s", v.Name, open[v.Name])
		case !everyOne:
			t.Logf("not found: %s", v.Name)
		default:
			t.Errorf("not found, and neither equivalent nor open: %s", v.Name)
		}
		total++
	}
	t.Logf("found %d of %d that can be told, %.1f %%", found, total, 100*float64(found)/float64(max(1, total)))
	if *flagMutants == "" && found*100 < floor*total {
		t.Errorf("%d of %d mutants are found, want at least %d %%", found, total, floor)
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
		for _, v := range hunt(t, version, steps, nil, variants) {
			t.Errorf("not found in Kafka %s: %s", version, v.Name)
		}
		report(t, variants)
	}
}

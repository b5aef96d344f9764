package oracle_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/beside"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
)

var (
	flagBuild = flag.String("build", "", "release to step; empty: those of the tier")
	flagSteps = flag.Int("steps", 0, "random steps on each build; 0: those of the tier")
	flagSeed  = flag.Uint64("seed", 1, "seed of the random walks")
	flagState = flag.Int64("state-every", 4, "compare the whole state after every n-th step in the search for mutants")
	flagSave  = flag.String("save", filepath.Join(os.TempDir(), "understudy-oracle"), "directory for schedules that fail")
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
		t.Run(version, func(t *testing.T) { walkBeside(t, version, steps) })
	}
}

func walkBeside(t *testing.T, version string, steps int) {
	o := start(t, oracle.Build{Version: version, JVM: beside.JVM(steps)})
	w := beside.Walks{Twin: twin.New(o), Oracle: o, Seed: *flagSeed, Steps: steps, Save: *flagSave}
	began := time.Now()
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("Kafka %s, seed %d: %s", version, *flagSeed, w.Summary(time.Since(began)))
	reached(version).note("walks", w.Twin)
	for _, f := range w.Findings {
		t.Errorf("%s\nshrunk to %d commands, saved as %s\n%v", f.Options, len(f.Schedule), f.File, f.Difference)
	}
	if testing.Verbose() {
		w.Twin.Report(os.Stdout)
	}
}

// TestKafka_ARuleOfAnotherReleaseIsFoundAndNamed looks for the difference that the walks are there to find, ahead of Kafka as well as in
// lock step.
func TestKafka_ARuleOfAnotherReleaseIsFoundAndNamed(t *testing.T) {
	builds := versions(t)
	o := start(t, oracle.Build{Version: builds[len(builds)-1]})
	w := beside.Walks{Twin: twin.New(o), Oracle: o, Seed: 7, Steps: 20_000, Most: 3, Save: t.TempDir()}
	p := w.Twin.Profile()
	p.Rules.BeginOnlyToSilent, p.Rules.NullSuccessMessage = !p.Rules.BeginOnlyToSilent, !p.Rules.NullSuccessMessage
	w.Twin.SetProfile(p)
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range w.Findings {
		for _, r := range f.Rules {
			found[r.Name] = true
		}
		schedule, err := twin.Load(f.File)
		if err != nil || len(schedule) != len(f.Schedule) {
			t.Errorf("%s: %d commands, %v", f.File, len(schedule), err)
		}
	}
	if !found["begin-only-to-silent"] || len(w.Findings) > 2 {
		var text strings.Builder
		for _, f := range w.Findings {
			f.Print(&text, w.Twin.Version)
		}
		t.Errorf("%d findings by rules %v:\n%s", len(w.Findings), found, &text)
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

package oracle_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/kraft/interact"
)

// machineOnly is what only the machine can tell: why a process ends, for instance.
var machineOnly = regexp.MustCompile(`\{[^}]*\}`)

// TestKafka_Golden holds the golden conversations with the real client and, in lock step, with the machine fed by the same bytes. What
// is written in the file must be what Kafka does.
func TestKafka_Golden(t *testing.T) {
	files := goldens(t)
	for _, build := range versions(t) {
		t.Run(build, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: build}))
			held := 0
			for _, f := range files {
				if !slices.Contains(f.Builds, build) {
					continue
				}
				held++
				t.Run(strings.TrimSuffix(filepath.Base(f.Path), ".txt"), func(t *testing.T) {
					if err := holdGolden(tw, f, build); err != nil {
						t.Fatal(err)
					}
				})
				if err := tw.Reset(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("Kafka %s: %d conversations, %d steps equal", build, held, tw.Steps)
			reached(build).note("conversations", tw)
		})
	}
}

// goldens reads all golden conversations.
func goldens(t *testing.T) []*interact.File {
	t.Helper()
	paths, err := filepath.Glob("../../kraft/interact/testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	var files []*interact.File
	for _, path := range paths {
		f, err := interact.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// holdGolden plays a conversation on a build and compares it with what is written for it.
func holdGolden(tw *twin.Twin, f *interact.File, build string) error {
	got, err := f.Play(build, goldenPlayers(tw))
	if err != nil {
		return err
	}
	return agrees(f, build, got)
}

func agrees(f *interact.File, build string, got [][]string) error {
	mask := func(lines []string) []string {
		return strings.Split(machineOnly.ReplaceAllString(strings.Join(lines, "\n"), "{}"), "\n")
	}
	commands := f.Commands()
	for i, want := range f.Expected(build) {
		if !slices.Equal(mask(want), mask(got[i])) {
			return fmt.Errorf("%s, Kafka %s, at %q\nwritten:\n%s\nKafka:\n%s", f.Path, build, commands[i], strings.Join(want, "\n"), strings.Join(got[i], "\n"))
		}
	}
	return nil
}

// TestKafka_GoldenNoticesAnotherBuild: what is written for one build is not what another one does.
func TestKafka_GoldenNoticesAnotherBuild(t *testing.T) {
	build := versions(t)[0]
	tw := twin.New(start(t, oracle.Build{Version: build}))
	f, err := interact.Read("../../kraft/interact/testdata/losing_candidate_backs_off.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Play(build, goldenPlayers(tw))
	if err != nil {
		t.Fatal(err)
	}
	if err := agrees(f, build, got); err != nil {
		t.Error(err)
	}
	for _, other := range f.Builds[1:] {
		if agrees(f, other, got) == nil {
			t.Errorf("what Kafka %s does passes for Kafka %s", build, other)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

func TestLedger_GoesOnWhereItEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	builds := []string{"4.0.0", "4.4.0"}
	if got := l.next(builds, 100); got != "4.0.0" {
		t.Errorf("an empty ledger begins with %q", got)
	}
	for _, e := range []struct {
		build  string
		seed   uint64
		steps  int64
		result string
	}{{"4.0.0", 1001, 60, "equal"}, {"4.4.0", 1001, 120, "equal"}, {"4.0.0", 1002, 30, "DIFFERENT"}} {
		if err := l.add(e.build, e.seed, e.steps, e.result); err != nil {
			t.Fatal(err)
		}
	}
	if l, err = openLedger(dir); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	l.print(&text)
	if l.last["4.0.0"] != 1002 || l.next(builds, 100) != "4.0.0" || l.next(builds, 60) != "" || text.String() != "4.0.0 60 | 4.4.0 120 | 180 equal steps\n" {
		t.Errorf("%+v, %s", l, &text)
	}
	if err := os.WriteFile(l.file, []byte("no ledger\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openLedger(dir); err == nil || !strings.Contains(err.Error(), "ledger.txt line 1") {
		t.Errorf("a file that is no ledger: %v", err)
	}
}

func TestLocal_BadInputIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		o    options
		want string
	}{
		{"no jars", options{home: dir}, "no kafka-raft-*.jar in " + dir},
		{"no release", options{home: dir, rules: "9.9.9"}, "9.9.9"},
		{"local version without rules", options{home: snapshotJars(t)}, "RULES=4.4.0"},
	} {
		var out strings.Builder
		if _, err := run(t.Context(), &c.o, &out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func snapshotJars(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kafka-raft-4.5.0-SNAPSHOT.jar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestKafka_LocalBuildIsComparedWithARelease takes the jars of a release for a local build.
func TestKafka_LocalBuildIsComparedWithARelease(t *testing.T) {
	if testing.Short() {
		t.Skip("steps the real KafkaRaftClient in a Java process: run without -short")
	}
	classpath, err := oracle.Build{Version: "4.1.2"}.Classpath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, jars, _ := strings.Cut(classpath, string(os.PathListSeparator))
	base := options{home: filepath.Dir(jars), save: t.TempDir(), steps: 2500, seed: 5, stateEvery: 1}
	for _, c := range []struct {
		rules string
		want  []string
	}{
		{"4.1.2", []string{"no difference from release 4.1.2"}},
		{"4.0.1", []string{
			"decides otherwise than release 4.0.1", "1. ", "2. ", "rule fetch-high-watermark (KIP-1166, KAFKA-14145)", "rule election-backoff (KAFKA-18345)",
			"release 4.0.1 decides", "this build decides", "event", base.save,
		}},
	} {
		o := base
		o.rules = c.rules
		var out strings.Builder
		found, err := run(t.Context(), &o, &out)
		if err != nil || (found > 0) != (len(c.want) > 1) {
			t.Errorf("rules of %s: %d found, %v", c.rules, found, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("rules of %s: no %q in\n%s", c.rules, want, &out)
			}
		}
	}
}

package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
)

// built is the understudy program.
func built(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "understudy")
	if out, err := child.Run(exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/understudy")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// volatile differs from one formatting to the next.
var volatile = regexp.MustCompile(`CreateTime: \d+|crc: \d+|"lastContainedLogTimestamp":[1-9]\d*|Dumping \S*/`)

// TestKafka_StartsOnWhatWeFormatted formats as kafka-storage of the release does, compares the files with those that it made for the
// same node, and lets the release start on ours.
func TestKafka_StartsOnWhatWeFormatted(t *testing.T) {
	program := ""
	for _, release := range releases(t) {
		if release < "4" {
			continue // formats without features are not made here
		}
		modes := map[string]kafka.Voters{"initial": kafka.Dynamic}
		if kafkatest.Matrix() && (release == "4.0.0" || release == "4.4.0") {
			modes["static"], modes["standalone"] = kafka.Static, kafka.Standalone
		}
		if program == "" {
			program = built(t)
		}
		for mode, voters := range modes {
			t.Run(release+" "+mode, func(t *testing.T) { startFormatted(t, program, kafka.MustRelease(release), voters) })
		}
	}
}

func startFormatted(t *testing.T, program string, release kafka.Release, voters kafka.Voters) {
	q := kafkatest.New(t, kafka.Config{Release: release, Controllers: 1, Voters: voters, MetadataVersion: release.MetadataVersion()})
	node := q.Node(1)
	theirs := copyDir(t, node.DataDir)
	must(t, os.RemoveAll(node.DataDir))
	args := []string{"format", "-c", node.ConfigFile, "-t", q.ClusterID, "-r", release.MetadataVersion()}
	switch voters {
	case kafka.Dynamic:
		args = append(args, "-I", fmt.Sprintf("1@%s:%s", node.Advertised, node.Directory))
	case kafka.Standalone:
		args = append(args, "-s")
	case kafka.Static:
	}
	if out, err := child.Run(exec.CommandContext(t.Context(), program, args...)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if voters == kafka.Dynamic {
		for _, name := range []string{"__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "bootstrap.checkpoint"} {
			compareFile(t, filepath.Join(node.DataDir, name), filepath.Join(theirs, name))
		}
	}
	ctx := kafkatest.Deadline(t, 2*time.Minute)
	if _, err := q.StartAll(ctx); err != nil {
		t.Fatal(err)
	}
	must(t, q.WriteMetadata(ctx, "formatted", 1))
	log := string(dumpOurs(t, nil, segmentNames(t, node.DataDir)[0]))
	want := fmt.Sprintf(`"name":"metadata.version","featureLevel":%d}`, map[string]int{"4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30, "4.4": 33}[release.String()[:3]])
	if !strings.Contains(log, want) {
		t.Errorf("the first leader did not write %s:\n%s", want, log)
	}
}

// compareFile compares the lines of two files of batches, but for times.
func compareFile(t *testing.T, ours, theirs string) {
	t.Helper()
	_, err1 := os.Stat(ours)
	_, err2 := os.Stat(theirs)
	if os.IsNotExist(err1) != os.IsNotExist(err2) {
		t.Errorf("%s: ours %v, Kafka's %v", filepath.Base(ours), err1, err2)
	}
	if err1 != nil || err2 != nil {
		return
	}
	got := volatile.ReplaceAllString(string(dumpOurs(t, nil, ours)), "~")
	want := volatile.ReplaceAllString(string(dumpOurs(t, nil, theirs)), "~")
	if got != want {
		t.Errorf("%s\nours:\n%s\nKafka's:\n%s", filepath.Base(ours), got, want)
	}
}

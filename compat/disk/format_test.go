package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// built is the understudy program.
func built(t testing.TB) string {
	t.Helper()
	program, err := kafkatest.BuildProgram(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// volatile differs from one formatting to the next.
var volatile = regexp.MustCompile(`CreateTime: \d+|crc: \d+|"lastContainedLogTimestamp":[1-9]\d*|Dumping \S*/`)

// TestKafka_StartsOnWhatWeFormatted formats as kafka-storage of the release does, compares the files with those that it made for the
// same node, and lets the release start on ours: with initial controllers, standalone, of a static quorum, and 4.4.0 also on the layout
// of older releases.
func TestKafka_StartsOnWhatWeFormatted(t *testing.T) {
	t.Parallel()
	program := ""
	for _, release := range releases(t) {
		if release < "4" {
			continue // formats without features are not made here
		}
		if program == "" {
			program = built(t)
		}
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			startFormatted(t, program, kafka.MustRelease(release))
		})
	}
}

// startFormatted uses one quorum for all dynamic formats: only the files differ, not the properties.
func startFormatted(t *testing.T, program string, release kafka.Release) {
	version := release.MetadataVersion()
	q := kafkatest.New(t, kafka.Config{Release: release, Controllers: 1, Voters: kafka.Dynamic, MetadataVersion: version})
	theirs := copyDir(t, q.Node(1).DataDir)
	initial := []string{"-I", fmt.Sprintf("1@%s:%s", q.Node(1).Advertised, q.Node(1).Directory)}
	formatAndStart(t, program, q, version, initial, func(data string) {
		for _, name := range []string{"__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "bootstrap.checkpoint"} {
			compareFile(t, filepath.Join(data, name), filepath.Join(theirs, name))
		}
	})
	if release.AtLeast(4, 4) {
		formatAndStart(t, program, q, "4.3-IV0", initial, func(data string) {
			if _, err := os.Stat(filepath.Join(data, storage.BootstrapFile)); err != nil {
				t.Errorf("not the layout of older releases: %v", err)
			}
		})
	}
	if !kafkatest.Matrix() {
		return
	}
	formatAndStart(t, program, q, version, []string{"-s", "--add-scram", "SCRAM-SHA-512=[name=alice,password=alice-secret]"}, nil)
	static := kafkatest.New(t, kafka.Config{Release: release, Controllers: 1, Voters: kafka.Static})
	formatAndStart(t, program, static, version, nil, nil)
}

// formatAndStart formats the node's directory anew with our program, and lets Kafka start on it.
func formatAndStart(t *testing.T, program string, q *kafka.Quorum, version string, args []string, check func(data string)) {
	t.Helper()
	node := q.Node(1)
	must(t, os.RemoveAll(node.DataDir))
	args = append([]string{"format", "-c", node.ConfigFile, "-t", q.ClusterID, "-r", version}, args...)
	if out, err := child.Run(exec.CommandContext(t.Context(), program, args...)); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	if check != nil {
		check(node.DataDir)
	}
	ctx := kafkatest.Deadline(t, 2*time.Minute)
	if _, err := q.StartAll(ctx); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	must(t, q.WriteMetadata(ctx, "formatted", 1), q.Kill(1))
	log := string(dumpOurs(t, nil, segmentNames(t, node.DataDir)[0]))
	level, err := compat.ParseMetadataVersion(version)
	must(t, err)
	if want := fmt.Sprintf(`"name":"metadata.version","featureLevel":%d}`, level.Level); !strings.Contains(log, want) {
		t.Errorf("%v: the first leader did not write %s:\n%s", args, want, log)
	}
	if scram := slices.Contains(args, "--add-scram"); scram != strings.Contains(log, `"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice"`) {
		t.Errorf("%v: credentials in the log: %t", args, !scram)
	}
	silent(t, node.DataDir)
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

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
)

// shifted is the capture of a quorum as it would have been at another time.
func shifted(t *testing.T, by time.Duration) string {
	return recorded(t, recordings.Options{IncludeRecords: true}, func(o *recordings.Observation) {
		o.At.Seen += int64(by)
		o.At.Forwarded += int64(by)
	})
}

// TestState_QuorumThatComesBackWithLess: the same beginning of a cluster, seen once more a day later, means that all was lost in between.
func TestState_QuorumThatComesBackWithLess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, second := shifted(t, 0), shifted(t, 24*time.Hour)
	if code, stdout, stderr := checkCommand(nil, "check", "--state", dir, first); code != exitFine {
		t.Fatal(code, stdout, stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "TXF4XRjuRNetQb9gT4jDvg.json" {
		t.Fatal(files, err)
	}
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := checkCommand(nil, "check", "--state", dir, second)
	if code != exitFinding || !strings.Contains(stdout, "M3 epoch-never-falls") || !strings.Contains(stdout, "remembered: node 1 was in epoch ") {
		t.Error(code, stdout, stderr)
	}
	if after, err := os.ReadFile(files[0]); err != nil || string(after) != string(before) {
		t.Errorf("a run with findings changed the state: %v", err)
	}
	// the first recording once more: it is older than what is remembered
	if code, stdout, _ := checkCommand(nil, "check", "--state", dir, first); code != exitFine || !strings.Contains(stdout, "neither used nor changed") {
		t.Error(code, stdout)
	}
	if code, stdout, _ := checkCommand(nil, "check", second); code != exitFine {
		t.Error("without the state nothing is wrong with it", code, stdout)
	}
}

func TestState_FilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "TXF4XRjuRNetQb9gT4jDvg.json")
	if code, _, stderr := checkCommand(nil, "check", "--state", dir, quorumCapture); code != exitFine {
		t.Fatal(code, stderr)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		"":                         "damaged, or not a state",
		string(good[:len(good)/2]): "damaged, or not a state",
		"{}":                       "want \"understudy state 1\"",
		strings.Replace(string(good), "state 1", "state 2", 1):                                            "move it away",
		strings.Replace(string(good), `"clusterId": "TXF4XRjuRNetQb9gT4jDvg"`, `"clusterId": "other"`, 1): "is of cluster other, not of TXF4XRjuRNetQb9gT4jDvg",
		strings.Replace(string(good), `"directoryId": "`, `"directoryId": "!`, 1):                         "voter ",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := checkCommand(nil, "check", "--state", dir, quorumCapture)
		if code != exitRuntime || !strings.Contains(stderr, want) || !strings.Contains(stderr, name) {
			t.Errorf("%.40q: %d %s", content, code, stderr)
		}
		if after, err := os.ReadFile(name); err != nil || string(after) != content {
			t.Errorf("%.40q was overwritten", content)
		}
	}
	if code, _, stderr := checkCommand(nil, "check", "--state", name, quorumCapture); code != exitRuntime || !strings.Contains(stderr, "state") {
		t.Errorf("a file in place of the directory: %d %s", code, stderr)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

const dumpCapture = "../../recordings/testdata/captures/440-dynamic-start-kill/capture.pcap.zst"

// runDump runs a dump command line.
func runDump(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), append([]string{"dump"}, args...), stdin, &out, &errs)
	return code, out.String(), errs.String()
}

// recordCapture makes a recording of a capture.
func recordCapture(t *testing.T, opts recordings.Options) string {
	t.Helper()
	in, err := recordings.OpenAny(nil, dumpCapture)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	base := filepath.Join(t.TempDir(), "run")
	w, err := recordings.Create(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	var o recordings.Observation
	for {
		if err := in.Next(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base
}

func TestDump_ElectionOfARealQuorum(t *testing.T) {
	code, out, errs := runDump(t, nil, "--key", "Vote", "--epoch", "1", "--limit", "4", dumpCapture)
	want := `2026-11-30T05:10:11.728965Z c36 1 -> 2 Vote v2 epoch 1, candidate 1/Twc06sHLTz6wExlbNNiwGA, log 0@0
2026-11-30T05:10:11.765341Z c37 1 -> 3 Vote v2 epoch 1, candidate 1/Twc06sHLTz6wExlbNNiwGA, log 0@0
2026-11-30T05:10:11.774797Z c36 2 -> 1 Vote v2 granted, leader none, epoch 1
2026-11-30T05:10:11.795568Z c37 3 -> 1 Vote v2 granted, leader none, epoch 1
`
	if code != exitFine || out != want || errs != "" {
		t.Errorf("exit %d, stderr %q, stdout:\n%s", code, errs, out)
	}
}

// TestDump_RecordingPrintsAsItsCapture compares the lines of a capture with those of recordings made of it.
func TestDump_RecordingPrintsAsItsCapture(t *testing.T) {
	_, want, _ := runDump(t, nil, dumpCapture)
	if n := strings.Count(want, "\n"); n < 668 {
		t.Fatalf("%d lines for 668 frames", n)
	}
	_, got, errs := runDump(t, nil, recordCapture(t, recordings.Options{IncludeRecords: true}))
	if got != want || errs != "" {
		t.Errorf("a full recording prints otherwise, or %q", errs)
	}
	_, got, errs = runDump(t, nil, recordCapture(t, recordings.Options{}))
	if got != want || errs != "" {
		t.Errorf("a redacted recording prints otherwise, or %q", errs)
	}
}

func TestDump_JSONHoldsTheWholeMessage(t *testing.T) {
	code, out, errs := runDump(t, nil, "-o", "json", dumpCapture)
	if code != exitFine || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	names := map[string]int{}
	lines := json.NewDecoder(strings.NewReader(out))
	for {
		var e struct {
			Kind, Name, Client, Server string
			Number                     uint64
			Body                       map[string]any
		}
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e.Kind != "frame" {
			names[e.Kind]++
			continue
		}
		names[e.Name]++
		if len(e.Body) == 0 || e.Body["undecodable"] != nil || e.Client == "" || e.Server == "" || e.Number == 0 {
			t.Fatalf("%+v", e)
		}
	}
	for _, name := range []string{"Vote", "Fetch", "BeginQuorumEpoch", "BrokerRegistration", "Envelope", "open", "close"} {
		if names[name] == 0 {
			t.Errorf("no line for %s: %v", name, names)
		}
	}
}

func TestDump_FiltersAreJoined(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		pass func(line string) bool
	}{
		{"key", []string{"--key", "EndQuorumEpoch", "--key", "BeginQuorumEpoch"}, func(line string) bool { return strings.Contains(line, "QuorumEpoch v1 ") }},
		{"conn", []string{"--conn", "36"}, func(line string) bool { return strings.Contains(line, " c36 ") }},
		{"node", []string{"--node", "10"}, func(line string) bool {
			return strings.Contains(line, " 10 -> ") || strings.Contains(line, " -> 10 ")
		}},
		{"node and key", []string{"--node", "10", "--key", "Fetch"}, func(line string) bool {
			return (strings.Contains(line, " 10 -> ") || strings.Contains(line, " -> 10 ")) && strings.Contains(line, " Fetch v")
		}},
		{"listener", []string{"--node", "3", "--listener", "3=127.0.0.1:19093", "--conn", "2"}, func(line string) bool { return strings.Contains(line, " -> 3 ") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := runDump(t, nil, append(tt.args, dumpCapture)...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if code != exitFine || errs != "" || out == "" {
				t.Fatalf("exit %d, %q, %d lines", code, errs, len(lines))
			}
			for _, line := range lines {
				if !tt.pass(line) {
					t.Errorf("passed: %s", line)
				}
			}
		})
	}
}

func TestDump_ReadsStdin(t *testing.T) {
	b, err := os.ReadFile(dumpCapture)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := runDump(t, nil, dumpCapture)
	if code, out, errs := runDump(t, bytes.NewReader(b), "-"); code != exitFine || out != want || errs != "" {
		t.Errorf("exit %d, %q, equal %v", code, errs, out == want)
	}
}

func TestDump_BadInputIsNamed(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("no capture at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"no file", nil, exitUsage, []string{"requires at least 1 arg"}},
		{"missing file", []string{filepath.Join(dir, "none")}, exitRuntime, []string{"none", "no such file"}},
		{"garbage", []string{garbage}, exitRuntime, []string{garbage, "neither a recording nor a capture"}},
		{"key", []string{"--key", "vote", dumpCapture}, exitUsage, []string{`"vote"`, "did you mean Vote?"}},
		{"output", []string{"-o", "xml", dumpCapture}, exitUsage, []string{"xml", "text or json"}},
		{"listener", []string{"--listener", "x", dumpCapture}, exitUsage, []string{"--listener", "ID=HOST:PORT"}},
		{"epoch", []string{"--epoch", "x", dumpCapture}, exitUsage, []string{"epoch"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := runDump(t, nil, tt.args...)
			if code != tt.code || out != "" {
				t.Errorf("exit %d, want %d; stdout %q", code, tt.code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(errs, want) {
					t.Errorf("stderr %q does not say %q", errs, want)
				}
			}
		})
	}
}

func TestDump_SaysWhereAFileIsDamaged(t *testing.T) {
	base := recordCapture(t, recordings.Options{ChunkSize: 4096})
	name := base + "-000001.pcapng.zst"
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		code  int
		want  string
	}{
		{"cut", whole[:len(whole)/2], exitFine, "cut off"},
		{"changed", slices.Concat(whole[:len(whole)/2], []byte("xxxxxxxx"), whole[len(whole)/2+8:]), exitRuntime, "offset "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(name, tt.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errs := runDump(t, nil, base)
			if code != tt.code || !strings.Contains(errs, name) || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, stderr %q", code, errs)
			}
			if n := strings.Count(out, "\n"); n < 200 {
				t.Errorf("only %d lines of what can be read", n)
			}
		})
	}
}

func TestDump_FollowEndsWithTheRecording(t *testing.T) {
	base := recordCapture(t, recordings.Options{})
	_, want, _ := runDump(t, nil, base)
	if code, out, errs := runDump(t, nil, "--follow", base); code != exitFine || out != want || errs != "" {
		t.Errorf("exit %d, %q, equal %v", code, errs, out == want)
	}
}

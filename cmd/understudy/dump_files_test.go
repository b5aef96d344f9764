package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// dumpData is the directory of a controller of Kafka 4.4.0 after two restarts, with what Kafka's DumpLogSegments prints of it beside it.
const dumpData = "testdata/data-4.4.0"

const dumpPartition = dumpData + "/" + storage.PartitionDir

// copied is a copy of the directory that a test may change.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(dumpData)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDumpFiles_PrintsAsKafkasTool(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.log", "*.checkpoint"} {
		list, err := filepath.Glob(filepath.Join(dumpPartition, pattern))
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		files = append(files, list...)
	}
	want, err := os.ReadFile(dumpData + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	code, got, errs := runDump(t, nil, append([]string{"--secrets"}, files...)...)
	if code != exitFine || errs != "" || got != string(want) {
		t.Errorf("exit %d, %q, equal %t: %d bytes, Kafka prints %d", code, errs, got == string(want), len(got), len(want))
	}
}

func TestDumpFiles_DirectoryHasAllFiles(t *testing.T) {
	for _, dir := range []string{dumpData, dumpPartition} {
		code, out, errs := runDump(t, nil, dir)
		if code != exitFine || errs != "" {
			t.Fatalf("exit %d, %s", code, errs)
		}
		for _, want := range []string{
			"partition.metadata: version: 0, topic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "quorum-state: data_version 1, epoch=4 leader=1 voted=-1\n",
			"leader-epoch-checkpoint: epoch@start [1@0 2@100 3@149 4@205]\n", "Snapshot end offset: 197, epoch: 3\n", "Log starting offset: 193\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", dir, want)
			}
		}
		if strings.Contains(out, "meta.properties: version 1, cluster.id ") != (dir == dumpData) {
			t.Errorf("%s: meta.properties", dir)
		}
		if strings.Contains(out, `"50000"`) || !strings.Contains(out, `"value":"(withheld: 5 bytes)"`) {
			t.Errorf("%s: values of configurations are shown without --secrets", dir)
		}
	}
}

func TestDumpFiles_Filters(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  []string
		lines int
		each  string
	}{
		{"record", []string{"--record", "KRaftVoters"}, 5, "KRaftVoters {"},
		{"two records", []string{"--record", "LeaderChange", "--record", "FeatureLevelRecord", "--epoch", "1"}, 13, ""},
		{"epoch", []string{"--record", "LeaderChange", "--epoch", "3"}, 1, `"leaderId":1`},
		{"offsets", []string{"--record", "LeaderChange", "--from", "100", "--to", "149"}, 2, "LeaderChange"},
		{"batches", []string{"--batches", "--from", "205"}, 1, "baseOffset: "},
		{"limit", []string{"--limit", "3"}, 3, ""},
	} {
		code, out, errs := runDump(t, nil, append(tt.args, dumpPartition)...)
		n := strings.Count(out, "\n")
		if code != exitFine || errs != "" || n != tt.lines {
			t.Errorf("%s: exit %d, %d lines, want %d; %s%s", tt.name, code, n, tt.lines, errs, out)
		}
		for line := range strings.Lines(out) {
			if !strings.Contains(line, tt.each) {
				t.Errorf("%s: %s", tt.name, line)
			}
		}
	}
}

func TestDumpFiles_JSON(t *testing.T) {
	code, out, errs := runDump(t, nil, "-o", "json", dumpData)
	if code != exitFine || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	types := map[string]int{}
	for line := range strings.Lines(out) {
		var e struct {
			File, Type, Content string
			Offset, Position    *int64
			Epoch, Timestamp    int64
			Data                map[string]any
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.File == "" {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Content != "" {
			continue
		}
		if e.Offset == nil || e.Position == nil || e.Data == nil || e.Timestamp == 0 {
			t.Fatal(line)
		}
		types[e.Type]++
	}
	for name, want := range map[string]int{"LeaderChange": 4, "KRaftVoters": 5, "SnapshotHeader": 4, "SnapshotFooter": 4, "RegisterControllerRecord": 5} {
		if types[name] != want {
			t.Errorf("%d of %s, want %d", types[name], name, want)
		}
	}
}

func TestDumpFiles_VerifyNamesWhatIsWrong(t *testing.T) {
	code, out, errs := runDump(t, nil, "--verify", dumpData)
	if want := "11 files, "; code != exitFine || errs != "" || !strings.HasPrefix(out, want) {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	dir := copied(t)
	partition := filepath.Join(dir, storage.PartitionDir)
	change := func(name string, change func([]byte) []byte) {
		path := filepath.Join(partition, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("00000000000000000101.log", func(b []byte) []byte { b[70] ^= 1; return b })
	change("00000000000000000193.log", func(b []byte) []byte { return b[:len(b)-5] })
	change("quorum-state", func([]byte) []byte { return []byte("{") })
	change("00000000000000000083-0000000001.checkpoint", func(b []byte) []byte {
		at := bytes.Index(b, []byte("churna-1")) // the record then has another type, and a checksum that fits
		batch, _, err := wire.NextBatch(b[166:])
		if err != nil || at < 0 {
			t.Fatal(err, at)
		}
		batch.Records[7] = 99
		return append(b[:166], wire.AppendRawBatch(nil, batch)...)
	})
	code, _, errs = runDump(t, nil, "--verify", dir)
	if code != exitFinding {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"00000000000000000101.log: byte ", "the checksum is wrong", "00000000000000000193.log: at byte ", "quorum-state", "type 99"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not said in\n%s", want, errs)
		}
	}
}

func TestDumpFiles_FollowsAcrossARoll(t *testing.T) {
	dir := t.TempDir()
	partition := filepath.Join(dir, storage.PartitionDir)
	l, err := storage.Open(storage.OS(), partition, storage.Options{SegmentBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	add := func() {
		if err := l.Append(wire.AppendDataBatch(nil, l.End, 1, 1000, []byte{1, 20, 0, 0})); err != nil {
			t.Error(err)
		}
	}
	add()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int)
	go func() {
		code := run(ctx, []string{"dump", "--follow", "--record", "NoOpRecord", partition}, nil, w, io.Discard)
		_ = w.Close()
		done <- code
	}()
	in := bufio.NewScanner(r)
	for n := range 6 { // each line is asked for before the next record is written
		if !in.Scan() || !strings.Contains(in.Text(), "NO_OP_RECORD") || !strings.HasPrefix(in.Text(), "| offset: "+string(rune('0'+n))+" ") {
			t.Fatalf("line %d: %q", n, in.Text())
		}
		add()
	}
	if len(l.SegmentBases()) < 3 {
		t.Errorf("no roll: %v", l.SegmentBases())
	}
	cancel()
	for in.Scan() { // what is still under way
	}
	if code := <-done; code != exitFine {
		t.Errorf("exit %d", code)
	}
}

func TestDumpFiles_MistakesAreExplained(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"mixed", []string{dumpCapture, dumpData}, exitUsage, "cannot be printed together"},
		{"a recording's flag", []string{"--key", "Vote", dumpData}, exitUsage, "--record, --epoch"},
		{"a file's flag", []string{"--verify", dumpCapture}, exitUsage, "not for recordings"},
		{"unknown record", []string{"--record", "Nothing", dumpData}, exitUsage, "no record of the metadata log"},
		{"almost a record", []string{"--record", "featurelevel", dumpData}, exitUsage, "did you mean FeatureLevelRecord?"},
		{"output", []string{"-o", "xml", dumpData}, exitUsage, "text or json"},
		{"no directory of Kafka", []string{t.TempDir()}, exitRuntime, "name a data directory of Kafka"},
		{"no file", []string{"none.log"}, exitRuntime, "none.log: no such file"},
	} {
		code, out, errs := runDump(t, nil, tt.args...)
		if code != tt.code || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit %d, want %d: %q %q", tt.name, code, tt.code, out, errs)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// lowered is a recording in which leader 1 once answers a Fetch with a far lower high watermark.
func lowered(t *testing.T) string {
	done := false
	return recorded(t, recordings.Options{IncludeRecords: true}, func(o *recordings.Observation) {
		high := []byte{0, 0, 0, 0, 0, 0, 0, 20} // the watermark as it stands in an answer
		if o.Kind != recordings.KindFrame || o.Dir != wire.Response || done || o.Conn.Endpoint != "127.0.0.1:19091" {
			return
		}
		if i := bytes.Index(o.Frame.Bytes, high); i > 0 && i < 60 {
			o.Frame.Bytes = bytes.Clone(o.Frame.Bytes)
			o.Frame.Bytes[i+7], done = 4, true
		}
	})
}

func TestBundle_ExplainsItself(t *testing.T) {
	base, dir := lowered(t), t.TempDir()
	code, _, stderr := checkCommand(nil, "check", "--bundle", dir, base)
	if code != exitFinding || !strings.Contains(stderr, "wrote ") {
		t.Fatal(code, stderr)
	}
	bundles, err := filepath.Glob(filepath.Join(dir, "*-M9-node-1"))
	if err != nil || len(bundles) != 1 {
		t.Fatal(bundles, err)
	}
	code, stdout, stderr := checkCommand(nil, "explain", bundles[0])
	if code != exitFine {
		t.Fatal(code, stdout, stderr)
	}
	for _, want := range []string{
		"M9 watermark-never-falls: node 1", "what happened:", "what must hold:", "why it matters:", "source:", "resembles:",
		"The conversation", "-> ", "node 1: Fetch v18 ", "understudy check --tier 1 core",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in:\n%s", want, stdout)
		}
	}
	// the one command, as it is written there
	code, stdout, stderr = checkCommand(nil, "check", "--tier", "1", filepath.Join(bundles[0], "core"))
	if code != exitFinding || !strings.Contains(stdout, "M9 watermark-never-falls: node 1") {
		t.Error(code, stdout, stderr)
	}
	if code, _, stderr := checkCommand(nil, "check", "--bundle", dir, base); code != exitFinding {
		t.Errorf("a second time: %d %s", code, stderr)
	}
}

func TestBundle_NothingFoundWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if code, _, stderr := checkCommand(nil, "check", "--bundle", dir, quorumCapture); code != exitFine {
		t.Fatal(code, stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the directory was made")
	}
}

func TestBundle_WrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"check", "--bundle", "x", "-"}, {"check", "--bundle", "x", "--follow", "y"}, {"explain", t.TempDir()}, {"explain"},
	} {
		if code, _, stderr := checkCommand(strings.NewReader(""), args...); code != exitUsage || stderr == "" {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	broken := t.TempDir()
	for _, content := range []string{"{", "{}", "[]"} {
		if err := os.WriteFile(filepath.Join(broken, bundleFinding), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := checkCommand(nil, "explain", broken); code != exitUsage || !strings.Contains(stderr, bundleFinding) {
			t.Errorf("%s: %d %s", content, code, stderr)
		}
	}
}

func TestExplain_CoreThatShowsNothing(t *testing.T) {
	base, dir := lowered(t), t.TempDir()
	if code, _, stderr := checkCommand(nil, "check", "--bundle", dir, base); code != exitFinding {
		t.Fatal(code, stderr)
	}
	bundles, _ := filepath.Glob(filepath.Join(dir, "*-M9-node-1"))
	cores, _ := filepath.Glob(filepath.Join(bundles[0], "core*"))
	for _, name := range cores {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := checkCommand(nil, "explain", bundles[0]); code != exitRuntime || !strings.Contains(stderr, "core") {
		t.Errorf("%d %s", code, stderr)
	}
	w, err := recordings.Create(filepath.Join(bundles[0], "core"), recordings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := checkCommand(nil, "explain", bundles[0]); code != exitInconclusive || !strings.Contains(stderr, "does not show") {
		t.Errorf("%d %s", code, stderr)
	}
}

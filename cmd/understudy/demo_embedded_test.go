package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Three nodes of ours elect twice, all that they do conforms, and their own logs name the leaders that were seen.
func TestDemo_OwnQuorumLosesItsLeaderAndElects(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := command(t, "demo", "--dir", dir, "-o", "json")
	if code != exitFine {
		t.Fatalf("exit code %d, stderr %q\n%s", code, errs, out)
	}
	var got demoSummary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !got.OK || len(got.Acts) != 3 || !got.Acts[0].OK || !got.Acts[1].OK || !got.Acts[2].OK {
		t.Fatalf("summary %s", out)
	}
	own, altered := got.Acts[0], got.Acts[2]
	if own.Verdict != "CONFORMS" || own.Decisions == 0 || own.Judged != own.Decisions || len(own.Leaders) < 2 || own.Leaders[0] == own.Leaders[1] {
		t.Errorf("act 1: %+v", own)
	}
	if f := altered.Finding; altered.Verdict != "DIVERGES" || f == nil || f.Rule != "M1" {
		t.Errorf("act 3: %+v", altered)
	}
	if _, err := os.Stat(filepath.Join(dir, "nodes")); !os.IsNotExist(err) {
		t.Errorf("the nodes' files are left behind: %v", err)
	}
}

func TestDemo_InterruptEndsTheOwnQuorum(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelAt{text: "SIGKILL leader", cancel: cancel}
	var errs bytes.Buffer
	dir := t.TempDir()
	code := run(ctx, []string{"demo", "--dir", dir}, bytes.NewReader(nil), out, &errs)
	if code != exitRuntime || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "nodes")); !os.IsNotExist(err) {
		t.Errorf("the nodes' files are left behind: %v", err)
	}
}

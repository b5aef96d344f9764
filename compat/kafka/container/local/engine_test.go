package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/internal/need"
)

// TestStartDaemon_SaysWhyAnEngineDoesNotComeUp has a dockerd that is there and ends at once.
func TestStartDaemon_SaysWhyAnEngineDoesNotComeUp(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{"dockerd": "echo 'failed to mount overlay: operation not permitted' >&2; exit 3", "docker": "exit 1"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "") // it is set for what follows
	d, err := startDaemon(t.Context(), dir)
	if err == nil {
		t.Fatal(d.stop())
	}
	for _, want := range []string{"does not come up", "exit status 3", "failed to mount overlay", "dockerd --data-root " + dir, "DOCKER_HOST=", need.InstallCommand("docker.io")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

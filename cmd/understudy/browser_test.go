package main

import (
	"bytes"
	"context"
	"os/exec"
	"testing"

	"github.com/understudy-kafka/understudy/internal/need"
)

// browser is a real Chromium with a profile of its own: what it prints when it is started with these arguments.
func browser(t *testing.T) func(args ...string) string {
	t.Helper()
	chromium, profile := need.For(t, "chromium"), t.TempDir()
	return func(args ...string) string {
		t.Helper()
		all := append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--virtual-time-budget=5000", "--window-size=1500,1000",
			"--user-data-dir=" + profile,
		}, args...)
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), chromium, all...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		return string(out)
	}
}

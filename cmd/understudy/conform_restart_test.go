package main

import (
	"testing"
	"time"
)

// TestConform_RestartEndsThoughItsCommandDoesNot: a command that runs the node in the foreground would hold the suite for ever.
func TestConform_RestartEndsThoughItsCommandDoesNot(t *testing.T) {
	for _, x := range []struct{ name, command, want string }{
		{"in the foreground", "exec sleep 1000", "--restart-cmd has not ended within 100ms: it has to leave the node in the background"},
		{"fails", "exit 7", "--restart-cmd: exit status 7"},
		{"fails and says why", "echo no such service; exit 7", "--restart-cmd: exit status 7: no such service"},
	} {
		t.Run(x.name, func(t *testing.T) {
			limit := time.Minute
			if x.name == "in the foreground" {
				limit = 100 * time.Millisecond
			}
			f := conformFlags{restart: x.command}
			if err := f.restartWithin(t.Context(), limit); err == nil || err.Error() != x.want {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
	f := conformFlags{restart: "true"}
	if err := f.restartTarget(t.Context()); err != nil {
		t.Error(err)
	}
}

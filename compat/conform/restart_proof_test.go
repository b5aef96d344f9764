package conform

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestOwn_ARestartThatIsNoneProvesNothing gives the suite commands that do not restart the node, which keeps all rules: what it says
// afterwards is no sign of what it has written down.
func TestOwn_ARestartThatIsNoneProvesNothing(t *testing.T) {
	t.Parallel() // it waits most of its time
	for _, x := range []struct {
		name    string
		restart func(*ourNode) error
		says    []string
	}{
		{"it ends nothing", func(*ourNode) error { return nil }, []string{"did not come back from its restart: --restart-cmd \"x\" does not end it", "still open 5s"}},
		{"it starts nothing", (*ourNode).kill, []string{"did not come back from its restart: --restart-cmd \"x\" does not start it", "connection refused"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			node, o := ourOwnOf(t, 0, nil, "^durability/vote-survives$")
			o.Restart, o.RestartName, o.returning = func(context.Context) error { return x.restart(node) }, `--restart-cmd "x"`, time.Second
			report, err := RunOwn(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			r := &report.Results[0]
			if r.Outcome != Inconclusive || report.Verdict() != Inconclusive {
				t.Errorf("%s, want %s: %s", r.Outcome, Inconclusive, r.Why)
			}
			for _, want := range x.says {
				if !strings.Contains(r.Why, want) {
					t.Errorf("%q lacks %q", r.Why, want)
				}
			}
		})
	}
}

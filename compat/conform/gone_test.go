package conform

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRun_WaitsForANodeThatRestarts ends the node in the middle of a run. One that comes back is asked again; without it the rest is
// inconclusive, and soon told so.
func TestRun_WaitsForANodeThatRestarts(t *testing.T) {
	for _, x := range []struct {
		name string
		back bool
		want Outcome
	}{{"it comes back", true, Passed}, {"it does not", false, Inconclusive}} {
		t.Run(x.name, func(t *testing.T) {
			node := ourVoters(t, 1, 1, 1, fastTimers)[0]
			if err := node.start(); err != nil {
				t.Fatal(err)
			}
			o := node.options()
			o.Match = regexp.MustCompile("^vote/v2/")
			if !x.back {
				o.Patience = time.Second
			}
			returned := make(chan error, 1)
			o.Progress = func(done, _ int, _ *Result) {
				if done != 5 {
					return
				}
				if err := node.kill(); err != nil {
					t.Error(err)
				}
				go func() {
					if !x.back {
						returned <- nil
						return
					}
					time.Sleep(500 * time.Millisecond)
					returned <- node.start()
				}()
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-returned; err != nil {
				t.Fatal(err)
			}
			if report.Verdict() != x.want || report.Count(Failed) > 0 {
				_ = report.WriteText(t.Output(), false)
				t.Errorf("%s, want %s", report.Summary(), x.want)
			}
			last := &report.Results[len(report.Results)-1]
			if !x.back && (last.Outcome != Inconclusive || !strings.Contains(last.Why, "has not come back since vote/v2/")) {
				t.Errorf("%s: %s %s", last.Case.ID, last.Outcome, last.Why)
			}
		})
	}
}

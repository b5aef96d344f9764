package conform

import (
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft/mutants"
)

// TestMatrix_BrokenEnginesFail plays scenarios with nodes of ours whose engine breaks the rule: nothing is altered on the wire.
func TestMatrix_BrokenEnginesFail(t *testing.T) {
	if !kafkatest.Matrix() {
		t.Skip("builds the engine with its mutants: make test-matrix")
	}
	if !mutants.Inside(t) {
		return // the same test has run in a binary with the mutants
	}
	for _, x := range []struct{ mutant, scenario string }{
		{"candidate-not-persisted", "durability/own-vote-survives"},
		{"unattached-not-persisted", "durability/epoch-survives"},
		{"unattached-forgets-vote", "unattached/keeps-its-vote-when-pre-votes-are-refused"},
		{"unattached-keeps-old-vote", "unattached/a-new-epoch-has-a-new-vote"},
	} {
		t.Run(x.mutant, func(t *testing.T) {
			m, err := mutants.ByName(x.mutant)
			if err != nil {
				t.Fatal(err)
			}
			for _, broken := range []*mutants.Mutant{nil, m} {
				broken.Select()
				node, o := ourOwn(t, "^"+x.scenario+"$")
				report, err := RunOwn(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if err := node.kill(); err != nil {
					t.Error(err)
				}
				mutants.Rest()
				r, want := &report.Results[0], Passed
				if broken != nil {
					want = Failed
				}
				if r.Outcome != want {
					t.Errorf("%s with %v: %s %s, want %s", r.Case.ID, broken, r.Outcome, r.Why, want)
				}
				t.Log(broken, r.Outcome, r.Why)
			}
		})
	}
}

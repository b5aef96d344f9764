package explore

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/mutants"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// One rule of the engine is broken, and the model that is there for it says which invariant goes with it. A search that ends without
// having found it, or that finds something else first, fails.
func TestTwins_BrokenRulesAreNoticed(t *testing.T) {
	if !mutants.Inside(t) {
		return // the same test has run in a binary with the mutants
	}
	get := func(name string) *Model { return model(t, name) }
	crashing := &Model{
		Name: "crashing", Nodes: 3, Voters: 3, Epochs: 1, Interrupt: true, Budget: Budget{Timeouts: 2, Crashes: 1},
		Ends: []kraft.FatalReason{kraft.FatalInvalidRequest},
	}
	elections := &Model{Name: "elections", Nodes: 3, Voters: 3, Epochs: 2, Budget: Budget{Timeouts: 2}}
	for _, tt := range []struct {
		mutant string
		m      *Model
		want   safety.Invariant
	}{
		{"majority-half", get("two-voters"), safety.ElectionSafety},
		{"vote-given-twice", get("pre-vote"), safety.OneVote},
		{"candidate-grants-votes", elections, safety.OneVote},
		{"vote-forgotten", elections, safety.OneVote},
		{"vote-told-before-durable", crashing, safety.OneVote},
		{"vote-epoch-not-adopted", elections, safety.MonotoneEpoch},
		{"vote-not-persisted", elections, safety.PersistBeforeSend},
		{"candidate-not-persisted", elections, safety.PersistBeforeSend},
		{"follower-not-persisted", elections, safety.PersistBeforeSend},
		{"start-forgets-vote", crashing, safety.PersistBeforeSend},
		{"start-not-persisted", crashing, safety.PersistBeforeSend},
		{"leader-does-not-flush", get("restart"), safety.LeaderCompleteness},
		{"follower-does-not-flush", get("restart"), safety.LeaderCompleteness},
		{"vote-by-epoch-alone", get("add-voter"), safety.LeaderCompleteness},
		{"vote-key-unchecked", get("wiped-disk"), safety.LeaderCompleteness},
		{"divergence-by-epoch-only", get("replication"), safety.StateMachineSafety},
		{"remove-voter-pending-unchecked", get("remove-leader"), safety.OneVoterChange},
		{"new-voters-in-force-when-committed", get("add-voter"), safety.OneVoterChange},
		{"last-epoch-of-snapshot-forgotten", get("snapshot"), safety.NoFatal},
		{"prospective-keeps-connections", get("resignation"), safety.NoFatal},
		{"resigned-tells-itself", get("discovery"), safety.NoFatal},
	} {
		t.Run(tt.mutant, func(t *testing.T) {
			m, err := mutants.ByName(tt.mutant)
			if err != nil {
				t.Fatal(err)
			}
			m.Select()
			defer (*mutants.Mutant)(nil).Select()
			r, err := Explore(tt.m, Options{Limit: 2_000_000})
			if err != nil {
				t.Fatalf("model %s: %v", tt.m.Name, err)
			}
			if r.Violation == nil || r.Violation.Invariant != tt.want {
				t.Fatalf("model %s: %v in %d states, want %v", tt.m.Name, r.Violation, r.States, tt.want)
			}
			t.Logf("model %s: %v after %d states, %d steps", tt.m.Name, r.Violation.Invariant, r.States, r.Depth+1)
		})
	}
}

package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Broken drivers: the contract of kraft.doc, violated in one place each.
func TestTwins_BrokenDriversAreNoticed(t *testing.T) {
	two := Model{Nodes: 2, Voters: 2, Epochs: 3, Interrupt: true, Budget: Budget{Timeouts: 3, Appends: 1, Crashes: 1}}
	three := Model{
		Nodes: 3, Voters: 3, Epochs: 2, Interrupt: true, Budget: Budget{Timeouts: 2, Crashes: 1}, Ends: []kraft.FatalReason{kraft.FatalInvalidRequest},
	}
	for _, tt := range []struct {
		name string
		m    Model
		twin fault
		want safety.Invariant
		slow bool
	}{
		{"the quorum-state file is not written", two, skipsPersist, safety.PersistBeforeSend, false},
		{"the vote is not read at a restart", three, forgetsVote, safety.OneVote, true},
		{"the file is not read at a restart", two, forgetsEpoch, safety.MonotoneEpoch, false},
		{"a flush does nothing", two, skipsFlush, safety.LeaderCompleteness, false},
		{"a reply leaves before the vote is written", three, sendsAnyway, safety.MonotoneEpoch, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.m
			m.Name = tt.name
			if testing.Short() && tt.slow {
				t.Skip("the faultless driver takes seconds: make test-explore")
			}
			if r, err := Explore(&m, Options{Limit: 5_000_000}); err != nil || r.Violation != nil {
				t.Fatalf("without the fault: %v, %v", err, r.Violation)
			}
			m.twin = tt.twin
			r, err := Explore(&m, Options{Limit: 5_000_000})
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation == nil || r.Violation.Invariant != tt.want {
				t.Fatalf("%v in %d states, want %v\n%s", r.Violation, r.States, tt.want, r.CounterExample)
			}
			t.Logf("%v after %d states, %d steps", r.Violation, r.States, r.Depth+1)
			compareGolden(t, strings.ReplaceAll(tt.name, " ", "_"), r.CounterExample)
		})
	}
}

// A voter that has voted for itself, lost, and followed the winner forgets the winner when it restarts: its own vote comes first
// (QuorumState.initialize, since 4.0 keeps the vote of a follower). With a record of that epoch in its log it then asks for votes that
// no candidate can ask for, is refused with INVALID_REQUEST, and ends. That is Kafka's behaviour, and harms nobody else.
func TestExplore_FindsTheLoserThatCannotRestart(t *testing.T) {
	m := &Model{Name: "loser", Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Timeouts: 2, Crashes: 1}}
	r, err := Explore(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation == nil || r.Violation.Invariant != safety.NoFatal {
		t.Fatalf("%v", r.Violation)
	}
	compareGolden(t, "the_loser_that_cannot_restart", r.CounterExample)
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the conversation has changed (-rewrite writes it anew):\n%s", got)
	}
}

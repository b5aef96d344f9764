package sim

import (
	"fmt"
	"io"
	"slices"

	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Scenario is a run without chance that shows one thing.
type Scenario struct {
	Name     string
	Title    string
	Explains string // what to notice, and where it comes from
	Options  func() Options
	Play     func(s *Stage)

	// Violates says which invariant breaks; None of it may. It is set where a rule of Kafka is left out on purpose, or where Kafka itself
	// promises nothing.
	Violates Expectation
}

// Expectation is an invariant that a scenario breaks, or none.
type Expectation struct {
	Invariant safety.Invariant
	Breaks    bool
}

func breaks(i safety.Invariant) Expectation { return Expectation{Invariant: i, Breaks: true} }

// Scenarios are all of them, in the order in which they are best read.
func Scenarios() []Scenario {
	return slices.Concat(electionScenarios, logScenarios, voterScenarios, hazardScenarios)
}

// ScenarioByName finds a scenario.
func ScenarioByName(name string) (Scenario, error) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q: understudy sim --list names them", name)
}

// Play plays a scenario and passes on what happens. The result is the violation, if there was one.
func (w *World) Play(s Scenario, notes func(Note)) Result {
	stage := w.newStage(s.Options(), notes)
	if w.violation == nil {
		s.Play(stage)
	}
	if w.violation == nil {
		w.fail(w.history.Kept(-1))
	}
	w.notes = nil
	return w.result(-1)
}

// Tell plays a scenario and writes it down. It returns an error if the scenario did not end as it says.
func (s Scenario) Tell(out io.Writer, everything bool) error {
	fmt.Fprintf(out, "%s: %s\n\n%s\n\n", s.Name, s.Title, s.Explains)
	r := New().Play(s, func(x Note) {
		if everything || !x.Quiet {
			fmt.Fprintln(out, x)
		}
	})
	return s.conclude(out, r)
}

func (s Scenario) conclude(out io.Writer, r Result) error {
	v := r.Violation
	switch {
	case v == nil && !s.Violates.Breaks:
		fmt.Fprintln(out, "\nno invariant is broken")
		return nil
	case v != nil:
		fmt.Fprintf(out, "\nBROKEN %v\n", v)
	}
	switch {
	case v == nil:
		return fmt.Errorf("scenario %s: no invariant is broken, want %v", s.Name, s.Violates.Invariant)
	case !s.Violates.Breaks || v.Invariant != s.Violates.Invariant:
		return fmt.Errorf("scenario %s: %w", s.Name, v)
	}
	return nil
}

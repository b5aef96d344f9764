// Package mutants is a registry of single-rule mutants of the engine: each one is package kraft with one rule broken, as a
// programmer could have written it. They measure the checkers. A differential run, a simulation with invariants, a shadow or a
// conformance suite that is worth its name notices nearly all of them.
//
// The engine's source is never changed, and no binary of the product holds a mutant. [Overlay] writes changed copies of the engine's
// files and a file for "go build -overlay" that puts them in place. Every function with mutants begins there with a switch on
// [selected.Mutant] that leads to the copy in question, so one binary holds all mutants and a test goes from one to the next at
// the cost of an assignment.
//
// A test that wants the mutants begins with [Inside]:
//
//	func TestMutants_TheInvariantsNotice(t *testing.T) {
//		if !mutants.Inside(t) {
//			return // the same test has run in a binary with the mutants
//		}
//		for _, m := range mutants.All() {
//			m.Select()
//			…
//		}
//	}
//
// An entry names the snippet of source that it replaces, which must occur exactly once in its file: a test checks that, and that
// every mutant compiles. Whoever changes a rule of the engine changes its mutants with it.
package mutants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft/mutants/selected"
)

// Mutant is the engine with one rule broken.
type Mutant struct {
	Name string
	Rule string // that is broken, and how
	File string // of package kraft
	Old  string // a snippet that occurs once in the file, within one function
	New  string

	// Since and Until bound the releases in which the rule exists, as "4.1". Empty: all.
	Since, Until string

	// Equivalent says why no driver can tell the mutant from the engine. Empty: it can be told.
	Equivalent string

	number int
}

// All is the registry, in the order of the mutants' numbers, which begin at 1.
func All() []*Mutant { return registry }

// ByName finds a mutant.
func ByName(name string) (*Mutant, error) {
	for _, m := range registry {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no mutant %q", name)
}

// Select puts the mutant to work, in a binary that holds the mutants. Nil stands for the engine as it is.
func (m *Mutant) Select() {
	selected.Mutant = 0
	if m != nil {
		selected.Mutant = m.number
	}
}

// Rest puts the engine as it is to work, and forgets which mutants it has come by.
func Rest() {
	(*Mutant)(nil).Select()
	if selected.Entered == nil {
		selected.Entered = make([]bool, len(registry)+1)
	}
	clear(selected.Entered)
}

// Passed reports whether the engine has called the function that the mutant changes since the last Rest. If it has not, the mutant would
// have done the same.
func (m *Mutant) Passed() bool { return selected.Entered[m.number] }

// Number is what selects the mutant.
func (m *Mutant) Number() int { return m.number }

// In reports whether the broken rule exists in a release such as "4.1.2".
func (m *Mutant) In(release string) bool {
	return release >= m.Since && (m.Until == "" || release <= m.Until || strings.HasPrefix(release, m.Until))
}

func (m *Mutant) String() string { return fmt.Sprintf("%s (%s: %s)", m.Name, m.File, m.Rule) }

var registry = number(slices.Concat(
	roleMutants, electionMutants, voteMutants, leaderMutants, appendMutants, requestMutants, responseMutants, fetchMutants, followerMutants,
	logMutants, connectionMutants, voterMutants, startMutants,
))

func number(list []Mutant) []*Mutant {
	all := make([]*Mutant, len(list))
	for i := range list {
		list[i].number = i + 1
		all[i] = &list[i]
	}
	return all
}

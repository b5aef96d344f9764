package twin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
)

// Variant is something beside the machine that should be found out: the machine with a rule broken, or with the rules of another
// release.
type Variant struct {
	Name    string
	Select  func()          // puts the variant to work; nil: nothing needs to be done
	Passed  func() bool     // whether the machine, since Rest, has been where the variant may differ; nil: it always may
	Profile *compat.Profile // nil: that of the oracle's release

	Steps int64       // that it has taken part in
	Found *Difference // nil: not yet

	twin *Twin
}

// Flock is an oracle.Stepper: one real client with the machine, and beside it any number of variants. Each variant is given the same
// commands and is compared with the same answers of Kafka until it differs. So the oracle and the walk cost the same whether one
// variant is looked for or a hundred.
//
// A variant of a node that is in all respects as the machine's node is, is not kept: it is a copy of that, made when the machine comes by
// the code that the variant changes. So what a variant costs depends on how often that is.
type Flock struct {
	*Twin
	Alive []*Variant
	Rest  func() // puts the machine itself to work

	memo *memo
}

// NewFlock sets the variants beside the oracle.
func NewFlock(o *oracle.Oracle, rest func(), variants ...*Variant) *Flock {
	f := &Flock{Alive: slices.Clone(variants), Rest: rest, memo: &memo{under: o}}
	f.Twin = pair(f.memo, o.Build.Version)
	for _, v := range variants {
		v.twin = pair(f.memo, o.Build.Version)
		if v.Profile != nil {
			v.twin.SetProfile(*v.Profile)
		}
	}
	return f
}

// Do carries out a command everywhere. It fails only if the machine itself differs.
func (f *Flock) Do(c oracle.Command) (*oracle.Answer, error) {
	f.memo.record()
	before := f.nodes[c.Node].clone()
	f.rest()
	a, err := f.Twin.Do(c)
	if err != nil {
		return a, err
	}
	defer f.rest()
	alive := f.Alive[:0]
	for _, v := range f.Alive {
		v.Steps++
		if !v.takeNode(c.Node, before) {
			alive = append(alive, v)
			continue
		}
		if v.Select != nil {
			v.Select()
		}
		f.memo.replay()
		v.twin.StateEvery, v.twin.shown = f.StateEvery, f.shown
		_, err := v.twin.do(c)
		switch {
		case err == nil:
			alive = append(alive, v)
			v.returnNode(c.Node, f.nodes[c.Node])
		case !errors.As(err, &v.Found):
			return nil, fmt.Errorf("variant %s: %w", v.Name, err)
		default:
			v.twin = nil
		}
	}
	f.Alive = alive
	return a, nil
}

// takeNode gives the variant its node for a command, and reports whether it has to carry it out: else it would do what the machine has
// just done.
func (v *Variant) takeNode(name string, before *node) bool {
	if v.Passed == nil || v.twin.nodes[name] != nil {
		return true
	}
	if !v.Passed() {
		return false
	}
	if before != nil {
		v.twin.nodes[name] = before.clone()
		v.twin.nodes[name].coverage = v.twin.Coverage
	}
	return true
}

// returnNode gives the variant's node up if it is as the machine's.
func (v *Variant) returnNode(name string, machines *node) {
	if v.Passed != nil && v.twin.nodes[name].equal(machines) {
		delete(v.twin.nodes, name)
	}
}

func (f *Flock) rest() {
	if f.Rest != nil {
		f.Rest()
	}
}

// Reset forgets all nodes and the schedule.
func (f *Flock) Reset() error {
	for _, v := range f.Alive {
		v.twin.nodes, v.twin.schedule = map[string]*node{}, nil
	}
	f.memo.record()
	return f.Twin.Reset()
}

// memo answers the variants with what the oracle has answered the machine.
type memo struct {
	under   oracle.Stepper
	answers []*oracle.Answer
	next    int // -1: ask
}

func (m *memo) record() { m.answers, m.next = m.answers[:0], -1 }
func (m *memo) replay() { m.next = 0 }

func (m *memo) Do(c oracle.Command) (*oracle.Answer, error) {
	if m.next < 0 {
		a, err := m.under.Do(c)
		if err == nil {
			kept := *a
			m.answers = append(m.answers, &kept)
		}
		return a, err
	}
	if m.next == len(m.answers) {
		return nil, fmt.Errorf("command %s of %s was not asked of the oracle", c.Cmd, c.Node)
	}
	a := *m.answers[m.next]
	m.next++
	return &a, nil
}

package explore

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// open are quorums that are too large to be explored: everything may happen, nearly as often as one likes.
func open() []*Model {
	var much Budget
	for i := range much {
		much[i] = maxBudget
	}
	static := much
	static[Wipes] = 0
	ends := []kraft.FatalReason{
		kraft.FatalInvalidRequest, kraft.FatalUnknownEndpoints, kraft.FatalInconsistentLeader, kraft.FatalNotAVoter,
	}
	// A disk that is lost takes with it what it has held: with more wipes than one a majority may forget.
	dynamic := much
	dynamic[Wipes], dynamic[Snapshots] = 0, 0
	return []*Model{
		{Name: "static", Nodes: 3, Voters: 3, Epochs: maxEpochs, Interrupt: true, Budget: static, Ends: ends},
		{Name: "discovery", Nodes: 3, Voters: 2, Epochs: maxEpochs, Interrupt: true, Discovery: true, Budget: static, Ends: ends},
		{Name: "growing", Nodes: 4, Voters: 3, Dynamic: true, Discovery: true, Prelude: true, Epochs: maxEpochs, Interrupt: true, Add: 4, Budget: dynamic, Ends: ends},
		{Name: "shrinking", Nodes: 4, Voters: 4, Dynamic: true, Prelude: true, Epochs: maxEpochs, Interrupt: true, Remove: 1, Budget: dynamic, Ends: ends},
		{Name: "old", Release: "4.0.0", Nodes: 3, Voters: 3, Epochs: maxEpochs, Interrupt: true, Budget: static, Ends: ends},
	}
}

// FuzzQuorum takes one way through a large quorum: each byte chooses what happens next. The invariants hold on all of them.
func FuzzQuorum(f *testing.F) {
	for i := range open() {
		f.Add(uint8(i), []byte("\x00\x03\x01\x04\x01\x05\x09\x02\x06\x05\x03\x05\x08\x09\x07\x09\x03\x02\x03\x08\x04\x06\x02\x06\x04\x03\x03\x08\x03\x02\x07\x09"))
	}
	f.Fuzz(func(t *testing.T, which uint8, choices []byte) {
		models := open()
		walk(t, models[int(which)%len(models)], choices[:min(len(choices), 400)])
	})
}

func walk(t *testing.T, m *Model, choices []byte) {
	t.Helper()
	x, err := newExplorer(m, true)
	if err != nil {
		t.Fatal(err)
	}
	s, broken, err := x.initial()
	if err != nil || broken != nil {
		t.Fatal(err, broken)
	}
	var path []int
	for _, choice := range choices {
		var after []state
		x.expand(&s, func(_ happening, next *state, v *safety.Violation) bool {
			if broken = v; v == nil {
				after = append(after, state{})
				after[len(after)-1].copyFrom(next)
			}
			return v == nil
		})
		if broken != nil {
			t.Fatalf("%v\n%s", broken, x.retell(path, broken))
		}
		if len(after) == 0 {
			return
		}
		at := int(choice) % len(after)
		path = append(path, at)
		s = after[at]
		if len(s.packets) > 60 {
			return // a network that only fills up
		}
	}
}

package sim

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestHazards_FetchesTwiceIsNoPretext: a follower may end because it got records twice only where two Fetches can be in flight, and only if its
// log has those records.
func TestHazards_FetchesTwiceIsNoPretext(t *testing.T) {
	w := New()
	o := Draw(1)
	o.Events, o.Kinds = 500, 0
	if err := o.Resize(3, 0, 0); err != nil {
		t.Fatal(err)
	}
	for i := range o.Profiles {
		o.Profiles[i] = profiles[0]
	}
	if r := w.Run(o); r.Violation != nil {
		t.Fatal(&r)
	}
	var n *node
	for _, x := range w.nodes[:3] {
		if x.machine.Role().Kind() == kraft.FollowerRole {
			n = x
		}
	}
	if n == nil {
		t.Fatal("nobody follows")
	}
	held, ok := n.chain.Holding(n.log.End - 1)
	if !ok {
		t.Fatal("the log is empty")
	}
	newer := profiles[len(profiles)-1]
	older := profiles[0]
	for _, x := range []struct {
		name  string
		epoch kraft.Epoch
		base  kraft.Offset
		rules *kraft.Rules
		want  Hazard
	}{
		{"records that it has", held.Epoch, n.log.End - 1, &older.Rules, FetchesTwice},
		{"records of another epoch", held.Epoch + 1, n.log.End - 1, &older.Rules, NoHazard},
		{"records that it has not", held.Epoch, n.log.End, &older.Rules, NoHazard},
		{"a release with one Fetch in flight", held.Epoch, n.log.End - 1, &newer.Rules, NoHazard},
	} {
		profile := *n.profile
		profile.Rules = *x.rules
		n.profile = &profile
		n.event = &kraft.ReceiveFetchResponse{Batches: []kraft.Batch{{Base: x.base, Last: x.base, Epoch: x.epoch}}}
		if got := w.hazard(n, kraft.FatalUnexpectedOffset); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

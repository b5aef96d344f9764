package e2e

import (
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
)

// TestMatrix_FaultsOnTheWireBlameNobody is a slice of `make test-live` for the tier of each change: the faults of Fetch that leave bytes
// as they are, those of a guest, errors in the leader's name, a copy, and one election with a fault in each of its messages.
func TestMatrix_FaultsOnTheWireBlameNobody(t *testing.T) {
	kafkatest.NeedKafka(t)
	if !kafkatest.Matrix() {
		t.Skip("the long tier: make test-matrix")
	}
	r := newLive(t, "4.4.0").begin(t)
	whole, _ := faultKinds()
	var took []wireFault
	for _, f := range slices.Concat(faultsOfFetch(whole), refusals()) {
		took = append(took, r.inject(t, nil, f)...)
	}
	took = append(took, r.guests(t, faultsOfGuests([]string{"drop", "duplicate", "mutate"}))...)
	took = append(took, r.inject(t, standStillForLong, faultsOfElections([]string{"drop"})[0]...)...)
	code, files := r.end(t)
	if code != 0 && code != 3 {
		t.Errorf("the live checker ends with %d:\n%s", code, r.output.String())
	}
	blameless(t, files, took)
	if t.Logf("%d faults", len(took)); len(took) < 36 {
		t.Errorf("%d faults were injected, want 36", len(took))
	}
}

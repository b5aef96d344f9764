package belief

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// What brute force has shown the search to be wrong about, each by itself.

// TestFetchAnswer_WithAnErrorNamesNoPosition: an answer with an error that also names a diverging epoch, or a snapshot, is none that a node gives.
func TestFetchAnswer_WithAnErrorNamesNoPosition(t *testing.T) {
	given := answer{said: content{err: kraft.NotLeaderOrFollower, leader: 2, epoch: 3, hw: -1, diverge: nowhere, snapshot: nowhere}}
	asked := &askedSlot{x: &crossing{key: wire.KeyFetch}}
	for name, tc := range map[string]struct {
		diverge, snapshot kraft.OffsetAndEpoch
		want              bool
	}{
		"neither":           {nowhere, nowhere, true},
		"a diverging epoch": {kraft.OffsetAndEpoch{Offset: 4, Epoch: 2}, nowhere, false},
		"a snapshot":        {nowhere, kraft.OffsetAndEpoch{Offset: 4, Epoch: 2}, false},
	} {
		seen := given.said
		seen.diverge, seen.snapshot = tc.diverge, tc.snapshot
		if got := given.explains(&seen, asked, wire.KeyFetch); got != tc.want {
			t.Errorf("%s: explained %t", name, got)
		}
	}
}

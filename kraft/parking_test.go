package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// Whether a Fetch at the log end is parked depends on what both sides know of the high watermark (KIP-1166).
func TestParking_ByHighWatermark(t *testing.T) {
	leader := func(commit bool) *stage {
		s := newStage(staticConfig(3)).toLeader()
		if commit {
			s.on(s.fetch(2, 1, 0))
		}
		return s
	}
	tests := []struct {
		name         string
		leaderKnows  bool
		followers    kraft.Offset
		parked       bool
		fromFollower kraft.NodeID
	}{
		{"neither knows it", false, -1, true, 9},
		{"only the follower claims to", false, 1, true, 9},
		{"only the leader knows it", true, -1, false, 9},
		{"the follower's is lower", true, 0, false, 9},
		{"they are equal", true, 1, true, 9},
		{"a version that does not tell", true, 1<<63 - 1, true, 9},
	}
	for _, tt := range tests {
		s := leader(tt.leaderKnows)
		e := s.fetch(tt.fromFollower, 1, 500)
		e.HighWatermark = tt.followers
		if parked := len(sent[kraft.Park](s.on(e))) == 1; parked != tt.parked {
			t.Errorf("%s: parked %t", tt.name, parked)
		}
	}
}

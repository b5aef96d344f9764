package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// Who leads a quorum of one answers a graceful shutdown at once, and so does an observer that knows no leader: nobody waits for them.
func TestShutdown_WhoIsNotNeededGoesAtOnce(t *testing.T) {
	observer := staticConfig(3)
	observer.ID, observer.DirectoryID = 9, directory(9)
	tests := []struct {
		name  string
		stage *stage
		want  bool
	}{
		{"the only voter", newStage(staticConfig(1)), true},
		{"an observer without a leader", newStage(observer), true},
		{"an observer with a leader", newStage(observer).follow(2, 1), true},
		{"a follower", followerStage(), true},
		{"a voter without a leader", newStage(staticConfig(3)), false},
		{"a leader", leaderStage(3), false},
	}
	for _, tt := range tests {
		tt.stage.act()
		expect(t, tt.stage.on(&kraft.Shutdown{TimeoutMs: 5000}))
		done := sent[kraft.ShutdownDone](tt.stage.act())
		if len(done) == 1 != tt.want || len(done) == 1 && !done[0].OK {
			t.Errorf("%s: %v", tt.name, done)
		}
	}
	// A leader waits until it knows another one.
	s := leaderStage(3)
	s.on(&kraft.Shutdown{TimeoutMs: 5000})
	s.act()
	if ends := sent[kraft.SendEndQuorumEpoch](s.act()); len(ends) != 2 {
		t.Fatalf("tells %v", ends)
	}
	s.on(begin(2, 2))
	expect(t, s.act(), "ShutdownDone(ok=true)")
}

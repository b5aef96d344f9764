package belief

import (
	"flag"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

var abruptSeeds = flag.Int("abrupt-seeds", 12, "quorums whose leaders are told to end in the middle of a turn")

// TestLeadersThatEnd_InTheMiddleOfATurn: another thread has a leader shut down between its role action and the message that it takes then. That
// message is refused with BROKER_NOT_AVAILABLE, and the answer may be seen after all that the node writes as it leaves office.
func TestLeadersThatEnd_InTheMiddleOfATurn(t *testing.T) {
	profiles := compat.Profiles()
	refused := 0
	for seed := range uint64(short(*abruptSeeds, 3)) {
		p := profiles[int(seed)%len(profiles)]
		s := newSim(t, seed+1, p.Build, 3, 2, seed%2 == 0)
		s.slow, s.late, s.calm, s.abrupt = []int64{1000, 4000}[seed/2%2], true, true, true
		tell := func(m *Message) {
			if x, err := s.c.read(m); err == nil && x.reply && x.said.err == kraft.BrokerNotAvailable {
				refused++
			}
			s.c.Message(m)
		}
		s.tap, s.tapClosed = tell, s.c.Closed
		var end func()
		end = func() {
			s.after(700_000, end)
			for _, n := range s.nodes {
				if n.up && n.m.Role().Kind() == kraft.LeaderRole {
					n.ending = true
				}
			}
		}
		s.after(1_000_000, end)
		s.run(1500)
		if len(s.found) > 0 {
			s.report(t)
			t.Fatalf("seed %d, Kafka %s", seed+1, p.Build)
		}
	}
	if t.Logf("%d answers are BROKER_NOT_AVAILABLE", refused); refused < short(5, 1) {
		t.Error("too few")
	}
}

package belief

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// TestAlone_AVoterThatAsksItselfIsNeverManyThings: the others have died, and a voter goes on asking the bootstrap servers, itself among
// them, who leads. Each Fetch of it looks like each earlier one that may have been given up in its queue. Of these none can leave
// behind a later one on the same connection, or each would leave one more state behind for each Fetch.
func TestAlone_AVoterThatAsksItselfIsNeverManyThings(t *testing.T) {
	for seed := range uint64(8) {
		s := newSim(t, seed, "4.4.0", 3, 0, true)
		s.calm, s.slow = true, 200
		s.run(900)
		var alone *simNode
		for _, n := range s.nodes {
			if n.m.Role().Kind() == kraft.FollowerRole {
				alone = n
			}
		}
		if alone == nil {
			t.Fatalf("seed %d: nobody follows", seed)
		}
		for _, n := range s.nodes {
			if n != alone {
				n.crash()
				n.gone = true
			}
		}
		until := s.now + 15_000_000
		s.play(func() bool { return s.now < until })
		if r := s.c.judgeOf(alone.id).stats; len(s.found) > 0 || r.Judged < 250 || r.MostBelef > 40 {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
}

// TestSeenTwice_OnlyOnConnectionsThatAreOpenAtOnce: a node that was started anew numbers its requests as it did before.
func TestSeenTwice_OnlyOnConnectionsThatAreOpenAtOnce(t *testing.T) {
	request := func(conn uint64, epoch kraft.Epoch) *crossing {
		return &crossing{conn: ConnID{ID: conn}, from: 1, to: 2, key: wire.KeyEndQuorumEpoch, correlation: 2, said: content{epoch: epoch}}
	}
	for name, c := range map[string]struct {
		closed bool
		epoch  kraft.Epoch
		twice  bool
	}{
		"two recorders":                  {false, 27, true},
		"started anew":                   {true, 27, false},
		"started anew, the end not seen": {false, 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			checker := New(Options{})
			checker.world.known = true
			if checker.again(request(1, 27)) {
				t.Error("the first is taken for a copy")
			}
			if c.closed {
				checker.Closed(ConnID{ID: 1})
			}
			if twice := checker.again(request(2, c.epoch)); twice != c.twice {
				t.Errorf("seen twice: %t", twice)
			}
		})
	}
}

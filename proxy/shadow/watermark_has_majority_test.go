package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// led lets voters 2 to n follow leader 1 in epoch 5 up to offset 10.
func led(s *stage, n int) {
	var all []kraft.NodeID
	for id := range n {
		all = append(all, kraft.NodeID(id+1))
	}
	for _, id := range all[1:] {
		s.ask(id, 1, fetch(5, 9, 4)).answer(served(5, -1, leaderChange(9, 5, 1, all, all)))
	}
	for _, id := range all[1:] {
		s.ask(id, 1, fetch(5, 10, 5)).answer(served(5, 10))
	}
}

func TestWatermarkHasMajority_AheadOfEveryFollower(t *testing.T) {
	s := newStage(t)
	led(s, 3)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
	s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
	s.ask(2, 1, fetch(5, 12, 5)).answer(served(5, 12)) // it has nothing that it was not sent, so it had not asked before
	s.diverges("M10", 1)
}

func TestWatermarkHasMajority_OneOfFiveFollowers(t *testing.T) {
	s := newStage(t)
	led(s, 5)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11)) // two of the four others are needed
	for _, id := range nodes(3, 4, 5) {
		s.ask(id, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
	}
	s.diverges("M10", 1)
}

func TestWatermarkHasMajority_ObserversDoNotCount(t *testing.T) {
	s := newStage(t)
	led(s, 3)
	s.ask(9, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.ask(9, 1, fetch(5, 11, 5)).answer(served(5, 11))
	for _, id := range nodes(2, 3) {
		s.ask(id, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
	}
	s.diverges("M10", 1)
}

func TestWatermarkHasMajority_AtTheStartOfTheEpoch(t *testing.T) { // museum M18
	s := newStage(t)
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, 9, leaderChange(9, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
	s.diverges("M10", 1)
}

func TestWatermarkHasMajority_StartIsLearntLater(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 9))
	s.ask(3, 1, fetch(5, 9, 4)).answer(served(5, 10, leaderChange(9, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
	s.diverges("M10", 1)
}

// majorityLegal is what a correct quorum shows after two followers fetched up to offset 10.
func majorityLegal(t *testing.T, name string, voters int, play func(s *stage)) {
	t.Run(name, func(t *testing.T) {
		s := newStage(t)
		led(s, voters)
		play(s)
		s.harmless()
	})
}

func TestWatermarkHasMajority_Legal(t *testing.T) {
	majorityLegal(t, "a Fetch that the leader may not have taken yet counts", 3, func(s *stage) {
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		open := s.ask(2, 1, fetch(5, 11, 5))
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
		s.ask(3, 1, fetch(5, 11, 5)).answer(served(5, 11))
		open.answer(served(5, 11))
	})
	majorityLegal(t, "one follower of three is enough", 3, func(s *stage) {
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11))
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
	})
	majorityLegal(t, "a voter whose log grew past the observer", 3, func(s *stage) {
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b"))) // node 2 fetched elsewhere
		s.ask(3, 1, fetch(5, 12, 5)).answer(served(5, 12))
		s.ask(2, 1, fetch(5, 12, 5)).answer(served(5, 12))
	})
	majorityLegal(t, "a voter that is never heard of again", 3, func(s *stage) {
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
		s.ask(3, 1, fetch(5, 12, 5)).answer(served(5, 12))
	})
	majorityLegal(t, "a voter was removed, which nobody has seen yet", 4, func(s *stage) {
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11)) // of three voters one other is enough
		for _, id := range nodes(3, 4) {
			s.ask(id, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
			s.ask(id, 1, fetch(5, 11, 5)).answer(served(5, 11))
		}
	})
	majorityLegal(t, "frames are missing", 3, func(s *stage) {
		s.lines[[2]kraft.NodeID{2, 1}].gap(wire.Request)
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
		s.ask(3, 1, fetch(5, 12, 5)).answer(served(5, 12))
	})
	majorityLegal(t, "a voter that restarts with a shorter log", 3, func(s *stage) {
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11))
		s.stop(2)
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 11, data(10, 5, "a")))
		s.ask(3, 1, fetch(5, 11, 5)).answer(served(5, 11))
	})
}

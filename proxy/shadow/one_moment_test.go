package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// read plays three overlapping Fetches; the leader's log shows no break between offsets 10 and 12.
func read(s *stage) {
	s.ask(4, 1, fetch(5, 10, 5)).answer(served(5, 9, data(10, 5, "a"), data(11, 5, "b"), data(12, 5, "c")))
}

func TestOneMoment_LongerLogWithLowerWatermark(t *testing.T) {
	s := newStage(t).meet(1, 2, 3, 4)
	first := s.ask(2, 1, fetch(5, 10, 5))
	second := s.ask(3, 1, fetch(5, 11, 5))
	read(s)
	first.answer(served(5, 11, data(10, 5, "a")))
	second.answer(served(5, 10, data(11, 5, "b")))
	s.diverges("M11", 1)
}

func TestOneMoment_ShorterLogWithHigherWatermark(t *testing.T) {
	s := newStage(t).meet(1, 2, 3, 4)
	first := s.ask(2, 1, fetch(5, 10, 5))
	second := s.ask(3, 1, fetch(5, 11, 5))
	read(s)
	second.answer(served(5, 10, data(11, 5, "b")))
	first.answer(served(5, 11, data(10, 5, "a")))
	s.diverges("M11", 1)
}

func TestOneMoment_BothGrow(t *testing.T) { // in whatever order the answers pass
	s := newStage(t).meet(1, 2, 3, 4)
	first := s.ask(2, 1, fetch(5, 10, 5))
	second := s.ask(3, 1, fetch(5, 11, 5))
	read(s)
	second.answer(served(5, 9, data(11, 5, "b")))
	first.answer(served(5, 9, data(10, 5, "a")))
	s.ask(3, 1, fetch(5, 13, 5)).answer(served(5, 12, data(13, 5, "d")))
	s.conforms()
}

func TestOneMoment_AnswerThatMayEndWithASegment(t *testing.T) { // its log end is not the leader's
	s := newStage(t).meet(1, 2, 3)
	first := s.ask(2, 1, fetch(5, 10, 5))
	second := s.ask(3, 1, fetch(5, 11, 5))
	first.answer(served(5, 11, data(10, 5, "a")))
	second.answer(served(5, 10, data(11, 5, "b")))
	s.conforms()
}

func TestOneMoment_AnswerCutBySize(t *testing.T) {
	s := newStage(t).meet(1, 2, 3, 4)
	small := fetching{epoch: 5, max: 60}
	small.end.LastEpoch, small.end.LastOffset = 5, 10
	first := s.ask(2, 1, small.request())
	second := s.ask(3, 1, fetch(5, 11, 5))
	third := s.ask(4, 1, fetch(5, 10, 5))
	first.answer(served(5, 11, data(10, 5, "a")))
	second.answer(served(5, 10, data(11, 5, "b")))
	third.answer(served(5, 11, data(10, 5, "a"), data(11, 5, "b")[:30]))
	s.conforms()
}

func TestOneMoment_OldEpochsDoNotCount(t *testing.T) {
	s := newStage(t).meet(1, 2, 3, 4)
	s.ask(2, 1, fetch(6, 13, 5)).answer(served(6, -1, leaderChange(13, 6, 1, nodes(1, 2, 3), nodes(1, 2))))
	s.ask(3, 4, fetch(5, 12, 5)).answer(served(5, 9, data(12, 5, "x")))
	s.conforms()
}

func TestOneMoment_PointsAreBounded(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for i := range kraft.Offset(3 * pointsKept) {
		s.ask(2, 1, fetch(5, 10+i, 5)).answer(served(5, 10+i, data(10+i, 5, "a")))
	}
	if n := len(s.c.memory.moments.points); n > pointsKept {
		t.Errorf("%d points", n)
	}
	s.conforms()
}

func TestOneMoment_AnotherNodesSegmentsProveNothing(t *testing.T) {
	s := newStage(t).meet(1, 2, 3, 4)
	s.ask(4, 1, fetch(5, 10, 5)).answer(served(5, 9, data(10, 5, "a"), data(11, 5, "b"), data(12, 5, "c")))
	first := s.ask(3, 2, fetch(6, 10, 5))
	second := s.ask(4, 2, fetch(6, 11, 5))
	first.answer(served(6, 12, data(10, 5, "a")))
	second.answer(served(6, 11, data(11, 5, "b")))
	s.conforms()
}

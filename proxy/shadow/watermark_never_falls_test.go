package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestWatermarkNeverFalls_WithinAnEpoch(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(3, 1, fetch(5, 20, 5)).answer(served(5, 14))
	s.diverges("M9", 1)
}

func TestWatermarkNeverFalls_FromKnownToUnknown(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(3, 1, describe()).answer(described(kraft.None, 5, 1, -1, 1, 2, 3))
	s.diverges("M9", 1)
}

func TestWatermarkNeverFalls_ExpiredLongPoll(t *testing.T) { // answered with the object built on its arrival
	s := newStage(t)
	s.dial(2, 1)
	s.dial(3, 1)
	parked := s.ask(2, 1, fetch(5, 20, 5))
	s.ask(3, 1, fetch(5, 20, 5)).answer(served(5, 15))
	parked.answer(served(5, 14))
	s.conforms()
}

func TestWatermarkNeverFalls_ErrorsAndFollowersDoNotCount(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(3, 1, fetch(4, 20, 5)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: 1, hw: -1}.response())
	s.ask(3, 1, describe()).answer(described(kraft.NotLeaderOrFollower, 0, 0, 0))
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.conforms()
}

func TestWatermarkNeverFalls_NewLeaderDoesNotKnowItYet(t *testing.T) { // -1 until its epoch commits
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 3, fetch(6, 20, 5)).answer(served(6, -1))
	s.ask(2, 3, fetch(6, 21, 6)).answer(served(6, 21))
	s.conforms()
}

func TestWatermarkNeverFalls_NewLeaderBelowTheOld(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 3, fetch(6, 20, 5)).answer(served(6, 14))
	s.diverges("M9", 3)
}

func TestWatermarkNeverFalls_OldLeaderAboveTheNew(t *testing.T) {
	s := newStage(t)
	s.ask(2, 3, fetch(6, 20, 5)).answer(served(6, 14))
	s.ask(4, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.diverges("M9", 1)
}

func TestWatermarkNeverFalls_DisputedEpochProvesNothing(t *testing.T) { // one forged answer must not blame the next leader
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 1_000_000))
	s.ask(3, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 3, fetch(6, 20, 5)).answer(served(6, 21))
	s.diverges("M9", 1)
}

func TestWatermarkNeverFalls_ManyEpochs(t *testing.T) {
	s := newStage(t)
	for e := range kraft.Epoch(2 * watermarkEpochs) {
		s.ask(2, 1, fetch(e, 20, 0)).answer(served(e, kraft.Offset(e)))
	}
	s.ask(3, 1, fetch(1, 20, 0)).answer(served(1, 3)) // too old to be compared
	if n := len(s.c.memory.watermarks.epochs); n != watermarkEpochs {
		t.Errorf("%d epochs kept", n)
	}
}

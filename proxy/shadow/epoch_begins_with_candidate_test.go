package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// settled is a quorum of three that node 1 leads in epoch 5, seen from its beginning.
func settled(s *stage) {
	s.meet(1, 2, 3)
	s.ask(1, 2, preVote(4)).answer(granted(4))
	s.ask(1, 3, preVote(4)).answer(granted(4))
	s.ask(1, 2, stand(5)).answer(granted(5))
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	for _, id := range nodes(2, 3) {
		s.ask(id, 1, fetch(5, 9, 4)).answer(served(5, -1, leaderChange(9, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
		s.ask(id, 5-id, fetch(5, 10, 5)).answer(notLeader(5, 1))
	}
}

func TestEpochBeginsWithCandidate_FromNowhere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		epoch kraft.Epoch
	}{{"the next", 6}, {"a much later one", 60}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			settled(s)
			s.ask(3, 2, preVote(tt.epoch)).answer(refused(tt.epoch))
			s.ask(3, 1, preVote(tt.epoch)).answer(refused(tt.epoch))
			s.diverges("M13", 3)
		})
	}
}

func TestEpochBeginsWithCandidate_Legal(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(s *stage)
	}{
		{"a candidate whose votes never left, asks again", func(s *stage) {
			s.ask(3, 2, preVote(5)).answer(granted(5))
			s.ask(3, 2, preVote(6)).answer(refused(6))
			s.ask(3, 1, preVote(6)).answer(refused(6))
		}},
		{"a leader that gave up", func(s *stage) { // museum Q: without vote or pre-vote
			s.ask(1, 2, preVote(6)).answer(refused(6))
			s.ask(1, 3, preVote(6)).answer(refused(6))
		}},
		{"who heard of it from another", func(s *stage) {
			s.ask(2, 3, preVote(5)).answer(granted(5))
			s.ask(2, 3, stand(6)) // it took the epoch over
			s.ask(3, 1, preVote(6)).answer(refused(6))
			s.ask(3, 2, preVote(6)).answer(refused(6))
		}},
		{"who may have asked a voter past the observer", func(s *stage) {
			s.ask(3, 1, preVote(6)).answer(refused(6))
		}},
		{"a restart with what it knew before", func(s *stage) {
			s.stop(3)
			s.ask(3, 1, preVote(6)).answer(refused(6))
			s.ask(3, 2, preVote(6)).answer(refused(6))
		}},
		{"a standard vote", func(s *stage) {
			s.ask(3, 1, stand(6)).answer(refused(6))
			s.ask(3, 2, stand(6)).answer(refused(6))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			settled(s)
			tt.play(s)
			s.harmless()
		})
	}
}

func TestEpochBeginsWithCandidate_MidwayNothingIsCertain(t *testing.T) {
	s := newStage(t)
	s.midway = true
	settled(s)
	s.ask(3, 2, preVote(6)).answer(refused(6))
	s.ask(3, 1, preVote(6)).answer(refused(6))
	s.harmless()
}

package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// standAt asks for a vote with a log that ends there.
func standAt(epoch kraft.Epoch, end kraft.LogEnd, preVote bool) request {
	return ballot{epoch: epoch, version: 2, end: end, preVote: preVote}.request()
}

func TestVoteForLongerLog_ShorterCandidate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		end     kraft.LogEnd
		preVote bool
	}{
		{"a shorter log of the same epoch", kraft.LogEnd{LastEpoch: 5, LastOffset: 19}, false},
		{"a longer log of an older epoch", kraft.LogEnd{LastEpoch: 4, LastOffset: 900}, false},
		{"a pre-vote", kraft.LogEnd{LastEpoch: 5, LastOffset: 19}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(1, 2, fetch(5, 20, 5)).answer(served(5, 5))
			epoch := kraft.Epoch(6)
			s.ask(3, 1, standAt(epoch, tt.end, tt.preVote)).answer(granted(epoch))
			s.diverges("M15", 1)
		})
	}
}

func TestVoteForLongerLog_Legal(t *testing.T) {
	shorter := standAt(6, kraft.LogEnd{LastEpoch: 5, LastOffset: 10}, false)
	diverging := fetched{epoch: 5, hw: 5, diverging: &kraft.LogEnd{LastEpoch: 4, LastOffset: 10}}.response()
	for _, tt := range []struct {
		name string
		play func(s *stage)
	}{
		{"as long", func(s *stage) {
			s.ask(3, 1, standAt(6, kraft.LogEnd{LastEpoch: 5, LastOffset: 20}, false)).answer(granted(6))
		}},
		{"a refusal", func(s *stage) { s.ask(3, 1, shorter).answer(refused(6)) }},
		{"it was told to truncate", func(s *stage) {
			s.ask(1, 2, fetch(5, 20, 5)).answer(diverging)
			s.ask(3, 1, shorter).answer(granted(6))
		}},
		{"it was told to truncate, and an older Fetch left its queue afterwards", func(s *stage) {
			s.ask(1, 2, fetch(5, 20, 5)).answer(diverging)
			s.ask(1, 3, fetch(5, 20, 5)).answer(notLeader(5, 2))
			s.ask(3, 1, shorter).answer(granted(6))
		}},
		{"it was sent to a snapshot", func(s *stage) {
			s.ask(1, 2, fetch(5, 20, 5)).answer(fetched{epoch: 5, hw: 5, snapshot: &kraft.LogEnd{LastEpoch: 4, LastOffset: 4}}.response())
			s.ask(3, 1, shorter).answer(granted(6))
		}},
		{"a restart lost its tail", func(s *stage) {
			s.stop(1)
			s.ask(1, 2, fetch(5, 8, 5)).answer(served(5, 5))
			s.ask(3, 1, shorter).answer(granted(6))
		}},
		{"the vote was asked for before the Fetch came by", func(s *stage) {
			vote := s.ask(3, 1, shorter)
			s.ask(1, 2, fetch(5, 30, 5)).answer(served(5, 5))
			_ = vote // the answer is open: the log may have been shorter then
		}},
		{"an altered answer reached it", func(s *stage) {
			s.ask(1, 2, fetch(5, 20, 5)).altered(served(5, 5), diverging)
			s.ask(1, 2, fetch(5, 20, 5)).answer(served(5, 5))
			s.ask(3, 1, shorter).answer(granted(6))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(1, 2, fetch(5, 20, 5)).answer(served(5, 5))
			tt.play(s)
			s.harmless()
		})
	}
}

func TestVoteForLongerLog_FoundAgainAfterATruncation(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, fetch(5, 20, 5)).answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 4, LastOffset: 10}}.response())
	s.ask(1, 2, fetch(5, 10, 4)).answer(served(5, -1, leaderChange(10, 5, 2, nodes(1, 2, 3), nodes(1, 2)), data(11, 5, "b")))
	s.ask(1, 2, fetch(5, 12, 5)).answer(served(5, -1)) // on the connection that brought the truncation
	s.ask(3, 1, standAt(6, kraft.LogEnd{LastEpoch: 5, LastOffset: 11}, false)).answer(granted(6))
	s.diverges("M15", 1)
}

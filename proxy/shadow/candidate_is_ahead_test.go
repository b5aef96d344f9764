package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestCandidateAhead_StandsForAnEpochItWasIn(t *testing.T) {
	for _, before := range []request{fetch(5, 0, 0), preVote(5), begin(5)} {
		s := newStage(t)
		s.ask(2, 1, before).dropped(notLeader(5, -1))
		s.ask(2, 1, stand(5)).answer(refused(5))
		s.diverges("M14", 2)
	}
}

func TestCandidateAhead_AsksAgain(t *testing.T) { // its requests time out and are repeated
	s := newStage(t)
	s.ask(2, 1, preVote(4)).answer(granted(4))
	s.ask(2, 1, stand(5)).answer(refused(5))
	s.ask(2, 1, stand(5)).answer(refused(5))
	s.ask(2, 1, preVote(5)).answer(granted(5)) // candidate of 5 no more, prospective in it
	s.ask(2, 1, stand(6)).answer(granted(6))
	s.conforms()
}

func TestCandidateAhead_OtherConnection(t *testing.T) { // the Vote may have waited in a queue meanwhile
	s := newStage(t)
	s.ask(2, 3, fetch(6, 0, 0)).answer(notLeader(6, -1))
	s.ask(2, 1, stand(5)).answer(refused(5))
	s.conforms()
}

func TestCandidateAhead_RecordOfALaterEpoch(t *testing.T) {
	for _, pre := range []bool{false, true} {
		s := newStage(t)
		s.ask(2, 1, ballot{epoch: 5, version: 2, preVote: pre, end: kraft.LogEnd{LastEpoch: 6, LastOffset: 9}}.request()).
			answer(ballotAnswer(false, kraft.InvalidRequest, 4, -1))
		s.diverges("M14", 2)
	}
}

func TestCandidateAhead_RecordOfTheEpochItStandsFor(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, preVote(4)).answer(granted(4))
	s.ask(2, 1, ballot{epoch: 5, version: 2, end: kraft.LogEnd{LastEpoch: 5, LastOffset: 9}}.request()).
		answer(ballotAnswer(false, kraft.InvalidRequest, 4, -1))
	s.diverges("M14", 2)
}

// A node that voted for itself in an epoch, lost, and followed the winner starts again as a candidate of that epoch, with
// records of it (semantics 3.3, row 4).
func TestCandidateAhead_RestartAsCandidate(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, ballot{epoch: 5, version: 2, end: kraft.LogEnd{LastEpoch: 5, LastOffset: 9}}.request()).
		answer(ballotAnswer(false, kraft.InvalidRequest, 5, 1))
	s.conforms()
}

func TestCandidateAhead_PreVoteWithARecordOfItsEpoch(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, ballot{epoch: 5, version: 2, preVote: true, end: kraft.LogEnd{LastEpoch: 5, LastOffset: 9}}.request()).
		answer(granted(5))
	s.conforms()
}

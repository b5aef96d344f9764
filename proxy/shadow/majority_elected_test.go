package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestMajorityElected_TooFewVotes(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1))))
	s.diverges("M4", 1)
}

func TestMajorityElected_ExactlyHalfIsNoMajority(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3, 4), nodes(1, 2))))
	s.diverges("M4", 1)
}

func TestMajorityElected_VotesOfOthersDoNotCount(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 7, 8))))
	s.diverges("M4", 1)
}

func TestMajorityElected_Majorities(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 3))))
	s.ask(2, 1, fetch(6, 1, 5)).answer(served(6, -1, leaderChange(1, 6, 1, nodes(1), nodes(1)))) // a single voter leads at once
	s.conforms()
}

func TestMajorityElected_VoterVotedForAnother(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 3, stand(5)).answer(granted(5))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 3))))
	s.ask(1, 3, fetch(4, 0, 0)).answer(notLeader(5, -1)) // node 3 lives on
	s.diverges("M4", 1)
}

func TestMajorityElected_VoterVotedForIt(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 3, stand(5)).answer(granted(5))
	s.ask(1, 2, stand(5)).answer(refused(5))
	s.ask(2, 3, stand(4)).answer(ballotAnswer(false, kraft.FencedLeaderEpoch, 5, -1))
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 3))))
	s.conforms()
}

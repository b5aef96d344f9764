package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestFetchOffsetNeverFalls_AfterItWasInStep(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 1, fetch(5, 19, 5)).answer(served(5, 15, data(19, 5, "a")))
	s.diverges("M12", 2)
}

func TestFetchOffsetNeverFalls_ShortlyAfter(t *testing.T) { // an earlier, lower offset in step does not replace the greatest
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 1, fetch(5, 21, 5)).answer(served(5, 15))
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.diverges("M12", 2)
}

func TestFetchOffsetNeverFalls_DivergenceOrSnapshot(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 4)).answer(fetched{epoch: 5, hw: 15, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 18}}.response())
	s.ask(2, 1, fetch(5, 18, 3)).answer(served(5, 15))
	s.ask(3, 1, fetch(5, 20, 3)).answer(fetched{epoch: 5, hw: 15, snapshot: &kraft.LogEnd{LastEpoch: 4, LastOffset: 12}}.response())
	s.ask(3, 1, fetch(5, 12, 4)).answer(served(5, 15))
	s.conforms()
}

func TestFetchOffsetNeverFalls_AnotherEpoch(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.ask(2, 1, fetch(6, 15, 5)).answer(served(6, -1))
	s.conforms()
}

func TestFetchOffsetNeverFalls_AnotherLife(t *testing.T) { // an unflushed tail may be lost; a new life has new connections
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(served(5, 15))
	s.stop(2)
	s.ask(2, 1, fetch(5, 18, 5)).answer(served(5, 15))
	s.conforms()
}

func TestFetchOffsetNeverFalls_AnsweredByNoLeader(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).answer(notLeader(5, 3))
	s.ask(2, 1, fetch(5, 18, 5)).answer(notLeader(5, 3))
	s.conforms()
}

func TestFetchOffsetNeverFalls_MisledByAnAlteredAnswer(t *testing.T) { // it did what it was told
	s := newStage(t)
	s.ask(2, 1, fetch(5, 20, 5)).altered(served(5, 15),
		fetched{epoch: 5, hw: 15, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 16}}.response())
	s.ask(2, 1, fetch(5, 16, 3)).answer(served(5, 15))
	s.conforms()
	s.remarks("altered in flight")
}

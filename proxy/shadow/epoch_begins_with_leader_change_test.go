package shadow

import "testing"

func TestEpochBegins_WithData(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 4)).answer(served(5, -1, data(10, 5, "a")))
	s.diverges("M5", 1)
}

func TestEpochBegins_InTheMiddleOfAnAnswer(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 4)).answer(served(5, -1, data(10, 4, "a"), data(11, 5, "b")))
	s.diverges("M5", 1)
}

func TestEpochBegins_AuthorIsTheLeaderOfThatEpoch(t *testing.T) {
	s := newStage(t)
	s.ask(1, 2, begin(5)).answer(begun(0, 5, 1))
	s.ask(2, 3, fetch(6, 10, 4)).answer(served(6, -1, data(10, 4, "a"), data(11, 5, "b"), leaderChange(12, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	s.diverges("M5", 1)
}

func TestEpochBegins_WithLeaderChange(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 2)), data(1, 5, "a")))
	s.ask(2, 1, fetch(5, 2, 5)).answer(served(5, 2, data(2, 5, "b")))
	s.harmless()
}

func TestEpochBegins_LaterBatchesOfAnEpochAreFree(t *testing.T) {
	s := newStage(t)
	// the replica asks from within epoch 5, or from inside a batch, or states the epoch of a leader that wrote nothing
	s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, -1, data(11, 5, "a", "b")))
	s.ask(3, 1, fetch(5, 12, 4)).answer(served(5, -1, data(11, 5, "a", "b")))
	s.ask(4, 1, fetch(5, 20, 5)).answer(served(5, -1, data(20, 5, "c")))
	s.harmless()
}

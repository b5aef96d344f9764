package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestCommittedStays_LaterLeaderLacksARecord(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11, data(11, 5, "b")))
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, leaderChange(10, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	f := s.diverges("M8", 3)
	if len(f.Proof) != 3 {
		t.Errorf("%+v", f.Proof)
	}
}

func TestCommittedStays_OlderLeaderServedOthers(t *testing.T) { // the order of epochs counts, not the order of frames
	s := newStage(t)
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, leaderChange(10, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	s.ask(4, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a")))
	s.diverges("M8", 3)
}

func TestCommittedStays_UncommittedMayGo(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, leaderChange(10, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	s.conforms()
}

func TestCommittedStays_StaleLeaderServesItsTail(t *testing.T) { // cut off, it does not know that it was replaced
	s := newStage(t)
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, leaderChange(10, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	s.ask(2, 3, fetch(6, 11, 6)).answer(served(6, 11))
	s.ask(4, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.conforms()
}

func TestCommittedStays_TruncationBelowTheReplicasWatermark(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetching{epoch: 5, end: kraft.LogEnd{LastEpoch: 4, LastOffset: 20}, hw: 15}.request()).
		answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 14}}.response())
	s.diverges("M8", 1)
}

// TestCommittedStays_TruncationBelowTheLeadersOwnEpoch: before Fetch v18 a replica does not say which watermark it has.
func TestCommittedStays_TruncationBelowTheLeadersOwnEpoch(t *testing.T) {
	diverging := func(epoch kraft.Epoch, end kraft.Offset) response {
		return fetched{epoch: 5, hw: 15, diverging: &kraft.LogEnd{LastEpoch: epoch, LastOffset: end}}.response()
	}
	for _, tc := range []struct {
		name   string
		answer response
		found  bool
	}{
		{"its own epoch ends below its watermark", diverging(5, 14), true},
		{"its own epoch ends at its watermark", diverging(5, 15), false},
		{"an older epoch ends below its watermark", diverging(4, 14), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(2, 1, fetch(5, 15, 5)).answer(served(5, 15))
			s.ask(3, 1, fetch(5, 20, 5)).answer(tc.answer)
			if tc.found {
				s.diverges("M8", 1)
			} else {
				s.conforms()
			}
		})
	}
}

func TestCommittedStays_TruncationDecidedBeforeTheWatermarkRose(t *testing.T) { // what the leader knew when the Fetch came
	s := newStage(t).meet(1, 2, 3)
	early := s.ask(3, 1, fetch(5, 20, 5))
	s.ask(2, 1, fetch(5, 15, 5)).answer(served(5, 15))
	early.answer(fetched{epoch: 5, hw: 14, diverging: &kraft.LogEnd{LastEpoch: 5, LastOffset: 14}}.response())
	s.conforms()
}

func TestCommittedStays_TruncationAtTheReplicasWatermark(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetching{epoch: 5, end: kraft.LogEnd{LastEpoch: 4, LastOffset: 20}, hw: 15}.request()).
		answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 15}}.response())
	// an unknown watermark (-1), and versions that do not state one, attest nothing
	s.ask(3, 1, fetching{epoch: 5, end: kraft.LogEnd{LastEpoch: 4, LastOffset: 20}, hw: -1}.request()).
		answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 1}}.response())
	s.ask(4, 1, fetch(5, 20, 4)).answer(fetched{epoch: 5, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 1}}.response())
	s.conforms()
}

func TestCommittedStays_WatermarksOfManyEpochsAreBounded(t *testing.T) {
	var c committedStays
	for e := range kraft.Epoch(epochsKept + 10) {
		c.know(&message{facts: facts{epoch: e, watermark: kraft.Offset(e)}})
	}
	c.know(&message{facts: facts{epoch: 20, watermark: 3}}) // lower than known: no news
	if len(c.watermarks) != epochsKept || c.watermarks[20].offset != 20 {
		t.Errorf("%d epochs, %d", len(c.watermarks), c.watermarks[20].offset)
	}
}

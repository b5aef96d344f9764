package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

var snap = kraft.LogEnd{LastEpoch: 4, LastOffset: 100}

func TestSnapshotIsOne_OtherBytes(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "01234"))
	s.ask(3, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "0x234"))
	s.diverges("M17", 1)
}

func TestSnapshotIsOne_OtherSize(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "01234"))
	s.ask(3, 1, fetchSnapshot(5, snap, 5)).answer(chunk(5, snap, 11, 5, "56789"))
	s.diverges("M17", 1)
}

func TestSnapshotIsOne_SameBytesInOtherChunks(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "01234"))
	s.ask(2, 1, fetchSnapshot(5, snap, 5)).answer(chunk(5, snap, 10, 5, "56789"))
	s.ask(3, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "0123"))
	s.ask(3, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "01234"))
	s.conforms()
}

func TestSnapshotIsOne_NodesWriteTheirOwn(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetchSnapshot(5, snap, 0)).answer(chunk(5, snap, 10, 0, "01234"))
	s.ask(2, 3, fetchSnapshot(6, snap, 0)).answer(chunk(6, snap, 10, 0, "0x234"))
	s.conforms()
}

func TestSnapshotIsOne_OfferedAboveTheWatermark(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{epoch: 5, hw: 99, snapshot: &snap}.response())
	s.diverges("M17", 1)
}

func TestSnapshotIsOne_BootstrapIsNeverOffered(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{epoch: 5, hw: 99, snapshot: &kraft.LogEnd{}}.response())
	s.diverges("M17", 1)
}

func TestSnapshotIsOne_OfferedAtTheWatermark(t *testing.T) { // and while the new epoch's is unknown
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{epoch: 5, hw: 100, snapshot: &snap}.response())
	s.ask(2, 3, fetch(6, 0, 0)).answer(fetched{epoch: 6, hw: -1, snapshot: &snap}.response())
	s.conforms()
}

func TestSnapshotIsOne_ChunksAreBounded(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for i := range int64(2 * chunksKept) {
		s.ask(2, 1, fetchSnapshot(5, snap, i)).answer(chunk(5, snap, 10_000, i, "0"))
	}
	if n := len(s.c.nodes[1].chunks.list); n != chunksKept {
		t.Errorf("%d chunks", n)
	}
}

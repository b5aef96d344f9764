package shadow

import (
	"crypto/sha256"
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

// In a recording that withholds records, digests stand for them: a chunk is told from another by any of these, and by what is kept around them.
func TestSnapshotIsOne_ChunksWithWithheldParts(t *testing.T) {
	frame := []byte("..head####mid####tail..")
	parts := func(first, second byte) withheldParts {
		return withheldParts{{Start: 6, End: 10, SHA256: [32]byte{first}}, {Start: 13, End: 17, SHA256: [32]byte{second}}}
	}
	same, hidden := parts(1, 2).digest(frame, 2, 21)
	if again, _ := parts(1, 2).digest([]byte("xxheadXXXXmidYYYYtailzz"), 2, 21); !hidden || again != same {
		t.Error("fillers and what is around the chunk count")
	}
	for name, other := range map[string]func() ([32]byte, bool){
		"the first part":    func() ([32]byte, bool) { return parts(9, 2).digest(frame, 2, 21) },
		"the second part":   func() ([32]byte, bool) { return parts(1, 9).digest(frame, 2, 21) },
		"what is kept":      func() ([32]byte, bool) { return parts(1, 2).digest([]byte("..head####mad####tail.."), 2, 21) },
		"what is kept last": func() ([32]byte, bool) { return parts(1, 2).digest([]byte("..head####mid####tall.."), 2, 21) },
	} {
		if sum, _ := other(); sum == same {
			t.Errorf("%s does not count", name)
		}
	}
	if sum, hidden := withheldParts(nil).digest(frame, 2, 21); hidden || sum != sha256.Sum256(frame[2:21]) {
		t.Error("a chunk that is kept is not digested as it is")
	}
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

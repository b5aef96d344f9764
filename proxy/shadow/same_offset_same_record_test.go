package shadow

import (
	"encoding/binary"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestSameRecord_OtherContentFromTheSameLeader(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
	s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "b")))
	s.diverges("M6", 1)
}

func TestSameRecord_OtherBatchBoundaries(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a"), data(11, 5, "b")))
	s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a", "b")))
	s.diverges("M6", 1)
}

func TestSameRecord_LeaderChangesItsOwnLog(t *testing.T) { // the epoch of a batch lies outside its CRC (museum H3)
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 4)).answer(served(5, 10, data(10, 4, "a")))
	b := data(10, 4, "a")
	binary.BigEndian.PutUint32(b[12:], 3)
	s.ask(3, 1, fetch(5, 10, 3)).answer(served(5, 10, b))
	s.diverges("M6", 1)
}

func TestSameRecord_WrongCRCIsAtFault(t *testing.T) {
	b := data(10, 5, "a")
	b[len(b)-2] ^= 0xff
	for _, first := range []bool{true, false} {
		s := newStage(t)
		lists := [][]byte{data(10, 5, "a"), b}
		from, node := kraft.NodeID(1), kraft.NodeID(3)
		if first {
			lists[0], lists[1] = lists[1], lists[0]
			node = 1
		}
		s.ask(2, from, fetch(5, 10, 5)).answer(served(5, 10, lists[0]))
		s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, lists[1]))
		s.diverges("M6", node)
	}
}

func TestSameRecord_TwoLeadersDiffer(t *testing.T) { // who is at fault cannot be told
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 5, data(10, 5, "a")))
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, data(10, 5, "b")))
	s.diverges("M6", kraft.NoNode)
}

func TestSameRecord_SameBatchFromEverybody(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a"), data(11, 5, "b")))
	s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a"), data(11, 5, "b")[:40])) // the tail is cut off
	s.ask(3, 1, fetch(5, 11, 5)).answer(served(5, 10, data(11, 5, "b")))
	s.ask(2, 3, fetch(6, 12, 5)).answer(served(6, -1, leaderChange(12, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
	s.conforms()
}

func TestSameRecord_UncommittedTailIsReplaced(t *testing.T) { // old leader 1 was cut off before its tail was committed
	s := newStage(t)
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a"), data(11, 5, "b")))
	s.ask(2, 3, fetch(6, 10, 5)).answer(served(6, -1, leaderChange(10, 6, 3, nodes(1, 2, 3), nodes(2, 3)), data(11, 6, "c")))
	s.ask(4, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a"))) // and serves it still
	s.ask(2, 3, fetch(6, 12, 6)).answer(served(6, 11, data(12, 6, "d")))
	s.conforms()
}

func TestSameRecord_StoreIsBounded(t *testing.T) {
	var store batchStore
	for i := range kraft.Offset(3 * batchesKept) {
		store.insert(store.find(i), storedBatch{base: i, last: i})
	}
	if n := len(store.entries); n > batchesKept || n < batchesKept/2 {
		t.Errorf("%d entries", n)
	}
	store.insert(store.find(1), storedBatch{base: 1, last: 1})
	if store.entries[0].base == 1 && len(store.entries) == batchesKept {
		t.Error("a batch below the horizon pushed out a newer one")
	}
	for i := 1; i < len(store.entries); i++ {
		if store.entries[i].base <= store.entries[i-1].last {
			t.Fatalf("entries %d and %d are out of order", i-1, i)
		}
	}
}

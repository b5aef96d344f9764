package proxy

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
)

func TestQueue_PassesEntriesInOrderBetweenGoroutines(t *testing.T) {
	rng := seeded(t)
	const entries = 10_000
	q := newQueue(2 << 20)
	sizes := make([]int, entries)
	for i := range sizes {
		sizes[i] = rng.IntN([]int{1, 200, 2000, 70_000}[rng.IntN(4)])
	}
	sizes[17] = segmentSize * 3 // larger than a segment
	done := make(chan struct{})
	go func() {
		defer close(done)
		data := make([]byte, segmentSize*3)
		for i, n := range sizes {
			binary.BigEndian.PutUint64(data, uint64(i))
			e := entry{kind: entryChunk, dir: uint8(i & 1), flag: i%3 == 0, rule: i % 7, conn: uint64(i), seen: int64(i) * 2, forwarded: -int64(i), payload: data[:n]}
			for !q.put(&e, false) {
				runtime.Gosched()
			}
		}
	}()
	var e entry
	for i := range sizes {
		for !q.get(&e) {
			runtime.Gosched()
		}
		if e.kind != entryChunk || e.dir != uint8(i&1) || e.flag != (i%3 == 0) || e.rule != i%7 || e.conn != uint64(i) ||
			e.seen != int64(i)*2 || e.forwarded != -int64(i) || len(e.payload) != sizes[i] {
			t.Fatalf("entry %d arrives as %+v with %d bytes, want %d", i, e, len(e.payload), sizes[i])
		}
		if len(e.payload) >= 8 && binary.BigEndian.Uint64(e.payload) != uint64(i) {
			t.Fatalf("entry %d has other bytes", i)
		}
	}
	<-done
	if q.get(&e) || q.backlog() != 0 {
		t.Fatal("something is left")
	}
}

func TestQueue_RefusesWhatGoesBeyondItsLimit(t *testing.T) {
	q := newQueue(1 << 20)
	e := entry{kind: entryChunk, payload: make([]byte, 1000)}
	n := 0
	for q.put(&e, false) {
		n++
	}
	if kept := n * 1040; kept < 900_000 || kept > 1<<20 {
		t.Errorf("%d bytes kept within a limit of %d", kept, 1<<20)
	}
	var got entry
	for range n {
		if !q.get(&got) {
			t.Fatal("an entry is missing")
		}
	}
	if q.get(&got) {
		t.Fatal("one entry too many")
	}
	if !q.put(&e, false) {
		t.Fatal("no room after everything was read")
	}
}

func TestQueue_KeepsAReserveForWhatMustNotBeLost(t *testing.T) {
	q := newQueue(8 << 20)
	e := entry{kind: entryChunk, payload: bytes.Repeat([]byte{1}, 60_000)}
	for q.put(&e, false) {
	}
	must := entry{kind: entryClose}
	n := 0
	for q.put(&must, true) {
		n++
	}
	if n < 20_000 {
		t.Errorf("room for %d closes when full", n)
	}
}

func TestQueue_UsesMemoryAgain(t *testing.T) {
	q := newQueue(64 << 20)
	e := entry{kind: entryChunk, payload: make([]byte, 10_000)}
	var got entry
	for range 10_000 {
		if !q.put(&e, false) || !q.get(&got) {
			t.Fatal("the queue does not pass an entry")
		}
	}
	if taken := q.taken.Load(); taken > 2*segmentSize {
		t.Errorf("%d bytes taken for a reader that keeps up", taken)
	}
	if n := testing.AllocsPerRun(1000, func() { q.put(&e, false); q.get(&got) }); n != 0 {
		t.Errorf("%v allocations an entry", n)
	}
}

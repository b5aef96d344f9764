package shadow

import (
	"sort"

	"github.com/understudy-kafka/understudy/kraft"
)

// batchStore remembers the record batches that leaders served, by offset. It keeps the batches with the greatest
// offsets; an older one that comes again is not compared with anything. That is the horizon of M6 and M8.
type batchStore struct {
	entries []storedBatch // by offset, without overlap
}

// storedBatch is a batch as it was served. Of two leaders' batches at one offset the later leader's is kept.
type storedBatch struct {
	base, last kraft.Offset
	epoch      kraft.Epoch
	digest     uint64
	firstIn    kraft.Epoch // the leader epochs in which it was served
	lastIn     kraft.Epoch
	times      uint32      // how often it was served
	joinedIn   kraft.Epoch // the latest epoch whose leader served it together with what follows; -1: none
	ref        ref
}

// batchesKept is the horizon, batches.
const batchesKept = 16384

// find returns the index of the first entry that ends at or behind an offset.
func (s *batchStore) find(offset kraft.Offset) int {
	n := len(s.entries)
	for i := n - 1; i >= 0 && i >= n-8; i-- { // most reads are near the end
		if s.entries[i].last < offset {
			return i + 1
		}
	}
	return sort.Search(n, func(i int) bool { return s.entries[i].last >= offset })
}

// insert puts a batch at index i. Where the store is full, the smallest offsets go.
func (s *batchStore) insert(i int, b storedBatch) {
	if len(s.entries) >= batchesKept {
		half := batchesKept / 2
		if i < half {
			return // below the horizon
		}
		s.entries = append(s.entries[:0], s.entries[half:]...)
		i -= half
	}
	s.entries = append(s.entries, storedBatch{})
	copy(s.entries[i+1:], s.entries[i:])
	s.entries[i] = b
}

// remove takes out entries [from, to).
func (s *batchStore) remove(from, to int) {
	s.entries = append(s.entries[:from], s.entries[to:]...)
}

// joinedAt reports whether the leader of an epoch served the batch that ends before an offset together with what follows
// it. Then no segment of that leader's log ends there; another node's may.
func (s *batchStore) joinedAt(end kraft.Offset, epoch kraft.Epoch) bool {
	i := s.find(end - 1)
	return i < len(s.entries) && s.entries[i].last == end-1 && s.entries[i].joinedIn == epoch
}

package kraft

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// The mathematics beside twins that are written as naively as possible. A failing case prints its seed.

func twins(t *testing.T, cases int, check func(r *rand.Rand) error) {
	t.Helper()
	for seed := range uint64(cases) {
		if err := check(rand.New(rand.NewPCG(seed, 7))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Sort the ends in descending order and take the one in the middle.
func TestCommittable_EqualsSorting(t *testing.T) {
	twins(t, 5000, func(r *rand.Rand) error {
		voters := make([]Replica, 1+r.IntN(7))
		var ends []Offset
		for i := range voters {
			voters[i].End = Offset(r.IntN(6) - 1)
			ends = append(ends, voters[i].End)
		}
		slices.SortFunc(ends, func(a, b Offset) int { return int(b - a) })
		if got, want := committable(voters), ends[len(ends)/2]; got != want {
			return fmt.Errorf("ends %v: %d, want %d", ends, got, want)
		}
		return nil
	})
	if got := committable(nil); got != -1 {
		t.Errorf("of nobody: %d", got)
	}
}

// An offset is committable if and only if a majority holds it.
func TestCommittable_IsHeldByAMajority(t *testing.T) {
	twins(t, 2000, func(r *rand.Rand) error {
		voters := make([]Replica, 1+r.IntN(7))
		for i := range voters {
			voters[i].End = Offset(r.IntN(6))
		}
		got := committable(voters)
		for offset := Offset(0); offset < 8; offset++ {
			holders := 0
			for _, v := range voters {
				if v.End >= offset {
					holders++
				}
			}
			if (holders > len(voters)/2) != (offset <= got) {
				return fmt.Errorf("%d of %d hold %d, committable is %d", holders, len(voters), offset, got)
			}
		}
		return nil
	})
}

func TestTally_EqualsCounting(t *testing.T) {
	twins(t, 3000, func(r *rand.Rand) error {
		var voters []Voter
		n := 1 + r.IntN(7)
		for i := range n {
			voters = append(voters, Voter{Key: ReplicaKey{ID: NodeID(i)}})
		}
		tally, ok := Tally(nil).reset(NewVoterSet(voters...), 0)
		if !ok {
			return fmt.Errorf("self is not counted")
		}
		said := map[NodeID]VoteState{0: Granted}
		for range r.IntN(10) {
			id, state := NodeID(r.IntN(n+1)), Granted+VoteState(r.IntN(2))
			if tally.record(id, state) != (int(id) < n) {
				return fmt.Errorf("voter %v of %d", id, n)
			}
			if int(id) < n {
				said[id] = state
			}
		}
		granted, rejected := 0, 0
		for _, s := range said {
			switch s {
			case Granted:
				granted++
			case Rejected:
				rejected++
			case Unrecorded:
			}
		}
		if tally.IsGranted() != (2*granted > n) || tally.IsRejected() != (2*(n-rejected) <= n) {
			return fmt.Errorf("%v: granted %t, rejected %t", tally, tally.IsGranted(), tally.IsRejected())
		}
		return nil
	})
	if _, ok := Tally(nil).reset(NewVoterSet(Voter{Key: ReplicaKey{ID: 4}}), 5); ok {
		t.Error("a node that is no voter opens an election")
	}
}

// The cache as a sorted map, and each rule as a sentence about its entries.
type naiveCache map[Epoch]Offset

func (c naiveCache) assign(epoch Epoch, start Offset) {
	last := Epoch(-1)
	for e := range c {
		last = max(last, e)
	}
	if at, ok := c[epoch]; ok && epoch == last && start >= at {
		return
	}
	maps.DeleteFunc(c, func(e Epoch, s Offset) bool { return e >= epoch || s >= start })
	c[epoch] = start
}

func (c naiveCache) endOffsetFor(epoch Epoch, end Offset) (OffsetAndEpoch, bool) {
	last, higher, floor := Epoch(-1), Epoch(-1), Epoch(-1)
	for e := range c {
		last = max(last, e)
		if e > epoch && (higher < 0 || e < higher) {
			higher = e
		}
		if e <= epoch {
			floor = max(floor, e)
		}
	}
	switch {
	case last == epoch && last >= 0:
		return OffsetAndEpoch{end, epoch}, true
	case higher < 0:
		return OffsetAndEpoch{}, false
	case floor < 0:
		return OffsetAndEpoch{c[higher], epoch}, true
	}
	return OffsetAndEpoch{c[higher], floor}, true
}

func TestEpochCache_EqualsNaiveTwin(t *testing.T) {
	twins(t, 3000, func(r *rand.Rand) error {
		var cache EpochCache
		twin := naiveCache{}
		end := Offset(0)
		for range 12 {
			switch r.IntN(4) {
			case 0, 1:
				epoch, start := Epoch(r.IntN(8)), Offset(r.IntN(20))
				before := slices.Clone(cache)
				next := cache.Assign(epoch, start)
				if !slices.Equal(cache, before) {
					return fmt.Errorf("Assign has changed the cache it was called on")
				}
				cache = next
				twin.assign(epoch, start)
			case 2:
				at := Offset(r.IntN(20))
				cache = cache.TruncateFromEnd(at)
				maps.DeleteFunc(twin, func(_ Epoch, s Offset) bool { return s >= at })
			case 3:
				at := Offset(r.IntN(20))
				cache = cache.TruncateFromStart(at)
				floor := Epoch(-1)
				for e, s := range twin {
					if s <= at {
						floor = max(floor, e)
					}
				}
				maps.DeleteFunc(twin, func(_ Epoch, s Offset) bool { return s <= at })
				if floor >= 0 {
					twin[floor] = at
				}
			}
			end += Offset(r.IntN(5))
			if err := sameCache(cache, twin, end); err != nil {
				return err
			}
		}
		return nil
	})
}

func sameCache(cache EpochCache, twin naiveCache, end Offset) error {
	if len(cache) != len(twin) {
		return fmt.Errorf("%v, want %v", cache, twin)
	}
	for i, e := range cache {
		if twin[e.Epoch] != e.Start || i > 0 && (e.Epoch <= cache[i-1].Epoch || e.Start <= cache[i-1].Start) {
			return fmt.Errorf("%v, want %v", cache, twin)
		}
	}
	for q := Epoch(0); q < 9; q++ {
		got, ok := cache.endOffsetFor(q, end)
		want, wanted := twin.endOffsetFor(q, end)
		if got != want || ok != wanted {
			return fmt.Errorf("%v: epoch %d ends at %v %t, want %v %t", cache, q, got, ok, want, wanted)
		}
	}
	return nil
}

// Successors: repeatedly the one that holds the most, of several the smallest key.
func TestSuccessors_EqualsNaiveTwin(t *testing.T) {
	twins(t, 2000, func(r *rand.Rand) error {
		var l Leader
		n := 1 + r.IntN(6)
		for i := range n {
			l.Voters = append(l.Voters, Replica{Key: ReplicaKey{ID: NodeID(i), DirectoryID: DirectoryID{byte(r.IntN(256))}}, End: Offset(r.IntN(4) - 1)})
		}
		self := l.Voters[r.IntN(n)].Key
		left := slices.Clone(l.Voters)
		var want []ReplicaKey
		for len(left) > 0 {
			best := 0
			for i := range left {
				if left[i].End > left[best].End || left[i].End == left[best].End && left[i].Key.ID < left[best].Key.ID {
					best = i
				}
			}
			if left[best].Key != self {
				want = append(want, left[best].Key)
			}
			left = slices.Delete(left, best, best+1)
		}
		if got := l.successors(self); !slices.Equal(got, want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		return nil
	})
}

// Directory ids are compared as Java compares two longs: signed.
func TestCompareKeys_SignedHalves(t *testing.T) {
	ordered := []ReplicaKey{
		{ID: 1, DirectoryID: DirectoryID{0: 0x80}},
		{ID: 1, DirectoryID: DirectoryID{8: 0xff}},
		{ID: 1},
		{ID: 1, DirectoryID: DirectoryID{15: 1}},
		{ID: 1, DirectoryID: DirectoryID{0: 0x7f}},
		{ID: 2},
	}
	for i := range ordered {
		for j := range ordered {
			if got, want := compareKeys(ordered[i], ordered[j]), i-j; (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("%v and %v: %d", ordered[i], ordered[j], got)
			}
		}
	}
}

// Java's HashMap<String, …>: the bucket of a decimal id, and the walk over a few.
func TestRequestManager_WalksAsJavaDoes(t *testing.T) {
	var r requestManager
	for _, id := range []NodeID{-2, 3, 1, -3, 2, -4} {
		r.awaiting(id, 0)
	}
	var order []NodeID
	for _, c := range r.connections {
		order = append(order, c.ID)
	}
	if want := []NodeID{1, 2, 3, -2, -3, -4}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	for id, want := range map[NodeID]uint32{1: 49, 10: 1567, -2: 1445, 3000: 1567005 ^ 1567005>>16} {
		if got := stringHash(id); got != want {
			t.Errorf("hash of %v is %d, want %d", id, got, want)
		}
	}
}

// 5 and -2 share a bucket: the younger one comes first, whichever it is (HashMap.computeIfAbsent).
func TestRequestManager_YoungestFirstInABucket(t *testing.T) {
	for _, ids := range [][2]NodeID{{5, -2}, {-2, 5}} {
		var r requestManager
		r.awaiting(ids[0], 0)
		r.awaiting(ids[1], 0)
		if r.connections[0].ID != ids[1] {
			t.Errorf("order %v", r.connections)
		}
	}
}

// The table doubles before an entry is added to more than three quarters, and keeps its size.
func TestRequestManager_TableGrows(t *testing.T) {
	var r requestManager
	for id := NodeID(0); id < 13; id++ {
		r.awaiting(id, 0)
	}
	if r.capacity != 16 {
		t.Errorf("capacity %d with 13 records", r.capacity)
	}
	r.awaiting(13, 0)
	if r.capacity != 32 {
		t.Errorf("capacity %d with 14 records", r.capacity)
	}
	for i := 1; i < len(r.connections); i++ {
		if r.bucket(r.connections[i-1]) > r.bucket(r.connections[i]) {
			t.Errorf("out of order: %v", r.connections)
		}
	}
}

func TestAccumulator_HoldsCloneApart(t *testing.T) {
	a := Accumulator{HoldFrom: noOffset}
	a.Current = PreparedBatch{Base: 3, Count: 2}
	a.complete()
	a.complete()
	if len(a.Completed) != 1 || a.Completed[0].Last() != 4 || !a.hasDrainable() {
		t.Errorf("completed %v", a.Completed)
	}
	a.HoldFrom = 4
	if a.hasDrainable() {
		t.Error("a held batch is drainable")
	}
}

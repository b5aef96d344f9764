package kraft

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Properties beside naive twins, drawn and shrunk by rapid. A failing case prints how to draw it again.

func drawID(t *rapid.T) NodeID { return NodeID(rapid.IntRange(0, 6).Draw(t, "id")) }

func drawKey(t *rapid.T) ReplicaKey {
	return ReplicaKey{ID: drawID(t), DirectoryID: DirectoryID{rapid.ByteRange(0, 2).Draw(t, "directory")}}
}

func drawVoter(t *rapid.T) Voter {
	return Voter{Key: drawKey(t), Versions: VersionRange{Max: rapid.Int16Range(0, 2).Draw(t, "versions")}}
}

// A voter set is a map from ids to voters.
func TestVoterSet_EqualsMap(t *testing.T) { rapid.Check(t, voterSetEqualsMap) }

func FuzzVoterSet(f *testing.F) { f.Fuzz(rapid.MakeFuzz(voterSetEqualsMap)) }

func voterSetEqualsMap(t *rapid.T) {
	var set VoterSet
	twin := map[NodeID]Voter{}
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		v := drawVoter(t)
		old, there := twin[v.Key.ID]
		matching := there && (old.Key.DirectoryID.IsZero() || old.Key == v.Key)
		var next VoterSet
		var ok, want bool
		switch rapid.SampledFrom([]string{"add", "remove", "update", "update by id"}).Draw(t, "what") {
		case "add":
			next, ok = set.Add(v)
			want = !there
		case "remove":
			next, ok = set.Remove(v.Key)
			if want = there && old.Key == v.Key && len(twin) > 1; want {
				delete(twin, v.Key.ID)
			}
		case "update":
			next, ok = set.Update(v)
			want = matching
		case "update by id":
			next, ok = set.UpdateByID(v)
			want = there
		}
		if ok != want {
			t.Fatalf("%v of %v: %t", v, set, ok)
		}
		if _, removed := twin[v.Key.ID]; ok && (removed || !there) {
			twin[v.Key.ID] = v
		}
		if !ok && !next.Equal(set) {
			t.Fatalf("a change that was refused has changed %v to %v", set, next)
		}
		set = next
		sameVoters(t, set, twin)
	}
}

func sameVoters(t *rapid.T, set VoterSet, twin map[NodeID]Voter) {
	if set.Len() != len(twin) {
		t.Fatalf("%v, want %v", set, twin)
	}
	supports := [3]bool{true, true, true}
	for i, id := range slices.Sorted(maps.Keys(twin)) {
		v := twin[id]
		if !set.At(i).Equal(v) || set.Find(id) != set.At(i) || !set.IsVoter(v.Key) {
			t.Fatalf("%v, want %v at %d", set, v, i)
		}
		for level := range supports {
			supports[level] = supports[level] && int16(level) <= v.Versions.Max
		}
	}
	for level, want := range supports {
		if set.Supports(int16(level)) != want {
			t.Fatalf("%v supports %d: %t", set, level, !want)
		}
	}
}

// Endpoints are a map from names to addresses.
func TestEndpoints_EqualMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twin := map[string]Address{}
		var list []Endpoint
		for range rapid.IntRange(0, 6).Draw(t, "listeners") {
			e := Endpoint{Name: rapid.SampledFrom([]string{"A", "b", "B", "a", "C"}).Draw(t, "name")}
			e.Address = Address{Host: "h", Port: rapid.Uint16().Draw(t, "port")}
			list = append(list, e)
			twin[map[string]string{"a": "A", "b": "B"}[e.Name]+map[string]string{"A": "A", "B": "B", "C": "C"}[e.Name]] = e.Address
		}
		got := NewEndpoints(list...)
		if got.Len() != len(twin) {
			t.Fatalf("%v, want %v", got, twin)
		}
		for i, name := range slices.Sorted(maps.Keys(twin)) {
			if a, ok := got.Address(name); !ok || a != twin[name] || got.At(i).Name != name {
				t.Fatalf("%v, want %v", got, twin)
			}
		}
	})
}

// A set of timers is a map.
func TestTimerSet_EqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set TimerSet
		twin := map[Timer]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			timer := Timer{Kind: TimerKind(rapid.IntRange(1, int(timerKinds)-1).Draw(t, "kind"))}
			if timer.Kind >= firstPeerTimer {
				timer.Peer = drawKey(t)
			}
			if rapid.Bool().Draw(t, "add") {
				set.Add(timer)
				twin[timer] = true
			} else {
				set.Remove(timer)
				delete(twin, timer)
			}
			if set.Has(timer) != twin[timer] || set.Empty() != (len(twin) == 0) {
				t.Fatalf("%v after %v", set, timer)
			}
			got := map[Timer]bool{}
			set.Each(func(timer Timer) { got[timer] = true })
			if !maps.Equal(got, twin) {
				t.Fatalf("%v, want %v", got, twin)
			}
		}
	})
}

// What the control records say is what the last of them says, of those that a truncation has left.
func TestHistory_EqualsListOfRecords(t *testing.T) { rapid.Check(t, historyEqualsList) }

func FuzzHistory(f *testing.F) { f.Fuzz(rapid.MakeFuzz(historyEqualsList)) }

func historyEqualsList(t *rapid.T) {
	type entry struct {
		at      Offset
		voters  *VoterSet
		version int16
	}
	static := NewVoterSet(drawVoter(t))
	h := history{static: static}
	var twin []entry
	start, end := Offset(0), Offset(0)
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0, 1:
			voters := NewVoterSet(drawVoter(t))
			if !h.add(end, &ControlRecord{Type: VotersRecord, Voters: voters}) {
				t.Fatalf("voters at %d are refused", end)
			}
			twin = append(twin, entry{at: end, voters: &voters})
			end += Offset(rapid.IntRange(1, 3).Draw(t, "gap"))
		case 2:
			version := rapid.Int16Range(0, 1).Draw(t, "version")
			h.add(end, &ControlRecord{Type: KRaftVersionRecord, KRaftVersion: version})
			twin = append(twin, entry{at: end, version: version})
			end += Offset(rapid.IntRange(1, 3).Draw(t, "gap"))
		case 3:
			to := Offset(rapid.IntRange(int(start), int(end)).Draw(t, "to"))
			h.truncateNew(to)
			twin = slices.DeleteFunc(twin, func(e entry) bool { return e.at >= to })
			end = to
		}
		if rapid.IntRange(0, 3).Draw(t, "snapshot") == 0 {
			start = Offset(rapid.IntRange(int(start), int(end)).Draw(t, "start"))
			h.truncateOld(start - 1) // the value in force there stays
		}
		voters, at, version := static, staticOffset, int16(0)
		for _, e := range twin {
			if e.voters != nil {
				voters, at = *e.voters, e.at
			} else {
				version = e.version
			}
		}
		if !h.lastVoters().Equal(voters) || h.lastVotersOffset() != at {
			t.Fatalf("%v at %d, want %v at %d", h.lastVoters(), h.lastVotersOffset(), voters, at)
		}
		if h.kraftVersion() != version {
			t.Fatalf("kraft.version %d, want %d", h.kraftVersion(), version)
		}
	}
}

// Parked Fetches are answered by offset, and of the same offset in order of arrival.
func TestParking_EqualsStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &QuorumStateMachine{}
		m.turn.out = &Actions{}
		var twin []parkedFetch
		for id := range RequestID(rapid.IntRange(1, 20).Draw(t, "fetches")) {
			if rapid.IntRange(0, 2).Draw(t, "what") > 0 {
				f := fetchInfo{request: id, offset: Offset(rapid.IntRange(0, 4).Draw(t, "offset"))}
				m.park(&f, &FetchAnswer{}, 0)
				twin = append(twin, parkedFetch{fetchInfo: f})
				slices.SortStableFunc(twin, func(a, b parkedFetch) int { return int(a.offset - b.offset) })
				continue
			}
			upTo := Offset(rapid.IntRange(0, 4).Draw(t, "up to"))
			got, ok := m.parked.next(upTo)
			want := len(twin) > 0 && twin[0].offset <= upTo
			if ok != want || ok && got.request != twin[0].request {
				t.Fatalf("%v %t, want %v", got, ok, twin)
			}
			if ok {
				twin = twin[1:]
			}
		}
		for _, want := range twin {
			if got, ok := m.parked.next(noOffset); !ok || got.request != want.request {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// Java's HashMap as the book says: buckets with lists, a new entry in front, twice as many buckets beyond three quarters.
type javaMap struct {
	buckets [][]NodeID
	size    int
}

func (j *javaMap) put(id NodeID) {
	if slices.Contains(j.walk(), id) {
		return
	}
	if j.buckets == nil {
		j.buckets = make([][]NodeID, 16)
	}
	if j.size > len(j.buckets)*3/4 {
		old := j.buckets
		j.buckets = make([][]NodeID, 2*len(old))
		for _, list := range old {
			for _, id := range list {
				at := j.bucket(id)
				j.buckets[at] = append(j.buckets[at], id)
			}
		}
	}
	at := j.bucket(id)
	j.buckets[at] = slices.Insert(j.buckets[at], 0, id)
	j.size++
}

func (j *javaMap) bucket(id NodeID) int { return int(stringHash(id)) & (len(j.buckets) - 1) }

func (j *javaMap) remove(id NodeID) {
	for i := range j.buckets {
		if at := slices.Index(j.buckets[i], id); at >= 0 {
			j.buckets[i] = slices.Delete(j.buckets[i], at, at+1)
			j.size--
		}
	}
}

func (j *javaMap) walk() []NodeID { return slices.Concat(j.buckets...) }

func TestRequestManager_EqualsJavaMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r requestManager
		var twin javaMap
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			id := NodeID(rapid.IntRange(-20, 60).Draw(t, "id"))
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				r.remove(id)
				twin.remove(id)
			} else {
				r.awaiting(id, 0)
				twin.put(id)
			}
			var got []NodeID
			for _, c := range r.connections {
				got = append(got, c.ID)
			}
			if want := twin.walk(); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

package kraft

import "testing"

func votersAt(id NodeID) *ControlRecord {
	return &ControlRecord{Type: VotersRecord, Voters: NewVoterSet(Voter{Key: ReplicaKey{ID: id}})}
}

func TestHistory_InForceIsTheLastOne(t *testing.T) {
	h := history{static: NewVoterSet(Voter{Key: ReplicaKey{ID: 9}})}
	if h.lastVotersOffset() != staticOffset || h.lastVoters().Find(9) == nil || h.kraftVersion() != 0 || h.isReconfigSupported() {
		t.Errorf("static: %+v", h)
	}
	for i, offset := range []Offset{-1, 3, 8} {
		if !h.add(offset, votersAt(NodeID(i))) || !h.add(offset, &ControlRecord{Type: KRaftVersionRecord, KRaftVersion: 1}) {
			t.Fatalf("offset %d is refused", offset)
		}
	}
	if h.add(8, votersAt(1)) || h.add(5, &ControlRecord{Type: KRaftVersionRecord}) || h.add(-2, votersAt(1)) {
		t.Error("an offset that is passed is taken")
	}
	h.truncateNew(8)
	if h.lastVotersOffset() != 3 || len(h.versions) != 2 {
		t.Errorf("truncated at 8: %+v", h)
	}
	h.truncateOld(3)
	if len(h.voters) != 1 || h.lastVotersOffset() != 3 {
		t.Errorf("a snapshot at 3 keeps what is in force there: %+v", h)
	}
	h.add(20, votersAt(2))
	h.truncateOld(10)
	if len(h.voters) != 2 || len(h.versions) != 1 {
		t.Errorf("a snapshot at 10 keeps what is in force there: %+v", h)
	}
	h.truncateNew(0)
	if h.lastVotersOffset() != staticOffset {
		t.Errorf("truncated at 0: %+v", h)
	}
}

// A snapshot replaces the history, unless reading has passed its end already.
func TestHistory_LoadsASnapshot(t *testing.T) {
	contents := &SnapshotContents{KRaftVersion: 1, HasKRaftVersion: true, Voters: votersAt(5).Voters, HasVoters: true}
	h := history{next: 3}
	h.add(1, votersAt(1))
	if !h.load(SnapshotID{Offset: 10}, 10, contents) || h.lastVotersOffset() != 9 || h.next != 10 || h.kraftVersion() != 1 {
		t.Errorf("loaded: %+v", h)
	}
	h = history{next: 12}
	h.add(1, votersAt(1))
	if !h.load(SnapshotID{Offset: 10}, 10, contents) || h.lastVotersOffset() != 1 || h.next != 12 {
		t.Errorf("passed: %+v", h)
	}
	bad := &SnapshotContents{KRaftVersion: 9, HasKRaftVersion: true}
	if h = (history{}); h.load(SnapshotID{Offset: 10}, 10, bad) {
		t.Error("an unknown version is taken")
	}
	bad = &SnapshotContents{HasVoters: true}
	if h = (history{}); h.load(SnapshotID{Offset: -5}, 10, bad) {
		t.Error("an impossible offset is taken")
	}
}

// What a clone shares is not written to.
func TestHistory_CloneDoesNotSeeLaterEntries(t *testing.T) {
	var a history
	a.add(1, votersAt(1))
	a.add(2, votersAt(2))
	b := a
	a.truncateNew(2)
	a.add(2, votersAt(7))
	if b.lastVoters().Find(2) == nil {
		t.Errorf("the copy sees %v", b.lastVoters())
	}
}

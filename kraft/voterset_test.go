package kraft

import "testing"

func TestVoterSet_Membership(t *testing.T) {
	dir := DirectoryID{1: 1}
	known, open := Voter{Key: ReplicaKey{1, dir}}, Voter{Key: ReplicaKey{ID: 2}}
	s := NewVoterSet(open, known)
	tests := []struct {
		key  ReplicaKey
		want bool
	}{
		{ReplicaKey{1, dir}, true},
		{ReplicaKey{ID: 1}, false},
		{ReplicaKey{1, DirectoryID{2: 1}}, false},
		{ReplicaKey{ID: 2}, true},
		{ReplicaKey{2, dir}, true},
		{ReplicaKey{ID: 3}, false},
	}
	for _, tt := range tests {
		if got := s.IsVoter(tt.key); got != tt.want {
			t.Errorf("%v: %t", tt.key, got)
		}
	}
	if s.IsOnlyVoter(ReplicaKey{1, dir}) || !NewVoterSet(known).IsOnlyVoter(ReplicaKey{1, dir}) {
		t.Error("only voter")
	}
}

func TestVoterSet_ChangesMakeANewSet(t *testing.T) {
	dir := DirectoryID{1: 1}
	a, b := Voter{Key: ReplicaKey{1, dir}}, Voter{Key: ReplicaKey{2, dir}}
	s := NewVoterSet(b, a)
	if _, ok := s.Add(a); ok {
		t.Error("an id is added twice")
	}
	more, ok := s.Add(Voter{Key: ReplicaKey{ID: 0}})
	if !ok || more.Len() != 3 || more.At(0).Key.ID != 0 || s.Len() != 2 {
		t.Errorf("added: %v, from %v", more, s)
	}
	for _, key := range []ReplicaKey{{ID: 1}, {1, DirectoryID{9: 9}}, {7, dir}} {
		if _, ok := s.Remove(key); ok {
			t.Errorf("%v is removed", key)
		}
	}
	less, ok := s.Remove(a.Key)
	if !ok || less.Len() != 1 || s.Len() != 2 {
		t.Errorf("removed: %v", less)
	}
	if _, ok := less.Remove(b.Key); ok {
		t.Error("the last voter is removed")
	}
	moved := Voter{Key: a.Key, Endpoints: NewEndpoints(Endpoint{Name: "x"})}
	next, ok := s.Update(moved)
	if !ok || next.Equal(s) || !next.SameIDs(s) || !s.NeedsUpdate(moved) || s.NeedsUpdate(a) {
		t.Errorf("updated: %v", next)
	}
	if _, ok := s.Update(Voter{Key: ReplicaKey{1, DirectoryID{9: 9}}}); ok {
		t.Error("another directory is updated")
	}
	if _, ok := s.UpdateByID(Voter{Key: ReplicaKey{1, DirectoryID{9: 9}}}); !ok {
		t.Error("by id, another directory is not updated")
	}
	if _, ok := s.UpdateByID(Voter{Key: ReplicaKey{ID: 8}}); ok {
		t.Error("an unknown id is updated")
	}
	if s.Supports(1) || !s.Supports(0) {
		t.Error("supported versions")
	}
}

func TestEndpoints_NormalisedAndOrdered(t *testing.T) {
	e := NewEndpoints(Endpoint{Name: "second"}, Endpoint{Name: "First"}, Endpoint{Name: "SECOND", Address: Address{"h", 1}})
	if e.Len() != 2 || e.At(0).Name != "FIRST" {
		t.Errorf("%v", e)
	}
	if a, ok := e.Address("SECOND"); !ok || a.Port != 1 {
		t.Errorf("%v", e)
	}
	if _, ok := e.Address("third"); ok {
		t.Error("a listener that is not there")
	}
}

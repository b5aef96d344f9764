package kraft

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// VersionRange is a closed range of feature levels (Kafka: SupportedVersionRange).
type VersionRange struct{ Min, Max int16 }

// Contains reports whether the level lies in the range.
func (r VersionRange) Contains(level int16) bool { return r.Min <= level && level <= r.Max }

// Voter is one member of a voter set (Kafka: VoterSet.VoterNode).
type Voter struct {
	Key       ReplicaKey
	Endpoints Endpoints
	Versions  VersionRange // of kraft.version
}

// Matches is Kafka's "voter match": the ids are equal and the directory id is either not stored or equal to the
// presented one. A stored directory id is not matched by an absent one (Kafka: VoterNode.isVoter).
func (v *Voter) Matches(key ReplicaKey) bool { return matches(v.Key, key) }

func matches(stored, presented ReplicaKey) bool { return stored.matches(&presented) }

// matches takes pointers since it is asked with every Fetch: to copy a key that has just been copied stalls the processor.
func (k *ReplicaKey) matches(presented *ReplicaKey) bool {
	return k.ID == presented.ID && (k.DirectoryID.IsZero() || k.DirectoryID == presented.DirectoryID)
}

// Equal compares key, endpoints and versions.
func (v Voter) Equal(o Voter) bool {
	return v.Key == o.Key && v.Versions == o.Versions && v.Endpoints.Equal(o.Endpoints)
}

func (v Voter) String() string {
	return fmt.Sprintf("%v%v v%d-%d", v.Key, v.Endpoints, v.Versions.Min, v.Versions.Max)
}

// VoterSet is the set of voters, at most one per node id, in ascending order of the ids (Kafka: VoterSet).
// The value is immutable and may be shared.
type VoterSet struct{ voters []Voter }

// NewVoterSet orders the given voters. Of two with the same id the later one counts.
func NewVoterSet(voters ...Voter) VoterSet {
	set := VoterSet{}
	for _, v := range voters {
		set = set.with(v)
	}
	return set
}

// Len is the number of voters.
func (s VoterSet) Len() int { return len(s.voters) }

// At is the voter at the given position of the order by id. It must not be changed.
func (s VoterSet) At(i int) *Voter { return &s.voters[i] }

// Find is the voter with the given id, or nil.
func (s VoterSet) Find(id NodeID) *Voter {
	for i := range s.voters {
		if s.voters[i].Key.ID == id {
			return &s.voters[i]
		}
	}
	return nil
}

// IsVoter reports whether a voter matches the key.
func (s VoterSet) IsVoter(key ReplicaKey) bool {
	v := s.Find(key.ID)
	return v != nil && v.Matches(key)
}

// IsOnlyVoter reports whether the set consists of that one voter.
func (s VoterSet) IsOnlyVoter(key ReplicaKey) bool {
	return len(s.voters) == 1 && s.voters[0].Matches(key)
}

// Listeners are the endpoints of the voter with the given id, empty if there is none.
func (s VoterSet) Listeners(id NodeID) Endpoints {
	if v := s.Find(id); v != nil {
		return v.Endpoints
	}
	return Endpoints{}
}

// NeedsUpdate reports whether the set holds this voter with another description (Kafka: voterNodeNeedsUpdate).
func (s VoterSet) NeedsUpdate(voter Voter) bool {
	old := s.Find(voter.Key.ID)
	return old != nil && old.Matches(voter.Key) && !old.Equal(voter)
}

// Add is the set with one more voter, or not ok if its id is present already.
func (s VoterSet) Add(voter Voter) (VoterSet, bool) {
	if s.Find(voter.Key.ID) != nil {
		return s, false
	}
	return s.with(voter), true
}

// Remove is the set without the voter of exactly that key, or not ok if there is none or it is the last one.
func (s VoterSet) Remove(key ReplicaKey) (VoterSet, bool) {
	old := s.Find(key.ID)
	if old == nil || old.Key != key || len(s.voters) == 1 {
		return s, false
	}
	kept := slices.DeleteFunc(slices.Clone(s.voters), func(v Voter) bool { return v.Key.ID == key.ID })
	return VoterSet{voters: kept}, true
}

// Update replaces the matching voter, or is not ok if none matches.
func (s VoterSet) Update(voter Voter) (VoterSet, bool) {
	if !s.IsVoter(voter.Key) {
		return s, false
	}
	return s.with(voter), true
}

// UpdateByID replaces the voter of that id whatever its directory id is: the rule while kraft.version is 0
// (KAFKA-16538; Kafka: updateVoterIgnoringDirectoryId).
func (s VoterSet) UpdateByID(voter Voter) (VoterSet, bool) {
	if s.Find(voter.Key.ID) == nil {
		return s, false
	}
	return s.with(voter), true
}

func (s VoterSet) with(voter Voter) VoterSet {
	at, found := slices.BinarySearchFunc(s.voters, voter.Key.ID, func(v Voter, id NodeID) int {
		return cmp.Compare(v.Key.ID, id)
	})
	voters := slices.Clone(s.voters)
	if found {
		voters[at] = voter
	} else {
		voters = slices.Insert(voters, at, voter)
	}
	return VoterSet{voters: voters}
}

// Supports reports whether every voter supports the kraft.version.
func (s VoterSet) Supports(level int16) bool {
	return !slices.ContainsFunc(s.voters, func(v Voter) bool { return !v.Versions.Contains(level) })
}

// Equal compares all voters.
func (s VoterSet) Equal(o VoterSet) bool { return slices.EqualFunc(s.voters, o.voters, Voter.Equal) }

// SameIDs compares the node ids only.
func (s VoterSet) SameIDs(o VoterSet) bool {
	return slices.EqualFunc(s.voters, o.voters, func(a, b Voter) bool { return a.Key.ID == b.Key.ID })
}

func (s VoterSet) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range s.voters {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.String())
	}
	b.WriteByte('}')
	return b.String()
}

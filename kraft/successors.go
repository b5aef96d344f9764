package kraft

import (
	"cmp"
	"slices"
)

// SuccessorRank is the place of a node in the list of successors that a resigning leader sends. Position = Successors: it is not
// listed.
type SuccessorRank struct {
	Position   int
	Successors int
}

// rankAmong finds the first entry of the own id that has no directory id or the own one.
func rankAmong(successors []ReplicaKey, self ReplicaKey) SuccessorRank {
	for i, s := range successors {
		if matches(s, self) {
			return SuccessorRank{i, len(successors)}
		}
	}
	return SuccessorRank{len(successors), len(successors)}
}

// electionBackoffMs is how long a successor waits: the first one not at all, each next one twice as long as the one before it,
// who is not listed the longest. With an empty list everyone is first (Kafka: strictExponentialElectionBackoffMs).
//
// Java shifts an int by the low five bits of the distance, and so do we: the length of the list is the sender's.
func (r SuccessorRank) electionBackoffMs(maxMs int32) int32 {
	switch {
	case r.Position == 0:
		return 0
	case r.Position >= r.Successors:
		return maxMs
	}
	base := maxMs >> (uint(r.Successors-1) & 31)
	return min(maxMs, base<<(uint(r.Position-1)&31))
}

// byDescendingEnd orders replicas by what they hold, the most first and the unknown last; ties by replica key (Kafka:
// ReplicaState.compareTo).
func byDescendingEnd(a, b *Replica) int {
	return cmp.Or(cmp.Compare(b.End, a.End), compareKeys(a.Key, b.Key))
}

// compareKeys orders by id, then by directory id as Kafka's Uuid does: as two signed 64-bit numbers, an absent one as zero.
func compareKeys(a, b ReplicaKey) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), compareDirectories(a.DirectoryID, b.DirectoryID))
}

func compareDirectories(a, b DirectoryID) int {
	return cmp.Or(cmp.Compare(half(a[:8]), half(b[:8])), cmp.Compare(half(a[8:]), half(b[8:])))
}

func half(b []byte) int64 {
	var v int64
	for _, x := range b {
		v = v<<8 | int64(x)
	}
	return v
}

// successors are the voters other than the leader in the order in which they should succeed it.
func (l *Leader) successors(self ReplicaKey) []ReplicaKey {
	var order []*Replica
	for i := range l.Voters {
		if !matches(l.Voters[i].Key, self) {
			order = append(order, &l.Voters[i])
		}
	}
	slices.SortStableFunc(order, byDescendingEnd)
	keys := make([]ReplicaKey, len(order))
	for i, r := range order {
		keys[i] = r.Key
	}
	return keys
}

package kraft

import "slices"

// Names renames what a state mentions but what decides nothing by its name: nodes with their directories, and requests. It is for
// drivers that look at states up to such a renaming. Both functions are one-to-one, and leave absent ids alone.
type Names struct {
	Key     func(ReplicaKey) ReplicaKey
	Request func(RequestID) RequestID
}

// Node is the new id of a node, or of a connection record.
func (n *Names) Node(id NodeID) NodeID { return n.Key(ReplicaKey{ID: id}).ID }

// FingerprintAs is the fingerprint of the state under other names. What stands in the order of the ids (voters, votes, connections) or
// in one that decides nothing (who was heard of first) counts as a set, and of endpoints only their number: of a node in this or
// another place they are the same up to its name. So two states have the same value if one is a renaming of the other.
//
// Two things in a machine do depend on the order of ids. The walk over connections stops at the first request in flight
// (requestManager); that shows only if some of the timers of a node's requests have run out and others have not. And of two
// successors with the same progress the smaller id is named first; that shows only in the duration of a timer.
func (m *QuorumStateMachine) FingerprintAs(names *Names) [16]byte { return m.fingerprint(names) }

// Renumber forgets the numbers of requests, for drivers that know themselves which answer belongs to which request: the correlation id
// of every request in flight becomes 0, that of the next one 1, and the ids of the requests that wait for an answer of this machine become what rename says.
func (m *QuorumStateMachine) Renumber(rename func(RequestID) RequestID) {
	m.requests.nextCorrelation = 1
	for i := range m.requests.connections {
		m.requests.connections[i].CorrelationID = 0
	}
	waiting := m.parked.waiting()
	for i := range waiting {
		waiting[i].request = rename(waiting[i].request)
	}
	if c := &m.leader.Change; c.Kind != NoChange {
		c.Request = rename(c.Request)
	}
}

// Waiting are the ids of the requests that wait for an answer of this machine: parked Fetches, and an unfinished voter change.
func (m *QuorumStateMachine) Waiting(ids []RequestID) []RequestID {
	ids = slices.Grow(ids, len(m.parked.waiting())+1)
	for _, f := range m.parked.waiting() {
		ids = append(ids, f.request)
	}
	if c := &m.leader.Change; m.kind == LeaderRole && c.Kind != NoChange && !c.Answered {
		ids = append(ids, c.Request)
	}
	return ids
}

// set folds the elements of a list in whatever order they stand.
func set[T any](h *hash, list []T, each func(*hash, *T)) {
	var a, b uint64
	for i := range list {
		one := hash{seed0, seed1, h.names}
		each(&one, &list[i])
		one.word(seed1)
		a += one.a
		b += one.b
	}
	h.word(a)
	h.word(b)
}

func (h *hash) request(id RequestID) {
	if h.names != nil {
		id = h.names.Request(id)
	}
	h.word(uint64(id))
}

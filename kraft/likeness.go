package kraft

import "encoding/binary"

// Likeness is a hash of what shows in the messages of a node. Unlike Fingerprint it leaves out the numbers of requests, and what a
// leader keeps for its timers and of observers, and which voters it can announce itself to right now. It is for a shadow, to
// which timers may run out at any time: machines that went different ways to the same state are alike.
func (m *QuorumStateMachine) Likeness() [16]byte {
	h := hash{a: seed0, b: seed1}
	h.word(m.standing())
	if m.kind == LeaderRole {
		m.leader.likeness(&h)
	} else {
		m.hashRole(&h)
		for i := range m.requests.connections {
			c := &m.requests.connections[i]
			h.word(uint64(uint32(c.ID))<<1 | flag(c.BackingOff))
		}
	}
	m.parked.hash(&h, m.listeners)
	m.history.likeness(&h)
	return h.sum()
}

func (r *Leader) likeness(h *hash) {
	h.word(uint64(r.EpochStart))
	h.word(uint64(r.HighWatermark))
	h.word(flag(r.ResignRequested) | flag(r.HasVolatileVoters)<<1 | uint64(uint16(r.RequestedVersion))<<16)
	h.word(uint64(r.votersAt))
	h.word(uint64(len(r.Voters)))
	for i := range r.Voters {
		h.key(r.Voters[i].Key)
		h.word(uint64(r.Voters[i].End))
	}
	h.ids(r.Granting)
	h.voters(r.VolatileVoters)
	r.Accumulator.hash(h)
	r.Change.hash(h)
}

// likeness takes the voter sets by their digests: there are far more states to tell apart than sets.
func (e *history) likeness(h *hash) {
	h.word(uint64(e.next))
	h.word(uint64(len(e.voters))<<32 | uint64(len(e.versions)))
	for i := range e.voters {
		v := &e.voters[i]
		h.word(uint64(v.offset))
		h.word(binary.LittleEndian.Uint64(v.digest[:8]))
		h.word(binary.LittleEndian.Uint64(v.digest[8:]))
	}
	for i := range e.versions {
		h.word(uint64(e.versions[i].offset))
		h.word(uint64(e.versions[i].version))
	}
}

func (s VoterSet) digest() [16]byte {
	h := hash{a: seed0, b: seed1}
	h.voters(s)
	return h.sum()
}

package kraft

import (
	"encoding/binary"
	"math/bits"
)

// Fingerprint is a 128-bit hash of the state: equal states have equal ones, in every run and on every machine. The log, and instants
// that decide nothing, are not part of it; nor is what the driver holds, its timers.
func (m *QuorumStateMachine) Fingerprint() [16]byte { return m.fingerprint(nil) }

func (m *QuorumStateMachine) fingerprint(names *Names) [16]byte {
	h := hash{seed0, seed1, names}
	h.word(m.standing())
	m.hashRole(&h)
	m.requests.hash(&h)
	m.parked.hash(&h, m.listeners)
	m.history.hash(&h)
	return h.sum()
}

// standing is the role and the epoch, and whether the machine goes on.
func (m *QuorumStateMachine) standing() uint64 {
	return uint64(m.kind) | flag(m.stopped)<<8 | flag(m.shutdown)<<9 | uint64(uint32(m.epoch))<<32
}

func (m *QuorumStateMachine) hashRole(h *hash) {
	switch m.kind {
	case UnattachedRole:
		m.unattached.hash(h)
	case ProspectiveRole:
		m.prospective.hash(h)
	case CandidateRole:
		m.candidate.hash(h)
	case LeaderRole:
		m.leader.hash(h)
	case FollowerRole:
		m.follower.hash(h)
	case ResignedRole:
		m.resigned.hash(h)
	}
}

// hash folds 64-bit words into two lanes (the multiply-and-fold of wyhash). It is fixed: a recorded fingerprint stays valid.
type hash struct {
	a, b  uint64
	names *Names // nil: everything by its own name, and lists in their order
}

const (
	seed0 = 0x9e3779b97f4a7c15
	seed1 = 0xd1b54a32d192ed03
	prime = 0xa0761d6478bd642f
	other = 0xe7037ed1a0b428db
)

func (h *hash) word(v uint64) {
	hi, lo := bits.Mul64(h.a^v, prime)
	h.a = hi ^ lo ^ h.b
	hi, lo = bits.Mul64(h.b^v, other)
	h.b = hi ^ lo ^ v
}

func (h *hash) sum() [16]byte {
	h.word(seed0)
	h.word(seed1)
	var out [16]byte
	binary.LittleEndian.PutUint64(out[:8], h.a)
	binary.LittleEndian.PutUint64(out[8:], h.b)
	return out
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (h *hash) id(id NodeID) {
	if h.names != nil {
		id = h.names.Node(id)
	}
	h.word(uint64(uint32(id)))
}

func (h *hash) ids(list []NodeID) {
	h.word(uint64(len(list)))
	if h.names != nil {
		set(h, list, func(h *hash, id *NodeID) { h.id(*id) })
		return
	}
	for _, id := range list {
		h.word(uint64(uint32(id)))
	}
}

func (h *hash) key(k ReplicaKey) {
	if h.names != nil {
		k = h.names.Key(k)
	}
	h.word(uint64(uint32(k.ID)))
	h.word(binary.LittleEndian.Uint64(k.DirectoryID[:8]))
	h.word(binary.LittleEndian.Uint64(k.DirectoryID[8:]))
}

func (h *hash) text(s string) {
	h.word(uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		h.word(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	if len(s) == 0 {
		return
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	h.word(rest)
}

func (h *hash) address(a Address) {
	h.text(a.Host)
	h.word(uint64(a.Port))
}

func (h *hash) endpoints(e Endpoints) {
	h.word(uint64(len(e.list)))
	if h.names != nil {
		return
	}
	for i := range e.list {
		h.text(e.list[i].Name)
		h.address(e.list[i].Address)
	}
}

func (h *hash) voters(s VoterSet) {
	h.word(uint64(len(s.voters)))
	if h.names != nil {
		set(h, s.voters, hashVoter)
		return
	}
	for i := range s.voters {
		hashVoter(h, &s.voters[i])
	}
}

func hashVoter(h *hash, v *Voter) {
	h.key(v.Key)
	h.endpoints(v.Endpoints)
	h.word(uint64(uint16(v.Versions.Min)) | uint64(uint16(v.Versions.Max))<<16)
}

func (h *hash) tally(t Tally) {
	h.word(uint64(len(t)))
	if h.names != nil {
		set(h, t, hashVote)
		return
	}
	for i := range t {
		hashVote(h, &t[i])
	}
}

func hashVote(h *hash, v *Vote) {
	h.key(v.Voter)
	h.word(uint64(v.State))
}

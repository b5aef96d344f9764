package explore

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/understudy-kafka/understudy/kraft"
)

// A request is named by who sent it and on which connection record. live: the sender still waits for the answer. A machine waits for one
// answer per record at most, so that is enough to tell them apart; those that nobody waits for need not be told apart.
func requestID(sender, slot int, live bool) kraft.RequestID {
	id := kraft.RequestID(sender*slots+slot)<<1 + 2
	if live {
		id++
	}
	return id
}

func splitRequest(id kraft.RequestID) (sender, slot int, live bool) {
	n := int(id-2) >> 1
	return n / slots, n % slots, id&1 == 1
}

const (
	slots  = 16
	client = 15 // the sender of requests that come from no node
)

// slotOf is the place of a connection record in bit sets: voters first, then bootstrap servers.
func slotOf(record kraft.NodeID) int {
	if record > 0 {
		return int(record) - 1
	}
	return slots/2 - 2 - int(record)
}

func recordOf(slot int) kraft.NodeID {
	if slot < slots/2 {
		return kraft.NodeID(slot + 1)
	}
	return kraft.NodeID(slots/2 - 2 - slot)
}

// renaming is a permutation of the nodes, applied to everything that names one.
func renaming(p [maxNodes]uint8, nodes int) *kraft.Names {
	id := func(id kraft.NodeID) kraft.NodeID {
		switch {
		case id >= 1 && int(id) <= nodes:
			return nodeID(int(p[id-1]))
		case id <= -2 && int(-2-id) < nodes:
			return kraft.NodeID(-2 - int(p[-2-id]))
		}
		return id
	}
	return &kraft.Names{
		Key: func(k kraft.ReplicaKey) kraft.ReplicaKey {
			k.ID = id(k.ID)
			if d := &k.DirectoryID[15]; *d > 100 && int(*d) <= 100+nodes {
				*d = 101 + p[*d-101]
			}
			return k
		},
		Request: func(r kraft.RequestID) kraft.RequestID {
			sender, slot, live := splitRequest(r)
			if sender < nodes {
				sender = int(p[sender])
			}
			return requestID(sender, slotOf(id(recordOf(slot))), live)
		},
	}
}

// encoder writes values as bytes under a renaming. Equal bytes mean equal values up to the renaming.
type encoder struct {
	names *kraft.Names
	buf   []byte
}

func (e *encoder) reset(names *kraft.Names) { e.names, e.buf = names, e.buf[:0] }

func (e *encoder) sum() uint64 {
	sum := sha256.Sum256(e.buf)
	return binary.LittleEndian.Uint64(sum[:])
}

func (e *encoder) num(v int64) { e.buf = binary.AppendVarint(e.buf, v) }

func (e *encoder) flag(b bool) {
	if b {
		e.num(1)
	} else {
		e.num(0)
	}
}

func (e *encoder) id(id kraft.NodeID) { e.num(int64(e.names.Node(id))) }

func (e *encoder) key(k kraft.ReplicaKey) {
	k = e.names.Key(k)
	e.num(int64(k.ID))
	e.buf = append(e.buf, k.DirectoryID[:]...)
}

func (e *encoder) position(p kraft.OffsetAndEpoch) {
	e.num(int64(p.Offset))
	e.num(int64(p.Epoch))
}

// set adds the sum of what each element encodes to: the order does not count.
func (e *encoder) set(n int, each func(i int)) {
	e.num(int64(n))
	start := len(e.buf)
	var total uint64
	for i := range n {
		each(i)
		sum := sha256.Sum256(e.buf[start:])
		total += binary.LittleEndian.Uint64(sum[:])
		e.buf = e.buf[:start]
	}
	e.buf = binary.LittleEndian.AppendUint64(e.buf, total)
}

func (e *encoder) ids(list []kraft.NodeID) { e.set(len(list), func(i int) { e.id(list[i]) }) }

func (e *encoder) voters(s kraft.VoterSet) {
	e.set(s.Len(), func(i int) {
		e.key(s.At(i).Key)
		e.num(int64(s.At(i).Versions.Max))
	})
}

func (e *encoder) batches(list []kraft.Batch) {
	e.num(int64(len(list)))
	for i := range list {
		b := &list[i]
		e.num(int64(b.Base))
		e.num(int64(b.Last))
		e.num(int64(b.Epoch))
		e.num(int64(b.Size))
		e.num(int64(len(b.Control)))
		for j := range b.Control {
			c := &b.Control[j]
			e.num(int64(c.Type))
			e.id(c.Leader)
			e.ids(c.VoterIDs)
			e.ids(c.Granting)
			e.num(int64(c.KRaftVersion))
			e.voters(c.Voters)
		}
	}
}

func (e *encoder) contents(c *kraft.SnapshotContents) {
	e.flag(c.HasKRaftVersion)
	e.num(int64(c.KRaftVersion))
	e.flag(c.HasVoters)
	e.voters(c.Voters)
}

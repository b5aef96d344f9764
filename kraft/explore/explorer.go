package explore

import (
	"reflect"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// explorer holds everything that has been met once: nodes, packets, logs, and what one step of one node leads to. States of the quorum
// are a few numbers that refer to it.
type explorer struct {
	model        *Model
	permutations [][maxNodes]uint8
	names        []*kraft.Names
	encoder      encoder

	locals    []*local
	localIDs  map[[2]uint64]uint32
	localSums []uint64 // per local and permutation

	packets    []packet
	orphans    []uint32 // per packet, 0: not made yet
	packetIDs  map[[2]uint64]uint32
	packetSums []uint64

	logs   []*memlog.Log
	logIDs map[uint64]uint32

	commits    [][]committed // what is committed, from the beginning
	commitIDs  map[uint64]uint32
	commitSums []uint64

	results   []result
	resultIDs table // (local, input) to its result
	matched   map[uint64]*safety.Violation
	judged    map[uint64]verdict

	witnesses   map[reflect.Type]int
	inputs      [inputKinds]int
	countImages bool
	keepSpent   bool
}

func newExplorer(m *Model, symmetry bool) (*explorer, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	x := &explorer{
		model: m, permutations: m.permutations(symmetry), localIDs: map[[2]uint64]uint32{}, packetIDs: map[[2]uint64]uint32{},
		logIDs: map[uint64]uint32{}, commitIDs: map[uint64]uint32{}, matched: map[uint64]*safety.Violation{}, judged: map[uint64]verdict{},
		witnesses: map[reflect.Type]int{},
	}
	for _, p := range x.permutations {
		x.names = append(x.names, renaming(p, m.Nodes))
	}
	x.packets, x.orphans = make([]packet, 1), make([]uint32, 1) // 0 is no packet
	x.packetSums = make([]uint64, len(x.names))
	x.internCommit(nil)
	x.resultIDs.grow()
	return x, nil
}

func (x *explorer) witness(a kraft.Action) { x.witnesses[reflect.TypeOf(a)]++ }

// identity are two independent sums of what was encoded under the first renaming, which renames nothing.
func (x *explorer) identity(encode func(*encoder)) [2]uint64 {
	x.encoder.reset(x.names[0])
	encode(&x.encoder)
	first := x.encoder.sum()
	x.encoder.num(1)
	return [2]uint64{first, x.encoder.sum()}
}

// sums are those under all renamings.
func (x *explorer) sums(list []uint64, encode func(*encoder)) []uint64 {
	for _, n := range x.names {
		x.encoder.reset(n)
		encode(&x.encoder)
		list = append(list, x.encoder.sum())
	}
	return list
}

func (x *explorer) internPacket(p *packet) uint32 {
	key := x.identity(p.encode)
	if id, ok := x.packetIDs[key]; ok {
		return id
	}
	id := uint32(len(x.packets))
	x.packets, x.orphans = append(x.packets, *p), append(x.orphans, 0)
	if x.model.Budget[Wipes] == 0 && !x.keepSpent { // a wiped node begins again with epoch 0
		x.packets[id].spent = p.spentIn()
	}
	x.packetSums = x.sums(x.packetSums, p.encode)
	x.packetIDs[key] = id
	return id
}

// orphanOf is the packet once nobody waits for the answer; 0 for an answer, which is dropped.
func (x *explorer) orphanOf(id uint32) uint32 {
	p := &x.packets[id]
	switch {
	case !p.request:
		return 0
	case !p.live:
		return id
	case x.orphans[id] == 0:
		o := p.orphan()
		made := x.internPacket(&o)
		x.orphans[id] = made
	}
	return x.orphans[id]
}

func (x *explorer) internLocal(l *local) uint32 {
	key := x.identity(l.encode)
	if id, ok := x.localIDs[key]; ok {
		return id
	}
	id := uint32(len(x.locals))
	x.locals = append(x.locals, l)
	x.localSums = x.sums(x.localSums, l.encode)
	x.localIDs[key] = id
	x.derive(l)
	return id
}

// derive works out what is asked of a node again and again.
func (x *explorer) derive(l *local) {
	state := l.machine.QuorumState()
	l.kind, l.epoch, l.logID = l.machine.Role().Kind(), state.Epoch, x.internLog(l.log)
	seen := safety.Node{ID: l.id(), Machine: l.machine, Log: l.log, Durable: l.stored}
	if l.down {
		seen.Machine = nil
		l.violation, l.moves = safety.States([]safety.Node{seen}), x.movesOf(l)
		return
	}
	for _, c := range l.machine.Inspect().Connections {
		if c.BackingOff {
			l.backing |= 1 << slotOf(c.ID)
		} else {
			l.awaiting |= 1 << slotOf(c.ID)
		}
	}
	l.waiting = l.machine.Waiting(nil)
	l.violation = safety.States([]safety.Node{seen})
	l.moves = x.movesOf(l)
}

func (x *explorer) internLog(log *memlog.Log) uint32 {
	x.encoder.reset(x.names[0])
	encodeLog(&x.encoder, log)
	key := x.encoder.sum()
	if id, ok := x.logIDs[key]; ok {
		return id
	}
	id := uint32(len(x.logs))
	x.logs = append(x.logs, log)
	x.logIDs[key] = id
	return id
}

func (x *explorer) internCommit(batches []committed) uint32 {
	encode := func(e *encoder) {
		for _, b := range batches {
			e.batches([]kraft.Batch{b.Batch})
			e.num(int64(b.in))
		}
	}
	x.encoder.reset(x.names[0])
	encode(&x.encoder)
	key := x.encoder.sum()
	if id, ok := x.commitIDs[key]; ok {
		return id
	}
	id := uint32(len(x.commits))
	x.commits = append(x.commits, batches)
	x.commitSums = x.sums(x.commitSums, encode)
	x.commitIDs[key] = id
	return id
}

// step is what one input does to one node. It is worked out once.
func (x *explorer) step(from uint32, in input) *result {
	key := uint64(from)<<32 | in.code()
	if id, ok := x.resultIDs.get(key); ok {
		return &x.results[id]
	}
	x.inputs[in.kind]++
	l, out := x.run(x.locals[from], in, nil)
	if out.broken == nil && !out.beyond {
		out.next = x.internLocal(l)
		out.broken = x.locals[out.next].violation
	}
	x.results = append(x.results, out)
	x.resultIDs.put(key, uint32(len(x.results)-1))
	return &x.results[len(x.results)-1]
}

// forget is a node for which requests of another one have become such that nobody waits for.
func (x *explorer) forget(at uint32, sender int, mask uint16) uint32 {
	l := x.locals[at]
	found := false
	for _, id := range l.waiting {
		s, slot, live := splitRequest(id)
		found = found || s == sender && live && mask&(1<<slot) != 0
	}
	if !found {
		return at
	}
	in := input{kind: forget, arg: uint32(sender)<<16 | uint32(mask)}
	key := uint64(at)<<32 | in.code()
	if id, ok := x.resultIDs.get(key); ok {
		return x.results[id].next
	}
	next := l.clone()
	next.machine.Renumber(func(id kraft.RequestID) kraft.RequestID {
		if s, slot, _ := splitRequest(id); s == sender && mask&(1<<slot) != 0 {
			return requestID(s, slot, false)
		}
		return id
	})
	out := result{next: x.internLocal(next)}
	x.results = append(x.results, out)
	x.resultIDs.put(key, uint32(len(x.results)-1))
	return out.next
}

package explore

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// happening is one step of the quorum: an input of a node, or something that befalls a packet.
type happening struct {
	node   int
	in     input
	packet uint32 // taken off the network; 0: none
	lost   bool   // the packet is lost
	copied bool   // the packet arrives once more: its copy goes on
}

// expand lists the states that follow a state, always in the same order. visit gets each with the step that leads to it, and what that
// breaks; the state is used again after it returns. It stops when visit returns false.
func (x *explorer) expand(s *state, visit func(h happening, next *state, broken *safety.Violation) bool) bool {
	e := &expansion{x: x, from: s, visit: visit}
	for i := range x.model.Nodes {
		for _, m := range x.locals[s.nodes[i]].moves {
			if !s.has(m.cost[0]) || !s.has(m.cost[1]) {
				continue
			}
			if !e.take(happening{node: i, in: m.in}, m.cost) {
				return false
			}
		}
	}
	last := uint32(0)
	for _, id := range s.packets {
		if id == last {
			continue
		}
		last = id
		if !e.befall(id) {
			return false
		}
	}
	return true
}

type expansion struct {
	x     *explorer
	from  *state
	next  state
	visit func(happening, *state, *safety.Violation) bool
}

// befall is what may happen to a packet.
func (e *expansion) befall(id uint32) bool {
	p := &e.x.packets[id]
	to := p.to
	in := input{kind: deliver, arg: id}
	sender := p.from
	if !p.request {
		sender = p.to
	}
	live, up := p.live, !e.x.locals[e.from.nodes[to]].down
	if up && !e.take(happening{node: to, in: in, packet: id}, [2]int8{free, free}) {
		return false
	}
	if up && e.from.has(Copies) && !e.take(happening{node: to, in: in, packet: id, copied: true}, [2]int8{Copies, free}) {
		return false
	}
	if up && e.from.has(Updates) && !p.request && e.x.locals[e.from.nodes[to]].kind == kraft.FollowerRole {
		in.keep = true // a follower has a request to its leader in flight at all other times
		if !e.take(happening{node: to, in: in, packet: id}, [2]int8{Updates, free}) {
			return false
		}
	}
	if !e.from.has(Losses) {
		return true
	}
	e.next.copyFrom(e.from)
	e.next.pay(Losses)
	e.drop(id)
	if !e.visit(happening{packet: id, lost: true}, &e.next, nil) {
		return false
	}
	return !live || e.x.locals[e.from.nodes[sender]].down || e.take(happening{node: sender, in: input{kind: disconnect, arg: id}, packet: id}, [2]int8{Losses, free})
}

func (e *expansion) drop(id uint32) {
	for i, p := range e.next.packets {
		if p == id {
			e.next.packets = append(e.next.packets[:i], e.next.packets[i+1:]...)
			return
		}
	}
}

// take takes the step, with each choice of a bootstrap server if one is chosen, and with a crash before each barrier if the model has
// that.
func (e *expansion) take(h happening, cost [2]int8) bool {
	first := *e.x.step(e.from.nodes[h.node], h.in)
	if !e.follow(h, cost, &first) {
		return false
	}
	if e.x.model.Discovery && first.chose {
		for c := 1; c < e.x.model.Nodes; c++ {
			h.in.choice = uint8(c)
			if out := *e.x.step(e.from.nodes[h.node], h.in); !e.follow(h, cost, &out) {
				return false
			}
		}
		h.in.choice = 0
	}
	if !e.x.model.Interrupt || h.in.kind == crash || h.in.kind == wipe || !e.from.has(Crashes) {
		return true
	}
	for cut := range first.barriers {
		h.in.cut = cut + 1
		if out := *e.x.step(e.from.nodes[h.node], h.in); !e.follow(h, [2]int8{cost[0], Crashes}, &out) {
			return false
		}
	}
	return true
}

// follow works out the state of the quorum behind a step, and looks at it.
func (e *expansion) follow(h happening, cost [2]int8, out *result) bool {
	if out.beyond {
		return true
	}
	x, next := e.x, &e.next
	next.copyFrom(e.from)
	next.pay(cost[0])
	next.pay(cost[1])
	if h.packet != 0 && !h.copied {
		e.drop(h.packet)
	}
	if out.broken != nil {
		return e.visit(h, next, out.broken)
	}
	next.nodes[h.node] = out.next
	if out.orphans != 0 {
		e.orphan(h.node, out.orphans)
	}
	for _, id := range out.sends {
		next.add(id)
	}
	e.dropSpent()
	return e.visit(h, next, x.look(e.from, next, h.node, out))
}

// orphan notes everywhere that requests of a node are not waited for any more.
func (e *expansion) orphan(node int, mask uint16) {
	x, next := e.x, &e.next
	for i := 0; i < len(next.packets); i++ {
		id := next.packets[i]
		p := &x.packets[id]
		if mask&(1<<p.slot) == 0 || !p.live || p.request && p.from != node || !p.request && p.to != node {
			continue
		}
		next.packets = append(next.packets[:i], next.packets[i+1:]...)
		i--
		if o := x.orphanOf(id); o != 0 {
			next.packets = append(next.packets, o) // looked at once more: it is not live
		}
	}
	sortSmall(next.packets)
	for i := range x.model.Nodes {
		if i != node && len(x.locals[next.nodes[i]].waiting) > 0 {
			next.nodes[i] = x.forget(next.nodes[i], node, mask)
		}
	}
}

// dropSpent takes packets off the network that cannot change anything any more: what they could do is as if they were lost.
func (e *expansion) dropSpent() {
	kept := e.next.packets[:0]
	for _, id := range e.next.packets {
		p := &e.x.packets[id]
		if p.spent == 0 || e.x.locals[e.next.nodes[p.to]].epoch < p.spent {
			kept = append(kept, id)
		}
	}
	e.next.packets = kept
}

func sortSmall(list []uint32) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j-1] > list[j]; j-- {
			list[j-1], list[j] = list[j], list[j-1]
		}
	}
}

// look holds the invariants that concern more than one node, or the past, against a state.
func (x *explorer) look(from, next *state, node int, out *result) *safety.Violation {
	l := x.locals[next.nodes[node]]
	if out.led != 0 {
		if old := next.leader(out.led); old != 0 && int(old)-1 != node {
			return violation(safety.ElectionSafety, l.id(), "leads epoch %d, and so did node %v", out.led, nodeID(int(old)-1))
		}
		next.leaders |= uint32(node+1) << (4 * out.led)
		if broken := x.complete(from.commit, l); broken != nil {
			return broken
		}
	}
	if l.logID == x.locals[from.nodes[node]].logID {
		return nil
	}
	v := x.judge(next.commit, l)
	if v.broken != nil {
		return v.broken
	}
	next.commit = v.commit
	for i := range x.model.Nodes {
		if i != node {
			if broken := x.match(l, x.locals[next.nodes[i]]); broken != nil {
				return broken
			}
		}
	}
	return nil
}

package proxy

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// defaultGateLimit is the largest frame that is held for the rules; a larger one passes in pieces and unseen by them.
// Kafka's largest answers (8 MiB of records) are well below.
const defaultGateLimit = 32 << 20

// gate is what the rules have to know about a connection whose frames are held.
type gate struct {
	client kraft.NodeID // who dialled, from the client id of its first request
	known  bool
	open   []openRequest // requests that were let through and have no answer yet
}

type openRequest struct {
	correlation  int32
	key, version int16
}

func newGate() *gate { return &gate{client: anyNode} }

// clientNode tells which node a client id belongs to: controllers and brokers call themselves raft-client-N on
// the raft channel (Kafka: KafkaRaftManager) and N on their other channels.
func clientNode(id []byte) kraft.NodeID {
	text := strings.TrimPrefix(string(id), "raft-client-")
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return anyNode
	}
	return kraft.NodeID(n)
}

// held is what a gated flow keeps back.
type held struct {
	bytes   []byte // from the beginning of a frame on
	seen    int64  // when the last of them was read
	pass    int    // how much of bytes, and of what follows, passes unseen: a frame above the limit
	until   int64  // the first frame is delayed until then; 0: it is not
	delay   *counted
	telling *telling // a fault to be recorded as soon as what waits has been written
	again   *counted // the first frame is the copy that this rule makes
	hole    *counted // frames are swallowed as long as this rule is in force
	cut     bool     // the connection ends once what waits has been written
}

// telling is a fault that has been decided and not yet recorded.
type telling struct {
	rule      int
	sent      []byte // nil: as delivered
	delivered []byte // nil: not delivered
	seen      int64
}

func (h *held) empty() bool   { return len(h.bytes) == 0 && h.telling == nil }
func (h *held) delayed() bool { return h.until > 0 }
func (h *held) full() bool    { return h.delayed() }

func (h *held) takeAll() []byte {
	b := h.bytes
	h.bytes = nil
	return b
}

// gated takes bytes of a flow whose frames the rules must see.
func (l *loop) gated(f *flow, b []byte, seen int64) {
	f.held.bytes, f.held.seen = append(f.held.bytes, b...), seen
	l.ungate(f)
}

// ungate lets pass what may pass: frame by frame, as long as the receiver takes them.
func (l *loop) ungate(f *flow) {
	h := f.held
	for !f.relay.closed && len(f.waiting) == 0 && !h.delayed() {
		if h.telling != nil {
			l.tellFault(f, h.telling)
			h.telling = nil
		}
		if h.cut {
			l.close(f.relay, false)
			return
		}
		if f.relay.gate == nil { // no rule concerns this connection after all
			f.held = nil
			if rest := h.takeAll(); len(rest) > 0 {
				l.send(f, rest, h.seen)
			}
			return
		}
		if h.pass > 0 {
			if len(h.bytes) == 0 {
				return
			}
			n := min(h.pass, len(h.bytes))
			h.pass -= n
			l.release(f, n)
			continue
		}
		if len(h.bytes) < 4 {
			return
		}
		size := int(int32(binary.BigEndian.Uint32(h.bytes)))
		if size < 0 || size > wire.MaxFrameSize { // not Kafka's protocol: no rule can concern it
			f.relay.gate = nil
			continue
		}
		if size > l.gateLimit {
			h.pass = 4 + size
			l.log.warn("frame too large for the fault rules, passed on", "from", f.relay.client.String(),
				"upstream", l.asked.upstream(f.relay.upstream), "bytes", strconv.Itoa(size))
			continue
		}
		if len(h.bytes) < 4+size {
			return
		}
		l.decide(f, 4+size)
	}
}

// release sends the first n held bytes.
func (l *loop) release(f *flow, n int) {
	h := f.held
	l.send(f, h.bytes[:n], h.seen)
	h.drop(n)
}

// drop forgets the first n held bytes.
func (h *held) drop(n int) {
	rest := copy(h.bytes, h.bytes[n:])
	h.bytes = h.bytes[:rest]
	if rest == 0 && cap(h.bytes) > 1<<20 {
		h.bytes = nil
	}
}

// decide asks the rules about the frame at the front of the held bytes, n bytes with its size, and does what they say.
func (l *loop) decide(f *flow, n int) {
	h, r := f.held, f.relay
	frame := h.bytes[4:n]
	key, version, body, ok := r.gate.look(frame, f.dir)
	if f.dir == wire.Request && ok && !r.gate.known {
		r.gate.introduce(frame)
		if !l.asked.concern(r.upstream, r.gate.client) {
			r.gate = nil // ungate lets everything pass
			return
		}
	}
	var rule *counted
	switch {
	case h.again != nil:
		l.copyFrame(f, n, key, version)
		return
	case h.hole != nil && !h.hole.removed:
		rule = h.hole
	case ok:
		h.hole = nil
		rule = l.asked.judge(r.upstream, r.gate.client, key, f.dir, func() kraft.Epoch { return statedEpoch(&l.decoder, key, version, f.dir, body) })
	}
	if rule == nil {
		l.pass(f, n, key, version)
		return
	}
	if len(rule.Fields) == 0 { // a mutation counts where it changes something
		l.stats.faults.add(1)
	}
	l.apply(f, n, rule, body, key, version)
}

// apply does to the front frame what a rule says.
func (l *loop) apply(f *flow, n int, rule *counted, body []byte, key, version int16) {
	h := f.held
	frame := h.bytes[4:n]
	switch rule.Action {
	case Drop, Cut, Blackhole:
		l.tellFault(f, &telling{rule: rule.index, sent: frame, seen: h.seen})
		h.drop(n)
		if rule.Action == Cut {
			l.close(f.relay, false)
		}
		if rule.Action == Blackhole {
			h.hole = rule
		}
	case Delay, Reorder:
		until := h.seen + int64(rule.Delay)
		h.until, h.delay = until, rule
		if rule.Action == Reorder {
			l.overtaken = append(l.overtaken, f)
		}
		l.timers.at(until, func() { l.endDelay(f, until) })
	case Mutate, Answer:
		l.mutate(f, n, body, key, version, rule)
	case Duplicate:
		h.again = rule
		twice := append([]byte(nil), h.bytes[:n]...)
		h.bytes = append(twice, h.bytes...)
		l.pass(f, n, key, version)
	case Truncate:
		if rule.Keep >= n-4 {
			l.pass(f, n, key, version)
			return
		}
		sent := append([]byte(nil), frame...)
		short := binary.BigEndian.AppendUint32(nil, uint32(rule.Keep))
		f.relay.gate.passed(frame, f.dir, key, version)
		l.deliver(f, n, append(short, frame[:rule.Keep]...), &telling{rule: rule.index, sent: sent, seen: h.seen})
	case CutAfter:
		h.cut = true
		f.relay.gate.passed(frame, f.dir, key, version)
		l.deliver(f, n, append([]byte(nil), h.bytes[:n]...), &telling{rule: rule.index, seen: h.seen})
	}
}

// copyFrame sends the copy that duplicate made of a frame. Nobody sent it, so it is recorded with nothing as sent.
func (l *loop) copyFrame(f *flow, n int, key, version int16) {
	h := f.held
	rule := h.again
	h.again = nil
	f.relay.gate.passed(h.bytes[4:n], f.dir, key, version)
	l.deliver(f, n, append([]byte(nil), h.bytes[:n]...), &telling{rule: rule.index, sent: []byte{}, seen: h.seen})
}

// overtake lets frames go that wait for another one to reach their receiver, now that f delivered one.
func (l *loop) overtake(f *flow) {
	if len(l.overtaken) == 0 {
		return
	}
	list := l.overtaken
	l.overtaken = nil
	for _, o := range list {
		switch {
		case o.relay.closed || !o.held.delayed() || o.held.delay.Action != Reorder:
		case o != f && l.receiver(o) == l.receiver(f):
			l.endDelay(o, o.held.until)
		default:
			l.overtaken = append(l.overtaken, o)
		}
	}
}

// receiver is the node that a flow leads to; anyNode if it is not known.
func (l *loop) receiver(f *flow) kraft.NodeID {
	switch {
	case f.dir == wire.Request:
		return l.asked.upstreams[f.relay.upstream].Node
	case f.relay.gate != nil:
		return f.relay.gate.client
	}
	return anyNode
}

// pass lets the front frame through unchanged.
func (l *loop) pass(f *flow, n int, key, version int16) {
	f.relay.gate.passed(f.held.bytes[4:n], f.dir, key, version)
	l.release(f, n)
	l.overtake(f)
}

// endDelay lets a frame go that is delayed until this instant.
func (l *loop) endDelay(f *flow, until int64) {
	h, r := f.held, f.relay
	if r.closed || h == nil || h.until != until {
		return
	}
	rule := h.delay
	h.until, h.delay = 0, nil
	n := 4 + int(binary.BigEndian.Uint32(h.bytes))
	frame := h.bytes[4:n]
	if r.gate != nil {
		key, version, _, _ := r.gate.look(frame, f.dir)
		r.gate.passed(frame, f.dir, key, version)
	}
	l.deliver(f, n, append([]byte(nil), h.bytes[:n]...), &telling{rule: rule.index, seen: h.seen})
	l.ungate(f)
	if !r.closed {
		l.finish(f)
	}
	l.settle(r)
}

// mutate sends the front frame with fields changed. What cannot be decoded passes unchanged. A frame that stays as it is does not count.
func (l *loop) mutate(f *flow, n int, body []byte, key, version int16, rule *counted) {
	frame := f.held.bytes[4:n]
	changed, differs := body, false
	for _, field := range rule.Fields {
		next, more, err := field.apply(&l.decoder, changed, version)
		if err != nil {
			l.log.warn("fault rule not applied", "rule", rule.Text, "error", err.Error())
			differs = false
			break
		}
		changed, differs = next, differs || more
	}
	if !differs {
		rule.seen--
		rule.taken--
		l.pass(f, n, key, version)
		return
	}
	l.stats.faults.add(1)
	head := frame[:len(frame)-len(body)]
	out := make([]byte, 4, 4+len(head)+len(changed))
	out = append(append(out, head...), changed...)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	sent := append([]byte(nil), frame...)
	f.relay.gate.passed(frame, f.dir, key, version)
	l.deliver(f, n, out, &telling{rule: rule.index, sent: sent, seen: f.held.seen})
}

// deliver sends a frame, with its size, in place of the first n held bytes. The fault is recorded once it is written.
func (l *loop) deliver(f *flow, n int, frame []byte, t *telling) {
	h := f.held
	h.drop(n)
	t.delivered = frame[4:]
	h.telling = t
	l.send(f, frame, t.seen)
}

// look reads as much of a frame's header as the rules need. It reports false for a frame that no rule can concern:
// one without a readable header, or a response to no known request.
func (g *gate) look(frame []byte, dir wire.Direction) (key, version int16, body []byte, ok bool) {
	if dir == wire.Request {
		h, body, err := wire.ParseRequestHeader(frame)
		return h.Key, h.Version, body, err == nil
	}
	if len(frame) < 4 {
		return 0, 0, nil, false
	}
	id := int32(binary.BigEndian.Uint32(frame))
	for _, o := range g.open {
		if o.correlation == id {
			_, body, err := wire.ParseResponseHeader(frame, o.key, o.version)
			return o.key, o.version, body, err == nil
		}
	}
	return 0, 0, nil, false
}

// introduce learns from a request who the client is.
func (g *gate) introduce(frame []byte) {
	h, _, err := wire.ParseRequestHeader(frame)
	if err == nil {
		g.client, g.known = clientNode(h.ClientID), true
	}
}

// maxOpen bounds the requests that are remembered without an answer. Kafka's controllers have one.
const maxOpen = 1024

// passed keeps the open requests: one that has been let through is open, its answer closes it.
func (g *gate) passed(frame []byte, dir wire.Direction, key, version int16) {
	if dir == wire.Request {
		if len(frame) < 8 {
			return
		}
		if len(g.open) == maxOpen {
			g.open = append(g.open[:0], g.open[1:]...)
		}
		g.open = append(g.open, openRequest{int32(binary.BigEndian.Uint32(frame[4:])), key, version})
		return
	}
	if len(frame) < 4 {
		return
	}
	id := int32(binary.BigEndian.Uint32(frame))
	for i, o := range g.open {
		if o.correlation == id {
			g.open = append(g.open[:i], g.open[i+1:]...)
			return
		}
	}
}

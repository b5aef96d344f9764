package shadow

import (
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// frame takes in a frame. Who wrote it is judged by what it wrote; what the other end got decides what the answer
// is an answer to.
func (c *Checker) frame(o *recordings.Observation) {
	k := c.connOf(o)
	c.counts.Frames++
	sent, withheld, delivered := o.Frame.Bytes, o.Withheld, true
	if f := o.Fault; f != nil {
		c.counts.Faults++
		delivered = f.Delivered
		switch {
		case c.options.FaultAsPeer && !delivered:
			k.holes = true
			return // the peer did not send it
		case c.options.FaultAsPeer:
			defer func() { k.holes = true }()
		default:
			k.holes = true
			c.second.blind(c, k, "a frame that a fault rule touched", o.At.Seen)
			if f.Sent != nil {
				sent, withheld = f.Sent, f.Withheld
				c.altered(k, o)
			}
		}
	}
	if k.raw {
		return
	}
	if k.torn {
		k.torn = false
		c.missing(k, k.tornBy, 1, o.At.Seen)
	}
	if len(sent) == 0 {
		k.holes = true
		return
	}
	if o.Dir == wire.Request {
		c.requestFrame(k, o, sent, delivered)
	} else {
		c.responseFrame(k, o, sent, withheld)
	}
}

// altered takes in that a frame was delivered with other content. Rules that compare what nodes do with each
// other hold only among nodes that hear each other's own words.
func (c *Checker) altered(k *conn, o *recordings.Observation) {
	if !o.Fault.Delivered {
		return
	}
	if !c.tampered {
		c.tampered = true
		c.note("frames were altered in flight; from then on rules across nodes are not held against them")
	}
	if k.client != nil && o.Dir == wire.Response {
		k.client.misled = c.order
	}
}

// requestFrame takes in a request. sent is what the client wrote.
func (c *Checker) requestFrame(k *conn, o *recordings.Observation, sent []byte, delivered bool) {
	h, body, err := wire.ParseRequestHeader(sent)
	if err != nil {
		c.unreadable(k, o, "a request that cannot be read")
		return
	}
	var sender *node // of this request; a connection might carry others' as well
	if id, ok := raftClientID(h.ClientID); ok {
		if k.client == nil || k.client.id != id {
			if k.client != nil {
				k.client.leave(c, k)
			}
			k.client, k.firstRequest = c.node(id), 0
		}
		sender = k.client
	}
	r := ref{
		number: o.Number, conn: o.Conn.ID, stream: o.Conn.Stream, seq: o.Seq, order: c.order, at: o.At.Seen,
		key: h.Key, version: h.Version, dir: wire.Request, from: kraft.NoNode, to: kraft.NoNode,
	}
	if kind, ok := kindOf(h.Key, wire.Request); ok {
		c.raftRequest(k, o, kind, h, sent, body, r, sender)
	} else {
		c.otherRequest(k, h, body, &r)
	}
	if sender != nil {
		if k.firstRequest == 0 {
			k.firstRequest = c.order
			k.client.join(c, k, wire.Request, o.At.Seen)
		}
		k.lastRequest = c.order
		k.client.confirm(c)
	}
	sentHeader, sentBody := h, body
	if !delivered {
		c.second.request(c, k, o, sender, sentHeader, sentBody, nil)
		return
	}
	if o.Fault != nil {
		if h, body, err = wire.ParseRequestHeader(o.Frame.Bytes); err != nil {
			k.holes = true
			return
		}
		r.key, r.version = h.Key, h.Version
	}
	c.second.request(c, k, o, sender, sentHeader, sentBody, body)
	if len(k.open) >= maxOpenRequests {
		k.pairer.Reset()
		k.open, k.holes = k.open[:0], true
	}
	x := k.pairer.Request(h, body, o.At, o.Seq)
	k.open = append(k.open, openRequest{exchange: x, order: c.order, at: min(o.At.Seen, o.At.Forwarded), ref: r})
}

// maxOpenRequests bounds how many requests of one connection wait for their answer. A controller has at most one.
const maxOpenRequests = 512

// raftRequest decodes a request of the raft layer and hands it to the monitors.
func (c *Checker) raftRequest(k *conn, o *recordings.Observation, kind Kind, h wire.RequestHeader, sent, body []byte,
	r ref, sender *node,
) {
	m := &c.request
	m.reset(kind)
	m.key, m.version, m.conn, m.frame, m.body = h.Key, h.Version, k, sent, body
	if err := c.readRequest(m); err != nil {
		if !errors.Is(err, errOther) {
			c.counts.Undecodable++
		} else {
			m.peer, m.ref = c.server(k), r
			m.ref.from, m.ref.to = idOf(sender), idOf(m.peer)
			c.advice.shapeless(c, m)
		}
		return
	}
	c.counts.RaftFrames++
	if !k.ep.raft && kind != KindDescribeRequest {
		k.ep.raft = true
	}
	m.sender, m.peer = sender, c.server(k)
	m.ref = r
	m.ref.from, m.ref.to = idOf(m.sender), idOf(m.peer)
	m.when = Span{To: Moment{Stream: k.key.stream, Order: c.order, At: o.At.Seen}, Open: true}
	if m.sender == nil {
		c.memory.begins.heard(m.epoch)
		return
	}
	if k.raft == nil {
		k.raft = new(raftMemory)
	}
	oneIdentity{}.sameCluster(c, m)
	if c.otherCluster(m) {
		c.advice.stranger(c, m)
		return
	}
	if m.claimed >= 0 && m.claimed != m.sender.id {
		c.memory.begins.heard(m.epoch)
		c.memory.wire.impostor(c, m)
		return
	}
	c.dispatch(m)
}

// otherCluster reports whether a request belongs to another cluster than the one being judged.
func (c *Checker) otherCluster(m *message) bool {
	return c.cluster != "" && len(m.cluster) > 0 && string(m.cluster) != c.cluster || m.conn.ep.foreign(c)
}

func idOf(n *node) kraft.NodeID {
	if n == nil {
		return kraft.NoNode
	}
	return n.id
}

// otherRequest looks at a request that is not the raft layer's.
func (c *Checker) otherRequest(k *conn, h wire.RequestHeader, body []byte, r *ref) {
	switch h.Key {
	case wire.KeySaslHandshake:
		if h.Version == 0 {
			k.raw = true // what follows are bare tokens (Kafka: SaslServerAuthenticator)
		}
	case wire.KeyAPIVersions:
		if k.client == nil || h.Version < 3 {
			return
		}
		if decoded, err := c.decoder.Request(h.Key, h.Version, body); err == nil {
			v := decoded.(*kmsg.ApiVersionsRequest)
			k.client.software(c, v.ClientSoftwareName, v.ClientSoftwareVersion)
		}
	case wire.KeyControllerRegistration:
		if decoded, err := c.decoder.Request(h.Key, h.Version, body); err == nil && !c.scouting {
			r.line = wire.Name(h.Key) + " v" + strconv.Itoa(int(h.Version))
			c.advice.setup.asks(decoded.(*kmsg.ControllerRegistrationRequest), *r)
		}
	}
}

// registered looks at the answer to a controller that wants to be registered.
func (c *Checker) registered(x *wire.Exchange, at int64) {
	req, err := c.decoder.Request(x.Header.Key, x.Header.Version, x.Request)
	if err != nil || c.scouting {
		return
	}
	asked := *req.(*kmsg.ControllerRegistrationRequest)
	resp, err := c.decoder.Response(x.Header.Key, x.Header.Version, x.Response)
	if err == nil {
		c.advice.setup.answered(&asked, resp.(*kmsg.ControllerRegistrationResponse).ErrorCode, at)
	}
}

// responseFrame takes in a response. sent is what the server wrote.
func (c *Checker) responseFrame(k *conn, o *recordings.Observation, sent []byte, withheld withheldParts) {
	r := ref{
		number: o.Number, conn: o.Conn.ID, stream: o.Conn.Stream, seq: o.Seq, order: c.order, at: o.At.Seen,
		dir: wire.Response, from: kraft.NoNode, to: idOf(k.client),
	}
	x, err := k.pairer.Response(sent, o.At)
	if err != nil {
		c.strayResponse(k, o, err, r)
		return
	}
	defer k.pairer.Release(x)
	req, position, ok := k.takeOpen(x)
	if !ok {
		return
	}
	r.key, r.version = x.Header.Key, x.Header.Version
	if k.firstResponse == 0 {
		k.firstResponse = c.order
	}
	k.lastResponse = c.order
	if n := c.server(k); n != nil {
		if k.ep.grade >= ownWord {
			n.join(c, k, wire.Response, o.At.Seen)
		}
		defer n.confirm(c)
	}
	if position > 0 {
		c.overtaken(k, position, x, r)
	}
	switch x.Header.Key {
	case wire.KeyAPIVersions:
		k.offered(x, o.Fault != nil)
		if o.Fault == nil {
			c.advice.setup.offered(c, k.ep, x.Header.Version, x.Response)
		}
	case wire.KeyControllerRegistration:
		c.registered(x, o.At.Seen)
	}
	if kind, ok := kindOf(x.Header.Key, wire.Response); ok {
		c.raftResponse(k, o, kind, x, &req, sent, withheld, r)
	}
}

// overtaken takes in that a response came before those of older requests. After a gap their responses are lost.
func (c *Checker) overtaken(k *conn, older int, x *wire.Exchange, r ref) {
	if !k.holes && !k.midway {
		c.memory.wire.outOfOrder(c, k, x, r)
		return
	}
	for _, lost := range k.open[:older] {
		if _, ok := kindOf(lost.ref.key, wire.Response); ok && k.ep.raft {
			if n := c.server(k); n != nil {
				n.unjudged("lost in a gap", 1)
			}
		}
	}
	k.open = append(k.open[:0], k.open[older:]...)
}

// strayResponse takes in a response that no request belongs to.
func (c *Checker) strayResponse(k *conn, o *recordings.Observation, err error, r ref) {
	if !errors.Is(err, wire.ErrUnpaired) {
		c.unreadable(k, o, "a response that cannot be read")
		return
	}
	if k.holes || k.midway || !k.decoded {
		return
	}
	c.memory.wire.stray(c, k, r)
}

// unreadable takes in a frame that should be Kafka's and is not.
func (c *Checker) unreadable(k *conn, o *recordings.Observation, what string) {
	c.counts.Undecodable++
	k.holes = true
	c.second.blind(c, k, what, o.At.Seen)
	if n := c.server(k); n != nil && k.ep.raft {
		n.blind(what, o.At.Seen)
	}
}

// raftResponse decodes a response of the raft layer, a decision of its server, and hands it to the monitors.
func (c *Checker) raftResponse(k *conn, o *recordings.Observation, kind Kind, x *wire.Exchange, req *openRequest,
	sent []byte, withheld withheldParts, r ref,
) {
	m := &c.response
	m.reset(kind)
	m.key, m.version, m.conn, m.request = x.Header.Key, x.Header.Version, k, x
	m.body = x.Request
	m.kind = kind - 1
	err := c.readRequest(m)
	if errors.Is(err, errOther) {
		return
	}
	if kind == KindDescribeResponse && !k.ep.raft && k.ep.grade < given {
		return // on a broker's listener
	}
	m.asked = m.epoch
	m.epoch, m.leader, m.leads, m.directory = -1, kraft.NoNode, false, kraft.DirectoryID{}
	m.kind, m.frame, m.body, m.withheld = kind, sent, x.Response, withheld
	if err == nil {
		if o.Frame.Cut && (o.Fault == nil || o.Fault.Sent == nil) {
			err = wire.ErrCut
		} else {
			err = c.readResponse(m)
		}
	}
	if err != nil {
		c.undecided(k, o, err)
		return
	}
	c.counts.RaftFrames++
	k.decoded = true
	c.learn(m)
	c.second.response(c, k, o, x, x.Response, withheld)
	c.decided(k, o, m, req, r)
}

// undecided counts a decision that cannot be judged because it cannot be decoded.
func (c *Checker) undecided(k *conn, o *recordings.Observation, err error) {
	c.counts.Undecodable++
	c.second.blind(c, k, "a message that cannot be decoded", o.At.Seen)
	reason := "undecodable"
	switch {
	case errors.Is(err, wire.ErrUnsupported):
		reason = "a version that is not known"
	case errors.Is(err, wire.ErrCut), errors.Is(err, wire.ErrTooBig):
		reason = "larger than what is kept"
	}
	n := c.server(k)
	if n == nil {
		k.ep.unjudged++
		k.ep.reason = reason
		return
	}
	n.unjudged(reason, 1)
	n.blind(reason, o.At.Seen)
}

// decided counts a decision and hands it to the monitors.
func (c *Checker) decided(k *conn, o *recordings.Observation, m *message, req *openRequest, r ref) {
	n := c.server(k)
	if n == nil {
		if !k.ep.foreign(c) {
			k.ep.unjudged++
			k.ep.reason = "the node behind the listener is not known"
		}
		return
	}
	if k.ep.grade >= ownWord {
		n.join(c, k, wire.Response, o.At.Seen)
	}
	m.sender, m.peer, m.ref = n, k.client, r
	m.ref.from, m.ref.weak = n.id, k.ep.grade < ownWord
	m.askedRef = req.ref
	m.askedRef.from, m.askedRef.to = idOf(m.peer), n.id
	stream := k.key.stream
	m.when = Span{From: Moment{stream, req.order, req.at}, To: Moment{stream, c.order, o.At.Seen}}
	n.decided(o.At.Seen)
	c.dispatch(m)
}

// dispatch hands a message to the monitors, then to the view of the quorum.
func (c *Checker) dispatch(m *message) {
	if c.scouting {
		return
	}
	for _, monitor := range c.monitors[m.kind] {
		monitor.observe(c, m)
	}
	if m.sender != nil {
		m.sender.attest(c, m)
	}
	c.advice.observe(c, m)
	c.quorum.observe(c, m)
}

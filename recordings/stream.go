package recordings

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// observe queues an observation of a flow's connection at the current packet.
func (c *Capture) observe(f *flow, kind Kind) *Observation {
	at := wire.Stamp{Seen: c.at, Forwarded: c.at}
	if c.since != 0 {
		at.Forwarded = c.since
	}
	c.queue = append(c.queue, Observation{Kind: kind, Conn: f.conn, Number: c.number, At: at})
	return &c.queue[len(c.queue)-1]
}

// connect makes the connection of a flow, once its client is known.
func (c *Capture) connect(f *flow, client int) {
	if f.conn != nil {
		return
	}
	f.client = client
	server := f.sides[1-client].addr
	f.conn = &Conn{
		ID: f.order, Node: kraft.NoNode, Endpoint: server.String(),
		Client: f.sides[client].addr, Server: server, Midway: f.midway,
	}
	c.observe(f, KindOpen)
}

func (f *flow) direction(side int) wire.Direction {
	if side == f.client {
		return wire.Request
	}
	return wire.Response
}

// stream cuts bytes that are in order into frames.
func (c *Capture) stream(f *flow, side int, data []byte) {
	s := &f.sides[side]
	if s.dead {
		return
	}
	if !s.sync && s.count == 0 && s.frames.Pending() == 0 && isTLS(data) {
		s.dead = true
		c.gap(f, side, Gap{Reason: "TLS: what it carries cannot be read", Bytes: -1, Frames: -1, Fatal: true})
		return
	}
	if s.sync {
		if data = c.synchronise(f, side, data); data == nil {
			return
		}
	}
	s.frames.Push(data)
	for {
		frame, ok, err := s.frames.Next()
		if err != nil {
			c.broken(f, side, 0, fmt.Sprintf("undecodable: %v", err))
			return
		}
		if !ok {
			return
		}
		c.frame(f, side, frame)
	}
}

// frame queues a frame.
func (c *Capture) frame(f *flow, side int, frame wire.Frame) {
	s := &f.sides[side]
	at := len(c.arena)
	c.arena = append(c.arena, frame.Bytes...)
	frame.Bytes = c.arena[at:len(c.arena):len(c.arena)]
	o := c.observe(f, KindFrame)
	o.Dir, o.Seq, o.Frame = f.direction(side), s.count, frame
	s.count++
	if o.Dir == wire.Response {
		f.pairs.take(frame.Bytes)
	} else if h, _, err := wire.ParseRequestHeader(frame.Bytes); err == nil {
		f.pairs.add(&h)
	}
}

func (c *Capture) gap(f *flow, side int, g Gap) {
	if f.conn == nil {
		return
	}
	o := c.observe(f, KindGap)
	o.Dir, o.Gap = f.direction(side), &g
}

// broken says that n bytes are missing, or that those here are not Kafka's, and makes ready to pick the stream up
// where a frame begins. What was collected of a frame is lost too.
func (c *Capture) broken(f *flow, side int, n int64, reason string) {
	s := &f.sides[side]
	if s.dead {
		return
	}
	partial := int64(s.frames.Pending())
	s.frames = wire.Splitter{Limit: maxImportFrame}
	if s.sync { // nothing was handed out since the last gap
		s.lost += n + int64(len(s.search))
		s.search, s.starts = nil, nil
		return
	}
	s.sync = true
	bytes := n + partial
	if bytes == 0 {
		bytes = -1
	}
	c.gap(f, side, Gap{Reason: reason, Bytes: bytes, Frames: -1})
}

// synchronise looks for the begin of a frame and returns the bytes from there on, or nil.
func (c *Capture) synchronise(f *flow, side int, data []byte) []byte {
	s := &f.sides[side]
	if f.client >= 0 && f.client != side {
		return c.findResponse(f, side, data)
	}
	s.search = append(s.search, data...)
	i := findRequest(s.search)
	if i < 0 {
		if extra := len(s.search) - requestHead - maxClientID; extra > 0 { // no request begins there
			s.lost += int64(extra)
			s.search = append([]byte(nil), s.search[extra:]...)
		}
		return nil
	}
	if f.client < 0 {
		c.connect(f, side)
		other := &f.sides[1-side] // its bytes so far belong to requests that were not seen
		other.lost += int64(len(other.search))
		other.search = nil
	}
	s.lost += int64(i)
	found := s.search[i:]
	s.search = nil
	c.resume(f, side)
	return found
}

// findResponse looks for a response at the begin of segments: a server writes it at once. A begin of which too little
// is there waits for the next segment.
func (c *Capture) findResponse(f *flow, side int, data []byte) []byte {
	s := &f.sides[side]
	s.starts = append(s.starts, len(s.search))
	s.search = append(s.search, data...)
	for len(s.starts) > 0 && len(s.search)-s.starts[0] >= responseHead {
		at := s.starts[0]
		s.starts = s.starts[1:]
		if beginsResponse(s.search[at:], &f.pairs) {
			found := s.search[at:]
			s.lost += int64(at)
			s.search, s.starts = nil, nil
			c.resume(f, side)
			return found
		}
	}
	rest := len(s.search)
	if len(s.starts) > 0 {
		rest = s.starts[0]
	}
	s.lost += int64(rest)
	s.search = append(s.search[:0], s.search[rest:]...)
	for i := range s.starts {
		s.starts[i] -= rest
	}
	return nil
}

// resume ends the search for a frame.
func (c *Capture) resume(f *flow, side int) {
	c.unread(f, side)
	f.sides[side].sync = false
}

// unread tells of bytes that were passed over.
func (c *Capture) unread(f *flow, side int) {
	s := &f.sides[side]
	if s.lost > 0 {
		reason := "bytes before the first whole frame"
		if s.count > 0 || !f.midway {
			reason = "bytes before the next whole frame"
		}
		c.gap(f, side, Gap{Reason: reason, Bytes: s.lost, Frames: -1})
		s.lost = 0
	}
}

package recordings

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// chunk collects blocks that become one zstd frame. It stands for itself: each connection in it is
// described where it first occurs, so a reader may begin at any chunk or pass over a damaged one.
type chunk struct {
	buf     []byte
	shown   []shownInterface // the interfaces declared before this chunk
	tallies []tally
	given   []tally // what was given up since the chunk before
	first   int64   // instant of its first observation
	blocks  uint64  // packet blocks
	mark    int     // where in buf the number of the first packet block stands
	frames  int64
	stored  bool   // not to be compressed
	scratch []byte // payload of the observation being added
	meta    []byte // its machine fields
}

// tally counts what a chunk holds of one connection, so that its loss can be told.
type tally struct {
	conn   *Conn
	state  *connState
	next   [2]uint32 // the sequence numbers before the chunk
	frames [2]int64
	bytes  [2]int64
	at     int64 // instant of the last observation
	closed bool
	reset  bool
}

// merge adds what was lost later.
func (t *tally) merge(o *tally) {
	for d := range t.frames {
		t.frames[d] += o.frames[d]
		t.bytes[d] += o.bytes[d]
	}
	t.at, t.closed, t.reset = o.at, o.closed, o.reset
}

// shownInterface is an interface of the pcapng file: an endpoint that is proxied or was captured.
type shownInterface struct{ name, description string }

// connState is what the writer knows of a connection.
type connState struct {
	iface  uint32
	shown  [2]netip.AddrPort // the addresses in the synthetic headers
	heads  [2]tcpHead
	next   [2]uint32 // synthetic TCP sequence numbers
	tally  int       // index in the current chunk, valid if the tally there is of this state
	pairs  requests
	raw    bool      // SASL tokens without headers follow (SaslHandshake v0)
	client string    // client id
	prefix [2][]byte // who speaks to whom, for people
}

func (c *chunk) reset(shown []shownInterface) {
	*c = chunk{
		buf: c.buf[:0], shown: shown, tallies: c.tallies[:0],
		scratch: c.scratch[:0], meta: c.meta[:0],
	}
	if cap(c.buf) > 4<<20 { // do not keep the memory of a rare big frame
		c.buf, c.scratch, c.meta = nil, nil, nil
	}
}

func (c *chunk) empty() bool { return c.blocks == 0 }

// number tells the chunk its place: a reader sees when chunks are missing, come twice or in another order.
func (c *chunk) number(first uint64) { binary.LittleEndian.PutUint64(c.buf[c.mark:], first) }

// touch returns the tally of the connection, and whether this is its first observation in the chunk.
func (c *chunk) touch(state *connState, conn *Conn, at int64) (t *tally, first bool) {
	if state.tally < len(c.tallies) && c.tallies[state.tally].state == state {
		return &c.tallies[state.tally], false
	}
	state.tally = len(c.tallies)
	c.tallies = append(c.tallies, tally{conn: conn, state: state, next: state.next, at: at})
	return &c.tallies[state.tally], true
}

// add appends the blocks of an observation. The payload is what the receiver got, with its size field; comment is
// for people.
func (c *chunk) add(s *connState, o *Observation, correlation int32, payload, comment []byte) {
	if c.empty() {
		c.first = o.At.Seen
	}
	t, describe := c.touch(s, o.Conn, o.At.Seen)
	t.at = o.At.Seen
	c.meta = appendMeta(c.meta[:0], o, describe, correlation)
	switch o.Kind {
	case KindOpen:
		c.open(s, o, comment)
	case KindFrame:
		c.data(s, o, payload, comment)
		c.frames++
		t.frames[o.Dir]++
		t.bytes[o.Dir] += int64(len(payload))
	case KindGap:
		if o.Gap.Bytes > 0 {
			s.next[o.Dir] += uint32(min(o.Gap.Bytes, 1<<20))
		}
		c.packet(s, o.Dir, tcpAck, o.At.Seen, nil, 0, c.meta, partFirst, comment)
	case KindClose:
		flags := byte(tcpFin | tcpAck)
		if o.Reset {
			flags = tcpRst | tcpAck
		}
		c.packet(s, wire.Request, flags, o.At.Seen, nil, 0, c.meta, partFirst, comment)
		t.closed, t.reset = true, o.Reset
	}
}

// open shows the handshake of a new connection; one that was already open is shown by an empty segment.
func (c *chunk) open(s *connState, o *Observation, comment []byte) {
	if o.Conn.Midway {
		c.packet(s, wire.Request, tcpAck, o.At.Seen, nil, 0, c.meta, partFirst, comment)
		return
	}
	s.next[wire.Request]--
	s.next[wire.Response]--
	c.packet(s, wire.Request, tcpSyn, o.At.Seen, nil, 0, c.meta, partFirst, comment)
	s.next[wire.Request]++
	c.packet(s, wire.Response, tcpSyn|tcpAck, o.At.Seen, nil, 0, nil, 0, nil)
	s.next[wire.Response]++
}

// data cuts payload and meta over as many blocks as they need.
func (c *chunk) data(s *connState, o *Observation, payload, comment []byte) {
	meta, part := c.meta, byte(partFirst)
	missing := 0 // bytes of a cut frame that are not there, shown in its last block
	if o.Frame.Cut {
		missing = o.Frame.Size - len(o.Frame.Bytes)
	}
	for {
		p, m := payload[:min(len(payload), maxPayload)], meta[:min(len(meta), maxOption)]
		payload, meta = payload[len(p):], meta[len(m):]
		flags := byte(tcpAck)
		if len(payload) > 0 || len(meta) > 0 {
			part |= partMore
		} else if len(p) > 0 {
			flags |= tcpPsh
		}
		if part&partMore == 0 {
			c.packet(s, o.Dir, flags, o.At.Seen, p, missing, m, part, comment)
			s.next[o.Dir] += uint32(len(p) + missing)
			return
		}
		c.packet(s, o.Dir, flags, o.At.Seen, p, 0, m, part, comment)
		s.next[o.Dir] += uint32(len(p))
		part, comment = 0, nil
	}
}

// packet appends one enhanced packet block. Without a part there are no machine fields.
func (c *chunk) packet(s *connState, dir wire.Direction, flags byte, at int64, payload []byte, missing int,
	meta []byte, part byte, comment []byte,
) {
	head := &s.heads[dir]
	size := len(head.bytes) + len(payload)
	carried := min(len(payload)+missing, 65535-len(head.bytes)) // what the IP header can tell
	b, start := beginBlock(c.buf, blockPacket)
	b = appendPacketHead(b, s.iface, at, size, len(head.bytes)+carried)
	ack := s.next[1-dir]
	if flags == tcpSyn {
		ack = 0
	}
	b = head.append(b, s.next[dir], ack, flags, carried)
	b = append(b, payload...)
	b = pad4(b, size)
	if part != 0 || meta != nil {
		var opt int
		b, opt = beginCustom(b)
		if c.blocks == 0 {
			part |= partNumbered
		}
		b = append(b, metaVersion, part)
		if c.blocks == 0 {
			c.mark = len(b)
			b = binary.LittleEndian.AppendUint64(b, 0)
		}
		b = append(b, meta...)
		b = endCustom(b, opt)
	}
	if len(comment) > 0 {
		b = appendOption(b, optComment, comment)
	}
	c.buf = endBlock(endOptions(b), start)
	c.blocks++
}

// interfaceOf names the endpoint of a connection.
func interfaceOf(c *Conn) shownInterface {
	name := c.Endpoint
	if name == "" {
		name = c.Server.String()
	}
	description := "listener " + c.Server.String()
	if c.Node != kraft.NoNode {
		name = fmt.Sprintf("node %d %s", c.Node, name)
	}
	return shownInterface{name, description}
}

// appendPayload is a frame with its size field.
func appendPayload(b []byte, f *wire.Frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.Size))
	return append(b, f.Bytes...)
}

package recordings

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
)

// Capture reads a pcap or pcapng file, as tcpdump, dumpcap and Wireshark write them: a [Source]. It puts the
// TCP streams together, cuts them into frames and finds out which side of a connection is the listener. Missing
// segments, and what could not be made sense of, become gaps.
type Capture struct {
	damages
	name    string
	packets packetReader
	ended   error

	flows   map[[2]netip.AddrPort]flowRef // by source and destination
	gone    map[[2]netip.AddrPort]uint32  // connections that have ended: the sequence number behind the source's last byte
	limit   int                           // of connections at once
	last    flowRef
	lastKey [2]netip.AddrPort
	opened  uint64 // connections
	strange bool   // packets of a link type that is not known were seen
	at      int64  // of the current packet
	since   int64  // if not 0, what is handed on now may have passed since then: its packets are out of order
	number  uint64
	packet  packet
	tcp     tcpSegment

	queue []Observation
	taken int
	arena []byte // frames of queue
}

// flowRef is a flow and the side that sends.
type flowRef struct {
	flow *flow
	side int
}

const (
	// maxFlows bounds the connections that are followed at once.
	maxFlows = 1 << 16
	// maxGone bounds the ended connections whose late segments are known for what they are.
	maxGone = 1 << 12
	// maxImportFrame bounds a frame that is kept whole: well beyond the 8 MiB of a Fetch answer.
	maxImportFrame = 32 << 20
)

// NewCapture reads a capture. name stands for it in errors.
func NewCapture(in io.Reader, name string) (*Capture, error) {
	buffered, ok := in.(*bufio.Reader)
	if !ok {
		buffered = bufio.NewReaderSize(in, readAhead)
	}
	c := &Capture{name: name, limit: maxFlows, flows: map[[2]netip.AddrPort]flowRef{}, gone: map[[2]netip.AddrPort]uint32{}}
	head, _ := buffered.Peek(4)
	var err error
	switch formatOf(head) {
	case formatPcap:
		c.packets, err = newPcapReader(buffered)
	case formatPcapng:
		c.packets = &pcapngReader{blockInput: blockInput{in: buffered}}
	default:
		err = ErrNotCapture
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// ErrNotCapture marks a file that is not a capture.
var ErrNotCapture = errors.New("not a pcap or pcapng file")

// Next implements [Source].
func (c *Capture) Next(o *Observation) error {
	for c.taken == len(c.queue) {
		if c.ended != nil {
			return c.ended
		}
		c.queue, c.taken, c.arena = c.queue[:0], 0, c.arena[:0]
		if cap(c.arena) > 4<<20 { // do not keep the memory of a rare big frame
			c.arena = nil
		}
		c.read()
	}
	*o = c.queue[c.taken]
	c.taken++
	return nil
}

// read takes in the next packet.
func (c *Capture) read() {
	p := &c.packet
	if err := c.packets.next(p); err != nil {
		c.end(err)
		return
	}
	c.at, c.number = p.at, p.number
	if !linkKnown(p.link) {
		if !c.strange {
			c.strange = true
			c.add(c.name, c.packets.offset(), fmt.Errorf("packets of link type %d cannot be read", p.link))
		}
		return
	}
	if ip := networkLayer(p.link, p.data); ip != nil && parseIP(ip, &c.tcp) {
		c.segment(&c.tcp)
	}
}

// end deals with the end of the file: what waits for a missing segment will not get it.
func (c *Capture) end(err error) {
	c.ended = io.EOF
	switch {
	case errors.Is(err, io.EOF):
	case errors.Is(err, ErrCut), errors.Is(err, errPacket):
		c.add(c.name, c.packets.offset(), err)
	default:
		c.ended = fmt.Errorf("read %s at offset %d: %w", c.name, c.packets.offset(), err)
	}
	open := make([]*flow, 0, len(c.flows)/2)
	for _, ref := range c.flows {
		if ref.side == 0 {
			open = append(open, ref.flow)
		}
	}
	slices.SortFunc(open, func(a, b *flow) int { return cmp.Compare(a.order, b.order) })
	for _, f := range open {
		c.loseRest(f)
	}
}

// segment takes in a TCP segment.
func (c *Capture) segment(t *tcpSegment) {
	ref, ok := c.flowOf(t)
	if !ok {
		return
	}
	f := ref.flow
	s, peer := &f.sides[ref.side], &f.sides[1-ref.side]
	f.at = c.at
	f.packets++
	if t.flags&tcpAck != 0 && peer.started {
		peer.ack(t.ack, f, c.at)
	}
	seq := t.seq
	if t.flags&tcpSyn != 0 {
		if !s.started {
			s.begin(seq + 1)
		}
		client := ref.side
		if t.flags&tcpAck != 0 {
			client = 1 - ref.side
			if !peer.started { // its SYN is late in the capture, or lost
				peer.begin(t.ack)
			}
		}
		c.connect(f, client)
		seq++
	}
	if len(t.payload)+t.missing > 0 {
		c.data(f, ref.side, seq, t)
	}
	if end := seq + uint32(len(t.payload)+t.missing); t.flags&tcpFin != 0 && !s.finned {
		s.finned, s.fin = true, end
		if !s.started { // joined midway, and silent since
			s.begin(end)
			s.sync = true
		}
	}
	for i := range f.sides {
		for f.sides[i].lossy(f, c.at) {
			c.lose(f, i)
		}
	}
	switch {
	case t.flags&tcpRst != 0:
		c.close(f, true)
	case s.ended() && peer.ended():
		c.close(f, false)
	}
}

// flowOf finds the flow of a segment, or begins one. It reports false for segments that tell nothing.
func (c *Capture) flowOf(t *tcpSegment) (flowRef, bool) {
	key := [2]netip.AddrPort{t.src, t.dst}
	ref := c.last
	if key != c.lastKey || ref.flow == nil {
		ref = c.flows[key]
	}
	if f := ref.flow; f != nil && t.flags&tcpSyn != 0 && f.sides[ref.side].started && f.reused(ref.side, t) {
		c.close(f, false) // the ports are used again; the end of the old connection was not seen
		ref.flow = nil
	}
	if ref.flow == nil {
		if t.flags&tcpRst != 0 || t.flags&tcpSyn == 0 && len(t.payload)+t.missing == 0 || c.late(key, t) {
			return flowRef{}, false
		}
		if len(c.flows) >= 2*c.limit {
			c.evict()
		}
		c.opened++
		f := &flow{client: -1, order: c.opened, midway: t.flags&tcpSyn == 0}
		f.sides[0].addr, f.sides[1].addr = t.src, t.dst
		f.sides[0].frames.Limit, f.sides[1].frames.Limit = maxImportFrame, maxImportFrame
		ref = flowRef{flow: f}
		c.flows[key] = ref
		c.flows[[2]netip.AddrPort{t.dst, t.src}] = flowRef{f, 1}
	}
	c.last, c.lastKey = ref, key
	return ref, true
}

// late reports whether a segment repeats what an ended connection sent. It must not be taken for a new connection:
// what it says was said long ago.
func (c *Capture) late(key [2]netip.AddrPort, t *tcpSegment) bool {
	end, ok := c.gone[key]
	return ok && t.flags&tcpSyn == 0 && !before(end, t.seq+uint32(len(t.payload)+t.missing))
}

// evict makes room: the half of the flows that was silent longest is given up.
func (c *Capture) evict() {
	at := make([]int64, 0, len(c.flows))
	for _, ref := range c.flows {
		at = append(at, ref.flow.at)
	}
	slices.Sort(at)
	limit := at[len(at)/2]
	var old []*flow
	for _, ref := range c.flows {
		if ref.side == 0 && ref.flow.at <= limit {
			old = append(old, ref.flow)
		}
	}
	slices.SortFunc(old, func(a, b *flow) int { return cmp.Compare(a.order, b.order) })
	for _, f := range old {
		c.close(f, false)
	}
	c.add(c.name, c.packets.offset(), fmt.Errorf("more than %d connections at once: those that were silent longest are taken as closed", c.limit))
}

// data takes in the payload of a segment.
func (c *Capture) data(f *flow, side int, seq uint32, t *tcpSegment) {
	s := &f.sides[side]
	if !s.started { // joined midway
		s.begin(seq)
		s.sync = true
		if !f.midway {
			c.gap(f, side, Gap{Reason: "the begin of the connection is not in the capture", Bytes: -1, Frames: -1})
		}
	}
	payload := t.payload
	if known := int32(s.next - seq); known > 0 { // retransmitted, wholly or in part
		if int(known) >= len(payload)+t.missing {
			return
		}
		skip := min(int(known), len(payload))
		payload, seq = payload[skip:], seq+uint32(skip)
	}
	if seq != s.next && before(s.next, seq) || f.unasked(side) {
		s.keepLater(seq, payload, c.at)
		return
	}
	c.take(f, side, payload)
	if t.missing > 0 && seq+uint32(len(payload)) == s.next {
		c.missing(f, side, t.missing, "the capture cut its packets")
	}
	c.join(f, side)
	c.join(f, 1-side) // answers that waited for these requests
}

// join hands on what waited and is in order now.
func (c *Capture) join(f *flow, side int) {
	if f.unasked(side) {
		return
	}
	s := &f.sides[side]
	now := c.at
	for data, at := s.joined(); data != nil; data, at = s.joined() {
		c.at, c.since = max(now, at), min(now, at)
		c.take(f, side, data)
		c.at, c.since = now, 0
	}
}

// take hands on bytes that are in order.
func (c *Capture) take(f *flow, side int, data []byte) {
	if len(data) == 0 {
		return
	}
	f.sides[side].advance(len(data), f, c.at)
	c.stream(f, side, data)
}

// lose gives up the bytes of a hole, and what waited behind it: that was said before what other connections have said
// meanwhile, and would come after it.
func (c *Capture) lose(f *flow, side int) {
	s := &f.sides[side]
	end, _ := s.hole()
	if n := len(s.later); n > 0 {
		end = s.later[n-1].seq + uint32(len(s.later[n-1].data))
		s.later, s.held = nil, 0
	}
	c.missing(f, side, int(end-s.next), "lost segments")
	if peer := &f.sides[1-side]; side == f.client && len(peer.later) > 0 && peer.later[0].seq == peer.next {
		c.lose(f, 1-side) // answers that waited for these requests
	}
}

// missing goes on behind n bytes that the capture does not have.
func (c *Capture) missing(f *flow, side, n int, reason string) {
	f.sides[side].advance(n, f, c.at)
	c.broken(f, side, int64(n), reason)
}

// loseRest takes what is there of both directions, holes or not.
func (c *Capture) loseRest(f *flow) {
	for side := range f.sides {
		s := &f.sides[side]
		for {
			if _, missing := s.hole(); !missing {
				break
			}
			c.lose(f, side)
		}
		s.lost += int64(len(s.search))
		s.search, s.starts = nil, nil
		c.unread(f, side)
	}
}

// close ends a flow.
func (c *Capture) close(f *flow, reset bool) {
	c.loseRest(f)
	for side := range f.sides {
		if n := f.sides[side].frames.Pending(); n > 0 && !f.sides[side].dead {
			c.gap(f, side, Gap{Reason: "the connection ended within a frame", Bytes: int64(n), Frames: 0})
		}
	}
	if f.conn != nil {
		o := c.observe(f, KindClose)
		o.Reset = reset
	}
	if len(c.gone) >= maxGone {
		clear(c.gone)
	}
	for side := range f.sides {
		s := &f.sides[side]
		key := [2]netip.AddrPort{s.addr, f.sides[1-side].addr}
		delete(c.flows, key)
		delete(c.gone, key)
		if s.started {
			c.gone[key] = s.next
		}
	}
	c.last = flowRef{}
}

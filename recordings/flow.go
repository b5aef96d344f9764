package recordings

import (
	"net/netip"

	"github.com/understudy-kafka/understudy/wire"
)

// flow is one TCP connection in a capture.
type flow struct {
	conn    *Conn // nil until it is known which side is the client
	sides   [2]side
	client  int      // index of the side that sends requests; -1 if not known
	order   uint64   // among the flows of the capture, from 1
	packets uint64   // seen so far
	at      int64    // instant of the last packet
	midway  bool     // it began before the capture
	pairs   requests // without a response yet
}

// side is one direction of a flow: the bytes that addr sends.
type side struct {
	addr    netip.AddrPort
	started bool
	first   uint32 // sequence number of the first byte that was known of
	next    uint32 // sequence number of the next byte in order

	// A hole: later segments are here, the one at next is not; or that one waits for requests to be known.
	later   []laterSegment // in order, without overlap at their begin
	held    int            // bytes in later
	holedAt int64

	// What the peer has acknowledged. If it is beyond next, the missing bytes did arrive: only the capture lacks them.
	acked      uint32
	ackKnown   bool
	coveredAt  int64
	coveredPkt uint64 // packets of the flow when acked passed next; 0 if it has not

	fin    uint32 // sequence number behind the last byte
	finned bool

	frames wire.Splitter
	count  uint64 // frames handed out
	sync   bool   // the next bytes need not begin a frame
	search []byte // bytes looked through for the begin of a frame
	starts []int  // where segments begin in search that may begin a response
	lost   int64  // bytes passed over that no gap tells of yet
	dead   bool   // nothing further can be read
}

type laterSegment struct {
	seq  uint32
	data []byte
	at   int64 // instant of its packet
}

// The limits of waiting for a missing segment.
const (
	maxLaterBytes    = 4 << 20
	maxLaterSegments = 1024
	maxHoleAge       = 30_000_000_000 // longer than TCP retransmits with a live peer in practice, ns
	// Once the peer has acknowledged the missing bytes, they can only be late in the capture, not on the wire.
	coveredAge     = 20_000_000 // ns
	coveredPackets = 8
	// A SYN that comes so soon behind a segment that its connection may have begun with is late in the capture.
	lateSyn      = 16 // packets
	lateSynBytes = 64 << 10
)

// before reports whether sequence number a comes before b, modulo 2^32.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// keepLater remembers a segment behind a hole. Of overlapping bytes those that came first count, as a receiver does it.
func (s *side) keepLater(seq uint32, data []byte, at int64) {
	if len(s.later) == 0 {
		s.holedAt = at
	}
	i := 0
	for i < len(s.later) && before(s.later[i].seq, seq) {
		end := s.later[i].seq + uint32(len(s.later[i].data))
		if before(seq, end) {
			overlap := int(end - seq)
			if overlap >= len(data) {
				return
			}
			seq, data = end, data[overlap:]
		}
		i++
	}
	for i < len(s.later) && !before(s.later[i].seq, seq) { // what is known behind splits the rest
		known := s.later[i]
		room := int(known.seq - seq)
		if room >= len(data) {
			break
		}
		if room > 0 {
			s.insertLater(i, seq, data[:room], at)
			i++
		}
		skip := room + len(known.data)
		if skip >= len(data) {
			return
		}
		seq, data = known.seq+uint32(len(known.data)), data[skip:]
		i++
	}
	s.insertLater(i, seq, data, at)
}

func (s *side) insertLater(i int, seq uint32, data []byte, at int64) {
	if len(data) == 0 {
		return
	}
	s.later = append(s.later, laterSegment{})
	copy(s.later[i+1:], s.later[i:])
	s.later[i] = laterSegment{seq, append([]byte(nil), data...), at}
	s.held += len(data)
}

// joined takes the segment that follows in order from behind a hole that was filled, or returns nil.
func (s *side) joined() (data []byte, at int64) {
	for len(s.later) > 0 && !before(s.next, s.later[0].seq) {
		first := s.later[0]
		s.later = s.later[1:]
		s.held -= len(first.data)
		if known := int(s.next - first.seq); known < len(first.data) {
			return first.data[known:], first.at
		}
	}
	return nil, 0
}

// begin notes where the bytes of a side begin, as far as the capture tells.
func (s *side) begin(seq uint32) { s.started, s.first, s.next = true, seq, seq }

// advance moves next over n bytes.
func (s *side) advance(n int, f *flow, at int64) {
	s.next += uint32(n)
	s.coveredPkt = 0
	s.cover(f, at)
}

// cover notes since when the peer has acknowledged bytes that are not here.
func (s *side) cover(f *flow, at int64) {
	if s.ackKnown && s.coveredPkt == 0 && before(s.next, s.acked) {
		s.coveredAt, s.coveredPkt = at, f.packets
	}
}

// ack notes what the peer has acknowledged of this side's bytes.
func (s *side) ack(n uint32, f *flow, at int64) {
	if !s.ackKnown || before(s.acked, n) {
		s.acked, s.ackKnown = n, true
	}
	s.cover(f, at)
}

// hole returns where the missing bytes end, and whether there are any.
func (s *side) hole() (end uint32, ok bool) {
	switch {
	case len(s.later) > 0:
		return s.later[0].seq, true
	case s.finned && before(s.next, s.fin):
		return s.fin, true
	case s.started && !s.finned && s.ackKnown && before(s.next, s.acked):
		return s.acked, true
	}
	return 0, false
}

// lossy reports whether bytes are missing that will not come any more.
func (s *side) lossy(f *flow, at int64) bool {
	end, ok := s.hole()
	if !ok {
		return false
	}
	if s.held > maxLaterBytes || len(s.later) > maxLaterSegments || len(s.later) > 0 && at-s.holedAt > maxHoleAge {
		return true
	}
	return s.coveredPkt != 0 && !before(s.acked, end) &&
		(at-s.coveredAt >= coveredAge || f.packets-s.coveredPkt >= coveredPackets)
}

// unasked reports whether what a side says now may answer requests that the peer has acknowledged and the capture
// does not have, or not yet: it must not come before them, nor before the gap in their place.
func (f *flow) unasked(side int) bool {
	if f.client < 0 || side == f.client || f.sides[f.client].coveredPkt == 0 {
		return false
	}
	_, missing := f.sides[f.client].hole()
	return missing
}

// ended reports whether everything up to the end of the direction was taken.
func (s *side) ended() bool { return s.finned && !before(s.next, s.fin) }

// reused reports whether a SYN of this side begins another connection with the same ports, as opposed to being
// a repetition.
func (f *flow) reused(side int, t *tcpSegment) bool {
	s := &f.sides[side]
	if f.midway && f.packets < lateSyn && s.first-(t.seq+1) < lateSynBytes {
		return false // the capture has it behind the first segments
	}
	begun := s.count > 0 || s.lost > 0 || s.frames.Pending() > 0 || len(s.later) > 0 || s.finned
	return begun && t.flags&tcpAck == 0 || t.flags&tcpAck == 0 && t.seq+1 != s.next
}

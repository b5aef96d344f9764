package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// cycle is the traffic of a real quorum, to be played again and again: each time the quorum goes on where it
// stopped, with later epochs, greater offsets, new connections and a later time.
type cycle struct {
	list   []step
	frames int
	epochs int32
	offset int64
	length int64 // nanoseconds
	conns  uint64
}

// step is an observation; of a raft frame it has the decoded message.
type step struct {
	o           recordings.Observation
	request     kmsg.Request
	response    kmsg.Response
	correlation int32
	clientID    []byte
}

// load reads a capture.
func load(path string) (*cycle, error) {
	in, err := recordings.OpenAny(nil, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // only read from
	c := &cycle{}
	asked := map[[2]uint64]kmsg.Request{}
	var o recordings.Observation
	first := int64(0)
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if first == 0 {
			first = o.At.Seen
		}
		c.length = o.At.Seen - first + 100_000_000
		c.conns = max(c.conns, o.Conn.ID)
		s := step{o: o}
		s.o.Frame.Bytes = bytes.Clone(o.Frame.Bytes)
		if o.Kind == recordings.KindFrame {
			c.frames++
			if err := s.decode(asked); err != nil {
				return nil, fmt.Errorf("%s: frame %d: %w", path, o.Number, err)
			}
		}
		c.list = append(c.list, s)
	}
	for i := range c.list {
		c.reach(&c.list[i])
	}
	if c.frames == 0 {
		return nil, fmt.Errorf("%s: no frame", path)
	}
	return c, nil
}

// decode decodes a raft frame.
func (s *step) decode(asked map[[2]uint64]kmsg.Request) error {
	b := s.o.Frame.Bytes
	if s.o.Dir == wire.Request {
		h, body, err := wire.ParseRequestHeader(b)
		if err != nil {
			return err
		}
		s.correlation, s.clientID = h.CorrelationID, h.ClientID
		if !wire.Raft(h.Key) {
			return nil
		}
		s.request = kmsg.RequestForKey(h.Key)
		s.request.SetVersion(h.Version)
		asked[[2]uint64{s.o.Conn.ID, uint64(uint32(h.CorrelationID))}] = s.request
		return s.request.ReadFrom(body)
	}
	s.correlation = int32(binary.BigEndian.Uint32(b))
	req := asked[[2]uint64{s.o.Conn.ID, uint64(uint32(s.correlation))}]
	if req == nil {
		return nil
	}
	_, body, err := wire.ParseResponseHeader(b, req.Key(), req.GetVersion())
	if err != nil {
		return err
	}
	s.response = kmsg.ResponseForKey(req.Key())
	s.response.SetVersion(req.GetVersion())
	return s.response.ReadFrom(body)
}

// reach notes how far epochs and offsets get in one cycle.
func (c *cycle) reach(s *step) {
	shift(s.request, s.response, func(epoch *int32) { c.epochs = max(c.epochs, *epoch) }, func(offset *int64) { c.offset = max(c.offset, *offset) })
}

// play calls visit for each observation of the nth cycle. Frames are valid during the call.
func (c *cycle) play(n int, visit func(*recordings.Observation) error) error {
	epochs, offset := int32(n)*c.epochs, int64(n)*c.offset
	conns, open := map[*recordings.Conn]*recordings.Conn{}, map[*recordings.Conn]bool{}
	var last []*recordings.Conn
	var buf []byte
	up, down := func(e *int32) { *e += epochs }, func(e *int32) { *e -= epochs }
	on, back := func(o *int64) { *o += offset }, func(o *int64) { *o -= offset }
	for i := range c.list {
		s := &c.list[i]
		o := s.o
		conn := conns[o.Conn]
		if conn == nil {
			conn = c.conn(n, o.Conn)
			conns[o.Conn] = conn
		}
		o.Conn = conn
		o.At.Seen += int64(n) * c.length
		o.At.Forwarded += int64(n) * c.length
		if s.request != nil || s.response != nil {
			shift(s.request, s.response, up, on)
			buf = s.encode(buf[:0])
			shift(s.request, s.response, down, back)
			o.Frame = wire.Frame{Bytes: buf, Size: len(buf)}
		}
		if err := visit(&o); err != nil {
			return err
		}
		if o.Kind == recordings.KindClose {
			delete(open, conn)
		} else if !open[conn] {
			open[conn] = true
			last = append(last, conn)
		}
	}
	at := c.list[len(c.list)-1].o.At.Seen + int64(n)*c.length
	for _, conn := range last { // the nodes stop, to be started again in the next cycle
		if open[conn] {
			if err := visit(&recordings.Observation{Kind: recordings.KindClose, Conn: conn, At: wire.Stamp{Seen: at, Forwarded: at}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// conn is a connection of the nth cycle: the listener is the same, the client comes from another port.
func (c *cycle) conn(n int, conn *recordings.Conn) *recordings.Conn {
	copied := *conn
	copied.ID += uint64(n) * c.conns
	copied.Client = netip.AddrPortFrom(conn.Client.Addr(), uint16(20000+copied.ID%40000))
	return &copied
}

func (s *step) encode(b []byte) []byte {
	if s.request != nil {
		b = binary.BigEndian.AppendUint16(b, uint16(s.request.Key()))
		b = binary.BigEndian.AppendUint16(b, uint16(s.request.GetVersion()))
		b = binary.BigEndian.AppendUint32(b, uint32(s.correlation))
		b = binary.BigEndian.AppendUint16(b, uint16(len(s.clientID)))
		b = append(b, s.clientID...)
		if s.request.IsFlexible() {
			b = append(b, 0)
		}
		return s.request.AppendTo(b)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(s.correlation))
	if s.response.IsFlexible() {
		b = append(b, 0)
	}
	return s.response.AppendTo(b)
}

// shift calls epoch and offset for each epoch and offset of a message that is set.
func shift(req kmsg.Request, resp kmsg.Response, epoch func(*int32), offset func(*int64)) {
	e := func(v *int32) {
		if *v >= 0 {
			epoch(v)
		}
	}
	o := func(v *int64) {
		if *v >= 0 && *v != int64(wire.NoHighWatermark) {
			offset(v)
		}
	}
	switch r := req.(type) {
	case *kmsg.FetchRequest:
		p := &r.Topics[0].Partitions[0]
		e(&p.CurrentLeaderEpoch)
		e(&p.LastFetchedEpoch)
		o(&p.FetchOffset)
		o(&p.HighWatermark)
	case *kmsg.VoteRequest:
		p := &r.Topics[0].Partitions[0]
		e(&p.CandidateEpoch)
		e(&p.LastOffsetEpoch)
		o(&p.LastOffset)
	case *kmsg.BeginQuorumEpochRequest:
		e(&r.Topics[0].Partitions[0].LeaderEpoch)
	case *kmsg.EndQuorumEpochRequest:
		e(&r.Topics[0].Partitions[0].LeaderEpoch)
	case *kmsg.UpdateRaftVoterRequest:
		e(&r.CurrentLeaderEpoch)
	}
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		if len(r.Topics) == 1 {
			shiftFetched(&r.Topics[0].Partitions[0], e, o)
		}
	case *kmsg.VoteResponse:
		e(&r.Topics[0].Partitions[0].LeaderEpoch)
	case *kmsg.BeginQuorumEpochResponse:
		e(&r.Topics[0].Partitions[0].LeaderEpoch)
	case *kmsg.EndQuorumEpochResponse:
		e(&r.Topics[0].Partitions[0].LeaderEpoch)
	case *kmsg.UpdateRaftVoterResponse:
		e(&r.CurrentLeader.LeaderEpoch)
	}
}

// shiftFetched shifts a Fetch answer with its batches: base offset and epoch lie outside a batch's CRC.
func shiftFetched(p *kmsg.FetchResponseTopicPartition, e func(*int32), o func(*int64)) {
	o(&p.HighWatermark)
	e(&p.CurrentLeader.LeaderEpoch)
	e(&p.DivergingEpoch.Epoch)
	o(&p.DivergingEpoch.EndOffset)
	e(&p.SnapshotID.Epoch)
	o(&p.SnapshotID.EndOffset)
	rest := p.RecordBatches
	for len(rest) > 0 {
		b, next, err := wire.NextBatch(rest)
		if err != nil {
			return
		}
		base, epoch := int64(b.BaseOffset), int32(b.Epoch)
		o(&base)
		e(&epoch)
		binary.BigEndian.PutUint64(b.Bytes, uint64(base))
		binary.BigEndian.PutUint32(b.Bytes[12:], uint32(epoch))
		rest = next
	}
}

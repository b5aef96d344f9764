package recordings

import (
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// framed is a frame with what its header, or for a response that of its request, says.
type framed struct {
	bytes  []byte
	body   []byte
	header wire.RequestHeader // of a response only key, version and correlation id
	dir    wire.Direction
	known  bool // header is known
	raw    bool // a SASL token without a header
	cut    bool // the end of the frame is not there
}

// read finds the header of a frame and keeps track of which requests are open.
func (s *connState) read(bytes []byte, dir wire.Direction, cut bool) (f framed) {
	f = framed{bytes: bytes, dir: dir, cut: cut}
	if dir == wire.Response {
		q, ok := s.pairs.take(bytes)
		f.raw = s.raw && !ok
		if !ok || f.raw {
			return f
		}
		f.header = wire.RequestHeader{Key: q.key, Version: q.version, CorrelationID: q.correlation}
		_, body, err := wire.ParseResponseHeader(bytes, q.key, q.version)
		f.body, f.known = body, err == nil
		return f
	}
	h, body, err := wire.ParseRequestHeader(bytes)
	if s.raw && (err != nil || !plausible(&h)) {
		f.raw = true
		return f
	}
	s.raw = false
	if err != nil {
		return f
	}
	f.header, f.body, f.known = h, body, true
	s.pairs.add(&h)
	s.raw = h.Key == wire.KeySaslHandshake && h.Version == 0
	return f
}

// plausible reports whether what was read as a request header is one, as opposed to a SASL token.
func plausible(h *wire.RequestHeader) bool {
	if !wire.Decodable(h.Key, h.Version) {
		return false
	}
	for _, c := range h.ClientID {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// correlation is the correlation id, for the machine fields.
func (f *framed) correlation() int32 {
	switch {
	case f.raw:
	case f.dir == wire.Request && f.known:
		return f.header.CorrelationID
	case f.dir == wire.Response && len(f.bytes) >= 4:
		return int32(binary.BigEndian.Uint32(f.bytes))
	}
	return noCorrelation
}

// withhold blanks what must not be kept in copied, which is a copy of the frame.
func (r *redactor) withhold(list []Withheld, f *framed, copied []byte) []Withheld {
	switch {
	case f.raw, !f.known && f.dir == wire.Request:
		return withholdSecret(list, copied, 0, len(copied))
	case !f.known:
		return withholdSecret(list, copied, min(4, len(copied)), len(copied))
	case f.dir == wire.Request:
		return r.request(list, copied, f.header.Key, f.header.Version, len(f.bytes)-len(f.body))
	default:
		return r.response(list, copied, f.header.Key, f.header.Version)
	}
}

// frame adds a frame. Secrets are withheld from a copy.
func (w *Writer) frame(s *connState, o *Observation) {
	kept := *o
	w.line = w.line[:0]
	var f framed
	if o.Fault != nil && o.Fault.Sent != nil {
		f = w.sentFrame(s, &kept)
	}
	payload := w.cur.scratch[:0]
	if !delivered(o) {
		kept.Frame, kept.Withheld = wire.Frame{}, nil
	} else {
		f = s.read(o.Frame.Bytes, o.Dir, o.Frame.Cut)
		payload = appendPayload(payload, &o.Frame)
		kept.Frame.Bytes = payload[4:]
		if !w.opts.IncludeRecords && len(o.Withheld) == 0 {
			w.withheld = w.withhold(w.withheld[:0], &f, kept.Frame.Bytes)
			kept.Withheld = w.withheld
		}
	}
	w.cur.scratch = payload
	w.describe(s, &kept, &f)
	w.cur.add(s, &kept, f.correlation(), payload, w.line)
}

// sentFrame prepares what a fault rule took from the sender: the copy that is kept of it.
func (w *Writer) sentFrame(s *connState, o *Observation) framed {
	fault := *o.Fault
	o.Fault = &fault
	pairs := len(s.pairs.open)
	f := s.read(fault.Sent, o.Dir, false)
	if o.Dir == wire.Request && fault.Delivered {
		s.pairs.open = s.pairs.open[:min(pairs, len(s.pairs.open))] // the answer will be to what was delivered
	} else if o.Dir == wire.Response && fault.Delivered && f.known {
		s.pairs.add(&f.header) // what was delivered is read next
	}
	w.sent = append(w.sent[:0], fault.Sent...)
	fault.Sent = w.sent[:len(fault.Sent):len(fault.Sent)]
	if len(fault.Sent) == 0 {
		fault.Sent = []byte{} // nil would say that it was not changed
	}
	if !w.opts.IncludeRecords && len(fault.Withheld) == 0 {
		w.hidden = w.withhold(w.hidden[:0], &f, w.sent)
		fault.Withheld = w.hidden
	}
	return f
}

// describe writes the comment of a frame.
func (w *Writer) describe(s *connState, o *Observation, f *framed) {
	if w.opts.Pipe || w.hasty && o.Fault == nil {
		return
	}
	if s.prefix[0] == nil || f.dir == wire.Request && f.known {
		s.clientID(o.Conn, f.header.ClientID)
	}
	w.line = append(w.line[:0], s.prefix[o.Dir]...)
	if f.bytes != nil || f.known {
		w.line = w.text.frame(w.line, f)
	}
	if o.Fault != nil {
		w.line = append(w.line, " [fault "...)
		w.line = append(w.line, o.Fault.Rule...)
		if !delivered(o) {
			w.line = append(w.line, ", not delivered"...)
		}
		w.line = append(w.line, ']')
	}
}

// delivered reports whether the receiver got the frame of an observation.
func delivered(o *Observation) bool { return o.Fault == nil || o.Fault.Delivered }

package wire

import (
	"errors"
	"fmt"
)

// Stamp says when a frame passed: instants in nanoseconds since the Unix epoch, of one clock.
type Stamp struct {
	Seen      int64 // complete at the observer
	Forwarded int64 // written on; equal to Seen where only one instant is known; before it where packets of a capture are out of order
}

// Exchange is a request together with its response.
type Exchange struct {
	Header     RequestHeader // ClientID belongs to the exchange
	Request    []byte        // body, behind the header; belongs to the exchange
	RequestAt  Stamp
	RequestSeq uint64
	Response   []byte // body, behind the header; part of the response's frame
	ResponseAt Stamp

	buf []byte // backs ClientID and Request
}

// ErrUnpaired marks a response to which no open request belongs.
var ErrUnpaired = errors.New("response without a request")

// maxOpen bounds the requests that one connection may have open. A controller has at most one.
const maxOpen = 1024

// Pairer joins the requests and responses of one connection by correlation id. The zero value is ready.
type Pairer struct {
	open []*Exchange // in order of arrival
	free []*Exchange
}

// Request opens an exchange. Header and body are copied. If too many are open already, the oldest is given up.
func (p *Pairer) Request(h RequestHeader, body []byte, at Stamp, seq uint64) *Exchange {
	if len(p.open) == maxOpen {
		p.open = append(p.open[:0], p.open[1:]...) // its owner may still look at it: not for reuse
	}
	x := p.exchange()
	x.buf = append(append(x.buf[:0], h.ClientID...), body...)
	x.Header = h
	if h.ClientID != nil {
		x.Header.ClientID = x.buf[:len(h.ClientID):len(h.ClientID)]
	}
	x.Request = x.buf[len(h.ClientID):]
	x.RequestAt, x.RequestSeq = at, seq
	p.open = append(p.open, x)
	return x
}

// Response closes the exchange that the response frame belongs to. The exchange may be given back with
// Release when it is no longer needed. A header that cannot be read, or no open request with its correlation id,
// is an error; the other open exchanges stay.
func (p *Pairer) Response(frame []byte, at Stamp) (*Exchange, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("response header of %d bytes: %w", len(frame), ErrShort)
	}
	id := int32(uint32(frame[0])<<24 | uint32(frame[1])<<16 | uint32(frame[2])<<8 | uint32(frame[3]))
	for i, x := range p.open {
		if x.Header.CorrelationID != id {
			continue
		}
		p.open = append(p.open[:i], p.open[i+1:]...)
		_, body, err := ParseResponseHeader(frame, x.Header.Key, x.Header.Version)
		if err != nil {
			return nil, err
		}
		x.Response, x.ResponseAt = body, at
		return x, nil
	}
	return nil, fmt.Errorf("correlation id %d: %w", id, ErrUnpaired)
}

// Open returns the requests that have no response yet, oldest first. The slice is valid until the next call.
func (p *Pairer) Open() []*Exchange { return p.open }

// Reset forgets all open requests, for a stream with a gap.
func (p *Pairer) Reset() {
	clear(p.open)
	p.open = p.open[:0]
}

// Release gives an exchange back for reuse.
func (p *Pairer) Release(x *Exchange) {
	if len(p.free) < 16 && cap(x.buf) <= 64<<10 {
		*x = Exchange{buf: x.buf}
		p.free = append(p.free, x)
	}
}

func (p *Pairer) exchange() *Exchange {
	if n := len(p.free); n > 0 {
		x := p.free[n-1]
		p.free = p.free[:n-1]
		return x
	}
	return new(Exchange)
}

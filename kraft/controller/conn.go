package controller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Client is what a connection says about itself and how much it takes.
type Client struct {
	ID              string // client id
	Software        string // client software name and version of ApiVersions
	SoftwareVersion string
	MaxVersion      int16         // of ApiVersions to begin with; 4 or 5
	AnswerBytes     int           // a larger response is an error
	Frame           time.Duration // for the rest of a response, once it has begun
	Correlation     *atomic.Int32 // numbers the requests
}

// Conn is a connection to a listener of Kafka, with the versions that its node serves. One request is in flight at a time: it has one
// owner.
type Conn struct {
	net.Conn
	client   Client
	versions map[int16][2]int16
	frames   chan []byte // what arrives
	closed   chan struct{}
	err      error // why, once closed is
	out      []byte
	keep     atomic.Bool // the response before the last one is in use still
}

// Errors of a connection.
var (
	ErrNoVersion   = errors.New("no common version")
	ErrCorrelation = errors.New("the response is to another request")
)

// Connect dials and learns the versions of the other side. The context ends the attempt.
func Connect(ctx context.Context, d Dialer, address kraft.Address, client Client) (*Conn, error) {
	raw, err := d.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, client: client, frames: make(chan []byte), closed: make(chan struct{})}
	go c.receive()
	if err := c.negotiate(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("ApiVersions of %v: %w", address, err)
	}
	return c, nil
}

// receive reads frames, so that the end of the connection is noticed even while nothing is in flight. A response that nobody has asked
// for ends it. Two buffers take turns: while the next request is made and its response arrives, what the last one held is used up.
func (c *Conn) receive() {
	defer close(c.closed)
	var frame, last []byte
	for {
		if frame, last = last, frame; c.keep.Swap(false) {
			frame = nil
		}
		var err error
		if frame, err = readFrame(c.Conn, frame, c.client.AnswerBytes, 1<<40, c.client.Frame); err != nil {
			c.err = err
			return
		}
		select {
		case c.frames <- frame:
		case <-time.After(c.client.Frame):
			c.err = ErrCorrelation
			return
		}
	}
}

// Close closes the connection and waits for its goroutine.
func (c *Conn) Close() {
	_ = c.Conn.Close() // whatever it says, nothing is read or written any more
	for {
		select {
		case <-c.frames:
		case <-c.closed:
			return
		}
	}
}

// Closed is closed when the other side has gone.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Version is the highest version of a request that both sides know.
func (c *Conn) Version(key, lowest, highest int16) (int16, error) {
	r, ok := c.versions[key]
	if ok {
		lowest, highest = max(lowest, r[0]), min(highest, r[1])
	}
	if !ok || lowest > highest {
		return 0, fmt.Errorf("%s: %w", wire.Name(key), ErrNoVersion)
	}
	return highest, nil
}

// Keep has the last response stay as it is. Without it that is so only until the next one but one arrives.
func (c *Conn) Keep() { c.keep.Store(true) }

// RoundTrip sends a request and returns the body of its response. After an error the connection is of no use.
func (c *Conn) RoundTrip(ctx context.Context, key, version int16, body []byte) ([]byte, error) {
	correlation := c.client.Correlation.Add(1) - 1
	c.out = appendRequest(c.out[:0], key, version, correlation, c.client.ID, body)
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.client.Frame)
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.out); err != nil {
		return nil, err
	}
	select {
	case frame := <-c.frames:
		got, answer, err := wire.ParseResponseHeader(frame, key, version)
		if err == nil && got != correlation {
			err = fmt.Errorf("correlation id %d, want %d: %w", got, correlation, ErrCorrelation)
		}
		return answer, err
	case <-c.closed:
		return nil, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func appendRequest(dst []byte, key, version int16, correlation int32, client string, body []byte) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(client)))
	dst = append(dst, client...)
	if wire.Flexible(key, version) {
		dst = append(dst, 0) // no tagged fields
	}
	dst = append(dst, body...)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}

// negotiate asks with the own highest version of ApiVersions. A server that does not know it says which ones it does, and is asked
// again (KIP-511).
func (c *Conn) negotiate(ctx context.Context) error {
	version := c.client.MaxVersion
	for range 2 {
		q := kmsg.NewPtrApiVersionsRequest()
		q.SetVersion(version)
		q.ClientSoftwareName, q.ClientSoftwareVersion = c.client.Software, c.client.SoftwareVersion
		body, err := c.RoundTrip(ctx, wire.KeyAPIVersions, version, q.AppendTo(nil))
		if err != nil {
			return err
		}
		var d wire.Decoder
		m, err := d.Response(wire.KeyAPIVersions, version, body)
		if err != nil {
			return err
		}
		r := m.(*kmsg.ApiVersionsResponse)
		c.versions = map[int16][2]int16{}
		for _, k := range r.ApiKeys {
			c.versions[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		if r.ErrorCode == 0 {
			return nil
		}
		if kraft.ErrorCode(r.ErrorCode) != kraft.UnsupportedVersion || version == 0 {
			return fmt.Errorf("refused: %v", kraft.ErrorCode(r.ErrorCode))
		}
		version = min(version-1, c.versions[wire.KeyAPIVersions][1]) // no such key: 0
	}
	return fmt.Errorf("refused: %v", kraft.UnsupportedVersion)
}

package conform

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

const (
	maxAnswer  = 16 << 20         // bytes: more than any answer to a case
	clientName = "understudy"     // as client id
	patience   = 10 * time.Second // for an answer, beyond what the request itself may wait
)

// Dialer opens a connection to a target; TLS and SASL are its matter.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// plain is the Dialer of a listener without TLS and SASL.
func plain(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// client is one connection to the target.
type client struct {
	conn        net.Conn
	in          *bufio.Reader
	correlation int32
	patience    time.Duration
}

func dial(ctx context.Context, o *Options, address string) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, o.patience())
	defer cancel()
	conn, err := o.dialer()(ctx, address)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReader(conn), patience: o.patience()}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// frame is a request's frame with its size.
func (c *client) frame(req kmsg.Request, h header) (frame []byte, correlation int32) {
	c.correlation++
	correlation = c.correlation
	if h.correlation != 0 {
		correlation = h.correlation
	}
	frame = make([]byte, 4, 64)
	frame = binary.BigEndian.AppendUint16(frame, uint16(req.Key()))
	frame = binary.BigEndian.AppendUint16(frame, uint16(req.GetVersion()))
	frame = binary.BigEndian.AppendUint32(frame, uint32(correlation))
	switch {
	case h.clientID == nil:
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(clientName)))
		frame = append(frame, clientName...)
	case *h.clientID == nullClient:
		frame = binary.BigEndian.AppendUint16(frame, 0xffff)
	default:
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(*h.clientID)))
		frame = append(frame, *h.clientID...)
	}
	if req.IsFlexible() {
		if h.tags != nil {
			frame = append(frame, h.tags...)
		} else {
			frame = append(frame, 0)
		}
	}
	frame = req.AppendTo(frame)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame, correlation
}

// nullClient stands for a null client id.
const nullClient = "\x00null"

// receive reads the next frame without its size. closed tells a connection that the node closed.
func (c *client) receive(deadline time.Time) (frame []byte, closed bool, err error) {
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return nil, false, err
	}
	frame, err = wire.ReadFrame(c.in, nil, maxAnswer)
	if err == nil && frame == nil {
		frame = []byte{} // it is there, and empty
	}
	return frame, ended(err), err
}

// ended reports whether an error is that of a connection which the node has closed.
func ended(err error) bool {
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, wire.ErrMalformed)
}

// request asks one thing and decodes the answer.
func (c *client) request(req kmsg.Request) (kmsg.Response, error) {
	frame, correlation := c.frame(req, header{})
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(frame); err != nil {
		return nil, fmt.Errorf("%s: %w", apiName(req.Key()), err)
	}
	answer, _, err := c.receive(time.Now().Add(c.patience))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", apiName(req.Key()), err)
	}
	id, body, err := wire.ParseResponseHeader(answer, req.Key(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	if id != correlation {
		return nil, fmt.Errorf("%s: the answer has correlation id %d, want %d", apiName(req.Key()), id, correlation)
	}
	var d wire.Decoder
	return d.Response(req.Key(), req.GetVersion(), body)
}

func apiName(key int16) string { return wire.Name(key) }

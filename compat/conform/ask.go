package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

// request builds a step's request from the baseline and its edits.
func (s *Step) request(f facts) (kmsg.Request, error) {
	req := baseline(s.Key, s.Version)
	if req == nil {
		return nil, fmt.Errorf("api key %d has no request here", s.Key)
	}
	if err := f.edit(req, s.Ask, s.Version); err != nil {
		return nil, err
	}
	if s.Tag {
		tags, ok := reflect.ValueOf(req).Elem().FieldByName("UnknownTags").Addr().Interface().(*kmsg.Tags)
		if !ok {
			return nil, fmt.Errorf("%s has no tagged fields", apiName(s.Key))
		}
		tags.Set(99, []byte{0xca, 0xfe})
	}
	return req, nil
}

// bytes is the step's frame with its size, after the step's own changes to it.
func (s *Step) bytes(c *client, req kmsg.Request) []byte {
	frame, _ := c.frame(req, s.Header)
	if s.Frame != nil {
		frame = s.Frame(frame)
	}
	return frame
}

// mayTake is how long an answer may take: what the request itself allows, and some patience.
func (s *Step) mayTake(req kmsg.Request, patience time.Duration) time.Duration {
	if r, ok := req.(*kmsg.FetchRequest); ok && r.MaxWaitMillis > 0 {
		return patience + min(time.Duration(r.MaxWaitMillis)*time.Millisecond, time.Minute)
	}
	return patience
}

// converse asks the steps of a case over one connection, and stops where the node closes it.
func converse(ctx context.Context, o *Options, c *Case, f facts) ([]Spoken, error) {
	reqs := make([]kmsg.Request, len(c.Steps))
	for i := range c.Steps {
		var err error
		if reqs[i], err = c.Steps[i].request(f); err != nil {
			return nil, err
		}
	}
	to := *o
	if o.ask != nil {
		to.Dial = o.ask
	}
	conn, err := dial(ctx, &to, o.Address)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	stop := context.AfterFunc(ctx, conn.close)
	defer stop()
	var talk []Spoken
	for i := 0; i < len(c.Steps); {
		last := i
		var out []byte
		for {
			frame := c.Steps[last].bytes(conn, reqs[last])
			talk = append(talk, Spoken{Key: c.Steps[last].Key, Version: c.Steps[last].Version, Request: frame[min(4, len(frame)):]})
			out = append(out, frame...)
			if c.Steps[last].Send != withNext || last == len(c.Steps)-1 {
				break
			}
			last++
		}
		begin := time.Now()
		if err := send(conn, out, c.Steps[last].Send == inPieces); err != nil {
			talk[i].Elapsed, talk[i].Closed = time.Since(begin), ended(err) // after what is answered, as a rule
			return talk, fmt.Errorf("send %s: %w", apiName(c.Steps[i].Key), err)
		}
		for ; i <= last; i++ {
			answer, closed, err := conn.receive(time.Now().Add(c.Steps[i].mayTake(reqs[i], o.patience())))
			talk[i].Elapsed = time.Since(begin)
			talk[i].Answer, talk[i].Closed = answer, closed
			if errors.Is(err, wire.ErrMalformed) {
				talk[i].NoFrame = err
			}
			if err != nil {
				return talk, ctx.Err()
			}
		}
	}
	return talk, nil
}

// send writes the bytes, one in each segment if told so.
func send(c *client, out []byte, pieces bool) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if !pieces {
		_, err := c.conn.Write(out)
		return err
	}
	for i := range out {
		if _, err := c.conn.Write(out[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Hear is what a step's assertions see of an answer.
type heard struct {
	message kmsg.Response
	body    []byte
}

// hear decodes an answer and checks what holds for every one: its correlation id, that it follows the schema, and that
// it is encoded as Kafka would.
func hear(s *Spoken) (heard, error) {
	id, body, err := wire.ParseResponseHeader(s.Answer, s.Key, s.Version)
	if err != nil {
		return heard{}, err
	}
	if want := int32(binary.BigEndian.Uint32(s.Request[4:])); id != want {
		return heard{}, fmt.Errorf("the answer's correlation id is %d, want %d", id, want)
	}
	var d wire.Decoder
	message, err := d.Response(s.Key, s.Version, body)
	if err != nil {
		return heard{}, err
	}
	for _, finding := range wire.Canonical(s.Key, message.GetVersion(), wire.Response, body) {
		return heard{}, fmt.Errorf("the answer is not encoded as Kafka does: %s", finding)
	}
	return heard{message, body}, nil
}

package belief

import (
	"fmt"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// message shows a message to the checker, and perhaps changes it before.
func (s *sim) message(client, server *simNode, r *simRequest, conn ConnID, response []byte) *Message {
	s.seen++
	s.number++
	m := &Message{Conn: conn, Client: client.id, Server: server.id, Key: r.key, Version: r.version, At: s.now * 1000, Number: s.number, Sent: r.body, Correlation: r.dest.CorrelationID}
	if response != nil {
		m.Response, m.Sent = true, response
	}
	m.Got = m.Sent
	if s.swallows && s.r.IntN(400) == 0 {
		m.Got = nil
	}
	if simTrace == client.id || simTrace == server.id {
		if x, err := s.c.read(m); err == nil {
			fmt.Printf("%d WIRE %d conn %d %v>%v %s\n", s.now, m.Number, conn.ID, x.from, x.to, x.words())
		}
	}
	if l := client.links[r.dest.Record]; l != nil && l.to == server {
		m.Midway = l.midway
		if response == nil {
			l.hidden = s.seen < s.begin
		} else if l.hidden {
			if s.seen >= s.begin {
				s.c.Attached(m.At)
			}
			return m
		}
	}
	switch {
	case s.tap != nil:
		s.tap(m)
	case s.seen >= s.begin:
		s.c.Message(m)
	}
	return m
}

// closed shows the end of a connection to the checker.
func (s *sim) closed(conn ConnID) {
	switch {
	case s.tapClosed != nil:
		s.tapClosed(conn)
	case s.seen >= s.begin:
		s.c.Closed(conn)
	}
}

// bytes are the records of a batch.
func (s *sim) bytes(b kraft.Batch) []byte {
	at := kraft.LogEnd{LastEpoch: b.Epoch, LastOffset: b.Base}
	if raw := s.records[at]; raw != nil {
		return raw
	}
	var raw []byte
	if len(b.Control) > 0 {
		var err error
		if raw, err = wire.AppendControlBatch(nil, b, 1); err != nil {
			s.t.Fatal(err)
		}
	} else {
		var values [][]byte
		for o := b.Base; o <= b.Last; o++ {
			values = append(values, fmt.Appendf(nil, "%d of %d", o, b.Epoch))
		}
		raw = wire.AppendDataBatch(nil, b.Base, b.Epoch, 1, values...)
	}
	s.records[at] = raw
	return raw
}

func (s *sim) report(t testing.TB) {
	for _, d := range s.found {
		t.Logf("node %v, message %d: %s", d.Node, d.Number, d.Said)
		for _, w := range d.Wanted {
			t.Logf("    %s", w)
		}
	}
	for _, r := range s.c.Report() {
		t.Logf("%+v", r)
	}
}

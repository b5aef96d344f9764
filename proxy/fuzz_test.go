package proxy

import (
	"bytes"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// FuzzTap gives any bytes, in any chunks, to the tap and the recorder behind it. Nothing may panic, and what the observations
// hold must be what went in, up to where it stops being frames.
func FuzzTap(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04abcd\x00\x00\x00\x00"), uint8(3))
	f.Add(voteRequest(1, "raft-client-2"), uint8(200))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(1))
	f.Add([]byte{0, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		stream = stream[:min(len(stream), 4096)] // longer ones are only slower
		tp := newTapping(1 << 20)
		r := newRelay(1, 0, -1, -1)
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+int(step))
			tp.tap(&r.flows[0], rest[:n], 1, 2)
			tp.rec.drain()
			rest = rest[n:]
		}
		tp.closed(r)
		tp.rec.drain()
		if got := tp.sink.stream(wire.Request); !bytes.HasPrefix(stream, got) {
			t.Errorf("% x becomes % x", stream, got)
		}
		if tp.rec.partial != 0 || len(tp.rec.conns) != 0 {
			t.Errorf("%d bytes and %d connections are left", tp.rec.partial, len(tp.rec.conns))
		}
	})
}

// FuzzGate gives any request frame and any answer to the rules. Nothing may panic, and a frame that no rule takes has
// to stay as it is.
func FuzzGate(f *testing.F) {
	f.Add(voteRequest(1, "raft-client-3")[4:], voteResponse(1, false)[4:])
	f.Add(fetchFrame(f)[4:], []byte{0, 0, 0, 8})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, request, answer []byte) {
		set := newRules([]Upstream{{Node: 1}}, []*Rule{
			mustRule(t, "mutate Vote response field VoteGranted=true"), mustRule(t, "mutate Vote field CandidateEpoch=9 from 3"),
		})
		g := newGate()
		var d wire.Decoder
		for dir, frame := range [2][]byte{request, answer} {
			dir := wire.Direction(dir)
			before := bytes.Clone(frame)
			key, version, body, ok := g.look(frame, dir)
			if dir == wire.Request {
				g.introduce(frame)
			}
			if ok {
				if r := set.judge(0, g.client, key, dir, func() kraft.Epoch { return -1 }); r != nil {
					if _, _, err := r.Fields[0].apply(&d, body, version); err == nil && key != wire.KeyVote {
						t.Errorf("a rule about Vote takes key %d", key)
					}
				}
				g.passed(frame, dir, key, version)
			}
			if !bytes.Equal(frame, before) {
				t.Errorf("% x has become % x", before, frame)
			}
		}
		if len(g.open) > 1 {
			t.Errorf("%d requests open", len(g.open))
		}
	})
}

// FuzzFaultPayload reads back what the loop tells of a fault.
func FuzzFaultPayload(f *testing.F) {
	f.Add([]byte("sent"), []byte("delivered"), uint8(3))
	f.Fuzz(func(t *testing.T, sent, delivered []byte, which uint8) {
		if which&1 == 0 {
			sent = nil
		}
		if which&2 == 0 {
			delivered = nil
		}
		s, d := parseFault(appendFault(nil, sent, delivered))
		if !bytes.Equal(s, sent) || !bytes.Equal(d, delivered) || (s == nil) != (sent == nil) || (d == nil) != (delivered == nil) {
			t.Errorf("%q %q becomes %q %q", sent, delivered, s, d)
		}
	})
}

func mustRule(t testing.TB, text string) *Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

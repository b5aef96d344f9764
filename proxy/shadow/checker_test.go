package shadow

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMoment_OrderIsCertainOnlyIfOrderAndClockAgree(t *testing.T) {
	at := func(stream int, order uint64, at int64) Moment { return Moment{stream, order, at} }
	tests := []struct {
		name string
		a, b Span
		want bool
	}{
		{"apart", Span{To: at(0, 1, 10)}, Span{From: at(0, 2, 11)}, true},
		{"at the same instant", Span{To: at(0, 1, 10)}, Span{From: at(0, 2, 10)}, false},
		{"overlap", Span{To: at(0, 5, 50)}, Span{From: at(0, 2, 20)}, false},
		{"handed over in another order", Span{To: at(0, 2, 10)}, Span{From: at(0, 1, 11)}, false},
		{"the clock went back", Span{To: at(0, 1, 10)}, Span{From: at(0, 2, 5)}, false},
		{"of two streams", Span{To: at(0, 1, 10)}, Span{From: at(1, 2, 11)}, false},
		{"nothing is known of the begin", Span{To: at(0, 1, 10)}, Span{From: at(0, 2, 11), Open: true}, false},
	}
	for _, tt := range tests {
		if got := tt.a.Before(tt.b); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

// TestRise_EqualsAListOfAll compares the pruned memory with one that forgets nothing.
func TestRise_EqualsAListOfAll(t *testing.T) {
	var r rise
	type seen struct {
		value int64
		to    Moment
	}
	var all []seen
	value := int64(0)
	for i := range uint64(3000) {
		value += int64(i*7919%5) - 1
		m := Moment{Order: i + 1, At: int64(i)}
		if len(r.steps) < riseLimit { // beyond it the memory is thinned out, which may hide an order
			r.add(value, m, &ref{order: i + 1})
			all = append(all, seen{value, m})
		}
		open := Span{From: Moment{Order: i - min(i, i%9), At: int64(i - min(i, i%9))}}
		best, ok := int64(0), false
		for _, s := range all {
			if (Span{To: s.to}).Before(open) && (!ok || s.value > best) {
				best, ok = s.value, true
			}
		}
		if got, found := r.before(open); found != ok || ok && got.value != best {
			t.Fatalf("step %d: %v, want %d %t", i, got, best, ok)
		}
		if i%50 == 0 {
			r.prune(i - min(i, 9))
		}
	}
}

func TestWithheld_BatchesAreComparedByTheirCRC(t *testing.T) {
	b := data(10, 5, "a secret of some length")
	for _, tt := range []struct {
		name  string
		valid bool // the CRC was right
		want  string
	}{{"the same", true, ""}, {"a broken one", false, "M6"}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, b))
			a := s.ask(3, 1, fetch(5, 10, 5))
			frame := encodeResponse(served(5, 10, b)(s, 1, a.request), a.correlation)
			start := bytes.Index(frame, b) + wire.BatchOverhead
			end := start + len(b) - wire.BatchOverhead
			clear(frame[start:end])
			s.observe(&recordings.Observation{
				Kind: recordings.KindFrame, Conn: a.line.conn, Dir: wire.Response, Frame: wire.Frame{Bytes: frame, Size: len(frame)},
				Withheld: []recordings.Withheld{{Start: start, End: end, CRCValid: tt.valid}},
			})
			if tt.want == "" {
				s.conforms()
			} else {
				s.diverges(tt.want, 1)
			}
		})
	}
}

func TestWithheld_ChunksAreComparedByTheirDigest(t *testing.T) {
	for _, other := range []bool{false, true} {
		s := newStage(t).meet(1, 2, 3)
		for i, from := range []kraft.NodeID{2, 3} {
			a := s.ask(from, 1, fetchSnapshot(5, snap, 0))
			frame := encodeResponse(chunk(5, snap, 10, 0, "0123456789")(s, 1, a.request), a.correlation)
			start := bytes.Index(frame, []byte("0123456789"))
			w := recordings.Withheld{Start: start, End: start + 10, SHA256: sha256.Sum256(frame[start : start+10])}
			if other {
				w.SHA256[0] += byte(i)
			}
			clear(frame[start : start+10])
			s.observe(&recordings.Observation{
				Kind: recordings.KindFrame, Conn: a.line.conn, Dir: wire.Response, Frame: wire.Frame{Bytes: frame, Size: len(frame)},
				Withheld: []recordings.Withheld{w},
			})
		}
		if other {
			s.diverges("M17", 1)
		} else {
			s.conforms()
		}
	}
}

func TestConnection_NumberIsUsedAgain(t *testing.T) {
	s := newStage(t).meet(1, 2)
	lost := s.ask(2, 1, fetch(5, 20, 5))
	s.observe(&recordings.Observation{Kind: recordings.KindOpen, Conn: lost.line.conn})
	lost.line.correlation = 0
	lost.line.send(fetch(5, 10, 5)(s, 2, 1)).answer(served(5, 15, data(10, 5, "a")))
	s.conforms()
}

func TestConnection_OpenRequestsAreBounded(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for range 2 * maxOpenRequests {
		s.ask(2, 1, fetch(5, 20, 5))
	}
	if n := len(s.c.conns[connKey{0, 1}].open) + len(s.c.conns[connKey{0, 2}].open); n > maxOpenRequests {
		t.Errorf("%d requests kept", n)
	}
	s.harmless()
}

func TestConnection_ClientChangesItsName(t *testing.T) { // a multiplexer in between: each request speaks for its own sender
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	l := s.line(2, 1)
	l.correlation++
	r := fetch(4, 0, 0)(s, 3, 1)
	l.observe(wire.Request, encodeRequest(r, l.correlation, "raft-client-3"), nil)
	(&asked{l, r, l.correlation}).answer(fenced(5, -1))
	s.finish()
	if n := s.c.nodes[2]; len(n.conns) != 0 {
		t.Error("the connection is taken for a sign of life of its first client")
	}
}

func TestNode_ManyConnectionsAndIntervals(t *testing.T) {
	s := newStage(t)
	for range maxConns + 10 {
		l := s.dial(2, 1)
		_ = l
	}
	if n := len(s.c.nodes[2].conns); n > maxConns {
		t.Errorf("%d connections kept", n)
	}
	for range maxIntervals {
		s.line(2, 1).gap(wire.Response)
		s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	}
	r := s.harmless()
	if n := len(r.Nodes[0].Intervals); n > maxIntervals {
		t.Errorf("%d intervals", n)
	}
}

func TestNode_ReleaseAndItsChange(t *testing.T) {
	s := newStage(t).meet(1, 2)
	v := kmsg.NewPtrApiVersionsRequest()
	v.Version, v.ClientSoftwareName, v.ClientSoftwareVersion = 4, "understudy", "1.0"
	s.line(2, 1).send(v).frame(versions())
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.conforms()
	s.remarks("node 2 changed its release from 4.4.0 to understudy 1.0")
	if !strings.Contains(s.text(), "understudy 1.0") {
		t.Error(s.text())
	}
}

func TestNode_DisksAreBounded(t *testing.T) {
	s := newStage(t)
	for range 3 * maxDisks {
		s.ask(2, 1, fetch(0, 0, 0)).answer(notLeader(0, -1))
		s.wipe(2)
	}
	if n := len(s.c.nodes[2].disks); n > maxDisks {
		t.Errorf("%d disks", n)
	}
	if s.c.nodes[2].disk(1, 2) != otherDisk {
		t.Error("a node whose directory id changed is taken for the same")
	}
	s.harmless()
}

func TestNode_TooManyToBeTrue(t *testing.T) {
	c := New(Options{})
	for id := range kraft.NodeID(2 * maxNodes) {
		c.node(id)
	}
	if len(c.nodes) != maxNodes || c.node(maxNodes+5) != nil || c.node(-1) != nil {
		t.Errorf("%d nodes", len(c.nodes))
	}
}

func TestNotes_AreBounded(t *testing.T) {
	c := New(Options{})
	for i := range 3 * maxNotes {
		c.note(string(rune('a' + i)))
		c.note(string(rune('a' + i)))
	}
	if len(c.notes) != maxNotes {
		t.Errorf("%d notes", len(c.notes))
	}
}

func TestPending_IsBounded(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, stand(5)).answer(granted(5))
	for range 2 * maxPending {
		s.stop(1)
		s.ask(3, 1, stand(5)).answer(granted(5))
	}
	if n := len(s.c.nodes[1].pending); n > maxPending {
		t.Errorf("%d pending", n)
	}
	s.harmless()
}

func TestElections_AreBounded(t *testing.T) {
	var q quorumView
	q.init()
	for e := range kraft.Epoch(maxElections + 50) {
		q.election(e, 1)
	}
	if len(q.elections) != maxElections || q.election(1, 1) != nil || q.dropped != 50 {
		t.Errorf("%d elections, %d dropped", len(q.elections), q.dropped)
	}
	e := q.election(900, 1)
	for id := range kraft.NodeID(2 * maxBallots) {
		e.candidate(&vote{candidate: kraft.ReplicaKey{ID: id}})
	}
	if len(e.Candidates) != maxBallots {
		t.Errorf("%d candidates", len(e.Candidates))
	}
}

func TestOffer_Versions(t *testing.T) {
	v0 := kmsg.NewPtrApiVersionsResponse()
	a := kmsg.NewApiVersionsResponseApiKey()
	a.ApiKey, a.MinVersion, a.MaxVersion = wire.KeyVote, 0, 2
	v0.ApiKeys = append(v0.ApiKeys, a)
	good := v0.AppendTo(nil)
	if o, ok := parseOffer(0, good); !ok || o[wire.KeyVote].max != 2 || o[wire.KeyFetch] != noVersion {
		t.Errorf("v0: %t %v", ok, o[wire.KeyVote])
	}
	v4 := versions()
	if o, ok := parseOffer(4, v4.AppendTo(nil)); !ok || o[wire.KeyFetch] != (versionRange{4, 18}) {
		t.Errorf("v4: %t", ok)
	}
	refused := append([]byte{0, 35}, good[2:]...)
	tagged := v4.AppendTo(nil)
	tagged[9] = 1
	for name, bad := range map[string][]byte{
		"refused": refused, "empty": nil, "short": good[:5], "cut": good[:len(good)-3], "huge": {0, 0, 0x7f, 0xff, 0xff, 0xff},
	} {
		if _, ok := parseOffer(0, bad); ok {
			t.Errorf("%s: taken for an offer", name)
		}
	}
	for name, bad := range map[string][]byte{"empty": {0, 0}, "null": {0, 0, 0}, "tags to come": tagged, "cut": {0, 0, 9, 1}} {
		if _, ok := parseOffer(4, bad); ok {
			t.Errorf("v4 %s: taken for an offer", name)
		}
	}
}

func TestMalformed_RequestsAreNotTheQuorums(t *testing.T) { // answered with a top-level INVALID_REQUEST
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	l := s.line(2, 1)
	for _, r := range []request{stand(5), begin(5), end(5), fetchSnapshot(5, snap, 0)} {
		m := r(s, 2, 1)
		switch m := m.(type) {
		case *kmsg.VoteRequest:
			m.Topics[0].Topic = "another"
		case *kmsg.BeginQuorumEpochRequest:
			m.Topics = nil
		case *kmsg.EndQuorumEpochRequest:
			m.Topics[0].Partitions = nil
		case *kmsg.FetchSnapshotRequest:
			m.Topics = append(m.Topics, m.Topics[0])
		}
		resp := m.ResponseKind()
		l.send(m).frame(resp)
	}
	d := describe()(s, 2, 1)
	l.send(d).frame(d.ResponseKind())
	s.conforms()
}

func TestMalformed_AnswersWithoutAPartition(t *testing.T) { // successful and empty: nothing is attested
	s := newStage(t).meet(1, 2)
	l := s.line(2, 1)
	for _, r := range []request{stand(5), begin(5), end(5)} {
		m := r(s, 2, 1)
		l.send(m).frame(m.ResponseKind())
	}
	s.conforms()
}

func TestText_Evidence(t *testing.T) {
	e := Evidence{Stream: 2, Number: 7, Conn: 3, Dir: "request", Seq: 1, Line: "request 1->2 Vote"}
	if got := e.String(); !strings.HasPrefix(got, "stream 2 frame 7 (connection 3, request 1, ") {
		t.Error(got)
	}
	r := ref{from: -1, to: 2, key: wire.KeyFetch, version: 17, dir: wire.Response}
	if got := New(Options{}).evidence(&r, "high watermark 9"); got.Line != "response ?->2 Fetch v17 high watermark 9" {
		t.Error(got.Line)
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

func TestText_ReportsTheFirstWriteError(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	size := len(s.text())
	for left := 0; left < size; left += 97 {
		if err := s.finish().WriteText(&failingWriter{left}); err == nil {
			t.Errorf("no error with %d of %d bytes taken", left, size)
		}
	}
}

func TestCheckerStream_SeveralRecorders(t *testing.T) { // what the one saw has no certain order with what the other did
	s := newStage(t).meet(1, 2, 3)
	s.lines[[2]kraft.NodeID{3, 1}].conn.Stream = 1
	s.c.recent = nil
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(3, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	s.harmless()
}

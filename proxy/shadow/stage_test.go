package shadow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// stage plays a conversation between nodes to a checker. Each frame takes a millisecond; connections are opened
// when they are needed, with an exchange of ApiVersions as real clients do.
//
//	s := newStage(t).meet(1, 2)
//	s.ask(2, 1, stand(5)).answer(granted(5)) // node 2 asks node 1 for its vote in epoch 5 and gets it
//	s.diverges("M1", 1)
type stage struct {
	t       *testing.T
	c       *Checker
	at      int64
	number  uint64
	conns   uint64
	lines   map[[2]kraft.NodeID]*line
	disks   map[kraft.NodeID]byte // which disk a node has
	cluster string
	events  []Event
	midway  bool
	unnamed bool // the observer does not know who listens where
	report  *Report
	tape    *[]recordings.Observation // if set, what the checker sees
}

// line is a connection.
type line struct {
	s           *stage
	conn        *recordings.Conn
	from, to    kraft.NodeID
	seq         [2]uint64
	correlation int32
}

func newStage(t *testing.T, change ...func(*Options)) *stage {
	s := &stage{
		t: t, at: 1_800_000_000_000_000_000, lines: map[[2]kraft.NodeID]*line{}, disks: map[kraft.NodeID]byte{},
		cluster: "TXF4XRjuRNetQb9gT4jDvg",
	}
	o := Options{Events: func(e Event) { s.events = append(s.events, e) }}
	for _, f := range change {
		f(&o)
	}
	s.c = New(o)
	return s
}

// asPeer makes the checker take altered frames for the peer's own.
func asPeer(o *Options) { o.FaultAsPeer = true }

func (s *stage) observe(o *recordings.Observation) {
	s.at += 1_000_000
	s.number++
	o.Number, o.At = s.number, wire.Stamp{Seen: s.at, Forwarded: s.at + 10_000}
	if s.tape != nil {
		*s.tape = append(*s.tape, *o)
	}
	s.c.Observe(o)
}

// dir is the directory id of the disk that a node has.
func (s *stage) dir(id kraft.NodeID) kraft.DirectoryID {
	if id < 0 {
		return kraft.DirectoryID{}
	}
	return kraft.DirectoryID{0: byte(id) + 1, 1: s.disks[id], 15: 7}
}

// dial opens a new connection; later requests between the two use it.
func (s *stage) dial(from, to kraft.NodeID) *line {
	s.conns++
	conn := &recordings.Conn{
		ID: s.conns, Node: to, Endpoint: fmt.Sprintf("127.0.0.1:%d", 19090+to), Midway: s.midway,
		Client: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(40000+s.conns)),
		Server: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(19090+to)),
	}
	if s.unnamed {
		conn.Node = kraft.NoNode
	}
	l := &line{s: s, conn: conn, from: from, to: to}
	s.lines[[2]kraft.NodeID{from, to}] = l
	s.observe(&recordings.Observation{Kind: recordings.KindOpen, Conn: conn})
	if !s.midway {
		v := kmsg.NewPtrApiVersionsRequest()
		v.Version, v.ClientSoftwareName, v.ClientSoftwareVersion = 4, "apache-kafka-java", "4.4.0"
		l.send(v).frame(versions())
	}
	return l
}

// meet opens connections between all the nodes, both ways. From then on their processes are known to live on.
func (s *stage) meet(ids ...kraft.NodeID) *stage {
	for _, from := range ids {
		for _, to := range ids {
			if from != to {
				s.dial(from, to)
			}
		}
	}
	return s
}

func versions() kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	r.Version = 4
	for _, k := range []struct{ key, low, high int16 }{
		{1, 4, 18}, {18, 0, 5}, {52, 0, 2}, {53, 0, 1}, {54, 0, 1}, {55, 0, 2}, {59, 0, 1}, {80, 0, 1}, {81, 0, 0}, {82, 0, 0},
	} {
		a := kmsg.NewApiVersionsResponseApiKey()
		a.ApiKey, a.MinVersion, a.MaxVersion = k.key, k.low, k.high
		r.ApiKeys = append(r.ApiKeys, a)
	}
	return r
}

func (s *stage) line(from, to kraft.NodeID) *line {
	if l := s.lines[[2]kraft.NodeID{from, to}]; l != nil {
		return l
	}
	return s.dial(from, to)
}

// asked is a request that waits for its answer.
type asked struct {
	line        *line
	request     kmsg.Request
	correlation int32
}

// request makes a request of one node to another; response makes the answer of the node asked.
type (
	request  func(s *stage, from, to kraft.NodeID) kmsg.Request
	response func(s *stage, self kraft.NodeID, req kmsg.Request) kmsg.Response
)

// ask sends a request.
func (s *stage) ask(from, to kraft.NodeID, r request) *asked {
	return s.line(from, to).send(r(s, from, to))
}

// answer sends the answer.
func (a *asked) answer(r response) *stage {
	a.frame(r(a.line.s, a.line.to, a.request))
	return a.line.s
}

func (l *line) send(r kmsg.Request) *asked {
	l.correlation++
	a := &asked{l, r, l.correlation}
	l.observe(wire.Request, encodeRequest(r, l.correlation, l.clientID()), nil)
	return a
}

func (l *line) clientID() string { return "raft-client-" + l.from.String() }

func (a *asked) frame(r kmsg.Response) {
	a.line.observe(wire.Response, encodeResponse(r, a.correlation), nil)
}

// altered sends the request as something else than what arrives.
func (l *line) altered(sent, delivered kmsg.Request) *asked {
	l.correlation++
	a := &asked{l, delivered, l.correlation}
	l.observe(wire.Request, encodeRequest(delivered, l.correlation, l.clientID()), &recordings.Fault{
		Rule: "mutate", Sent: encodeRequest(sent, l.correlation, l.clientID()), Delivered: true,
	})
	return a
}

// altered sends an answer that arrives as another.
func (a *asked) altered(sent, delivered response) *stage {
	s := a.line.s
	a.line.observe(wire.Response, encodeResponse(delivered(s, a.line.to, a.request), a.correlation), &recordings.Fault{
		Rule: "mutate", Sent: encodeResponse(sent(s, a.line.to, a.request), a.correlation), Delivered: true,
	})
	return s
}

// dropped sends an answer that never arrives.
func (a *asked) dropped(sent response) *stage {
	s := a.line.s
	a.line.observe(wire.Response, nil, &recordings.Fault{Rule: "drop", Sent: encodeResponse(sent(s, a.line.to, a.request), a.correlation)})
	return s
}

func (l *line) observe(dir wire.Direction, frame []byte, fault *recordings.Fault) {
	o := recordings.Observation{
		Kind: recordings.KindFrame, Conn: l.conn, Dir: dir, Seq: l.seq[dir],
		Frame: wire.Frame{Bytes: frame, Size: len(frame)}, Fault: fault,
	}
	l.seq[dir]++
	l.s.observe(&o)
}

// gap says that frames of a connection are missing.
func (l *line) gap(dir wire.Direction) {
	l.s.observe(&recordings.Observation{
		Kind: recordings.KindGap, Conn: l.conn, Dir: dir, Gap: &recordings.Gap{Reason: "tap overflow", Bytes: 100, Frames: 1},
	})
}

func (l *line) close() {
	l.s.observe(&recordings.Observation{Kind: recordings.KindClose, Conn: l.conn, Reset: true})
	delete(l.s.lines, [2]kraft.NodeID{l.from, l.to})
}

// stop ends all connections of a node.
func (s *stage) stop(id kraft.NodeID) {
	for at, l := range s.lines {
		if at[0] == id || at[1] == id {
			l.close()
		}
	}
}

// wipe stops a node and gives it an empty disk.
func (s *stage) wipe(id kraft.NodeID) {
	s.stop(id)
	s.disks[id]++
}

func encodeRequest(r kmsg.Request, correlation int32, clientID string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(r.Key()))
	b = binary.BigEndian.AppendUint16(b, uint16(r.GetVersion()))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, uint16(len(clientID)))
	b = append(b, clientID...)
	if r.IsFlexible() {
		b = append(b, 0)
	}
	return r.AppendTo(b)
}

func encodeResponse(r kmsg.Response, correlation int32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(correlation))
	if r.IsFlexible() && r.Key() != wire.KeyAPIVersions {
		b = append(b, 0)
	}
	return r.AppendTo(b)
}

// finish ends the conversation and returns the report.
func (s *stage) finish() *Report {
	if s.report == nil {
		s.report = s.c.Finish()
	}
	return s.report
}

func (s *stage) text() string {
	var b strings.Builder
	if err := s.finish().WriteText(&b); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

// diverges checks that the only rule found broken is this one, by this node.
func (s *stage) diverges(rule string, node kraft.NodeID) *Finding {
	s.t.Helper()
	r := s.finish()
	if r.Verdict != Diverges || len(r.Findings) == 0 {
		s.t.Fatalf("want %s at node %d:\n%s", rule, node, s.text())
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Rule != rule || f.Node != node || len(f.Proof) == 0 {
			s.t.Fatalf("want %s at node %d:\n%s", rule, node, s.text())
		}
	}
	return &r.Findings[0]
}

// conforms checks that nothing is found, and that all was judged.
func (s *stage) conforms() *Report {
	s.t.Helper()
	r := s.finish()
	if len(r.Findings) > 0 || r.Verdict != Conforms || r.Judged != r.Decisions {
		s.t.Fatalf("want CONFORMS:\n%s", s.text())
	}
	return r
}

// harmless checks that nothing is found.
func (s *stage) harmless() *Report {
	s.t.Helper()
	r := s.finish()
	if len(r.Findings) > 0 || r.Verdict == Diverges {
		s.t.Fatalf("want no finding:\n%s", s.text())
	}
	return r
}

// remarks checks that a note of the report contains the text.
func (s *stage) remarks(text string) {
	s.t.Helper()
	for _, n := range s.finish().Notes {
		if strings.Contains(n, text) {
			return
		}
	}
	s.t.Fatalf("no note says %q:\n%s", text, s.text())
}

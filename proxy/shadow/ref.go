package shadow

import (
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// ref names a frame. It is small, because monitors keep many of them.
type ref struct {
	number  uint64
	conn    uint64
	seq     uint64
	order   uint64
	at      int64
	from    kraft.NodeID
	to      kraft.NodeID
	stream  int
	key     int16
	version int16
	dir     wire.Direction
	weak    bool   // the sender's name rests on hearsay
	line    string // what it says, where it was written down
}

// Evidence is a frame that proves something.
type Evidence struct {
	Stream int    `json:"stream,omitempty"` // the recorder or capture, where there are several
	Number uint64 `json:"number"`           // of its packet block there, as Wireshark counts
	Conn   uint64 `json:"conn"`
	Dir    string `json:"direction"`
	Seq    uint64 `json:"seq"` // position among the frames of its connection and direction
	At     int64  `json:"at"`  // nanoseconds since the Unix epoch
	Line   string `json:"line"`
}

// evidence writes the frame out; says is used where its line was not kept.
func (c *Checker) evidence(r *ref, says string) Evidence {
	e := Evidence{Stream: r.stream, Number: r.number, Conn: r.conn, Dir: r.dir.String(), Seq: r.seq, At: r.at}
	line := r.line
	if line == "" {
		line = wire.Name(r.key) + " v" + strconv.Itoa(int(r.version)) + " " + says
	}
	e.Line = r.travel() + " " + line
	return e
}

// travel says which way the frame went, as in "response 2->1".
func (r *ref) travel() string { return r.dir.String() + " " + nodeName(r.from) + "->" + nodeName(r.to) }

func nodeName(id kraft.NodeID) string {
	if id < 0 {
		return "?"
	}
	return id.String()
}

// proof is the frame of the message with its line.
func (c *Checker) proof(m *message) ref {
	r := m.ref
	if r.line == "" {
		r.line = c.line(m)
	}
	return r
}

// line prints the message on one line.
func (c *Checker) line(m *message) string {
	if m.ref.dir == wire.Request {
		h := wire.RequestHeader{Key: m.key, Version: m.version}
		return string(c.printer.AppendRequestLine(c.text[:0], h, m.body))
	}
	return string(c.printer.AppendResponseLine(c.text[:0], m.key, m.version, m.body))
}

package recordings

import (
	"net/netip"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Kind says what an observation is about.
type Kind uint8

// The kinds of observation.
const (
	KindOpen  Kind = iota // a connection begins (or is first seen)
	KindFrame             // a Kafka frame crossed
	KindGap               // bytes or frames are missing from here on
	KindClose             // the connection has ended
)

func (k Kind) String() string { return [...]string{"open", "frame", "gap", "close"}[k] }

// Conn is one TCP connection between a client and a controller's listener.
type Conn struct {
	ID       uint64         // unique within its recording, from 1
	Node     kraft.NodeID   // the node that listens; kraft.NoNode if the observer does not know
	Endpoint string         // address the node advertises (where the client dialled), HOST:PORT
	Client   netip.AddrPort // the client's side, as the observer saw it
	Server   netip.AddrPort // the listener's side, as the observer saw it
	Stream   int            // which recorder or capture saw it; instants of different streams are not comparable
	Midway   bool           // already open when the observer began: what went before is not known
}

// Observation is the one currency of this program: the tap of the proxy, the reader of recordings and the
// import of captures all produce it, and everything that decodes or judges consumes it.
type Observation struct {
	Kind   Kind
	Conn   *Conn
	Number uint64         // number of the packet block in a recording or capture, from 1, as Wireshark counts
	Dir    wire.Direction // frames and gaps
	Seq    uint64         // frames: position among the frames of its connection and direction, from 0
	At     wire.Stamp     // when; for open and close the instant of that

	// Frame is what the receiver got. Its bytes are valid until the next observation is read.
	// Where parts are withheld, it has its true size and fillers in their place: see Withheld.
	Frame    wire.Frame
	Withheld []Withheld

	Fault *Fault // frames: a fault rule changed or stopped this one
	Gap   *Gap   // gaps
	Reset bool   // close: the connection was reset, not ended in order
}

// Withheld is a stretch of a frame that the recording does not keep.
type Withheld struct {
	Start, End int      // within Frame.Bytes
	SHA256     [32]byte // of the original bytes
	CRCValid   bool     // a record batch's body: the batch's CRC-32C was right
}

// Fault is what a rule did to a frame. The sender is judged by Sent, the receiver by what it got.
type Fault struct {
	Rule      string     // the rule as it was written
	Sent      []byte     // the frame as the sender wrote it; nil if it was not changed
	Withheld  []Withheld // parts of Sent that the recording does not keep
	Delivered bool       // false: the receiver never got it, and Observation.Frame is empty
}

// Gap says that the observer missed something.
type Gap struct {
	Reason string // "tap overflow", "undecodable", "lost segments", …
	Bytes  int64  // how much is missing; -1 if unknown
	Frames int64  // how many whole frames are missing; -1 if unknown
	Fatal  bool   // nothing of this direction can be read any more
}

// ReasonCut is that of a gap where a connection ended before a frame was whole.
const ReasonCut = "connection ended within a frame"

// NoFrame reports whether what a recorder saw there was no frame, to its receiver as little as to the observer: bytes with a size that no
// frame has, or too few of them. Nobody acts on it, other than by ending the connection.
func (g *Gap) NoFrame() bool { return g.Fatal || g.Reason == ReasonCut }

// Source yields observations in the order in which they happened, as far as known.
type Source interface {
	// Next fills o. What o points to is valid until the following call, but for o.Conn, which stays.
	// It returns io.EOF at the end.
	Next(o *Observation) error
}

package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// maxBytes bounds what a script holds in memory.
const maxBytes = 1 << 30

// exchange is one recorded request and what came back.
type exchange struct {
	number uint64 // of the request's frame in the recording
	conn   uint64
	node   kraft.NodeID // whose listener it came to

	asked, told forms // the request and the answer at both ends; what follows is of the end where the replayed node is

	readable bool // the header could be read
	header   wire.RequestHeader
	frame    []byte // the request
	request  []byte // its body
	response []byte // body of the answer
	answered bool
	withheld bool // parts of either are not in the recording

	// chance: a node that knows no leader asks one voter or another, as it draws, and was told nothing. Whether it asks is
	// not part of the story.
	chance bool

	step int    // of the node's own requests: where they are due
	sign string // of the request, once it was needed
}

func (x *exchange) String() string {
	if !x.readable {
		return fmt.Sprintf("frame %d, which is no request that can be read", x.number)
	}
	return fmt.Sprintf("frame %d, %s v%d", x.number, wire.Name(x.header.Key), x.header.Version)
}

type stepKind uint8

const (
	stepAsk    stepKind = iota // send the node a request
	stepAnswer                 // its answer is due
	stepEnd                    // the connection ends
	stepHear                   // the node asks a peer
	stepReply                  // the peer answers
	stepHangUp                 // the peer's connection ends
)

type step struct {
	kind stepKind
	conn uint64
	x    *exchange
	at   int64 // ns
}

// Script is what is played to one node.
type Script struct {
	Node  kraft.NodeID
	Peers map[kraft.NodeID]string // where the node dialled its peers in the recording

	// LeftOut says where the recording is cut: what followed there is not played. Empty: it is whole.
	LeftOut []string

	// NoFrames says where somebody sent bytes that are no frame, which a recording does not keep: they are not sent again.
	NoFrames []string

	steps []step
	heard map[kraft.NodeID][]*exchange // the requests of the node's raft client by peer, in order
	other map[kraft.NodeID][]*exchange // its other requests: answered, not awaited
}

// Asks and Hears are how many requests go each way.
func (s *Script) Asks() int { return s.count(stepAsk) }

// Hears is how many requests the node's raft client made of its peers.
func (s *Script) Hears() int { return s.count(stepHear) }

func (s *Script) count(kind stepKind) (n int) {
	for _, st := range s.steps {
		if st.kind == kind {
			n++
		}
	}
	return n
}

// ErrWithheld says that the recording lacks what the node must be given.
var ErrWithheld = errors.New("the recording withholds what the node must be given: record with --include-records")

// ErrAltered says that a fault rule gave the node what answers none of its requests.
var ErrAltered = errors.New("a fault rule gave the node an answer that cannot be given again: a copy, or one with the header of another")

// ErrDamaged says that a part of the recording cannot be read.
var ErrDamaged = errors.New("the recording is damaged, so what follows has no known cause")

// ErrCapture says that nobody has written down which node listens where, as a recording does and a capture cannot.
var ErrCapture = errors.New("a capture does not say which node listens where: replay needs a recording of the proxy")

// Load reads a recording to its end. The node is the one to be replayed; kraft.NoNode takes the one that is asked things,
// if there is only one. A *NodeError is the caller's choice to make. A recording that is cut is played up to there
// (Script.LeftOut); one that lacks a part before its end is not, unless nobody could read that either (Script.NoFrames).
func Load(src recordings.Source, node kraft.NodeID) (*Script, error) {
	l := &loader{conns: map[*recordings.Conn]*loadedConn{}}
	err := l.read(src)
	leftOut, damage := l.damage(src)
	if err = errors.Join(damage, err); err != nil { // a gap is where damage is told
		return nil, err
	}
	there := l.there()
	if len(there) == 0 {
		return nil, errors.New("the recording has no requests")
	}
	switch {
	case node != kraft.NoNode:
	case len(l.nodes) == 1:
		node = l.nodes[0]
	case len(there) == 1:
		node = there[0]
	}
	if !slices.Contains(there, node) {
		return nil, &NodeError{node, there}
	}
	s, err := l.script(node)
	if err == nil {
		s.LeftOut, s.NoFrames = leftOut, l.noFrames
	}
	return s, err
}

// damage tells a recording that ends early from one that lacks something on the way.
func (l *loader) damage(src recordings.Source) (leftOut []string, err error) {
	damaged, ok := src.(interface{ Damage() []*recordings.Damage })
	if !ok {
		return nil, nil
	}
	frames, open := 0, 0
	for _, st := range l.steps {
		if !st.end {
			frames++
		}
	}
	for _, c := range l.order {
		open += len(c.open)
	}
	for _, d := range damaged.Damage() {
		if !errors.Is(d, recordings.ErrCut) && !errors.Is(d, recordings.ErrNoTrailer) {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, d)
		}
		leftOut = append(leftOut, fmt.Sprintf("%v; %d frames came before it, and %d requests among them have no answer", d, frames, open))
	}
	return leftOut, nil
}

// loader collects exchanges with the order of their frames.
type loader struct {
	conns map[*recordings.Conn]*loadedConn
	order []*loadedConn
	nodes []kraft.NodeID // that are asked something by somebody who is not a raft client
	steps []loadedStep
	size  int

	noFrames []string
}

type loadedConn struct {
	*recordings.Conn
	client string // its client id, once a request told it
	open   []*exchange
}

type loadedStep struct {
	conn     *loadedConn
	response bool
	end      bool
	x        *exchange
	at       int64
}

func (l *loader) read(src recordings.Source) error {
	var o recordings.Observation
	for {
		err := src.Next(&o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if o.Conn == nil {
			continue
		}
		if o.Conn.Node == kraft.NoNode {
			return fmt.Errorf("connection %d to %s: %w", o.Conn.ID, o.Conn.Endpoint, ErrCapture)
		}
		c := l.conns[o.Conn]
		if c == nil {
			c = &loadedConn{Conn: o.Conn}
			l.conns[o.Conn] = c
			l.order = append(l.order, c)
		}
		if err := l.take(c, &o); err != nil {
			return err
		}
		if l.size > maxBytes {
			return fmt.Errorf("the recording has more than %d MiB of frames; replay a part of it", maxBytes>>20)
		}
	}
}

func (l *loader) take(c *loadedConn, o *recordings.Observation) error {
	switch o.Kind {
	case recordings.KindGap:
		if !o.Gap.NoFrame() {
			return fmt.Errorf("block %d: the recording has a gap (%s), so what follows has no known cause", o.Number, o.Gap.Reason)
		}
		l.noFrames = append(l.noFrames, fmt.Sprintf("block %d, a %s on connection %d, client %s, node %s: %s", o.Number, o.Dir, c.ID, c.Client, c.Node, o.Gap.Reason))
	case recordings.KindClose:
		l.steps = append(l.steps, loadedStep{conn: c, end: true, at: o.At.Seen})
	case recordings.KindFrame:
		if o.Frame.Cut {
			return nil // the connection ended within it
		}
		if o.Dir == wire.Request {
			l.request(c, o)
		} else {
			l.response(c, o)
		}
	}
	return nil
}

func (l *loader) request(c *loadedConn, o *recordings.Observation) {
	x := &exchange{number: o.Number, conn: c.ID, node: c.Node, asked: formsOf(o)}
	l.size += x.asked.size()
	if h, _, err := wire.ParseRequestHeader(x.asked.sent.bytes); err == nil && c.client == "" {
		c.client = string(h.ClientID)
	}
	if got := &x.asked.got; got.there {
		if _, _, err := wire.ParseRequestHeader(got.bytes); err == nil {
			c.open = append(c.open, x)
		}
		if !slices.Contains(l.nodes, c.Node) && !strings.HasPrefix(c.client, raftClient) {
			l.nodes = append(l.nodes, c.Node)
		}
	}
	l.steps = append(l.steps, loadedStep{conn: c, x: x, at: o.At.Seen})
}

func (l *loader) response(c *loadedConn, o *recordings.Observation) {
	told := formsOf(o)
	l.size += told.size()
	if !told.sent.there { // a copy, which answers nothing
		x := &exchange{number: o.Number, conn: c.ID, node: c.Node, told: told}
		l.steps = append(l.steps, loadedStep{conn: c, x: x, response: true, at: o.At.Seen})
		return
	}
	// Who answers knows the request as it came, and gives its id.
	i := slices.IndexFunc(c.open, func(x *exchange) bool {
		return len(told.sent.bytes) >= 4 && bytes.Equal(told.sent.bytes[:4], x.asked.got.bytes[4:8])
	})
	if i < 0 {
		return
	}
	x := c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	x.told = told
	l.steps = append(l.steps, loadedStep{conn: c, x: x, response: true, at: o.At.Seen})
}

// script turns what was read into the steps of one node.
func (l *loader) script(node kraft.NodeID) (*Script, error) {
	s := &Script{Node: node, Peers: map[kraft.NodeID]string{}, heard: map[kraft.NodeID][]*exchange{}, other: map[kraft.NodeID][]*exchange{}}
	raft, plain := raftClient+node.String(), node.String()
	for _, st := range l.steps {
		c := st.conn
		switch {
		case c.Node == node && c.client == raft: // it asks itself
		case c.Node == node:
			s.asked(st)
		case c.client == raft:
			if err := s.hears(st); err != nil {
				return nil, err
			}
		case c.client == plain && st.response:
			s.Peers[c.Node] = c.Endpoint
			st.x.seeRequest(&st.x.asked.sent)
			if st.x.seeResponse(&st.x.told.got) {
				s.other[c.Node] = append(s.other[c.Node], st.x)
			}
		}
	}
	return s, nil
}

// asked takes a step of what others asked the node: the requests that reached it, and the answers that it sent.
func (s *Script) asked(st loadedStep) {
	kind := stepAsk
	switch {
	case st.end:
		kind = stepEnd
	case st.response:
		kind = stepAnswer
		if !st.x.seeResponse(&st.x.told.sent) {
			return
		}
	case !st.x.asked.got.there:
		return
	default:
		st.x.seeRequest(&st.x.asked.got)
	}
	s.steps = append(s.steps, step{kind, st.conn.ID, st.x, st.at})
}

// hears takes a step of what the node asked its peers: the requests that it sent, and the answers that reached it.
func (s *Script) hears(st loadedStep) error {
	s.Peers[st.conn.Node] = st.conn.Endpoint
	switch {
	case st.end:
		s.steps = append(s.steps, step{kind: stepHangUp, conn: st.conn.ID, at: st.at})
		return nil
	case st.response:
		return s.told(st)
	}
	if st.x.seeRequest(&st.x.asked.sent); st.x.readable && st.x.header.Key != wire.KeyAPIVersions {
		s.heard[st.conn.Node] = append(s.heard[st.conn.Node], st.x)
		st.x.step = len(s.steps)
		s.steps = append(s.steps, step{stepHear, st.conn.ID, st.x, st.at})
	}
	return nil
}

func (s *Script) told(st loadedStep) error {
	x := st.x
	switch {
	case !x.seeResponse(&x.told.got):
		if x.told.got.there && (x.asked.altered || x.told.altered) {
			return fmt.Errorf("frame %d, on a connection to node %s: %w", x.number, x.node, ErrAltered)
		}
	case x.header.Key == wire.KeyAPIVersions: // once for each connection, and how many there are is chance
		s.other[st.conn.Node] = append(s.other[st.conn.Node], x)
	case x.withheld:
		return fmt.Errorf("%s to node %s: %w", x, x.node, ErrWithheld)
	default:
		x.chance = tellsNothing(x)
		s.steps = append(s.steps, step{stepReply, st.conn.ID, x, st.at})
	}
	return nil
}

// tellsNothing reports whether an answer to a Fetch is that of a voter that neither leads nor knows who does.
func tellsNothing(x *exchange) bool {
	if x.header.Key != wire.KeyFetch {
		return false
	}
	var d wire.Decoder
	resp, err := d.Response(x.header.Key, x.header.Version, x.response)
	if err != nil {
		return false
	}
	f, ok := resp.(*kmsg.FetchResponse)
	if !ok || len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		return false
	}
	p := &f.Topics[0].Partitions[0]
	return p.ErrorCode == int16(kraft.NotLeaderOrFollower) && p.CurrentLeader.LeaderID < 0
}

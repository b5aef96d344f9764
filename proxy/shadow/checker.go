package shadow

import (
	"sort"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Options of a [Checker]. The zero value is ready.
type Options struct {
	// Names says which node is behind a listener, HOST:PORT. It wins over what the observer and the traffic say.
	Names map[string]kraft.NodeID

	// FaultAsPeer judges a frame that a fault rule altered as if the peer had sent the altered bytes. It is for tests of
	// the checker; normally a sender is judged by what it sent and a receiver by what it got.
	FaultAsPeer bool

	// Events is called with what happens, in the order of the stream, if it is set. The event is the callee's.
	Events func(Event)

	// Recall returns what is remembered of a cluster from earlier streams, nil if nothing is. It is called once, when the cluster
	// is known.
	Recall func(cluster string) *Memory

	// Tier2 also judges the decisions of each voter by the states that it may be in.
	Tier2 bool

	// SeesAll says that every connection between controllers is in the input. Otherwise the second tier judges only those of which it shows.
	SeesAll bool

	// Releases are the releases of nodes, for the second tier, until they say it themselves: they do with each connection that they open.
	// NoNode stands for all nodes that are not listed.
	Releases map[kraft.NodeID]string
}

// Checker judges a stream of observations. It has one owner.
type Checker struct {
	options  Options
	scouting bool // only learns names
	window   *window

	order   uint64
	first   int64 // instants of the stream
	last    int64
	cluster string

	recalled  bool // it was asked for what is remembered
	declined  bool // which was not used
	remembers *Memory

	conns     map[connKey]*conn
	recent    *conn
	endpoints map[string]*endpoint

	endpointList []*endpoint // in the order of their first appearance
	nodes        map[kraft.NodeID]*node
	nodeList     []*node
	heard        struct {
		node kraft.NodeID
		host string
		port int32
	}

	decoder  wire.Decoder
	printer  wire.Decoder
	text     []byte
	request  message
	response message
	monitors [kinds][]monitor
	memory   clusterMemory
	second   *second // nil: not wanted
	advice   adviser

	quorum   quorumView
	findings findingList
	notes    []string
	counts   Counts
	cut      string
	tampered bool // frames were delivered with other content than their senders wrote
}

// Counts says what a stream held.
type Counts struct {
	Observations uint64 `json:"observations"`
	Frames       uint64 `json:"frames"`
	Connections  uint64 `json:"connections"`
	Midway       uint64 `json:"midway"` // connections that were open already
	RaftFrames   uint64 `json:"raftFrames"`
	Gaps         uint64 `json:"gaps"`
	Undecodable  uint64 `json:"undecodable"`
	Faults       uint64 `json:"faults"`
}

// New makes a checker.
func New(o Options) *Checker {
	c := newChecker(o)
	if o.Tier2 {
		c.withTier2()
	}
	return c
}

func newChecker(o Options) *Checker {
	c := &Checker{
		options: o, conns: map[connKey]*conn{}, endpoints: map[string]*endpoint{}, nodes: map[kraft.NodeID]*node{},
	}
	c.heard.node = kraft.NoNode
	c.memory.floor, c.memory.begins.top = -1, -1
	c.quorum.init()
	c.enlist()
	return c
}

// Observe takes in the next observation of the stream. What it points to is not kept.
func (c *Checker) Observe(o *recordings.Observation) {
	if c.window == nil && c.mustWait(o) {
		c.openWindow()
	}
	if c.window != nil {
		if !c.window.hold(o) {
			c.closeWindow()
		}
		return
	}
	c.judge(o)
}

// judge takes in an observation at its turn.
func (c *Checker) judge(o *recordings.Observation) {
	c.order++
	c.counts.Observations++
	if c.first == 0 {
		c.first = o.At.Seen
	}
	c.last = max(c.last, o.At.Seen)
	switch o.Kind {
	case recordings.KindOpen:
		c.opened(o)
	case recordings.KindFrame:
		c.frame(o)
	case recordings.KindGap:
		c.gap(o)
	case recordings.KindClose:
		c.closed(o)
	}
	if c.order%pruneEvery == 0 {
		c.prune()
	}
	if c.listening() {
		c.tick(o.At.Seen)
	}
}

// Cut says that the input ended early, with the reason. What came before is judged.
func (c *Checker) Cut(reason string) { c.cut = reason }

// Damaged says that a part of the input could not be read.
func (c *Checker) Damaged(what string) { c.note("the input is damaged: " + what) }

// Findings are the divergences found so far.
func (c *Checker) Findings() []Finding { return c.findings.list() }

// Counts says what came in so far.
func (c *Checker) Counts() Counts { return c.counts }

// connOf returns what is known of the observation's connection; a new one is made where it is seen first.
func (c *Checker) connOf(o *recordings.Observation) *conn {
	key := connKey{o.Conn.Stream, o.Conn.ID}
	if c.recent != nil && c.recent.key == key {
		return c.recent
	}
	k := c.conns[key]
	if k == nil {
		k = &conn{key: key, ep: c.endpointOf(o.Conn), from: o.Conn.Client, midway: o.Conn.Midway || o.Kind != recordings.KindOpen}
		c.conns[key] = k
		if c.second != nil {
			c.second.covers.opened(o.Conn)
			if k.midway {
				c.second.Attached(o.At.Seen)
			}
		}
		k.ep.conns++
		c.counts.Connections++
		if k.midway {
			c.counts.Midway++
		}
	}
	c.recent = k
	return k
}

func (c *Checker) opened(o *recordings.Observation) {
	k := c.connOf(o)
	if k.firstRequest != 0 || k.firstResponse != 0 { // its number was used before: not the same connection
		c.drop(k)
		c.connOf(o)
	}
}

func (c *Checker) closed(o *recordings.Observation) { c.drop(c.connOf(o)) }

// drop forgets a connection.
func (c *Checker) drop(k *conn) {
	c.second.closed(k)
	delete(c.conns, k.key)
	if c.recent == k {
		c.recent = nil
	}
	for _, n := range k.joined {
		if n != nil {
			n.leave(c, k)
		}
	}
}

// gap takes in that frames are missing. A connection that ends within a frame lacks no whole one: whoever wrote it
// died, and nobody got it. So a gap without whole frames counts only if the connection goes on.
func (c *Checker) gap(o *recordings.Observation) {
	k := c.connOf(o)
	k.holes = true
	c.counts.Gaps++
	g := recordings.Gap{Frames: -1}
	if o.Gap != nil {
		g = *o.Gap
	}
	if g.Frames == 0 && !g.Fatal {
		k.torn, k.tornBy = true, g.Reason
		return
	}
	k.raw = k.raw || g.Fatal
	lost := uint64(0)
	if o.Dir == wire.Response && k.ep.raft {
		lost = uint64(max(g.Frames, 1))
	}
	c.missing(k, g.Reason, lost, o.At.Seen)
}

// missing takes in that the node behind a listener cannot be judged for a while, and how many of its decisions are lost.
func (c *Checker) missing(k *conn, reason string, lost uint64, at int64) {
	c.second.blind(c, k, "a gap: "+reason, at)
	n := c.server(k)
	if n == nil || !k.ep.raft && k.ep.grade < given {
		return
	}
	n.blind("a gap: "+reason, at)
	if lost > 0 {
		n.unjudged("lost in a gap", lost)
	}
}

// node returns the node with this id; nil if there are too many to be true.
func (c *Checker) node(id kraft.NodeID) *node {
	if n := c.nodes[id]; n != nil {
		return n
	}
	if id < 0 || len(c.nodes) >= maxNodes {
		return nil
	}
	n := &node{id: id}
	c.nodes[id] = n
	c.nodeList = append(c.nodeList, n)
	sort.Slice(c.nodeList, func(i, j int) bool { return c.nodeList[i].id < c.nodeList[j].id })
	return n
}

// maxNodes bounds how many nodes are followed.
const maxNodes = 1024

// maxNotes bounds the remarks of a report.
const maxNotes = 100

// note adds a remark to the report, once.
func (c *Checker) note(text string) {
	if len(c.notes) >= maxNotes {
		return
	}
	for _, n := range c.notes {
		if n == text {
			return
		}
	}
	c.notes = append(c.notes, text)
}

// pruneEvery is how many observations pass between two rounds of forgetting.
const pruneEvery = 4096

// prune forgets what can no longer decide anything: every span to come begins at or after the oldest open request.
func (c *Checker) prune() {
	oldest := c.order + 1
	for _, k := range c.conns {
		for i := range k.open {
			oldest = min(oldest, k.open[i].order)
		}
	}
	for _, n := range c.nodeList {
		n.prune(oldest)
	}
	c.memory.prune(oldest)
}

package belief

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Options of a [Checker].
type Options struct {
	// Found is called when nothing explains what a node did.
	Found func(Divergence)

	// Releases are the releases of nodes that have not said yet which they are, as they do with each connection that they open. NoNode
	// stands for all others.
	Releases map[kraft.NodeID]string

	// Settle is for how long after something was missed a node may still do what messages that were not seen have it do.
	// 0: five seconds, which is more than twice Kafka's request timeout.
	Settle time.Duration
}

// Divergence is a message that no state of a correct node explains.
type Divergence struct {
	Node   kraft.NodeID
	Key    int16
	Epoch  kraft.Epoch
	Number uint64 // of the packet block
	Conn   ConnID
	At     int64    // nanoseconds since the Unix epoch
	Said   string   // what was seen
	Wanted []string // what would have been explained, by hypothesis
	Asked  uint64   // the packet block of the request that it answers
}

// NodeReport says how far a node was judged.
type NodeReport struct {
	Node      kraft.NodeID      `json:"node"`
	Messages  uint64            `json:"messages"`           // of the node, of the raft layer
	Judged    uint64            `json:"judged"`             // of these
	Unjudged  map[string]uint64 `json:"unjudged,omitempty"` // the others, by reason
	Anchored  uint64            `json:"anchored"`           // how often judging began
	Diverged  uint64            `json:"diverged"`
	Searches  uint64            `json:"searches"` // how often the past was searched again
	Beliefs   uint64            `json:"beliefs"`  // hypotheses, summed up over the judged messages
	MostBelef int               `json:"mostBeliefs"`
}

// Reasons for which a message is not judged.
const (
	NoProfile = "a release without a profile"
	TooMany   = "more possible states than are looked at"
)

// Checker keeps a judge for each voter. It has one owner.
type Checker struct {
	options  Options
	decoder  wire.Decoder
	requests kraft.RequestID
	world    world
	census   census
	attached int64 // when a connection was last met that was open already, in nanoseconds since the Unix epoch
	judges   []*judge
	profiles map[kraft.NodeID]compat.Profile
	told     map[kraft.NodeID]bool // their release
	preVotes map[kraft.NodeID]bool // that can be asked for pre-votes, as they have said since they were started
	held     []held

	latest    map[pair]latest            // requests, by who sent them to whom
	downloads map[kraft.NodeID]*download // by who fetches
	heldSize  int
	gaveUp    bool
}

// held is something that waits until the voters are known.
type held struct {
	message Message
	kind    heldKind
	node    kraft.NodeID
	conn    ConnID
	why     string
}

type heldKind uint8

const (
	heldMessage heldKind = iota
	heldClose
	heldBlind
)

// The bounds of what waits.
const (
	maxHeld      = 50_000
	maxHeldBytes = 32 << 20
	maxNodes     = 64
)

// New makes a checker.
func New(o Options) *Checker {
	if o.Settle == 0 {
		o.Settle = 5 * time.Second
	}
	c := &Checker{options: o, profiles: map[kraft.NodeID]compat.Profile{}, preVotes: map[kraft.NodeID]bool{}, told: map[kraft.NodeID]bool{}, downloads: map[kraft.NodeID]*download{}, latest: map[pair]latest{}}
	c.world.dirs, c.world.votersAt, c.world.leader = map[kraft.NodeID]kraft.DirectoryID{}, -1, kraft.NoNode
	return c
}

// Release says which release of Kafka a node is. A node of a release without a profile is not judged. One that comes back as another
// release is judged anew; changed says that what it did since its restart was judged by the wrong rules.
func (c *Checker) Release(id kraft.NodeID, release string) (changed bool) {
	p, err := compat.ByRelease(release)
	before, known := c.profile(id)
	if changed = known && (err != nil || p.Build != before.Build) || !known && c.told[id] && err == nil; changed {
		for _, j := range c.judges {
			if j.id == id {
				j.end("another release")
			}
		}
		if !c.world.known && len(c.held) > 0 { // what waits was said by the rules of before
			c.held, c.heldSize, c.gaveUp = nil, 0, true
		}
	}
	c.told[id] = true
	if err != nil {
		delete(c.profiles, id)
		delete(c.preVotes, id)
		return changed
	}
	c.profiles[id] = p
	vote, ok := p.Range(kraft.VoteAPI)
	c.preVotes[id] = ok && vote.Max >= preVoteVersion
	return changed
}

// preVoteVersion is the first version of Vote that can ask for a pre-vote (KIP-996).
const preVoteVersion = 2

// profile is what is known of the node's release.
func (c *Checker) profile(id kraft.NodeID) (compat.Profile, bool) {
	if p, ok := c.profiles[id]; ok || c.told[id] || len(c.options.Releases) == 0 {
		return p, ok
	}
	release, ok := c.options.Releases[id]
	if !ok {
		release = c.options.Releases[kraft.NoNode]
	}
	p, err := compat.ByRelease(release)
	if err == nil {
		c.profiles[id] = p
	}
	return p, err == nil
}

// Voters are the ids that any set of voters had. counted: the set was found by what its leader has committed, which needs all that it was
// asked.
func (c *Checker) Voters() (ids []kraft.NodeID, counted bool) { return c.world.ids, c.world.counted }

// Message takes in a message.
func (c *Checker) Message(m *Message) {
	x, err := c.read(m)
	if err != nil {
		c.undecoded(m)
		return
	}
	if !c.world.known {
		c.world.learn(x)
		if ids := c.census.observe(x); !c.world.known && ids != nil {
			c.world.leader = ids[0]
			c.world.list(ids)
			c.world.counted = true
			c.world.shownIn, c.world.shownAt = x.said.epoch, c.census.end()
		}
		if c.world.nameless() {
			c.world.name()
		}
		if !c.world.known {
			c.hold(m)
			return
		}
		c.release()
	}
	configured, sets := c.world.votersAt < 0, c.world.sets
	if c.world.learn(x); configured != (c.world.votersAt < 0) {
		for _, j := range c.judges { // where each can be reached is part of it, and was not known
			j.blind("the voters have come into the log", x.nanos)
		}
	}
	if c.world.sets > sets {
		for _, j := range c.judges {
			if j.elsewhere() {
				j.end("where it can be reached has come to light")
			}
		}
	}
	if c.world.nameless() {
		if c.world.name(); !c.world.known { // they were taken for voters without
			for _, j := range c.judges {
				j.blind("the directory ids of the voters are not known yet", x.nanos)
			}
			c.hold(m)
			return
		}
		for _, j := range c.judges {
			j.blind("the directory ids of the voters have come to light", x.nanos)
		}
	}
	c.judge(x)
}

// Attached takes in that a connection is met that was open already: what went over it before may show yet, at any node.
func (c *Checker) Attached(at int64) { c.attached = max(c.attached, at) }

// settling reports whether messages that were not seen may show yet.
func (j *judge) settling(at int64) bool {
	return at < j.wire.settled || j.c.attached > 0 && at < j.c.attached+int64(j.c.options.Settle)
}

// pair is a client and a server, latest what the one asked the other last.
type pair struct{ from, to kraft.NodeID }

type latest struct {
	conn        ConnID
	correlation int32
	key         int16
	epoch       kraft.Epoch
}

// again reports whether a request was seen on another connection that is open yet: somebody has recorded it twice. A node that was started
// anew numbers its requests as it did before.
func (c *Checker) again(x *crossing) bool {
	if x.reply || x.correlation == 0 {
		return false
	}
	at, now := pair{x.from, x.to}, latest{x.conn, x.correlation, x.key, x.said.epoch}
	before, known := c.latest[at]
	if known || len(c.latest) < maxNodes*maxNodes {
		c.latest[at] = now
	}
	twin := before
	twin.conn = now.conn
	return known && before.conn != now.conn && twin == now
}

func (c *Checker) judge(x *crossing) {
	if c.again(x) {
		for _, id := range []kraft.NodeID{x.from, x.to} {
			c.Blind(id, "messages that are seen twice", x.nanos)
		}
		return
	}
	if j := c.judgeOf(x.from); j != nil {
		j.midway(x)
		j.saw(x)
	}
	if j := c.judgeOf(x.to); j != nil {
		j.midway(x)
		j.comes(x)
	}
}

// undecoded takes in a message that cannot be decoded: neither of its ends can be followed any further.
func (c *Checker) undecoded(m *Message) {
	for _, id := range []kraft.NodeID{m.Client, m.Server} {
		c.Blind(id, "a message that cannot be decoded", m.At)
	}
}

// Closed takes in the end of a connection.
func (c *Checker) Closed(conn ConnID) {
	if !c.world.known {
		c.census.closed(conn)
		c.holdOther(held{kind: heldClose, conn: conn})
		return
	}
	for at, l := range c.latest {
		if l.conn == conn {
			delete(c.latest, at)
		}
	}
	for _, j := range c.judges {
		j.closed(conn)
	}
}

// Blind takes in that something about a node was missed.
func (c *Checker) Blind(id kraft.NodeID, why string, at int64) {
	if !c.world.known {
		c.census.known = false
		c.holdOther(held{kind: heldBlind, node: id, why: why, message: Message{At: at}})
		return
	}
	if j := c.judgeOf(id); j != nil {
		j.blind(why, at)
	}
}

func (c *Checker) hold(m *Message) {
	copied := *m
	copied.Sent = bytes.Clone(m.Sent)
	if copied.Got = copied.Sent; !bytes.Equal(m.Sent, m.Got) || m.Got == nil {
		copied.Got = bytes.Clone(m.Got)
	}
	c.holdOther(held{message: copied})
	c.heldSize += len(m.Sent)
}

func (c *Checker) holdOther(h held) {
	if len(c.held) >= maxHeld || c.heldSize > maxHeldBytes {
		c.held, c.heldSize, c.gaveUp = nil, 0, true
		c.census.known = false
	}
	c.held = append(c.held, h)
}

// release judges what waited.
func (c *Checker) release() {
	list := c.held
	c.held = nil
	for i := range list {
		h := &list[i]
		switch h.kind {
		case heldMessage:
			if x, err := c.read(&h.message); err == nil {
				if c.gaveUp {
					for _, id := range []kraft.NodeID{x.from, x.to} {
						if j := c.judgeOf(id); j != nil {
							j.wire.unclear = true
						}
					}
				}
				c.judge(x)
			}
		case heldClose:
			c.Closed(h.conn)
		case heldBlind:
			c.Blind(h.node, h.why, h.message.At)
		}
	}
}

// judgeOf is the judge of a voter, nil for others.
func (c *Checker) judgeOf(id kraft.NodeID) *judge {
	for _, j := range c.judges {
		if j.id == id {
			return j
		}
	}
	if id < 0 || c.world.voters.Find(id) == nil || len(c.judges) == maxNodes {
		return nil
	}
	j := &judge{c: c, id: id, why: "not anchored yet"}
	j.wire.conns, j.wire.out = map[ConnID]bool{}, map[ConnID]*crossing{}
	j.stats.Node, j.stats.Unjudged = id, map[string]uint64{}
	c.judges = append(c.judges, j)
	slices.SortFunc(c.judges, func(a, b *judge) int { return cmp.Compare(a.id, b.id) })
	return j
}

// Report says how far the nodes were judged.
func (c *Checker) Report() []NodeReport {
	var list []NodeReport
	for _, j := range c.judges {
		list = append(list, j.stats)
	}
	return list
}

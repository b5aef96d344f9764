package shadow

import (
	"net/netip"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Who sent a message? A client says so in its client id. The node behind a listener is known from the observer's
// configuration, or from the user, or it is learnt:
//
//   - by its own word: an answer that only the leader gives names the leader, so its sender; a Vote or
//     BeginQuorumEpoch meant for voter N is accepted by N alone (Kafka: KafkaRaftClient.validateVoterKey);
//   - by hearsay: endpoints in answers, requests and records. A voter may announce an address that is not its own
//     (KAFKA-20380, KAFKA-20661), so hearsay names a listener only if nobody disagrees.

// grade says how well the name of a listener is known.
type grade uint8

const (
	unnamed grade = iota
	hearsay
	ownWord // the node behind it said so
	given   // by configuration
)

// surely is how often a listener must have named itself before a contradiction counts against the message
// that brings it, and no longer against the name. A name that was given needs to be confirmed once.
const surely = 3

// sure reports whether the name of a listener outweighs a contradiction.
func (e *endpoint) sure() bool { return e.confirmed >= surely || e.grade == given && e.confirmed > 0 }

// The bounds on listeners: those heard of, and those seen.
const (
	maxEndpoints = 256
	maxListeners = 4096
)

// endpoint is a listener.
type endpoint struct {
	name      string // HOST:PORT
	conns     uint64 // connections seen; 0: only heard of
	grade     grade
	node      *node
	confirmed int // how often its node named itself
	ambiguous bool
	raft      bool   // raft requests arrive here
	waited    bool   // its name was waited for long enough
	cluster   string // whose requests it takes; empty if not known
	unjudged  uint64 // decisions that no node can be held to
	reason    string
	claims    []kraft.NodeID // by hearsay: who is said to be here
	offer     *offer         // what was offered last
	supports  map[string]versionRange
}

// foreign reports whether the listener serves another cluster than the one being judged.
func (e *endpoint) foreign(c *Checker) bool {
	return e.cluster != "" && c.cluster != "" && e.cluster != c.cluster
}

// endpointOf returns the listener that a connection leads to.
func (c *Checker) endpointOf(o *recordings.Conn) *endpoint {
	name := o.Endpoint
	if name == "" && o.Server.IsValid() {
		name = o.Server.String()
	}
	if name == "" {
		name = "listener of node " + nodeName(o.Node)
	}
	if c.endpoints[name] == nil && len(c.endpoints) >= maxListeners {
		name = "more listeners"
	}
	e := c.endpoint(name)
	e.ambiguous = e.ambiguous || name == "more listeners"
	if e.grade < given {
		id, ok := c.options.Names[name]
		if !ok && o.Server.IsValid() {
			id, ok = c.options.Names[o.Server.String()]
		}
		if !ok && o.Node >= 0 {
			id, ok = o.Node, true
		}
		if ok {
			e.grade, e.node = given, c.node(id)
		}
	}
	return e
}

func (c *Checker) endpoint(name string) *endpoint {
	e := c.endpoints[name]
	if e == nil {
		e = &endpoint{name: name}
		c.endpoints[name] = e
		c.endpointList = append(c.endpointList, e)
	}
	return e
}

// learnOwnWord takes in that the node behind a listener said to be id.
func (c *Checker) learnOwnWord(e *endpoint, id kraft.NodeID) {
	switch {
	case e.ambiguous || id < 0:
	case e.grade < ownWord:
		e.grade, e.node, e.confirmed = ownWord, c.node(id), 1
		c.dropHearsay(e, id)
	case e.node.id == id:
		e.confirmed++
	case !e.sure():
		e.ambiguous = true
		c.note("the listener " + e.name + " answered as node " + e.node.id.String() + " and as node " + id.String() + "; it is not judged")
	}
}

// dropHearsay takes a node's name from listeners that had it by hearsay only.
func (c *Checker) dropHearsay(own *endpoint, id kraft.NodeID) {
	for _, e := range c.endpointList {
		if e != own && e.grade == hearsay && e.node.id == id {
			e.grade, e.node = unnamed, nil
		}
	}
}

// learnHearsay takes in that somebody said node id to be found at host:port.
func (c *Checker) learnHearsay(id kraft.NodeID, host string, port int) {
	if id < 0 || port <= 0 {
		return
	}
	name := listenerName(host, port)
	if c.endpoints[name] == nil && len(c.endpoints) >= maxEndpoints {
		return
	}
	e := c.endpoint(name)
	if e.grade > hearsay || e.ambiguous {
		return
	}
	for _, said := range e.claims {
		if said == id {
			return
		}
	}
	if len(e.claims) < 8 {
		e.claims = append(e.claims, id)
	}
	if len(e.claims) > 1 {
		e.grade, e.node = unnamed, nil
		return
	}
	for _, other := range c.endpointList {
		if other != e && other.node != nil && other.node.id == id {
			return
		}
	}
	e.grade, e.node = hearsay, c.node(id)
}

// listenerName is the name of a listener.
func listenerName(host string, port int) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
		if addr.Is6() && !addr.Is4In6() {
			host = "[" + host + "]"
		}
	}
	return host + ":" + strconv.Itoa(port)
}

// server is the node behind the connection's listener; nil if it cannot be named, or serves another cluster.
func (c *Checker) server(k *conn) *node {
	if k.ep.ambiguous || k.ep.foreign(c) {
		return nil
	}
	return k.ep.node
}

// learn takes from a response what it says about names: the node behind the listener, and hearsay. m is decoded.
func (c *Checker) learn(m *message) {
	e := m.conn.ep
	switch {
	case m.failed || m.err != kraft.None:
	case m.leads:
		c.learnOwnWord(e, m.leader)
	case m.voter >= 0:
		c.learnOwnWord(e, m.voter)
	}
	c.learnCluster(m)
}

// learnCluster takes in whose requests a listener takes. Every listener serves one cluster.
func (c *Checker) learnCluster(m *message) {
	e := m.conn.ep
	if m.failed || len(m.cluster) == 0 || e.cluster != "" {
		return
	}
	e.cluster = string(m.cluster)
	switch {
	case c.cluster == "":
		c.identify(e.cluster)
	case c.cluster != e.cluster:
		c.note("the listener " + e.name + " serves cluster " + e.cluster + ", which is not judged; cluster " + c.cluster + " is")
	}
}

// hearEndpoints takes in the endpoints that a message gives away.
func (c *Checker) hearEndpoints(m *message) {
	if m.kind == KindFetchResponse {
		if f := &m.fetched; f.EndpointNode >= 0 && (f.EndpointNode != c.heard.node || string(f.Host) != c.heard.host || f.Port != c.heard.port) {
			c.heard.node, c.heard.host, c.heard.port = f.EndpointNode, string(f.Host), f.Port
			c.learnHearsay(f.EndpointNode, c.heard.host, int(f.Port))
		}
	}
}

// hearVoters takes in the endpoints of a voter set.
func (c *Checker) hearVoters(v *wire.Voters) {
	c.quorum.endpoints = c.quorum.endpoints[:0]
	for i := range v.Voters {
		for _, at := range v.Voters[i].Endpoints {
			if len(c.quorum.endpoints) < maxEndpoints {
				c.quorum.endpoints = append(c.quorum.endpoints, voterEndpoint{v.Voters[i].Key.ID, listenerName(at.Host, int(at.Port))})
			}
			c.learnHearsay(v.Voters[i].Key.ID, at.Host, int(at.Port))
		}
	}
}

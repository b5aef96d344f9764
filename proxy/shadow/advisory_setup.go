package shadow

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// These advisories are about how a quorum was set up: who runs under which key, at which address, with which features, and whether
// it is registered.

var (
	advisoryTwins = Rule{
		ID: "A11", Name: "two-processes-under-one-key", Source: "KIP-853; Kafka KafkaRaftClient (one Fetch at a time, to one node)",
		Says: "one process at a time runs under a node id and a directory id",
		Why:  "a cloned disk: the leader counts what either has for one replica's log, so what it commits may be on one disk less than it thinks",
	}
	advisoryNames = Rule{
		ID: "A12", Name: "names-in-the-log", Source: "KAFKA-20380, KAFKA-20661; Kafka VotersRecord, UpdateRaftVoter",
		Says: "a voter is where the voter set says, and where the configuration says",
		Why:  "peers that dial the other address do not come by the observer, or reach nobody",
	}
	advisoryRegistration = Rule{
		ID: "A13", Name: "never-registered", Source: "KAFKA-20247; Kafka ControllerRegistrationManager",
		Says: "a controller that starts registers, and asks again until it is registered",
		Why:  "upgrades of features wait for its registration for ever; only a restart of its process helps",
	}
	advisoryFeatures = Rule{
		ID: "A14", Name: "feature-not-supported", Source: "KIP-584, KIP-853; Kafka FeatureControlManager, ApiVersionsResponse",
		Says: "each controller supports the levels of the features that are finalized",
		Why:  "it cannot read records of that level: it ends, or stays behind, when they come or when it is started again",
	}
)

// The times and counts of these advisories.
const (
	unregisteredAfter = int64(90 * time.Second) // Kafka's backoff between attempts grows to a minute
	twinTurns         = 8
	twinAfter         = int64(3 * time.Second)
)

// setup is what these advisories rest on.
type setup struct {
	twins      map[kraft.NodeID]*twin
	registers  map[kraft.NodeID]*registration
	registered int // how many registrations were taken
	finalized  map[string]int16
	features   int64 // the epoch of finalized
}

// twin counts the turns that two connections of a node take at being served.
type twin struct {
	conn  *conn // the latest one that was served
	other *conn // the one that was served before it
	since int64
	turns int
	first ref
}

// registration is a controller's wish to be registered.
type registration struct {
	incarnation [16]byte
	at          int64
	ref         ref
}

// served looks at who else fetches under the key of the replica that is answered. A process has one Fetch open at the leader. Another one, on a
// connection that is served as well, in turns, is another process's.
func (s *setup) served(c *Checker, m *message) {
	if m.peer == nil || m.failed || m.err != kraft.None || !m.leads {
		return
	}
	t := s.twins[m.peer.id]
	if t == nil {
		if s.twins == nil {
			s.twins = map[kraft.NodeID]*twin{}
		}
		if len(s.twins) >= maxNodes {
			return
		}
		t = &twin{conn: m.conn}
		s.twins[m.peer.id] = t
	}
	if t.conn == m.conn {
		return
	}
	other, back := t.conn, t.other == m.conn
	t.conn, t.other = m.conn, other
	if !back || other.ep != m.conn.ep || !other.fetching() { // one that goes on by a new connection does not come back to the old one
		t.turns = 0
		return
	}
	if t.turns++; t.turns == 1 {
		t.since, t.first = m.ref.at, c.proof(m)
	}
	if t.turns >= twinTurns && m.ref.at-t.since >= twinAfter {
		now := c.proof(m)
		c.advise(&advisoryTwins, m.peer.id, m.epoch, "", fmt.Sprintf("two processes fetch as node %s at the same time, from %s and from %s: the leader served them in turns %d times in %s",
			m.peer.id, other.from, m.conn.from, t.turns, time.Duration(m.ref.at-t.since).Round(time.Second)), c.evidence(&t.first, ""), c.evidence(&now, ""))
	}
}

// fetching reports whether a Fetch is open on the connection.
func (k *conn) fetching() bool {
	return slices.ContainsFunc(k.open, func(o openRequest) bool { return o.ref.key == wire.KeyFetch })
}

// asks takes in a controller's request to be registered. It is the client's own word, so it needs no name of the connection.
func (s *setup) asks(r *kmsg.ControllerRegistrationRequest, at ref) {
	id := kraft.NodeID(r.ControllerID)
	if id < 0 || len(s.registers) >= maxNodes && s.registers[id] == nil {
		return
	}
	if s.registers == nil {
		s.registers = map[kraft.NodeID]*registration{}
	}
	s.registers[id] = &registration{incarnation: r.IncarnationID, at: at.at, ref: at}
}

// answered takes in the answer to it. One that is refused is asked again after a pause that grows.
func (s *setup) answered(r *kmsg.ControllerRegistrationRequest, code int16, at int64) {
	id := kraft.NodeID(r.ControllerID)
	if code == 0 {
		s.registered++
		delete(s.registers, id)
	} else if p := s.registers[id]; p != nil {
		p.at = at
	}
}

// written looks for registrations among the records of an answer: one whose answer was lost may be in the log all the same. What is
// withheld may hold any.
func (s *setup) written(m *message) {
	if len(s.registers) == 0 || len(m.batches) == 0 {
		return
	}
	if len(m.withheld) > 0 {
		clear(s.registers)
		return
	}
	for id, p := range s.registers {
		if bytes.Contains(m.body, p.incarnation[:]) {
			delete(s.registers, id)
		}
	}
}

// waits looks who has not been registered for long. A controller that is gone is not expected to ask.
func (s *setup) waits(c *Checker, at int64) {
	if s.registered == 0 {
		return
	}
	for id, p := range s.registers {
		n := c.nodes[id]
		if at-p.at < unregisteredAfter {
			continue
		}
		delete(s.registers, id)
		if n == nil || n.gone || len(n.conns) == 0 || c.counts.Gaps > 0 {
			continue
		}
		c.advise(&advisoryRegistration, id, -1, "", fmt.Sprintf("node %s asked once to be registered, got no answer, and has not asked again for %s, while others were registered",
			id, time.Duration(at-p.at).Round(time.Second)), c.evidence(&p.ref, "ControllerRegistration"))
	}
}

// offered takes in which features the node behind a listener supports, and which levels it says are finalized. Answers below v4 leave out
// features that begin at level 0.
func (s *setup) offered(c *Checker, e *endpoint, version int16, body []byte) {
	if version < 4 {
		return
	}
	decoded, err := c.decoder.Response(wire.KeyAPIVersions, version, body)
	if err != nil {
		return
	}
	r := decoded.(*kmsg.ApiVersionsResponse)
	if len(r.SupportedFeatures) == 0 || len(r.SupportedFeatures) > maxFeatures || len(r.FinalizedFeatures) > maxFeatures {
		return
	}
	e.supports = map[string]versionRange{}
	for _, f := range r.SupportedFeatures {
		e.supports[f.Name] = versionRange{f.MinVersion, f.MaxVersion}
	}
	if r.FinalizedFeaturesEpoch < s.features || len(r.FinalizedFeatures) == 0 {
		return
	}
	s.features, s.finalized = r.FinalizedFeaturesEpoch, map[string]int16{}
	for _, f := range r.FinalizedFeatures {
		s.finalized[f.Name] = f.MaxVersionLevel
	}
}

// maxFeatures bounds the features of an answer that are remembered; Kafka has less than ten.
const maxFeatures = 64

// featureAdvice tells of controllers that do not support what is finalized.
func (c *Checker) featureAdvice() {
	s := &c.advice.setup
	for _, e := range c.endpointList {
		if e.node == nil || !e.raft || e.foreign(c) || e.ambiguous || e.supports == nil {
			continue
		}
		var lacks []string
		for _, name := range slices.Sorted(maps.Keys(s.finalized)) {
			level := s.finalized[name]
			r, known := e.supports[name]
			switch {
			case level <= 0 || known && r.min <= level && level <= r.max:
			case known:
				lacks = append(lacks, fmt.Sprintf("%s %d (it supports %d to %d)", name, level, r.min, r.max))
			default:
				lacks = append(lacks, fmt.Sprintf("%s %d (which it does not know)", name, level))
			}
		}
		if len(lacks) > 0 {
			c.concludes(&advisoryFeatures, e.node.id, -1, "", fmt.Sprintf("node %s does not support what is finalized: %s", e.node.id, strings.Join(lacks, ", ")))
		}
	}
}

// nameAdvice tells of voters whose endpoint in the voter set is another than the one that the observer was told of. Where no voter's is the same,
// addresses are translated on the way, or the observer listens elsewhere on purpose: that says nothing.
func (c *Checker) nameAdvice() {
	type odd struct {
		node            kraft.NodeID
		said, configure string
	}
	same := 0
	var others []odd
	for _, n := range c.nodeList {
		var said []string
		for _, v := range c.quorum.endpoints {
			if v.node == n.id {
				said = append(said, v.name)
			}
		}
		configured := c.configured(n)
		if len(said) == 0 || configured == "" {
			continue
		}
		if slices.ContainsFunc(said, func(at string) bool { return mayBeSame(at, configured) }) {
			if slices.Contains(said, configured) {
				same++
			}
			continue
		}
		others = append(others, odd{n.id, strings.Join(said, " and "), configured})
	}
	for _, o := range others {
		if same > 0 {
			c.concludes(&advisoryNames, o.node, -1, "", fmt.Sprintf("the voter set says that node %s is at %s, the configuration says %s", o.node, o.said, o.configure))
		}
	}
}

// configured is the address at which the observer was told to expect a node; empty if it is not known, or not unique.
func (c *Checker) configured(n *node) string {
	found := ""
	for _, e := range c.endpointList {
		if e.node != n || e.grade < given || e.conns == 0 {
			continue
		}
		if found != "" {
			return ""
		}
		found = e.name
	}
	return found
}

// mayBeSame reports whether two addresses may be one: by different names of a machine, or by one that stands for all.
func mayBeSame(a, b string) bool {
	if a == b {
		return true
	}
	hostA, portA, okA := cutPort(a)
	hostB, portB, okB := cutPort(b)
	if !okA || !okB || portA != portB {
		return !okA || !okB
	}
	ipA, errA := netip.ParseAddr(hostA)
	ipB, errB := netip.ParseAddr(hostB)
	return errA != nil || errB != nil || ipA.IsUnspecified() || ipB.IsUnspecified()
}

func cutPort(at string) (host, port string, ok bool) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return "", "", false
	}
	return strings.Trim(at[:i], "[]"), at[i+1:], true
}

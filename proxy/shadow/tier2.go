package shadow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow/belief"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// tier2Rule stands for all that the second tier judges: the decisions of each voter, by the states that it may be in.
var tier2Rule = Rule{
	ID: Tier2, Name: "explained",
	Says:   "every message of a voter is one that a correct controller of its release could have written, after all that came to it",
	Source: "the engine of Kafka's release (package kraft), over every order of events that the wire leaves open",
	Why:    "the controller decides something that Kafka's does not: whatever it is, the others rely on it",
}

// second is the second tier, if it is wanted.
type second struct {
	*belief.Checker
	held    []Finding
	stream  int // of the first message
	begun   bool
	several bool // there are others
	covers  coverage
	looked  view  // what the findings that wait were last looked at by
	due     int64 // when the next of them has waited for long enough
}

// view is all that lacks depends on.
type view struct {
	facts, voters int
	counted       bool
}

// lacks says what of a node is not seen that would have to be, "" if nothing is.
func (s *second) lacks(c *Checker, id kraft.NodeID) string {
	if c.options.SeesAll {
		return ""
	}
	voters, counted := s.Voters()
	return s.covers.lacks(id, voters, counted)
}

// maxHeld bounds the findings that wait until it shows that all of their node is seen.
const maxHeld = 1000

// holdBack is for how long a finding waits, in nanoseconds: the order of events at a node is certain by one clock only, and it may take a
// while until messages that another one has told the time of show up.
const holdBack = 12_000_000_000

// usable reports whether the second tier goes on, and files what has waited.
func (s *second) usable(c *Checker, k *conn, at int64) bool {
	if !s.begun {
		s.begun, s.stream = true, k.key.stream
	}
	if k.key.stream != s.stream && !s.several {
		s.several, s.held = true, nil
		c.note("tier 2 does not judge streams of several recorders: the order of what happened at a node is certain by one clock only")
	}
	s.file(c, at-holdBack)
	return !s.several
}

// file reports what was found until then.
func (s *second) file(c *Checker, until int64) {
	if s == nil || len(s.held) == 0 {
		return
	}
	voters, counted := s.Voters()
	now := view{s.covers.facts, len(voters), counted}
	if now == s.looked && until < s.due {
		return // for those that wait nothing is new
	}
	s.looked, s.due = now, math.MaxInt64
	kept := s.held[:0]
	for i := range s.held {
		f := &s.held[i]
		switch {
		case f.Last > until:
			s.due = min(s.due, f.Last)
		case s.lacks(c, f.Node) == "":
			c.report(*f)
			continue
		}
		kept = append(kept, *f)
	}
	s.held = kept
}

// withTier2 adds the second tier.
func (c *Checker) withTier2() {
	c.second = &second{Checker: belief.New(belief.Options{Found: c.unexplained, Releases: c.options.Releases}), covers: newCoverage()}
}

// software passes on which release a node is.
func (s *second) software(id kraft.NodeID, name, version string) {
	if s == nil {
		return
	}
	if name != javaClient && name != ownClient {
		version = name + " " + version
	}
	if s.Release(id, version) { // what it did since its restart was judged by the rules of another
		s.held = slices.DeleteFunc(s.held, func(f Finding) bool { return f.Node == id })
	}
}

// request passes on a request of the raft layer.
func (s *second) request(c *Checker, k *conn, o *recordings.Observation, sender *node, h wire.RequestHeader, sent, got []byte) {
	if s == nil || !s.concerned(k, h.Key) || !s.usable(c, k, o.At.Seen) {
		return
	}
	s.covers.saw(idOf(sender), idOf(c.server(k)))
	m := belief.Message{
		Conn: belief.ConnID{Stream: k.key.stream, ID: k.key.id}, Client: idOf(sender), Server: idOf(c.server(k)), Key: h.Key, Version: h.Version,
		Correlation: h.CorrelationID, Sent: sent, Got: got, Midway: k.midway, At: o.At.Seen, Number: o.Number,
	}
	s.Message(&m)
}

// response passes on a response of the raft layer. sent is its body as the server wrote it.
func (s *second) response(c *Checker, k *conn, o *recordings.Observation, x *wire.Exchange, sent []byte, withheld withheldParts) {
	if s == nil || !s.concerned(k, x.Header.Key) || !s.usable(c, k, o.At.Seen) {
		return
	}
	m := belief.Message{
		Conn: belief.ConnID{Stream: k.key.stream, ID: k.key.id}, Client: idOf(k.client), Server: idOf(c.server(k)), Response: true,
		Key: x.Header.Key, Version: x.Header.Version, Sent: sent, Got: sent, Midway: k.midway, Withheld: len(withheld) > 0, At: o.At.Seen, Number: o.Number,
	}
	switch f := o.Fault; {
	case f == nil:
	case !f.Delivered:
		m.Got = nil
	case f.Sent != nil && !c.options.FaultAsPeer:
		if _, body, err := wire.ParseResponseHeader(o.Frame.Bytes, x.Header.Key, x.Header.Version); err == nil {
			m.Got = body
		} else {
			m.Got = nil
		}
	}
	s.Message(&m)
}

// concerned reports whether a message belongs to the raft layer: DescribeQuorum goes to brokers as well.
func (s *second) concerned(k *conn, key int16) bool {
	if _, ok := kindOf(key, wire.Request); !ok {
		return false
	}
	return k.ep.raft || k.ep.grade >= given
}

// closed passes on the end of a connection.
func (s *second) closed(k *conn) {
	if s != nil {
		s.Closed(belief.ConnID{Stream: k.key.stream, ID: k.key.id})
	}
}

// blind passes on that something on a connection was missed.
func (s *second) blind(c *Checker, k *conn, why string, at int64) {
	if s == nil {
		return
	}
	for _, n := range []*node{c.server(k), k.client} {
		if n != nil {
			s.Blind(n.id, why, at)
		}
	}
}

// unexplained files what no state explains: the node diverges.
func (c *Checker) unexplained(d belief.Divergence) {
	says := d.Said
	if len(d.Wanted) > 0 {
		says += ". No state that node " + d.Node.String() + " may be in explains it; it would be, at best: " + strings.Join(d.Wanted, " | or: ")
	}
	proof := Evidence{Stream: d.Conn.Stream, Conn: d.Conn.ID, Number: d.Number, At: d.At, Line: d.Said}
	list := []Evidence{proof}
	if d.Asked != 0 {
		list = []Evidence{{Stream: d.Conn.Stream, Conn: d.Conn.ID, Number: d.Asked, At: d.At, Line: "what it answers"}, proof}
	}
	if len(c.second.held) >= maxHeld {
		return
	}
	f := c.found(&tier2Rule, d.Node, d.Epoch, wire.Name(d.Key), says, list...)
	c.second.held, c.second.due = append(c.second.held, f), min(c.second.due, f.Last)
}

// tier2Notes says how far the second tier came.
func (c *Checker) tier2Notes(r *Report) {
	if c.second == nil {
		return
	}
	r.Tier2 = c.second.Report()
	for i := range r.Tier2 {
		n := &r.Tier2[i]
		if why := c.second.lacks(c, n.Node); why != "" && n.Judged+n.Diverged > 0 {
			n.Unjudged = maps.Clone(n.Unjudged)
			if n.Unjudged == nil {
				n.Unjudged = map[string]uint64{}
			}
			n.Unjudged[why] += n.Judged + n.Diverged
			n.Judged, n.Diverged = 0, 0
		}
		var reasons []string
		for why, count := range n.Unjudged {
			reasons = append(reasons, fmt.Sprintf("%d %s", count, why))
		}
		slices.Sort(reasons)
		text := fmt.Sprintf("tier 2: node %s: %d of %d messages explained", n.Node, n.Judged, n.Messages)
		if len(reasons) > 0 {
			text += "; not judged: " + strings.Join(reasons, ", ")
		}
		if n.Unjudged[belief.NoProfile] == n.Messages && n.Messages > 0 {
			text = fmt.Sprintf("tier 2: node %s is of a release that the engine has no profile of: tier 1 only", n.Node)
		}
		r.Notes = append(r.Notes, text)
	}
}

// tier2Gaps are the reasons for which the second tier keeps a run from conforming: it gave up where there was enough to judge.
func (r *Report) tier2Gaps(why func(string)) {
	for _, n := range r.Tier2 {
		if given := n.Unjudged[belief.TooMany]; given*100 > n.Messages*(100-enough) {
			why(fmt.Sprintf("tier 2: of %d messages of node %s, %d have %s", n.Messages, n.Node, given, belief.TooMany))
		}
	}
}

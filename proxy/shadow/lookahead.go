package shadow

import (
	"bytes"
	"slices"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// A capture does not say which node is behind which listener; its traffic does, often a few seconds in. So when
// raft requests arrive at a listener without a name, observations are held back while a scout, a checker without
// monitors, reads on and learns. They are judged when each such listener has a name, or the window is full.

// The bounds of the window.
const (
	windowBytes  = 32 << 20
	windowFrames = 200_000
	windowTime   = 60_000_000_000 // of the stream, nanoseconds
)

// window holds observations back.
type window struct {
	scout *Checker
	held  []recordings.Observation
	bytes int
	begun int64
}

// overhead is about what a held observation takes beside its bytes.
const overhead = 200

// mustWait reports whether an observation is the first raft request to a listener without a name.
func (c *Checker) mustWait(o *recordings.Observation) bool {
	if o.Kind != recordings.KindFrame || o.Dir != wire.Request || c.scouting {
		return false
	}
	e := c.connOf(o).ep
	if e.waited || e.grade >= ownWord || e.ambiguous {
		return false
	}
	h, _, err := wire.ParseRequestHeader(o.Frame.Bytes)
	return err == nil && wire.Raft(h.Key)
}

// hold keeps a copy of the observation and shows it to the scout. It returns false when the window is over.
func (w *window) hold(o *recordings.Observation) bool {
	copied := *o
	copied.Frame.Bytes = bytes.Clone(o.Frame.Bytes)
	copied.Withheld = slices.Clone(o.Withheld)
	if o.Fault != nil {
		fault := *o.Fault
		fault.Sent = bytes.Clone(fault.Sent)
		fault.Withheld = slices.Clone(fault.Withheld)
		copied.Fault = &fault
		w.bytes += len(fault.Sent)
	}
	if o.Gap != nil {
		gap := *o.Gap
		copied.Gap = &gap
	}
	if len(w.held) == 0 {
		w.begun = o.At.Seen
	}
	w.held = append(w.held, copied)
	w.bytes += len(o.Frame.Bytes) + overhead
	w.scout.judge(&copied)
	if w.bytes > windowBytes || len(w.held) > windowFrames || o.At.Seen-w.begun > windowTime {
		return false
	}
	for _, e := range w.scout.endpointList {
		if e.raft && e.grade < ownWord && !e.ambiguous && !e.waited {
			return true
		}
	}
	return false
}

// openWindow begins to hold observations back.
func (c *Checker) openWindow() {
	scout := newChecker(c.options)
	scout.scouting = true
	for _, e := range c.endpointList {
		s := scout.endpoint(e.name)
		s.grade, s.confirmed, s.ambiguous, s.waited = e.grade, e.confirmed, e.ambiguous, e.waited
		s.claims = slices.Clone(e.claims)
		if e.node != nil {
			s.node = scout.node(e.node.id)
		}
	}
	scout.cluster = c.cluster
	c.window = &window{scout: scout}
}

// closeWindow takes over what the scout has learnt and judges what was held back.
func (c *Checker) closeWindow() {
	w := c.window
	c.window = nil
	if c.first == 0 {
		c.first = w.begun
	}
	for _, s := range w.scout.endpointList {
		e := c.endpoint(s.name)
		e.waited = e.waited || s.raft
		if e.grade < s.grade && s.node != nil {
			e.grade, e.node, e.confirmed = s.grade, c.node(s.node.id), s.confirmed
		}
		e.ambiguous = e.ambiguous || s.ambiguous
		e.claims = s.claims
	}
	if c.cluster == "" {
		c.identify(w.scout.cluster)
	}
	for _, text := range w.scout.notes {
		c.note(text)
	}
	for i := range w.held {
		c.judge(&w.held[i])
		w.held[i] = recordings.Observation{}
	}
}

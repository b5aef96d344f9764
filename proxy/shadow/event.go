package shadow

import "github.com/understudy-kafka/understudy/kraft"

// EventKind is a kind of [Event].
type EventKind string

// The events.
const (
	EventCandidate EventKind = "candidate" // a node asks for votes, or pre-votes
	EventVote      EventKind = "vote"      // a voter answered, the first time so to this candidate
	EventLeader    EventKind = "leader"    // a leader of an epoch is known
	EventWatermark EventKind = "watermark" // the first high watermark of an epoch
	EventResigned  EventKind = "resigned"  // a leader gave up its epoch
	EventRestarted EventKind = "restarted" // all connections of a node ended and new ones began
	EventDirectory EventKind = "directory" // a node came with another directory id
	EventFinding   EventKind = "finding"
	EventAdvisory  EventKind = "advisory"
	EventState     EventKind = "state"   // the quorum, now and then
	EventVerdict   EventKind = "verdict" // the end
)

// Event is something that happened on the stream.
type Event struct {
	Kind      EventKind    `json:"event"`
	At        int64        `json:"at"`    // nanoseconds since the Unix epoch
	Node      kraft.NodeID `json:"node"`  // whose event it is; -1 if nobody's
	Epoch     kraft.Epoch  `json:"epoch"` // -1 if none is concerned
	Text      string       `json:"text"`  // the event in words
	Candidate kraft.NodeID `json:"candidate"`
	PreVote   bool         `json:"preVote,omitempty"`
	Granted   bool         `json:"granted,omitempty"`
	Watermark kraft.Offset `json:"highWatermark,omitempty"`
	Number    uint64       `json:"number,omitempty"` // of the packet block
	Finding   *Finding     `json:"finding,omitempty"`
	Quorum    *Quorum      `json:"quorum,omitempty"`
	Report    *Report      `json:"report,omitempty"`
}

// listening reports whether anybody wants events.
func (c *Checker) listening() bool { return c.options.Events != nil && !c.scouting }

// emit hands an event to whoever wants it.
func (c *Checker) emit(e Event) {
	if !c.listening() {
		return
	}
	if e.Finding != nil {
		e.Text = e.Finding.Text
	}
	if e.Kind != EventCandidate && e.Kind != EventVote {
		e.Candidate = kraft.NoNode
	}
	c.options.Events(e)
}

// statePeriod is how much time of the stream passes between two events with the state of the quorum.
const statePeriod = 1_000_000_000

// tick tells the state of the quorum now and then.
func (c *Checker) tick(at int64) {
	if at-c.quorum.told < statePeriod && at >= c.quorum.told {
		return
	}
	c.quorum.told = at
	if len(c.nodeList) == 0 {
		return
	}
	q := c.Quorum()
	q.Elections = nil
	c.emit(Event{Kind: EventState, At: at, Node: kraft.NoNode, Epoch: q.Epoch, Quorum: &q})
}

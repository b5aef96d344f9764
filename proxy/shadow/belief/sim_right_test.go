package belief

import (
	"maps"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/wire"
)

// right is what a wrong node would be with no rule broken: an engine with a disk of its own that gets the same events and timers, in the
// same lives. From the moment at which it would write something else the two go separate ways, and it has done its duty.
type right struct {
	m       *kraft.QuorumStateMachine
	log     *memlog.Log
	stored  kraft.QuorumState
	now     kraft.Instant
	actions kraft.Actions
}

// begin starts a life.
func (r *right) begin(n *simNode) {
	if r.log == nil {
		r.log = n.log.Clone()
	}
	cfg := n.config
	cfg.History = r.log.History()
	cfg.Stored, cfg.HasStored = r.stored, r.stored != kraft.QuorumState{}
	m, err := kraft.New(cfg)
	if err != nil {
		n.s.t.Fatal(err)
	}
	r.m = m
}

// handles has it take an event, and returns what it would write. ok is false if the event cannot be meant for it any more.
func (r *right) handles(ev kraft.Event, due kraft.TimerSet) (list []string, ok bool) {
	for _, a := range r.m.OnEvent(ev, r.log.View(), kraft.Clock{Now: r.now, Due: due}, &r.actions) {
		if p, persists := a.(*kraft.PersistQuorumState); persists {
			r.stored = p.Stored()
		}
		list = written(list, a)
		if _, err := r.log.Execute(a, ev); err != nil {
			return list, false
		}
	}
	return list, true
}

// compare notes when a wrong node first writes what the right one would not have written in its place.
func (n *simNode) compare(actions []kraft.Action) {
	if n.right == nil {
		return
	}
	var wrong []string
	for _, a := range actions {
		wrong = written(wrong, a)
	}
	right, ok := n.right.handles(n.event, n.due)
	if !slices.Equal(wrong, right) {
		n.s.changed(n)
	}
	if !ok {
		n.right = nil
	}
}

// changed notes that from now on the node writes what is not right.
func (s *sim) changed(n *simNode) {
	n.right = nil
	s.changedAt = max(s.seen, 1)
	s.unjudgedBefore = s.unjudged(n.id)
}

// unjudged is how many messages of a node were not judged, by reason.
func (s *sim) unjudged(id kraft.NodeID) map[string]uint64 {
	for _, r := range s.c.Report() {
		if r.Node == id {
			return maps.Clone(r.Unjudged)
		}
	}
	return nil
}

// written adds a message to a list.
func written(list []string, a kraft.Action) []string {
	_, _, reply := wire.ReplyKey(a)
	if _, _, send := wire.SendKey(a); send || reply {
		return append(list, a.String())
	}
	return list
}

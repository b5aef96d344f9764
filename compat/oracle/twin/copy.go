package twin

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// clone is an independent copy of a node whose log is in memory. What is never changed in place is shared: bytes, messages, the
// configuration.
func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	c := *n
	if n.m != nil {
		c.m = n.m.Clone()
	}
	c.actions = kraft.Actions{}
	c.log = n.log.(*hostLog).clone()
	c.timers, c.before = maps.Clone(n.timers), maps.Clone(n.before)
	c.queue, c.parked = slices.Clone(n.queue), slices.Clone(n.parked)
	c.maxVersions, c.failAt = maps.Clone(n.maxVersions), maps.Clone(n.failAt)
	c.inFlight, c.requests, c.prepared = maps.Clone(n.inFlight), maps.Clone(n.requests), maps.Clone(n.prepared)
	c.partial, c.pending = slices.Clone(n.partial), slices.Clone(n.pending)
	c.draws, c.born, c.text = slices.Clone(n.draws), maps.Clone(n.born), nil
	return &c
}

// equal reports whether both nodes know the same and will do the same with the same machine. To be unsure is to say no.
func (n *node) equal(o *node) bool {
	if n == nil || o == nil {
		return n == o
	}
	return n.dead == o.dead && n.finished == o.finished && n.now == o.now && n.cleaner == o.cleaner && n.nextSend == o.nextSend && n.version == o.version &&
		reflect.DeepEqual(n.stored, o.stored) && maps.Equal(n.timers, o.timers) && len(n.queue) == len(o.queue) && slices.Equal(n.parked, o.parked) &&
		maps.Equal(n.inFlight, o.inFlight) && maps.Equal(n.failAt, o.failAt) && sameKeys(n.requests, o.requests) && sameKeys(n.prepared, o.prepared) &&
		len(n.pending) == len(o.pending) && bytes.Equal(n.partial, o.partial) && (n.partial == nil) == (o.partial == nil) && n.log.(*hostLog).equal(o.log.(*hostLog)) &&
		n.instant == o.instant && n.drawn == o.drawn && maps.Equal(n.born, o.born) && n.bornEpoch == o.bornEpoch && n.bornNext == o.bornNext &&
		equalMachines(n.m, o.m)
}

func sameKeys[K comparable, V any](a, b map[K]V) bool {
	return maps.EqualFunc(a, b, func(V, V) bool { return true })
}

// equalMachines compares the machines by their fingerprints, and the instants that those leave out.
func equalMachines(a, b *kraft.QuorumStateMachine) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Fingerprint() != b.Fingerprint() || a.Inspect().NextCorrelation != b.Inspect().NextCorrelation {
		return false
	}
	x, ok := a.Role().(*kraft.Leader)
	if !ok {
		return true
	}
	y, ok := b.Role().(*kraft.Leader)
	return ok && slices.EqualFunc(x.Voters, y.Voters, equalReplicas) && slices.EqualFunc(x.Observers, y.Observers, equalReplicas)
}

func equalReplicas(a, b kraft.Replica) bool {
	return a.Key == b.Key && a.Endpoints.Equal(b.Endpoints) && a.End == b.End && a.LastFetchLeaderEnd == b.LastFetchLeaderEnd &&
		a.LastFetch == b.LastFetch && a.LastCaughtUp == b.LastCaughtUp && a.Acknowledged == b.Acknowledged
}

func (l *hostLog) clone() *hostLog {
	c := &hostLog{view: l.view, entries: slices.Clone(l.entries), flushed: l.flushed, snapshots: maps.Clone(l.snapshots)}
	c.view.BatchBase = c.base
	return c
}

func (l *hostLog) equal(o *hostLog) bool {
	return l.flushed == o.flushed && l.view.Equal(&o.view) && maps.EqualFunc(l.snapshots, o.snapshots, bytes.Equal) &&
		slices.EqualFunc(l.entries, o.entries, func(a, b entry) bool { return bytes.Equal(a.bytes, b.bytes) })
}

package controller

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// limitObservers has the Fetch of one replica too many (Limits.Observers) answered like that of a reader without an id: it gets its records, and
// no account is kept of it. Each account costs something with every message, and whoever may connect can make up as many as it likes: they are
// kept by id and directory id. First those go that have been silent for so long that DescribeQuorum would forget them.
func (l *loop) limitObservers(m *message) {
	e, ok := m.event.(*kraft.ReceiveFetch)
	if !ok || e.Replica.ID < 0 || e.Replica.ID == l.id || !l.isOneTooMany(e.Replica) {
		return
	}
	if now := l.now(); now >= l.forgot+sessionCheckMs {
		l.forgot = now
		l.hand = nil
		l.on(&kraft.ReceiveDescribeQuorum{}) // of no request: nobody is answered
		l.hand = m
		if l.ended || !l.isOneTooMany(e.Replica) {
			return
		}
		l.cfg.Log.Warn().Stringer("replica", e.Replica).Stringer("peer", m.request.peer).Int("observers", l.cfg.Limits.Observers).
			Msg("too many replicas fetch: it is answered, and not listed among the observers")
	}
	e.Replica = kraft.NoReplica
}

// sessionCheckMs is how often it is looked whether any of too many observers can be forgotten.
const sessionCheckMs = 10_000

// isOneTooMany: this node leads, has as many observers as it takes, and the replica is neither one of them nor a voter.
func (l *loop) isOneTooMany(key kraft.ReplicaKey) bool {
	leader, leads := l.m.Role().(*kraft.Leader)
	if !leads || len(leader.Observers) < l.cfg.Limits.Observers {
		return false
	}
	return !slices.ContainsFunc(leader.Observers, func(r kraft.Replica) bool { return r.Key == key }) &&
		!slices.ContainsFunc(leader.Voters, func(r kraft.Replica) bool {
			return (&kraft.Voter{Key: r.Key}).Matches(key)
		})
}

// maxPeers is how many nodes are kept in touch with before it is looked who of them is asked no more. Anyone can announce one leader after the
// other.
const maxPeers = 64

// leaveStrangers ends what is kept of nodes that are asked nothing now, are no voters and do not lead: connection, goroutine and timers. Should
// one of them be asked again, it begins anew.
func (l *loop) leaveStrangers() {
	if len(l.peers) < maxPeers {
		return
	}
	inside, leader := l.m.Inspect(), l.m.QuorumState().Leader
	for record, p := range l.peers {
		if record < 0 || record == leader || p.asked || inside.Voters.Find(record) != nil {
			continue
		}
		close(p.queue)
		delete(l.peers, record)
	}
	for timer := range l.timers.peers {
		if timer.Kind == kraft.RequestTimer || timer.Kind == kraft.BackoffTimer {
			if !slices.ContainsFunc(inside.Connections, func(c kraft.Connection) bool { return c.ID == timer.Peer.ID }) {
				delete(l.timers.peers, timer)
			}
		}
	}
}

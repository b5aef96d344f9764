package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// voteForLongerLog is M15. A voter's Fetch says where its log ends, at the latest when it came by. From then on the log
// only grows, unless the voter is told to truncate it or to replace it by a snapshot, or loses a tail with its
// process. A Fetch may wait in the client's queue: after a truncation only those of a later epoch, or of the connection that brought
// the truncation, are certainly built after it.
type voteForLongerLog struct{}

var voteForLongerLogRule = Rule{
	ID: "M15", Name: "vote-for-longer-log",
	Says:   "a voter grants votes and pre-votes only to candidates whose log is at least as long as its own",
	Source: "Raft 5.4.1; KIP-595; Kafka KafkaRaftClient.handleVoteRequest (isLogUpToDate)",
	Why:    "a leader that lacks committed records is elected, and they are lost",
}

func (voteForLongerLog) rule() *Rule { return &voteForLongerLogRule }
func (voteForLongerLog) hears() []Kind {
	return []Kind{KindFetchRequest, KindFetchResponse, KindVoteResponse}
}

// lengthMemory holds how long a replica's log certainly is.
type lengthMemory struct {
	any    bool
	end    kraft.LogEnd
	moment Moment
	life   int
	ref    ref

	cut   bool        // the replica was told to truncate or to replace its log
	cutIn kraft.Epoch // in this epoch
	cutAt *conn       // on this connection
}

func (voteForLongerLog) observe(c *Checker, m *message) {
	switch m.kind {
	case KindFetchRequest:
		m.sender.length.fetched(m)
	case KindFetchResponse:
		replica := m.peer
		truncates := m.fetched.DivergingEpoch >= 0 || m.fetched.SnapshotEpoch >= 0 || m.fetched.SnapshotEnd >= 0
		if replica == nil || m.failed || !truncates {
			return
		}
		replica.length = lengthMemory{cut: true, cutIn: max(m.epoch, m.asked, replica.length.cutIn), cutAt: m.conn}
	case KindVoteResponse:
		if !m.failed && m.err == kraft.None && m.vote.granted && !m.ref.weak {
			m.sender.length.granted(c, m)
		}
	}
}

// fetched takes in where the log of a Fetch's sender ends.
func (l *lengthMemory) fetched(m *message) {
	n := m.sender
	if n.misled > 0 || l.cut && m.epoch <= l.cutIn && m.conn != l.cutAt {
		return
	}
	end := kraft.LogEnd{LastEpoch: m.fetch.LastFetchedEpoch, LastOffset: m.fetch.Offset}
	if l.any && l.life == n.lives && end.Compare(l.end) <= 0 {
		return
	}
	l.any, l.end, l.moment, l.life, l.ref = true, end, m.when.To, n.lives, m.ref
}

// granted looks at a vote.
func (l *lengthMemory) granted(c *Checker, m *message) {
	n := m.sender
	if !l.any || l.life != n.lives || n.misled > 0 || !l.moment.before(m.when.From) || m.vote.logEnd.Compare(l.end) >= 0 {
		return
	}
	what := "vote"
	if m.vote.preVote {
		what = "pre-vote"
	}
	text := fmt.Sprintf("node %s, whose log reaches to %s, grants its %s in epoch %d to node %s, whose log ends at %s",
		n.id, l.end, what, m.vote.epoch, m.vote.candidate.ID, m.vote.logEnd)
	now := c.proof(m)
	f := c.found(&voteForLongerLogRule, n.id, m.vote.epoch, what, text,
		c.evidence(&l.ref, "log end "+l.end.String()), c.asked(m), c.evidence(&now, ""))
	n.suspect(c, f, l.ref.order, m.ref.order)
}

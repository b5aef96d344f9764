package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// voteOnce is M1. A vote is a granted answer to a standard Vote request, and a standard Vote request is its
// sender's vote for itself. Pre-votes bind nobody.
type voteOnce struct{}

var voteOnceRule = Rule{
	ID: "M1", Name: "vote-once",
	Says:   "a voter votes for at most one candidate in an epoch, across restarts",
	Source: "KIP-595; Kafka UnattachedState.canGrantVote, QuorumState.unattachedAddVotedState",
	Why:    "two candidates that share a voter can both reach a majority: two leaders in one epoch",
}

func (voteOnce) rule() *Rule   { return &voteOnceRule }
func (voteOnce) hears() []Kind { return []Kind{KindVoteRequest, KindVoteResponse} }

// voteMemory holds the votes of one replica. Its newest epochs are kept; a voter fences older ones.
type voteMemory struct{ list []castVote }

type castVote struct {
	epoch     kraft.Epoch
	candidate kraft.ReplicaKey
	life      int
	ref       ref
}

// votesKept is how many epochs back a second vote is found.
const votesKept = 64

func (voteOnce) observe(c *Checker, m *message) {
	if m.vote.preVote || m.vote.epoch < 0 || m.vote.candidate.ID < 0 || m.ref.weak {
		return
	}
	if m.kind == KindVoteResponse && (m.failed || m.err != kraft.None || !m.vote.granted) {
		return
	}
	n := m.sender
	for i := range n.votes.list {
		first := &n.votes.list[i]
		if first.epoch != m.vote.epoch {
			continue
		}
		if first.rivals(m.vote.candidate, n.lives) {
			text := fmt.Sprintf("node %s voted for %s in epoch %d and then for %s", n.id, first.candidate, m.vote.epoch, m.vote.candidate)
			now := c.proof(m)
			f := c.found(&voteOnceRule, n.id, m.vote.epoch, m.vote.candidate.String(), text, c.evidence(&first.ref, ""), c.evidence(&now, ""))
			n.suspect(c, f, first.ref.order, m.ref.order)
		}
		return
	}
	if len(n.votes.list) == votesKept {
		n.votes.list = append(n.votes.list[:0], n.votes.list[1:]...)
	}
	n.votes.list = append(n.votes.list, castVote{m.vote.epoch, m.vote.candidate, n.lives, c.proof(m)})
}

// rivals reports whether a vote for the candidate contradicts v. Directory ids are compared only within one life: the
// file that outlives it holds none at kraft.version 0 (Kafka: QuorumStateData v0).
func (v *castVote) rivals(candidate kraft.ReplicaKey, life int) bool {
	if v.candidate.ID != candidate.ID {
		return true
	}
	return v.life == life && !v.candidate.DirectoryID.IsZero() && !candidate.DirectoryID.IsZero() &&
		v.candidate.DirectoryID != candidate.DirectoryID
}

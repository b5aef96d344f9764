package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Election is what was seen of the choice of an epoch's leader.
type Election struct {
	Epoch       kraft.Epoch  `json:"epoch"`
	Began       int64        `json:"began"`      // the first message of it, nanoseconds since the Unix epoch
	Candidates  []Candidate  `json:"candidates"` // in the order in which they asked
	Leader      kraft.NodeID `json:"leader"`     // -1: none is known
	LeaderAt    int64        `json:"leaderAt"`   // when it was first named
	Watermark   kraft.Offset `json:"firstHighWatermark"`
	WatermarkAt int64        `json:"firstHighWatermarkAt"`
	ResignedAt  int64        `json:"resignedAt,omitempty"` // when the leader gave up
}

// Candidate is a node that asked for votes. One that asks for pre-votes is listed with the epoch it wants to reach.
type Candidate struct {
	ID          kraft.NodeID `json:"id"`
	DirectoryID string       `json:"directoryId,omitempty"`
	PreVote     bool         `json:"preVote,omitempty"`
	Asked       uint64       `json:"asked"` // how many requests
	Ballots     []Ballot     `json:"ballots"`

	key kraft.ReplicaKey
}

// Ballot is a voter's answer to a candidate.
type Ballot struct {
	Voter   kraft.NodeID    `json:"voter"`
	Granted bool            `json:"granted"`
	Error   kraft.ErrorCode `json:"error,omitempty"` // in place of a decision
	Count   uint64          `json:"count"`           // how often it said so
	At      int64           `json:"at"`              // the first time
	Number  uint64          `json:"number"`          // its packet block
}

// maxElections bounds the timeline; the oldest are dropped and counted.
const maxElections = 1000

// maxBallots bounds the candidates of an election and the ballots of a candidate.
const maxBallots = 64

// election returns the election of an epoch; nil if it was dropped long ago.
func (q *quorumView) election(epoch kraft.Epoch, at int64) *Election {
	i, found := slices.BinarySearchFunc(q.elections, epoch, func(e Election, epoch kraft.Epoch) int { return int(e.Epoch) - int(epoch) })
	if found {
		return &q.elections[i]
	}
	if len(q.elections) >= maxElections {
		if i == 0 {
			return nil
		}
		q.elections = append(q.elections[:0], q.elections[1:]...)
		q.dropped++
		i--
	}
	q.elections = slices.Insert(q.elections, i, Election{Epoch: epoch, Began: at, Leader: kraft.NoNode, Watermark: -1})
	return &q.elections[i]
}

// electionOf is the election that a vote belongs to: a pre-vote at epoch e is about epoch e + 1.
func (q *quorumView) electionOf(m *message) *Election {
	if m.vote.epoch < 0 {
		return nil
	}
	epoch := m.vote.epoch
	if m.vote.preVote {
		epoch++
	}
	return q.election(epoch, m.ref.at)
}

// candidate finds or adds the candidate of a vote.
func (e *Election) candidate(v *vote) (cand *Candidate, news bool) {
	for i := range e.Candidates {
		if e.Candidates[i].key == v.candidate && e.Candidates[i].PreVote == v.preVote {
			return &e.Candidates[i], false
		}
	}
	if len(e.Candidates) >= maxBallots {
		return nil, false
	}
	cand = new(Candidate)
	*cand = Candidate{ID: v.candidate.ID, PreVote: v.preVote, key: v.candidate}
	if !v.candidate.DirectoryID.IsZero() {
		cand.DirectoryID = v.candidate.DirectoryID.String()
	}
	e.Candidates = append(e.Candidates, *cand)
	return &e.Candidates[len(e.Candidates)-1], true
}

// asked takes in a request for a vote.
func (q *quorumView) asked(c *Checker, m *message) {
	if !m.vote.preVote {
		m.sender.view.VoteEpoch, m.sender.view.Vote = m.vote.epoch, m.sender.id
	}
	e := q.electionOf(m)
	if e == nil {
		return
	}
	cand, news := e.candidate(&m.vote)
	if cand == nil {
		return
	}
	cand.Asked++
	if news && c.listening() {
		c.emit(Event{
			Kind: EventCandidate, At: m.ref.at, Node: m.sender.id, Epoch: m.vote.epoch, Candidate: m.sender.id,
			PreVote: m.vote.preVote, Number: m.ref.number,
			Text: fmt.Sprintf("node %s asks for %s in epoch %d, log end %s", m.sender.id, voteName(m.vote.preVote), m.vote.epoch, m.vote.logEnd),
		})
	}
}

func voteName(preVote bool) string {
	if preVote {
		return "pre-votes"
	}
	return "votes"
}

// answered takes in the answer to a request for a vote.
func (q *quorumView) answered(c *Checker, m *message) {
	if m.failed {
		return
	}
	if m.vote.granted && !m.vote.preVote && m.err == kraft.None && m.vote.epoch >= m.sender.view.VoteEpoch {
		m.sender.view.VoteEpoch, m.sender.view.Vote = m.vote.epoch, m.vote.candidate.ID
	}
	e := q.electionOf(m)
	if e == nil {
		return
	}
	cand, _ := e.candidate(&m.vote)
	if cand == nil {
		return
	}
	granted := m.vote.granted && m.err == kraft.None
	for i := range cand.Ballots {
		b := &cand.Ballots[i]
		if b.Voter == m.sender.id && b.Granted == granted && b.Error == m.err {
			b.Count++
			return
		}
	}
	if len(cand.Ballots) >= maxBallots {
		return
	}
	cand.Ballots = append(cand.Ballots, Ballot{Voter: m.sender.id, Granted: granted, Error: m.err, Count: 1, At: m.ref.at, Number: m.ref.number})
	if !c.listening() {
		return
	}
	c.emit(Event{
		Kind: EventVote, At: m.ref.at, Node: m.sender.id, Epoch: m.vote.epoch, Candidate: m.vote.candidate.ID,
		PreVote: m.vote.preVote, Granted: granted, Number: m.ref.number,
		Text: fmt.Sprintf("node %s %s of node %s in epoch %d", m.sender.id, outcome(m, granted), m.vote.candidate.ID, m.vote.epoch),
	})
}

func outcome(m *message, granted bool) string {
	what := "the vote"
	if m.vote.preVote {
		what = "the pre-vote"
	}
	switch {
	case m.err != kraft.None:
		return "answers " + m.err.String() + " to " + what + " request"
	case granted:
		return "grants " + what
	default:
		return "refuses " + what
	}
}

// led takes in that somebody names the leader of an epoch.
func (q *quorumView) led(c *Checker, m *message) {
	if n := len(q.elections); n > 0 && q.elections[n-1].Epoch == m.epoch && q.elections[n-1].Leader >= 0 {
		return
	}
	e := q.election(m.epoch, m.ref.at)
	if e == nil || e.Leader >= 0 {
		return
	}
	e.Leader, e.LeaderAt = m.leader, m.ref.at
	c.emit(Event{
		Kind: EventLeader, At: m.ref.at, Node: m.leader, Epoch: m.epoch, Number: m.ref.number,
		Text: fmt.Sprintf("node %s leads epoch %d", m.leader, m.epoch),
	})
}

// committed takes in a high watermark of the leader's.
func (q *quorumView) committed(c *Checker, m *message) {
	n := len(q.elections)
	if n == 0 || q.elections[n-1].Epoch != m.epoch {
		return
	}
	e := &q.elections[n-1]
	if e.Watermark >= 0 {
		return
	}
	e.Watermark, e.WatermarkAt = m.watermark, m.ref.at
	c.emit(Event{
		Kind: EventWatermark, At: m.ref.at, Node: m.sender.id, Epoch: m.epoch, Watermark: m.watermark, Number: m.ref.number,
		Text: fmt.Sprintf("first high watermark of epoch %d is %d", m.epoch, m.watermark),
	})
}

// resigned takes in an EndQuorumEpoch request.
func (q *quorumView) resigned(c *Checker, m *message) {
	e := q.election(m.begun.epoch, m.ref.at)
	if e == nil || e.ResignedAt != 0 {
		return
	}
	e.ResignedAt = m.ref.at
	c.emit(Event{
		Kind: EventResigned, At: m.ref.at, Node: m.sender.id, Epoch: m.begun.epoch, Number: m.ref.number,
		Text: fmt.Sprintf("node %s gives up epoch %d", m.sender.id, m.begun.epoch),
	})
}

// restarted takes in that a node has new connections after all of its had ended.
func (q *quorumView) restarted(c *Checker, n *node, at int64) {
	n.view.Role = RoleUnknown
	c.emit(Event{
		Kind: EventRestarted, At: at, Node: n.id, Epoch: -1,
		Text: fmt.Sprintf("node %s is back: all its connections had ended", n.id),
	})
}

// left takes in that all connections of a node have ended.
func (q *quorumView) left(_ *Checker, n *node) { n.view.Role = RoleUnknown }

// newDirectory takes in that a node came with another directory id.
func (q *quorumView) newDirectory(c *Checker, n *node, old kraft.DirectoryID, m *message) {
	c.emit(Event{
		Kind: EventDirectory, At: m.ref.at, Node: n.id, Epoch: -1, Number: m.ref.number,
		Text: fmt.Sprintf("node %s has directory id %s, before %s", n.id, m.directory, old),
	})
}

// timeline is a copy of the elections.
func (q *quorumView) timeline() []Election {
	list := slices.Clone(q.elections)
	for i := range list {
		list[i].Candidates = slices.Clone(list[i].Candidates)
		for j := range list[i].Candidates {
			list[i].Candidates[j].Ballots = slices.Clone(list[i].Candidates[j].Ballots)
		}
	}
	return list
}

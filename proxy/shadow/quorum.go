package shadow

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Role is the part that a node plays in the quorum, as far as its messages show.
type Role string

// The roles. A voter that leads an epoch which it has given up is resigned; a nominee that asks for pre-votes
// is prospective (KIP-996).
const (
	RoleUnknown     Role = "unknown"
	RoleUnattached  Role = "unattached"
	RoleFollower    Role = "follower"
	RoleObserver    Role = "observer"
	RoleProspective Role = "prospective"
	RoleCandidate   Role = "candidate"
	RoleLeader      Role = "leader"
	RoleResigned    Role = "resigned"
)

// NodeView is a node as the wire shows it. What is not known is -1 or empty.
type NodeView struct {
	ID          kraft.NodeID `json:"id"`
	Role        Role         `json:"role"`
	Voter       bool         `json:"voter"`
	Seen        bool         `json:"seen"` // at least one message of it was seen
	Epoch       kraft.Epoch  `json:"epoch"`
	Leader      kraft.NodeID `json:"leader"`
	VoteEpoch   kraft.Epoch  `json:"voteEpoch"` // the last epoch in which it is known to have voted
	Vote        kraft.NodeID `json:"vote"`
	LogEnd      kraft.Offset `json:"logEnd"`
	LastEpoch   kraft.Epoch  `json:"lastEpoch"` // of the last record of its log
	Watermark   kraft.Offset `json:"highWatermark"`
	Release     string       `json:"release"`
	DirectoryID string       `json:"directoryId"`
	Listener    string       `json:"listener"`
	Connected   bool         `json:"connected"`
	Restarts    int          `json:"restarts"`
	LastSeen    int64        `json:"lastSeen"` // nanoseconds since the Unix epoch
}

// Quorum is the quorum as seen from the wire.
type Quorum struct {
	ClusterID string             `json:"clusterId"`
	Epoch     kraft.Epoch        `json:"epoch"`  // the highest seen
	Leader    kraft.NodeID       `json:"leader"` // of that epoch
	Watermark kraft.Offset       `json:"highWatermark"`
	Voters    []kraft.ReplicaKey `json:"voters"`
	Nodes     []NodeView         `json:"nodes"`
	Elections []Election         `json:"elections"` // oldest first
}

// quorumView grows from the messages.
type quorumView struct {
	epoch     kraft.Epoch
	leader    kraft.NodeID
	watermark kraft.Offset
	voters    []kraft.ReplicaKey
	votersAt  kraft.LogEnd    // where the voter set was read
	assumed   bool            // the voters are those that candidates and leaders wrote to
	endpoints []voterEndpoint // of the latest voter set
	elections []Election
	dropped   int
	told      int64
}

// voterEndpoint is where a voter set says that a voter is.
type voterEndpoint struct {
	node kraft.NodeID
	name string // HOST:PORT
}

func (q *quorumView) init() {
	q.epoch, q.leader, q.watermark, q.assumed = -1, kraft.NoNode, -1, true
	q.votersAt = kraft.LogEnd{LastEpoch: -1, LastOffset: -1}
}

// Quorum is the quorum as seen so far.
func (c *Checker) Quorum() Quorum {
	q := Quorum{
		ClusterID: c.cluster, Epoch: c.quorum.epoch, Leader: c.quorum.leader, Watermark: c.quorum.watermark,
		Voters: slices.Clone(c.quorum.voters), Elections: c.quorum.timeline(),
	}
	for _, n := range c.nodeList {
		v := n.view
		v.ID, v.Voter, v.Restarts, v.Connected = n.id, c.quorum.isVoter(n.id), n.lives, len(n.conns) > 0
		if v.Role == "" {
			v.init()
		}
		if v.Role == RoleFollower && !v.Voter {
			v.Role = RoleObserver
		}
		if len(n.disks) > 0 && !n.disks[len(n.disks)-1].id.IsZero() {
			v.DirectoryID = n.disks[len(n.disks)-1].id.String()
		}
		for _, e := range c.endpointList {
			if e.node == n && e.conns > 0 {
				v.Listener = e.name
			}
		}
		q.Nodes = append(q.Nodes, v)
	}
	for _, v := range q.Voters {
		if c.nodes[v.ID] == nil {
			missing := NodeView{ID: v.ID, Voter: true}
			missing.init()
			q.Nodes = append(q.Nodes, missing)
		}
	}
	return q
}

func (v *NodeView) init() {
	v.Role, v.Epoch, v.Leader, v.VoteEpoch, v.Vote = RoleUnknown, -1, kraft.NoNode, -1, kraft.NoNode
	v.LogEnd, v.LastEpoch, v.Watermark = -1, -1, -1
}

func (q *quorumView) isVoter(id kraft.NodeID) bool {
	return slices.ContainsFunc(q.voters, func(k kraft.ReplicaKey) bool { return k.ID == id })
}

// observe takes in a message for the view.
func (q *quorumView) observe(c *Checker, m *message) {
	n := m.sender
	v := &n.view
	if v.Role == "" {
		v.init()
	}
	v.Seen = true
	v.LastSeen = m.ref.at
	if m.epoch > q.epoch {
		q.epoch, q.leader = m.epoch, kraft.NoNode
	}
	if m.epoch >= 0 && m.epoch >= v.Epoch {
		if m.epoch > v.Epoch {
			v.Epoch, v.Leader = m.epoch, kraft.NoNode
		}
		if m.leader >= 0 {
			v.Leader = m.leader
		}
		v.play(m)
	}
	if m.names() {
		if m.epoch == q.epoch {
			q.leader = m.leader
		}
		q.led(c, m)
	}
	switch m.kind {
	case KindFetchRequest:
		v.LogEnd, v.LastEpoch = m.fetch.Offset, m.fetch.LastFetchedEpoch
		if hw := m.fetch.HighWatermark; hw != wire.NoHighWatermark {
			v.Watermark = hw
		}
	case KindFetchResponse:
		q.fetched(c, m)
	case KindVoteRequest:
		v.LogEnd, v.LastEpoch = m.vote.logEnd.LastOffset, m.vote.logEnd.LastEpoch
		q.assume(m.vote.candidate)
		q.assume(m.vote.voterKey)
		q.asked(c, m)
	case KindVoteResponse:
		q.answered(c, m)
	case KindBeginRequest:
		q.assume(m.begun.voterKey)
	case KindEndRequest:
		q.resigned(c, m)
	case KindDescribeResponse:
		if len(m.voters) > 0 {
			q.setVoters(m.voters, kraft.LogEnd{LastEpoch: m.epoch, LastOffset: q.votersAt.LastOffset})
		}
	}
	if m.hasHW && m.watermark >= 0 {
		v.Watermark = m.watermark
		q.watermark = max(q.watermark, m.watermark)
		q.committed(c, m)
	}
}

// play derives the role from a message of the sender's present epoch.
func (v *NodeView) play(m *message) {
	switch {
	case m.kind == KindEndRequest:
		v.Role = RoleResigned
	case m.leads:
		v.Role = RoleLeader
	case m.kind == KindVoteRequest && m.vote.preVote:
		v.Role = RoleProspective
	case m.kind == KindVoteRequest:
		v.Role = RoleCandidate
	case m.kind == KindFetchRequest || m.kind == KindSnapshotRequest:
		if p := m.peer; p != nil && p.view.Role == RoleLeader && p.view.Epoch == m.epoch {
			v.Leader = p.id
		}
		if v.Role = RoleUnattached; v.Leader >= 0 {
			v.Role = RoleFollower
		}
	case m.leader >= 0 && m.leader != m.sender.id:
		v.Role = RoleFollower
	}
}

// fetched takes in the records of a Fetch response.
func (q *quorumView) fetched(c *Checker, m *message) {
	for i := range m.batches {
		b := &m.batches[i]
		if m.leads {
			m.sender.view.LogEnd = max(m.sender.view.LogEnd, b.last+1)
			m.sender.view.LastEpoch = b.epoch
		}
		at := kraft.LogEnd{LastEpoch: b.epoch, LastOffset: b.base}
		if !b.control() || at.Compare(q.votersAt) <= 0 {
			continue
		}
		b.controls(func(r wire.ControlRecord) bool {
			switch r := r.(type) {
			case wire.LeaderChange:
				q.setVoterIDs(r.Voters, at)
			case wire.Voters:
				keys := make([]kraft.ReplicaKey, len(r.Voters))
				for i := range r.Voters {
					keys[i] = r.Voters[i].Key
				}
				q.setVoters(keys, at)
				c.hearVoters(&r)
			}
			return true
		})
	}
}

func (q *quorumView) setVoters(keys []kraft.ReplicaKey, at kraft.LogEnd) {
	q.voters, q.votersAt, q.assumed = append(q.voters[:0], keys...), at, false
}

// setVoterIDs takes in a voter set without directory ids; those known of the same voters stay.
func (q *quorumView) setVoterIDs(ids []kraft.ReplicaKey, at kraft.LogEnd) {
	keys := make([]kraft.ReplicaKey, len(ids))
	for i := range ids {
		keys[i] = kraft.ReplicaKey{ID: ids[i].ID}
		for _, known := range q.voters {
			if known.ID == ids[i].ID {
				keys[i] = known
			}
		}
	}
	q.setVoters(keys, at)
}

// assume takes a replica for a voter while no voter set was seen: a candidate, or one that is asked for its vote.
func (q *quorumView) assume(key kraft.ReplicaKey) {
	if q.assumed && key.ID >= 0 && !q.isVoter(key.ID) && len(q.voters) < maxNodes {
		q.voters = append(q.voters, key)
	}
}

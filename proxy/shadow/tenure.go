package shadow

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// tenure is what was seen of one node as the leader of one epoch: which voters it counts, and how far each replica is known
// to be from its own Fetches. M10 and M20 read it.
type tenure struct {
	epoch     kraft.Epoch
	leader    kraft.NodeID
	stream    int
	followers []tenureFollower

	voters   []kraft.NodeID // of the leader's log, the latest that was served; nil: not seen
	votersAt kraft.Offset
	start    kraft.Offset // of its LeaderChange record; -1: not seen
	startRef ref
	least    kraft.Offset // the least watermark it answered; -1: none
	leastRef ref
	suspect  *overrun

	blind bool // something of its traffic was missed: nothing can be said of what others offered it
}

// tenureFollower is a replica that fetches from a leader.
type tenureFollower struct {
	id        kraft.NodeID
	directory kraft.DirectoryID
	offered   kraft.Offset // the greatest fetch offset that was sent to the leader
	offer     ref
	answered  kraft.Offset // the greatest fetch offset that the leader found in step and answered; -1: none
	answer    ref
	delivered kraft.Offset // where the records end that the leader sent it
	asking    bool         // its latest Fetch has no answer yet
	lastReply uint64       // the observation with the latest answer
	elsewhere bool         // it has records that did not come by here: its Fetches do not tell all
	reformed  bool         // it came with several directory ids: the leader counts one of them
}

// The bounds on leaderships and followers that are remembered.
const (
	tenuresKept  = 8
	followersMax = 64
)

// tenures holds the latest leaderships.
type tenures struct{ list []*tenure }

// of returns the leadership of a node in an epoch; a new one is made for a recent epoch. It is nil if the epoch is too old.
func (t *tenures) of(epoch kraft.Epoch, leader kraft.NodeID, stream int) *tenure {
	oldest := -1
	for i, known := range t.list {
		if known.epoch == epoch && known.leader == leader {
			return known
		}
		if oldest < 0 || known.epoch < t.list[oldest].epoch {
			oldest = i
		}
	}
	if len(t.list) >= tenuresKept {
		if t.list[oldest].epoch > epoch {
			return nil
		}
		t.list = slices.Delete(t.list, oldest, oldest+1)
	}
	news := &tenure{epoch: epoch, leader: leader, stream: stream, start: -1, votersAt: -1, least: -1}
	t.list = append(t.list, news)
	return news
}

// follower returns what is known of a replica; nil if there are too many.
func (t *tenure) follower(id kraft.NodeID) *tenureFollower {
	for i := range t.followers {
		if t.followers[i].id == id {
			return &t.followers[i]
		}
	}
	return nil
}

// observe takes in a Fetch or its answer, and returns the leadership that it is about.
func (t *tenures) observe(c *Checker, m *message) *tenure {
	var leader, replica *node
	epoch := m.epoch
	switch {
	case m.kind == KindFetchRequest:
		leader, replica = m.peer, m.sender
	case m.leads && m.hasHW:
		leader, replica = m.sender, m.peer
	default:
		return nil
	}
	if leader == nil || epoch < 0 {
		return nil
	}
	l := t.of(epoch, leader.id, m.ref.stream)
	if l == nil {
		return nil
	}
	if m.conn.holes || m.conn.midway || l.stream != m.ref.stream || c.counts.Gaps > 0 || c.counts.Undecodable > 0 { // of whom a Fetch may have been, nobody knows
		l.blind = true
	}
	switch m.kind {
	case KindFetchRequest:
		l.offered(m, replica)
	case KindFetchResponse:
		l.served(c, m)
		if replica != nil && epoch == m.fetch.Epoch {
			l.answered(m, replica)
		}
	}
	return l
}

// offered takes in a Fetch on its way to the leader.
func (t *tenure) offered(m *message, replica *node) {
	f := t.follower(replica.id)
	if f == nil {
		if len(t.followers) >= followersMax {
			t.blind = true
			return
		}
		t.followers = append(t.followers, tenureFollower{id: replica.id, directory: m.directory, offered: -1, answered: -1, delivered: -1})
		f = &t.followers[len(t.followers)-1]
	}
	f.reformed = f.reformed || f.directory != m.directory
	f.elsewhere = f.elsewhere || f.offered >= 0 && m.fetch.Offset > max(f.delivered, f.offered)
	f.asking = true
	if m.fetch.Offset > f.offered {
		f.offered, f.offer = m.fetch.Offset, m.ref
	}
}

// answered takes in the leader's answer to a replica.
func (t *tenure) answered(m *message, replica *node) {
	f := t.follower(replica.id)
	if f == nil || f.offered < m.fetch.Offset { // the Fetch came before the leader's listener had a name
		t.blind = true
		return
	}
	f.asking, f.lastReply = false, m.ref.order
	f.delivered = max(f.delivered, m.fetch.Offset)
	if n := len(m.batches); n > 0 {
		f.delivered = max(f.delivered, m.batches[n-1].last+1)
	}
	inStep := m.fetched.DivergingEpoch < 0 && m.fetched.SnapshotEpoch < 0 && m.fetched.SnapshotEnd < 0
	if inStep && m.fetch.Offset > f.answered {
		f.answered, f.answer = m.fetch.Offset, m.askedRef
	}
}

// served takes in what the leader's own records of the epoch say: where it begins, and who votes.
func (t *tenure) served(c *Checker, m *message) {
	for i := range m.batches {
		b := &m.batches[i]
		if b.epoch != t.epoch || !b.control() || b.digest&crcRight == 0 || b.base <= t.votersAt {
			continue
		}
		b.controls(func(r wire.ControlRecord) bool {
			switch r := r.(type) {
			case wire.LeaderChange:
				if r.Leader == t.leader && t.start < 0 {
					t.start, t.startRef = b.base, c.proof(m)
				}
				t.voters, t.votersAt = idsOf(t.voters, r.Voters), b.base
			case wire.Voters:
				t.voters, t.votersAt = t.voters[:0], b.base
				for j := range r.Voters {
					t.voters = append(t.voters, r.Voters[j].Key.ID)
				}
			}
			return true
		})
	}
}

func idsOf(into []kraft.NodeID, keys []kraft.ReplicaKey) []kraft.NodeID {
	into = into[:0]
	for _, k := range keys {
		into = append(into, k.ID)
	}
	return into
}

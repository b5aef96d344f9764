package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// accept takes in a message that was seen leaving the node, and keeps the hypothesis if it has an explanation for it. h stays as
// it is. ok says that no later state explains more: one that lets a stale request leave, or one for any bootstrap server, is kept,
// but the node may as well have built the same anew by then, and then its answer counts, or is that of the leader.
func (j *judge) accept(next []*hypothesis, h *hypothesis, x *crossing) (_ []*hypothesis, ok bool) {
	if x.reply {
		try := j.clone(h)
		if ok = j.acceptReply(try, x); ok {
			return j.keep(next, try), true
		}
		j.free(try)
		return next, false
	}
	for _, stale := range []bool{false, true} {
		for i := range h.sent {
			if !h.leaves(i, x, stale) || h.twice(i, stale) {
				continue
			}
			try := j.clone(h)
			if !j.acceptRequest(try, i, x, stale) {
				j.free(try)
				continue
			}
			next, ok = j.keep(next, try), ok || !stale && !h.sent[i].anywhere
		}
	}
	return next, ok
}

func (j *judge) acceptReply(h *hypothesis, x *crossing) bool {
	i := h.askedOn(x.conn)
	if i < 0 || len(h.asked[i].could) == 0 && !h.asked[i].before {
		return false
	}
	if h.asked[i].before {
		return j.acceptAny(h, i, x)
	}
	if len(x.said.batches) > 0 && !h.asked[i].cut && !j.extend(h, x.said.batches) {
		return false
	}
	s := &h.asked[i]
	if !slices.ContainsFunc(s.could, func(a answer) bool { return a.explains(&x.said, s, x.key) }) {
		return false
	}
	if !s.taken && s.observer {
		j.event(h, s.x.event, idle)
		i = h.askedOn(x.conn)
	}
	if h.asked[i].x.key == wire.KeyFetch && x.said.err == kraft.None && x.said.top == kraft.None && h.asked[i].x.said.last < h.since {
		h.blind = true // whether it counts as progress depends on what is not known
	}
	j.settle(h, i)
	return true
}

// acceptAny takes the answer to a request that came before judging began. It may have been taken then, and what it was answered is what was
// right at that time.
func (j *judge) acceptAny(h *hypothesis, i int, x *crossing) bool {
	if !h.asked[i].taken {
		j.take(h, i)
		i = h.askedOn(x.conn)
	}
	if h.dead || i < 0 || len(x.said.batches) > 0 && !j.extend(h, x.said.batches) {
		return false
	}
	j.settle(h, i)
	return true
}

// explains reports whether the answer is the one that was seen.
func (a *answer) explains(c *content, s *askedSlot, key int16) bool {
	if key == wire.KeyFetchSnapshot {
		return a.explainsSnapshot(c)
	}
	if a.said.top != c.top {
		return false
	}
	if c.top != kraft.None && key != wire.KeyUpdateRaftVoter {
		return true
	}
	if a.said.err != c.err || a.said.leader != c.leader || a.said.epoch != c.epoch {
		return false
	}
	switch key {
	case wire.KeyVote:
		return a.said.granted == c.granted
	case wire.KeyFetch:
		return a.explainsFetch(c, s)
	case wire.KeyDescribeQuorum:
		return c.err != kraft.None || a.explainsDescription(c)
	}
	return true
}

// explainsFetch compares what a Fetch was answered. Which snapshots a node has nobody but itself decides: a position that one
// may cover can be answered with it. It changes nothing.
func (a *answer) explainsFetch(c *content, s *askedSlot) bool {
	asked := &s.x.said
	if c.err != kraft.None {
		return !c.records && c.hw == a.said.hw && c.diverge == a.said.diverge && c.snapshot == a.said.snapshot
	}
	if a.leads && c.snapshot != nowhere {
		covered := asked.offset == 0 || asked.offset < c.logStart || asked.last < c.snapshot.Epoch || asked.offset <= c.snapshot.Offset
		return covered && !c.records && c.diverge == nowhere && c.hw == a.said.hw && (c.snapshot.Offset <= c.hw || c.hw < 0)
	}
	if a.vague {
		return c.hw == a.said.hw
	}
	if c.hw != a.said.hw || c.diverge != a.said.diverge || c.snapshot != a.said.snapshot {
		return false
	}
	if !a.valid {
		return !c.records
	}
	if !c.records {
		return !a.some
	}
	return len(c.batches) == 0 || c.batches[0].Base <= asked.offset && asked.offset <= c.batches[0].Last
}

// explainsSnapshot compares what a FetchSnapshot was answered: only whether the node leads. Answers with an error cannot be
// written by Kafka and leave it as UNKNOWN_SERVER_ERROR (Kafka: FetchSnapshotResponse with null records).
func (a *answer) explainsSnapshot(c *content) bool {
	if a.said.top != kraft.None {
		return c.top == a.said.top
	}
	switch a.said.err {
	case kraft.FencedLeaderEpoch, kraft.UnknownLeaderEpoch, kraft.NotLeaderOrFollower, kraft.BrokerNotAvailable, kraft.UnknownTopicOrPartition:
		return c.top == kraft.UnknownServerError || c.err == a.said.err && c.top == kraft.None
	}
	if c.top == kraft.UnknownServerError {
		return true
	}
	return c.top == kraft.None && c.leader == a.said.leader && c.epoch == a.said.epoch
}

func (a *answer) explainsDescription(c *content) bool {
	if a.said.hw != c.hw || len(a.said.ends) != len(c.ends) {
		return false
	}
	for _, v := range a.said.ends {
		i := slices.IndexFunc(c.ends, func(e replicaEnd) bool { return e.id == v.id })
		if i < 0 || v.id != c.leader && c.ends[i].end != v.end {
			return false
		}
	}
	return true
}

// extend makes the log hold the batches that the node was seen serving: those that are known must be the same, those behind the
// end were appended by the leader since.
func (j *judge) extend(h *hypothesis, batches []kraft.Batch) bool {
	for i := range batches {
		b := &batches[i]
		if b.Base < h.view.End {
			if !h.holds(b) || !j.holdsMore(h, b) {
				return false
			}
			continue
		}
		if b.Base > h.view.End {
			return false
		}
		if !j.appendServed(h, b) {
			return false
		}
	}
	return true
}

// holdsMore makes the log of a leader reach to the end of a batch that begins in a part of which only the end was known.
func (j *judge) holdsMore(h *hypothesis, b *kraft.Batch) bool {
	_, leads := h.leads()
	if b.Last < h.view.End || len(b.Control) > 0 || !leads || b.Epoch != h.m.QuorumState().Epoch {
		return true
	}
	more := *b
	more.Base = h.view.End
	return j.appendServed(h, &more)
}

// holds reports whether the log has the batch, as far as it is known.
func (h *hypothesis) holds(b *kraft.Batch) bool {
	known := h.tail.find(b.Base)
	if known == nil {
		return h.tail == nil || h.tail.oldest() > b.Base
	}
	if known.Size == 0 { // of a leader's unseen tail only the end and epoch are known; of a control batch of its own, who has elected it
		return known.Epoch == b.Epoch && (known.Base != b.Base || !known.elected() || sameElection(known.Control, b.Control))
	}
	if known.Base != b.Base || known.Last != b.Last || known.Epoch != b.Epoch {
		return false
	}
	return sameControl(known.Control, b.Control)
}

func (b *batchNode) oldest() kraft.Offset {
	for b.before != nil {
		b = b.before
	}
	return b.Base
}

// elected reports whether a batch is the first of a leader.
func (b *batchNode) elected() bool {
	return len(b.Control) > 0 && b.Control[0].Type == kraft.LeaderChangeRecord
}

// sameElection compares who was elected and by whom. Whether a leader writes the voters anew besides only it knows (describesLeader).
func sameElection(a, b []kraft.ControlRecord) bool { return len(b) > 0 && sameControl(a[:1], b[:1]) }

// sameControl compares the LeaderChange records of a batch.
func sameControl(a, b []kraft.ControlRecord) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type || a[i].Leader != b[i].Leader || !sameIDs(a[i].VoterIDs, b[i].VoterIDs) || !sameIDs(a[i].Granting, b[i].Granting) ||
			!sameVoters(a[i].Voters, b[i].Voters) {
			return false
		}
	}
	return true
}

// sameVoters compares who the voters are. Where each can be reached and what it supports it tells the leader by itself.
func sameVoters(a, b kraft.VoterSet) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if v := b.Find(a.At(i).Key.ID); v == nil || v.Key != a.At(i).Key {
			return false
		}
	}
	return true
}

func sameIDs(a, b []kraft.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	for _, id := range a {
		if !slices.Contains(b, id) {
			return false
		}
	}
	return true
}

// appendServed is an append by the leader that nobody saw.
func (j *judge) appendServed(h *hypothesis, b *kraft.Batch) bool {
	j.extended = true
	if _, leads := h.leads(); !leads {
		last, _ := h.view.Epochs.Last()
		if !h.openTail || b.Epoch != last || len(b.Control) > 0 {
			return false
		}
		h.append(*b)
		return true
	}
	if b.Epoch != h.m.QuorumState().Epoch {
		return false
	}
	if len(b.Control) > 0 {
		return j.upgrades(h, b)
	}
	j.event(h, &kraft.AppendRequested{
		Epoch: b.Epoch, Records: int32(b.Last-b.Base) + 1, Size: min(b.Size, maxAppend), Schedule: true,
	}, idle)
	j.act(h, lingerDue)
	return h.view.End == b.Last+1
}

const maxAppend = 8 << 20

// twice reports whether an earlier request for the same connection record stands for the i-th.
func (h *hypothesis) twice(i int, stale bool) bool {
	s := &h.sent[i]
	return stale && slices.ContainsFunc(h.sent[:i], func(o sentSlot) bool { return o.alike(s) && !h.m.Awaits(o.record, o.correlation) })
}

// acceptRequest takes the request for the i-th of those that the node has built. A stale one, whose answer it will not look at, may
// stand in the queue for the same node: then it leaves first.
func (j *judge) acceptRequest(h *hypothesis, i int, x *crossing, stale bool) bool {
	s := &h.sent[i]
	loads := h.loads(s, x)
	if !h.leaves(i, x, stale) || !loads && !j.wrote(h, s, x) {
		return false
	}
	if loads {
		h.load(x)
	}
	record, anywhere, built := s.record, s.anywhere, s.first
	if !stale {
		h.loading = h.loading && (s.key != wire.KeyFetch || s.discovers)
		o := openSlot{conn: x.conn, record: s.record, correlation: s.correlation, key: s.key}
		h.sent = slices.Delete(h.sent, i, i+1)
		h.open = append(h.open, o)
	}
	h.overtaken(built, record, anywhere)
	return true
}

// leaves reports whether the i-th may be the request, by all but what it says.
func (h *hypothesis) leaves(i int, x *crossing, stale bool) bool {
	s := &h.sent[i]
	if s.key != x.key && !h.loads(s, x) || !s.anywhere && s.record != x.to && x.to != kraft.NoNode {
		return false
	}
	return h.m.Awaits(s.record, s.correlation) != stale && !h.occupied(x.conn)
}

// occupied reports whether the node has yet to take the answer to a request that left on a connection. Then no other leaves there: one
// that was built for the same record before left before, one that was built since would have made it forget the first, and there is
// one record to a connection (Kafka: NetworkClient keeps connections by node id, and a bootstrap server has one of its own).
func (h *hypothesis) occupied(conn ConnID) bool {
	return slices.ContainsFunc(h.open, func(s openSlot) bool { return s.conn == conn && !s.hidden() })
}

// overtaken drops what was built for a connection record before a request that leaves: requests to one node leave in order, so those
// will not. What may have been built after it stays.
func (h *hypothesis) overtaken(built kraft.Instant, record kraft.NodeID, anywhere bool) {
	if anywhere {
		return
	}
	h.sent = slices.DeleteFunc(h.sent, func(s sentSlot) bool {
		return s.last < built && s.record == record && !s.anywhere && !h.m.Awaits(record, s.correlation)
	})
}

// wrote reports whether the request that was seen is the one that the node has built.
func (j *judge) wrote(h *hypothesis, s *sentSlot, x *crossing) bool {
	c, v := &x.said, x.version
	if s.said.epoch != c.epoch || c.wrong {
		return false
	}
	switch s.key {
	case wire.KeyVote:
		if s.said.leader != c.leader || s.said.preVote != c.preVote || v >= 1 && (s.said.replica != c.replica || s.said.voter != c.voter) {
			return false
		}
		return j.reaches(h, s, c)
	case wire.KeyBeginQuorumEpoch:
		return s.said.leader == c.leader && (v < 1 || s.said.voter == c.voter)
	case wire.KeyEndQuorumEpoch:
		return s.said.leader == c.leader && sameHeirs(s.said.heirs, c.heirs, v)
	case wire.KeyFetch:
		if s.said.replica.ID != c.replica.ID || v >= 17 && s.said.replica != c.replica {
			return false
		}
		if v >= 18 && s.said.hw != c.hw && (!h.unheard || c.hw < s.said.hw || !h.heard(c.hw)) {
			return false
		}
		return j.reaches(h, s, c)
	case wire.KeyFetchSnapshot:
		return s.said.snapshot == c.snapshot && s.said.position == c.position
	}
	return true
}

// reaches compares the log end that a request tells. That of a leader that left office may lie behind what is known.
func (j *judge) reaches(h *hypothesis, s *sentSlot, c *content) bool {
	if s.said.offset == c.offset && s.said.last == c.last {
		return true
	}
	last, _ := h.view.Epochs.Last()
	if !h.openTail || s.said.last != c.last || c.last != last || s.said.offset != h.view.End || c.offset < h.view.End {
		return false
	}
	h.lengthen(c.offset, c.last)
	h.openTail = false
	return true
}

// sameHeirs compares preferred successors. Those with equal progress are in any order, so only the set counts.
func sameHeirs(a, b []kraft.ReplicaKey, version int16) bool {
	if len(a) != len(b) {
		return false
	}
	for _, key := range a {
		if !slices.ContainsFunc(b, func(k kraft.ReplicaKey) bool { return k.ID == key.ID && (version < 1 || k == key) }) {
			return false
		}
	}
	return true
}

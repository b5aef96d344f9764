package belief

import (
	"cmp"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// A leader that led before judging began is known by what it has answered: the high watermark, and how far each voter is, which is all
// that the next high watermark depends on. Where its epoch began and what the log holds nobody has seen.

// reign is what a leader's answers have shown since they were seen.
type reign struct {
	epoch   kraft.Epoch
	began   int64 // nanoseconds since the Unix epoch
	hw      kraft.Offset
	end     kraft.Offset // the log reaches so far, at least
	horizon horizon
	fetches []*crossing // the last Fetch of each replica that was answered
}

// rules takes in an answer of a node that is not anchored, to a Fetch.
func (j *judge) rules(x, asked *crossing) {
	r := &j.wire.reign
	c := &x.said
	if c.top != kraft.None || c.err != kraft.None || c.leader != j.id || c.wrong {
		*r = reign{}
		return
	}
	if r.epoch != c.epoch {
		*r = reign{epoch: c.epoch, began: x.nanos, hw: -1}
	}
	r.fetches = slices.DeleteFunc(r.fetches, func(f *crossing) bool { return f.said.replica.ID == asked.said.replica.ID })
	if c.diverge != nowhere || c.snapshot != nowhere || asked.said.last != c.epoch {
		return
	}
	if len(r.fetches) < maxNodes || j.c.world.voters.Find(asked.said.replica.ID) != nil {
		r.fetches = append(r.fetches, asked)
	}
	r.hw, r.end = max(r.hw, c.hw), max(r.end, asked.said.offset)
	if n := len(c.batches); n > 0 {
		r.end = max(r.end, c.batches[n-1].Last+1)
	}
	if asked.nanos >= r.began {
		r.horizon.answered(x, asked.said.replica.ID, asked.said.offset)
	}
	if j.surveyed(x.nanos) {
		j.anchorLeader(x)
	}
}

// closedUnanswered forgets how far a replica is whose request was lost: it may have been taken.
func (r *reign) closedUnanswered(q *crossing) {
	r.fetches = slices.DeleteFunc(r.fetches, func(f *crossing) bool { return f.said.replica.ID == q.said.replica.ID })
}

// firstBatch is how many records the first batch of an epoch has at most: LeaderChange, KRaftVersion and Voters.
const firstBatch = 3

// absentNanos is after what time a voter counts as one that does not fetch.
const absentNanos = 3_000_000_000

// surveyed reports whether it is known how far every voter is, as far as it matters: one that does not fetch must be behind the others.
func (j *judge) surveyed(now int64) bool {
	w, r := &j.c.world, &j.wire.reign
	if r.hw < 1 || w.votersAt >= r.hw || w.votersEpoch > r.epoch || !w.certain(r.epoch) || w.voters.Find(j.id) == nil {
		return false
	}
	heard, lowest := 1, r.end
	for i := range w.voters.Len() {
		v := w.voters.At(i)
		at := slices.IndexFunc(r.fetches, func(f *crossing) bool { return v.Matches(f.said.replica) })
		if v.Key.ID == j.id || at < 0 {
			continue
		}
		heard++
		lowest = min(lowest, r.fetches[at].said.offset)
	}
	if heard == w.voters.Len() {
		return true
	}
	return heard > w.voters.Len()/2 && now-r.began > absentNanos && r.horizon.known && lowest >= r.horizon.end
}

// anchorLeader begins with a machine that was elected and has since got the Fetches that were answered. The epoch of the whole log is
// taken to be the leader's: what it says about earlier ones is not judged. Requests that wait for their answer may have been taken or not.
func (j *judge) anchorLeader(x *crossing) {
	w, r := &j.c.world, &j.wire.reign
	for _, q := range j.wire.asked {
		if q.key != wire.KeyFetch && q.key != wire.KeyDescribeQuorum {
			return
		}
		if q.said.last == r.epoch {
			r.end = max(r.end, q.said.offset)
		}
	}
	j.now = x.at
	start := kraft.Offset(0)
	if r.epoch > 1 {
		start = max(0, r.hw-firstBatch)
	}
	j.configure(min(max(w.votersAt, -1), start-1))
	h := new(hypothesis)
	if h.view.End = start; start > 0 {
		h.view.Epochs = kraft.EpochCache{{Epoch: r.epoch - 1, Start: 0}}
	}
	h.flushed = start
	h.stored = kraft.QuorumState{Epoch: r.epoch - 1, Leader: kraft.NoNode, Voted: kraft.NoReplica}
	var set []*hypothesis
	j.boot(h, func(begun *hypothesis) {
		if len(set) == 0 && j.enthrone(begun, r) {
			set = append(set, begun)
		}
	})
	if len(set) > 0 {
		j.begin(set, x)
	}
}

// enthrone has a machine win its election and come to where the answers have shown the leader to be.
func (j *judge) enthrone(h *hypothesis, r *reign) bool {
	j.act(h, electionDue)
	j.act(h, idle)
	for h.m.Role().Kind() == kraft.ProspectiveRole { // it need not ask for pre-votes
		i := slices.IndexFunc(h.sent, func(s sentSlot) bool { return h.m.Awaits(s.record, s.correlation) && s.key == wire.KeyVote })
		if i < 0 {
			return false
		}
		j.unasked(h, i)
	}
	for h.m.Role().Kind() == kraft.CandidateRole {
		j.act(h, idle)
		i := slices.IndexFunc(h.sent, func(s sentSlot) bool { return h.m.Awaits(s.record, s.correlation) && s.key == wire.KeyVote })
		if i < 0 {
			return false
		}
		yes := &kraft.ReceiveVoteResponse{VoteGranted: true}
		yes.From, yes.CorrelationID = h.sent[i].record, h.sent[i].correlation
		yes.LeaderID, yes.LeaderEpoch = kraft.NoNode, r.epoch
		h.sent = slices.Delete(h.sent, i, i+1)
		j.event(h, yes, idle)
	}
	l, leads := h.m.Role().(*kraft.Leader)
	if !leads || h.m.QuorumState().Epoch != r.epoch {
		return false
	}
	j.act(h, lingerDue)
	if more := r.end - h.view.End; more > 0 {
		j.event(h, &kraft.AppendRequested{Epoch: r.epoch, Records: int32(more), Size: 1, Schedule: true}, idle)
		j.act(h, lingerDue)
	}
	if h.view.End != r.end {
		return false
	}
	h.view.Epochs = kraft.EpochCache{{Epoch: r.epoch, Start: 0}}
	h.tail, h.since, h.reigned = nil, r.epoch, true
	for _, f := range r.fetches {
		j.event(h, f.event, idle)
		j.event(h, &kraft.ParkedExpired{Request: f.id}, idle)
	}
	if l.HighWatermark > r.hw {
		return false
	}
	l.HighWatermark, h.view.HighWatermark = r.hw, r.hw
	j.describe(l)
	h.sent, h.open = nil, nil
	var due kraft.TimerSet
	j.connections(h, &due)
	j.act(h, due)
	h.announced(j.wire.out)
	for _, q := range j.wire.asked {
		h.asked = append(h.asked, askedSlot{x: q, before: true})
	}
	return !h.dead
}

// announced has a leader wait for the answers to the announcements that were seen leaving: one may tell it of a later epoch.
func (h *hypothesis) announced(out map[ConnID]*crossing) {
	h.open = nil
	for conn, q := range out {
		i := slices.IndexFunc(h.sent, func(s sentSlot) bool {
			return s.key == q.key && s.record == q.to && s.said.epoch == q.said.epoch && h.m.Awaits(s.record, s.correlation)
		})
		if i >= 0 {
			h.open = append(h.open, openSlot{conn: conn, record: q.to, correlation: h.sent[i].correlation, key: q.key})
		}
	}
	h.sent = nil
	slices.SortFunc(h.open, func(a, b openSlot) int { return cmp.Compare(a.conn.ID, b.conn.ID) })
}

// describe gives a leader what voters have told it of themselves, which matters once kraft.version is raised.
func (j *judge) describe(l *kraft.Leader) {
	if !l.HasVolatileVoters {
		return
	}
	for i := range l.VolatileVoters.Len() {
		v := *l.VolatileVoters.At(i)
		if v.Key.ID == j.id {
			continue
		}
		v.Key.DirectoryID = j.c.world.dirs[v.Key.ID]
		v.Versions = kraft.VersionRange{Max: 1}
		if told, ok := l.VolatileVoters.UpdateByID(v); ok {
			l.VolatileVoters = told
		}
	}
}

package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// event lets the hypothesis' machine handle an event, and carries out what it asks for.
func (j *judge) event(h *hypothesis, ev kraft.Event, due kraft.TimerSet) {
	if h.dead {
		return
	}
	j.at, j.choosing = h, false
	h.serial++
	led := h.m.Role().Kind() == kraft.LeaderRole
	h.view.BatchBase = j.base
	for _, a := range h.m.OnEvent(ev, &h.view, kraft.Clock{Now: j.now, Due: due}, &j.actions) {
		j.execute(h, a, ev)
	}
	h.open = slices.DeleteFunc(h.open, func(s openSlot) bool { return !h.m.Awaits(s.record, s.correlation) })
	switch leads := h.m.Role().Kind() == kraft.LeaderRole; {
	case leads:
		j.watermark(h)
		h.openTail = false
	case led:
		h.openTail = true
	}
}

// base is the base offset of the batch that holds an offset of the log at hand (kraft.LogView.BatchBase).
func (j *judge) base(offset kraft.Offset) kraft.Offset {
	if b := j.at.tail.find(offset); b != nil {
		return b.Base
	}
	return offset
}

// watermark notes that waiting Fetches may be answered with the high watermark of now, and with records: an append that nobody has seen yet
// answers them at any time. One that waits in vain is told the high watermark of its arrival.
func (j *judge) watermark(h *hypothesis) {
	hw, _ := h.leads()
	for i := range h.asked {
		s := &h.asked[i]
		if !s.open || len(s.could) == 0 {
			continue
		}
		last := s.could[len(s.could)-1]
		if last.said.hw == hw && last.valid {
			continue
		}
		last = s.could[0]
		last.said.hw, last.some = hw, true
		s.note(last)
	}
}

// note adds a reply that the request may have been given.
func (s *askedSlot) note(a answer) {
	if !s.has(&a) {
		s.could = append(slices.Clip(s.could), a)
	}
}

func (s *askedSlot) has(a *answer) bool {
	for i := range s.could {
		if s.could[i].same(a) {
			return true
		}
	}
	return false
}

func (a *answer) same(b *answer) bool {
	return a.vague == b.vague && a.valid == b.valid && a.some == b.some && a.said.top == b.said.top && a.said.err == b.said.err &&
		a.said.leader == b.said.leader && a.said.epoch == b.said.epoch && a.said.granted == b.said.granted &&
		a.said.hw == b.said.hw && a.said.diverge == b.said.diverge && a.said.snapshot == b.said.snapshot &&
		slices.Equal(a.said.ends, b.said.ends)
}

func (j *judge) execute(h *hypothesis, action kraft.Action, ev kraft.Event) {
	if j.mayCrash && durable(action) {
		j.crashed = append(j.crashed, j.clone(h))
	}
	switch a := action.(type) {
	case *kraft.AppendLeaderChange:
		h.append(a.Batch)
	case *kraft.AppendControl:
		h.append(a.Batch)
	case *kraft.AppendRecords:
		h.append(a.Batch)
	case *kraft.AppendFetched:
		for _, b := range ev.(*kraft.ReceiveFetchResponse).Batches[:a.Take] {
			h.append(b)
		}
	case *kraft.FlushLog:
		h.flushed = h.view.End
	case *kraft.TruncateTo:
		h.lose()
		h.truncate(a.Offset)
	case *kraft.AssignEpoch:
		h.view.AssignEpoch(a.Epoch)
	case *kraft.AdvanceHighWatermark:
		h.view.AdvanceHighWatermark(a.Offset)
	case *kraft.InstallSnapshot:
		h.install(a, ev)
	case *kraft.PersistQuorumState:
		h.stored = a.Stored()
	case *kraft.Park:
		j.parked(h, a)
	case *kraft.ResetTimer:
		h.timer(a.Timer, a.Window == 0 && a.Deadline <= j.now)
	case *kraft.CancelTimer:
		h.timer(a.Timer, false)
	case *kraft.BeginSnapshotFetch:
		h.loading = false
	case *kraft.TransitionedTo:
		h.loading = false
		h.soon = slices.DeleteFunc(h.soon, func(t kraft.Timer) bool { return t.Kind != kraft.ElectionTimer })
	case *kraft.Fatal, *kraft.ShutdownDone:
		h.dead = true
	default:
		if !h.replied(action) {
			j.built(h, action)
		}
	}
}

// durable reports whether an action changes what a node finds when it starts again.
func durable(action kraft.Action) bool {
	switch action.(type) {
	case *kraft.AppendLeaderChange, *kraft.AppendControl, *kraft.AppendRecords, *kraft.AppendFetched, *kraft.FlushLog, *kraft.TruncateTo,
		*kraft.InstallSnapshot, *kraft.PersistQuorumState:
		return true
	}
	return false
}

// timer notes whether a timer has run out as it is set. All others are left to the search.
func (h *hypothesis) timer(t kraft.Timer, at bool) {
	i := slices.Index(h.soon, t)
	switch {
	case at && i < 0:
		h.soon = append(h.soon, t)
	case !at && i >= 0:
		h.soon = slices.Delete(h.soon, i, i+1)
	}
}

func (h *hypothesis) append(b kraft.Batch) {
	h.view.Append(b.Base, b.Last, b.Epoch)
	if len(b.Control) > 0 { // the machine's own lists may be used again
		b.Control = slices.Clone(b.Control)
		for i, r := range b.Control {
			if r.Type == kraft.VotersRecord || r.Type == kraft.KRaftVersionRecord {
				h.history = append(slices.Clip(h.history), kraft.HistoryEntry{Offset: b.Base + kraft.Offset(i), Record: r})
			}
		}
	}
	h.tail = h.tail.push(b)
}

func (h *hypothesis) truncate(end kraft.Offset) {
	h.tail = h.tail.cut(end)
	h.view.TruncateTo(end)
	h.flushed = min(h.flushed, h.view.End)
	for n := len(h.history); n > 0 && h.history[n-1].Offset >= end; n-- {
		h.history = h.history[:n-1]
	}
}

// lose takes in that records are taken out of the log: nobody was served those that it may have had beyond what is known, and answers that
// were written before may yet show others.
func (h *hypothesis) lose() {
	h.openTail = false
	for i := range h.asked {
		s := &h.asked[i]
		s.cut = s.cut || slices.ContainsFunc(s.could, func(a answer) bool { return a.some })
	}
}

func (h *hypothesis) install(a *kraft.InstallSnapshot, ev kraft.Event) {
	contents := ev.(*kraft.ReceiveFetchSnapshotResponse).Contents
	h.view.AddSnapshot(kraft.Snapshot{ID: a.ID, Size: a.Size})
	if !h.view.TruncateToLatestSnapshot() {
		return
	}
	h.lose()
	h.tail, h.flushed, h.history = nil, h.view.End, nil
	if contents.HasKRaftVersion {
		h.history = append(h.history, kraft.HistoryEntry{
			Offset: a.ID.Offset - 1, Record: kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: contents.KRaftVersion},
		})
	}
	if contents.HasVoters {
		h.history = append(h.history, kraft.HistoryEntry{
			Offset: a.ID.Offset - 1, Record: kraft.ControlRecord{Type: kraft.VotersRecord, Voters: contents.Voters},
		})
	}
}

// parked notes a Fetch that waits, with the answer that it gets if it waits in vain.
func (j *judge) parked(h *hypothesis, a *kraft.Park) {
	s := h.request(a.Request)
	if s == nil {
		return
	}
	hw, _ := h.leads()
	s.parked, s.open = true, true
	s.note(answer{valid: true, leads: true, said: content{
		leader: j.id, epoch: h.m.QuorumState().Epoch, hw: hw, diverge: nowhere, snapshot: nowhere,
	}})
}

// replied notes a reply.
func (h *hypothesis) replied(action kraft.Action) bool {
	_, id, ok := wire.ReplyKey(action)
	if !ok {
		return false
	}
	s := h.request(id)
	if s == nil {
		return true
	}
	s.parked, s.open = false, false
	a := answerOf(action)
	a.vague = a.leads && s.x.key == wire.KeyFetch && s.x.said.last < h.since
	s.note(a)
	return true
}

func answerOf(action kraft.Action) (a answer) {
	a.said.leader, a.said.epoch, a.said.hw, a.said.diverge, a.said.snapshot = kraft.NoNode, -1, -1, nowhere, nowhere
	partition := func(top kraft.ErrorCode, p *kraft.PartitionReply) {
		if a.said.top = top; top == kraft.None {
			a.said.err, a.said.leader, a.said.epoch = p.PartitionError, p.LeaderID, p.LeaderEpoch
		}
	}
	switch r := action.(type) {
	case *kraft.ReplyVote:
		partition(r.Error, &r.PartitionReply)
		a.said.granted = r.VoteGranted
	case *kraft.ReplyBeginQuorumEpoch:
		partition(r.Error, &r.PartitionReply)
	case *kraft.ReplyEndQuorumEpoch:
		partition(r.Error, &r.PartitionReply)
	case *kraft.ReplyFetch:
		a.fetched(&r.FetchAnswer, partition)
	case *kraft.ReplyDivergingEpoch:
		a.fetched(&r.FetchAnswer, partition)
	case *kraft.ReplyFetchSnapshot:
		partition(r.Error, &r.PartitionReply)
	case *kraft.ReplyDescribeQuorum:
		a.said.top, a.said.err = r.Error, r.PartitionError
		a.said.leader, a.said.epoch, a.said.hw = r.LeaderID, r.LeaderEpoch, r.HighWatermark
		for i := range r.Voters {
			a.said.ends = append(a.said.ends, replicaEnd{r.Voters[i].Key.ID, r.Voters[i].LogEnd})
		}
	case *kraft.ReplyAddRaftVoter:
		a.said.top = r.Error
	case *kraft.ReplyRemoveRaftVoter:
		a.said.top = r.Error
	case *kraft.ReplyUpdateRaftVoter:
		a.said.top, a.said.leader, a.said.epoch = r.Error, r.LeaderID, r.LeaderEpoch
	}
	return a
}

func (a *answer) fetched(r *kraft.FetchAnswer, partition func(kraft.ErrorCode, *kraft.PartitionReply)) {
	partition(r.Error, &r.PartitionReply)
	a.said.hw, a.said.diverge, a.said.snapshot = r.HighWatermark, r.Diverging, r.Snapshot
	a.leads = r.Error == kraft.None && r.PartitionError == kraft.None
	a.valid = a.leads && r.Diverging == nowhere && r.Snapshot == nowhere
	a.some = r.From < r.UpTo
}

// built notes a request of the node.
func (j *judge) built(h *hypothesis, action kraft.Action) {
	if _, ok := action.(*kraft.ChooseBootstrap); ok {
		j.choosing = true
		return
	}
	key, to, ok := wire.SendKey(action)
	if !ok {
		return
	}
	s := sentSlot{record: to.Record, correlation: to.CorrelationID, key: key, anywhere: j.choosing && j.c.world.dynamic, discovers: j.choosing, first: j.now, last: j.now}
	s.said.leader, s.said.hw, s.said.snapshot = kraft.NoNode, -1, nowhere
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		s.said.epoch, s.said.leader, s.said.replica, s.said.voter = a.Epoch, a.Candidate.ID, a.Candidate, a.Voter
		s.said.offset, s.said.last, s.said.preVote = a.LogEnd.LastOffset, a.LogEnd.LastEpoch, a.PreVote
	case *kraft.SendBeginQuorumEpoch:
		s.said.epoch, s.said.leader, s.said.voter = a.Epoch, a.Leader, a.Voter
	case *kraft.SendEndQuorumEpoch:
		s.said.epoch, s.said.leader, s.said.heirs = a.Epoch, a.Leader, slices.Clone(a.Successors)
	case *kraft.SendFetch:
		s.said.epoch, s.said.offset, s.said.last, s.said.hw, s.said.replica = a.Epoch, a.FetchOffset, a.LastFetchedEpoch, a.HighWatermark, a.Replica
	case *kraft.SendFetchSnapshot:
		s.said.epoch, s.said.snapshot, s.said.position, s.said.replica = a.Epoch, a.ID, a.Position, a.Replica
	case *kraft.SendUpdateVoter:
		s.said.epoch, s.said.replica = a.Epoch, a.Voter.Key
	}
	if key == wire.KeyAPIVersions {
		h.open = append(h.open, openSlot{record: s.record, correlation: s.correlation, key: key})
		return
	}
	h.sent = append(h.sent, s)
	if len(h.sent) > maxSent {
		j.forget(h)
	}
}

// forget gives up requests that were built and not seen leaving. The answer to a stale one does not count, so of equal ones one is
// enough: it may leave as often as it likes.
func (j *judge) forget(h *hypothesis) {
	kept := h.sent[:0]
	for i := range h.sent {
		s := &h.sent[i]
		if !h.m.Awaits(s.record, s.correlation) && (s.last < j.now-staleMs || h.merged(i)) {
			continue
		}
		kept = append(kept, *s)
	}
	if h.sent = kept; len(h.sent) > maxSent {
		h.sent = slices.Delete(h.sent, 0, len(h.sent)-maxSent)
		j.lossy()
	}
}

// merged adds a request to a later one that is like it, if there is one.
func (h *hypothesis) merged(i int) bool {
	s := &h.sent[i]
	for k := i + 1; k < len(h.sent); k++ {
		if o := &h.sent[k]; o.alike(s) {
			o.first, o.last = min(o.first, s.first), max(o.last, s.last)
			return true
		}
	}
	return false
}

// staleMs is for how long a request can stand in the queue of a node's network client: several times Kafka's request timeout.
const staleMs = 30_000

func (s *sentSlot) alike(o *sentSlot) bool {
	return s.record == o.record && s.key == o.key && s.anywhere == o.anywhere && s.said.epoch == o.said.epoch && s.said.offset == o.said.offset &&
		s.said.last == o.said.last && s.said.hw == o.said.hw && s.said.preVote == o.said.preVote && s.said.position == o.said.position
}

// maxSent bounds the requests of a hypothesis that were not seen leaving.
const maxSent = 48

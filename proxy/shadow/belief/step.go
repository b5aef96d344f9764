package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

var idle kraft.TimerSet // no timer is due

// act is a role action. Kafka has one between any two messages; whatever it sends it sends then.
func (j *judge) act(h *hypothesis, due kraft.TimerSet) {
	if len(h.soon) > 0 {
		due = union(due, h.soon)
	}
	j.event(h, &j.role, due)
}

// acts is act on a copy, once for each of the bootstrap servers that the node may choose by lot.
func (j *judge) acts(h *hypothesis, due kraft.TimerSet, emit func(*hypothesis)) {
	servers := len(j.records)
	if j.c.world.dynamic || h.m.Role().Kind() == kraft.LeaderRole {
		servers = 1
	}
	for choice := range servers {
		next := j.clone(h)
		j.role.Choice = choice
		j.act(next, due)
		chosen := j.choosing
		if j.role.Choice = 0; !chosen {
			emit(next)
			return
		}
		emit(next)
	}
}

// acted is acts for a hypothesis that nobody needs any more.
func (j *judge) acted(h *hypothesis, due kraft.TimerSet, emit func(*hypothesis)) {
	if !j.c.world.dynamic && h.m.Role().Kind() != kraft.LeaderRole {
		j.acts(h, due, emit)
		j.free(h)
		return
	}
	j.act(h, due)
	emit(h)
}

// wakes is a role action with timers that are due, and one more.
func (j *judge) wakes(h *hypothesis, due kraft.TimerSet, emit func(*hypothesis)) {
	j.acts(h, due, func(next *hypothesis) { j.acted(next, idle, emit) })
}

func union(due kraft.TimerSet, more []kraft.Timer) kraft.TimerSet {
	var all kraft.TimerSet
	due.Each(func(t kraft.Timer) { all.Add(t) })
	for _, t := range more {
		all.Add(t)
	}
	return all
}

// take lets the node take a request.
func (j *judge) take(h *hypothesis, i int) { j.takes(h, i, idle) }

// takes is take with timers that have run out.
func (j *judge) takes(h *hypothesis, i int, due kraft.TimerSet) {
	s := &h.asked[i]
	s.taken = true
	x, closed := s.x, s.closed
	if !closed {
		s.could, s.cut = nil, false
	}
	j.event(h, x.event, due)
	if could := h.asked[i].could; len(could) > 0 && could[len(could)-1].said.granted {
		h.grants(x)
	}
	if closed {
		j.settle(h, i)
	}
}

// grants notes what a vote that is granted says of the log: if the candidate's ends where this one is known to, nothing unseen follows.
func (h *hypothesis) grants(x *crossing) {
	if last, _ := h.view.Epochs.Last(); x.said.last == last && x.said.offset == h.view.End {
		h.openTail = false
	}
}

// settle ends a request that is answered, or whose answer nobody will see. If the machine still has it parked, its time is over.
func (j *judge) settle(h *hypothesis, i int) {
	id, parked := h.asked[i].x.id, h.asked[i].parked
	h.dropAsked(i)
	if parked {
		j.event(h, &kraft.ParkedExpired{Request: id}, idle)
	}
}

// deliver lets the node take the answer to a request of its own, or learn that there will be none.
func (j *judge) deliver(h *hypothesis, i int) {
	s := h.open[i]
	h.open = slices.Delete(h.open, i, i+1)
	about := kraft.Response{From: s.record, CorrelationID: s.correlation}
	if s.answer == nil {
		about.Error = kraft.BrokerNotAvailable
		j.event(h, &kraft.RequestFailed{Response: about, API: kraft.APIKey(s.key)}, idle)
	} else if address(s.answer.event, about) {
		before := h.view.Start
		j.event(h, s.answer.event, idle)
		if s.answer.opaque && h.view.Start != before {
			h.blind = true // a snapshot took effect that was not seen
		}
	}
}

// address makes an answer one to the request that this hypothesis' machine has sent.
func address(event kraft.Event, about kraft.Response) bool {
	e, ok := event.(interface{ Head() *kraft.Response })
	if !ok {
		return false
	}
	r := e.Head()
	r.From, r.CorrelationID = about.From, about.CorrelationID
	return true
}

// expand follows every hidden step that is open to a hypothesis.
func (j *judge) expand(h *hypothesis, e effort, emit func(*hypothesis)) {
	if h.dead {
		return
	}
	surprises := h.surprises < e.surprises && (e.early == 0 || h.early < e.early)
	surprise := func(next *hypothesis) {
		next.surprises++
		next.early += early(e)
		emit(next)
	}
	then := func(next *hypothesis) {
		if surprises {
			j.overslept(next, surprise)
		}
		j.acted(next, idle, emit)
	}
	for i := range h.asked {
		if s := &h.asked[i]; !s.taken && (!s.passive || s.serial != h.serial) && s.x.event != nil {
			next := j.clone(h)
			j.take(next, i)
			then(next)
			if s.x.key == wire.KeyAddRaftVoter { // it is refused while the pause after a failure lasts
				next, due := j.clone(h), kraft.TimerSet{}
				j.connections(h, &due)
				j.takes(next, i, due)
				then(next)
			}
			if j.mayBeLonger(h, s.x) {
				j.grown(h, s.x, func(next *hypothesis) {
					j.take(next, i)
					then(next)
				})
			}
		}
	}
	for i := range h.sent {
		if s := &h.sent[i]; s.said.preVote && !j.c.preVotes[s.record] && h.m.Awaits(s.record, s.correlation) {
			next := j.clone(h)
			j.unasked(next, i)
			then(next)
		}
	}
	for i := range h.open {
		s := &h.open[i]
		if s.hidden() {
			j.probes(h, i, then)
			continue
		}
		if s.answer == nil && !s.failed || s.answer != nil && s.answer.event == nil {
			continue
		}
		if s.failed && s.answer != nil { // the connection ended before the node had read the answer
			next := j.clone(h)
			next.open[i].answer = nil
			j.deliver(next, i)
			then(next)
		}
		next := j.clone(h)
		j.deliver(next, i)
		then(next)
	}
	if surprises {
		j.surprise(h, surprise)
		j.recalls(h, surprise)
	}
}

// unasked lets the node learn that a voter cannot be asked for a pre-vote: its own network client tells it, and nothing leaves
// (Kafka: VoteRequest.Builder.build throws UnsupportedVersionException).
func (j *judge) unasked(h *hypothesis, i int) {
	s := h.sent[i]
	h.sent = slices.Delete(h.sent, i, i+1)
	about := kraft.Response{From: s.record, CorrelationID: s.correlation, Error: kraft.UnsupportedVersion}
	j.event(h, &kraft.RequestFailed{Response: about, API: kraft.VoteAPI}, idle)
}

// overslept follows a node whose timer has run out by the time it acts on a message that it took: the timer comes first. h is
// as the message has left it.
func (j *judge) overslept(h *hypothesis, emit func(*hypothesis)) {
	fire := func(due kraft.TimerSet) { j.wakes(h, due, emit) }
	switch h.m.Role().(type) {
	case *kraft.Unattached, *kraft.Prospective, *kraft.Candidate, *kraft.Resigned:
		fire(electionDue)
	case *kraft.Leader:
		fire(checkQuorumDue)
	case *kraft.Follower:
		fire(fetchDue)
		fire(updateVoterDue)
	}
}

func early(e effort) uint8 { return min(e.early, 1) }

// mayBeLonger reports whether what a request is answered depends on the end of a log that is not known.
func (j *judge) mayBeLonger(h *hypothesis, x *crossing) bool {
	_, leads := h.leads()
	last, _ := h.view.Epochs.Last()
	switch e := x.event.(type) {
	case *kraft.ReceiveVoteRequest:
		return (leads || h.openTail) && x.said.last == last && x.said.offset >= h.view.End
	case *kraft.ReceiveFetch:
		return leads && e.FetchEpoch == h.m.QuorumState().Epoch && x.said.last == last && x.said.offset > h.view.End
	}
	return false
}

// grown is a log that has grown so far that a request is answered otherwise: a vote is refused, a Fetch is at a position of the log. As it
// counts for the place where its batch begins, which is another one if it asks for the middle of a batch, the search tries those too.
func (j *judge) grown(h *hypothesis, x *crossing, emit func(*hypothesis)) {
	to := func(ends ...kraft.Offset) {
		next := j.clone(h)
		for _, end := range ends {
			if end > next.view.End {
				j.grow(next, end, x.said.last)
			}
		}
		emit(next)
	}
	at := x.said.offset
	if x.key != wire.KeyFetch {
		to(at + 1)
		return
	}
	if to(at); !j.window.replaying {
		return
	}
	to(at + 1)
	for i := range j.window.ahead {
		if b := &j.window.ahead[i]; b.Epoch == x.said.last && b.Base > h.view.End && b.Base < at && at <= b.Last {
			to(b.Base, b.Last+1)
		}
	}
}

// grow is lengthen, or what a leader has appended that nobody saw.
func (j *judge) grow(h *hypothesis, end kraft.Offset, epoch kraft.Epoch) {
	if _, leads := h.leads(); leads {
		j.appendServed(h, &kraft.Batch{Base: h.view.End, Last: end - 1, Epoch: epoch, Size: 1})
		if h.tail != nil {
			h.tail.Size = 0 // which batches they are is not known
		}
		return
	}
	h.lengthen(end, epoch)
}

// lengthen adds records that a leader wrote and that nobody was served before it left office.
func (h *hypothesis) lengthen(end kraft.Offset, epoch kraft.Epoch) {
	before := h.view.End
	if end <= before {
		return
	}
	h.append(kraft.Batch{Base: before, Last: end - 1, Epoch: epoch})
	for i := range h.sent { // what it built since tells of them
		if o := &h.sent[i].said; o.offset == before && o.last == epoch {
			o.offset = end
		}
	}
}

func timer(kind kraft.TimerKind) kraft.TimerSet { return kraft.Timers(kraft.Timer{Kind: kind}) }

var (
	updateVoterDue = timer(kraft.UpdateVoterTimer)
	electionDue    = timer(kraft.ElectionTimer)
	fetchDue       = timer(kraft.FetchTimer)
	checkQuorumDue = timer(kraft.CheckQuorumTimer)
	voterChangeDue = timer(kraft.VoterChangeTimer)
	lingerDue      = timer(kraft.LingerTimer)
	backoffDue     = timer(kraft.ElectionBackoffTimer)
)

// shutdownMs is how long Kafka's driver lets a graceful shutdown take (KafkaRaftClientDriver.shutdown).
const shutdownMs = 5000

// surprise follows the steps that a node takes by itself: a timer runs out, its state machine has it resign.
func (j *judge) surprise(h *hypothesis, emit func(*hypothesis)) {
	fire := func(due kraft.TimerSet) { j.wakes(h, due, emit) }
	if _, leads := h.leads(); j.refused || leads && j.window.replaying && j.window.ends { // what it wrote then may be seen later
		next := j.clone(h)
		j.refuses(next)
		j.event(next, &kraft.Shutdown{TimeoutMs: shutdownMs}, idle)
		emit(next)
	}
	switch r := h.m.Role().(type) {
	case *kraft.Unattached, *kraft.Prospective, *kraft.Resigned:
		fire(electionDue)
	case *kraft.Candidate:
		fire(electionDue)
		if r.BackingOff {
			fire(backoffDue)
		}
	case *kraft.Leader:
		fire(checkQuorumDue)
		if r.Change.Kind != kraft.NoChange {
			fire(voterChangeDue)
		}
		due := timer(kraft.BeginQuorumEpochTimer)
		for i := range r.Voters {
			due.Add(kraft.Timer{Kind: kraft.SilenceTimer, Peer: r.Voters[i].Key})
		}
		j.connections(h, &due)
		fire(due)
	case *kraft.Follower:
		fire(fetchDue)
		fire(updateVoterDue)
	}
	var due kraft.TimerSet
	if j.connections(h, &due) {
		fire(due)
		if _, ok := h.m.Role().(*kraft.Follower); ok {
			due.Add(kraft.Timer{Kind: kraft.UpdateVoterTimer})
			fire(due)
		}
		if j.window.replaying {
			j.each(fire)
		}
	}
}

// each lets the timers of one connection record run out, and no other's.
func (j *judge) each(fire func(kraft.TimerSet)) {
	for _, id := range j.c.world.ids {
		var due kraft.TimerSet
		due.Add(kraft.PeerTimer(kraft.RequestTimer, id))
		due.Add(kraft.PeerTimer(kraft.BackoffTimer, id))
		fire(due)
	}
}

// refuses notes that a Fetch that has waited is validated once more when an append ends its waiting. Another thread has the node shut
// down: it may have done so between two of them.
func (j *judge) refuses(h *hypothesis) {
	if _, leads := h.leads(); !leads {
		return
	}
	for i := range h.asked {
		if s := &h.asked[i]; s.taken && s.x.key == wire.KeyFetch && s.waited() {
			s.note(answer{said: content{
				err: kraft.BrokerNotAvailable, leader: j.id, epoch: h.m.QuorumState().Epoch, hw: -1, diverge: nowhere, snapshot: nowhere,
			}})
		}
	}
}

// waited reports whether a Fetch was at the end of the log when it was taken, as far as is known.
func (s *askedSlot) waited() bool {
	return s.parked || slices.ContainsFunc(s.could, func(a answer) bool { return a.vague || a.valid && !a.some })
}

// connections adds the timers of all connection records: a request has timed out, a pause after a failure is over.
func (j *judge) connections(h *hypothesis, due *kraft.TimerSet) bool {
	for _, id := range j.c.world.ids {
		due.Add(kraft.PeerTimer(kraft.RequestTimer, id))
		due.Add(kraft.PeerTimer(kraft.BackoffTimer, id))
	}
	for i := range j.config.BootstrapServers {
		id := kraft.NodeID(-2 - i)
		due.Add(kraft.PeerTimer(kraft.RequestTimer, id))
		due.Add(kraft.PeerTimer(kraft.BackoffTimer, id))
	}
	return h.m.Busy()
}

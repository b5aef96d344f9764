package interact

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Log is part of kraft.Host.
func (n *machine) Log() *kraft.LogView { return n.log.View() }

// Actions is part of kraft.Host.
func (n *machine) Actions() *kraft.Actions { return &n.actions }

// Due is part of kraft.Host.
func (n *machine) Due(at kraft.Instant) kraft.TimerSet {
	var due kraft.TimerSet
	for t, deadline := range n.timers {
		if deadline <= at {
			due.Add(t)
		}
	}
	return due
}

// Choice is part of kraft.Host. It is asked at the beginning of a turn.
func (n *machine) Choice() int {
	n.inHand = nil
	n.coverage.event(n.m, &kraft.RoleAction{}, n.Due(n.now))
	for _, d := range n.draws {
		if d.Kind == BootstrapDraw {
			return int(d.Value)
		}
	}
	return 0
}

// Next is part of kraft.Host. It notes how long a driver that sleeps would have waited for the message.
func (n *machine) Next(atMost int64, timers kraft.TimerSet) (kraft.Event, kraft.Instant) {
	wait := atMost
	timers.Each(func(t kraft.Timer) {
		deadline, ok := n.timers[t]
		if before, kept := n.before[t.Kind]; kept {
			deadline, ok = before, true
		}
		if ok {
			wait = min(wait, max(0, int64(deadline-n.now)))
		}
	})
	if n.now >= n.cleaner {
		n.cleaner = n.now + cleanerPeriod
	}
	n.out.Wait = min(wait, int64(n.cleaner-n.now))
	if len(n.queue) == 0 {
		return nil, n.now
	}
	n.inHand, n.queue = n.queue[0], n.queue[1:]
	n.coverage.event(n.m, n.inHand, n.Due(n.now))
	return n.inHand, n.now
}

// cleanerPeriod is how often Kafka looks for old snapshots to delete, which bounds every wait.
const cleanerPeriod = 60_000

// turn is one turn. The deadlines of two timers count for the wait as they were before it.
func (n *machine) turn() {
	n.before = map[kraft.TimerKind]kraft.Instant{}
	for _, k := range []kraft.TimerKind{kraft.CheckQuorumTimer, kraft.VoterChangeTimer} {
		if at, ok := n.timers[kraft.Timer{Kind: k}]; ok {
			n.before[k] = at
		}
	}
	kraft.Turn(n.m, n, n.now)
	n.orderSends()
}

func (n *machine) draw(kind DrawKind, lowest int32) int32 {
	i := slices.IndexFunc(n.draws, func(d Draw) bool { return d.Kind == kind })
	if i < 0 {
		return lowest
	}
	v := n.draws[i].Value
	n.draws = slices.Delete(slices.Clone(n.draws), i, i+1)
	return v
}

// Execute is part of kraft.Host.
func (n *machine) Execute(actions []kraft.Action) bool {
	for _, a := range actions {
		measure(a)
		done, err := n.log.Execute(a, n.inHand)
		if err != nil && n.err == nil {
			n.err = err
		}
		if done {
			n.tellLog(a)
		} else if !n.execute(a) {
			return false
		}
	}
	if view := n.m.View(); !view.Equal(n.log.View()) && n.err == nil {
		n.err = fmt.Errorf("the machine's view of the log is %v, the log %v", view, n.log.View())
	}
	return true
}

// measure gives a batch that is about to be written the size that its bytes would have.
func measure(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.AppendLeaderChange:
		a.Size = BatchOverhead + 32*int32(len(a.Control))
	case *kraft.AppendControl:
		a.Size = BatchOverhead + 32*int32(len(a.Control))
	case *kraft.AppendRecords:
		a.Size += BatchOverhead
	}
}

func (n *machine) tellLog(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.AppendLeaderChange:
		n.say("appends %s", Batch(a.Batch))
	case *kraft.AppendControl:
		n.say("appends %s", Batch(a.Batch))
	case *kraft.AppendRecords:
		n.say("appends %s", Batch(a.Batch))
	case *kraft.AppendFetched:
		response, _ := n.inHand.(*kraft.ReceiveFetchResponse)
		for _, b := range response.Batches[:a.Take] {
			n.say("appends %s", Batch(b))
		}
	case *kraft.FlushLog:
		n.say("flushes up to %d", n.log.End)
	case *kraft.TruncateTo:
		n.say("truncates to %d", a.Offset)
	case *kraft.AssignEpoch:
		n.say("notes that epoch %d starts at %d", a.Epoch, a.Start)
	case *kraft.AdvanceHighWatermark:
		n.say("high watermark %d", a.Offset)
	case *kraft.InstallSnapshot:
		n.say("freezes snapshot %v of %d bytes", a.ID, a.Size)
		n.say("begins the log anew at %d", n.log.Start)
	}
}

func (n *machine) execute(action kraft.Action) bool {
	switch a := action.(type) {
	case *kraft.ResetTimer:
		n.resetTimer(a)
	case *kraft.CancelTimer:
		delete(n.timers, a.Timer)
	case *kraft.ChooseBootstrap:
		n.draw(BootstrapDraw, 0)
	case *kraft.PersistQuorumState:
		state := a.State
		n.stored, n.version = &state, min(a.KRaftVersion, 1)
		n.say("%s", Persists(state.Epoch, state.Leader, state.Voted.ID))
	case *kraft.Park:
		n.parked = append(n.parked, parked{a.Request, a.Until})
	case *kraft.Accepted:
		if _, upgrade := n.inHand.(*kraft.UpgradeKRaftVersion); !upgrade && a.LastOffset > 0 {
			n.say("reserves offsets up to %d", a.LastOffset)
		}
	case *kraft.Refused:
		if a.Reason != kraft.AlreadyLeaving { // which Kafka only logs
			n.say("refuses: {%v}", a.Reason)
		}
	case *kraft.ShutdownDone:
		n.out.Finished = true
		n.say("%s", ShutDown(a.OK))
		return false
	case *kraft.Fatal:
		n.out.Fatal = a.Reason.String()
		return false
	case *kraft.TransitionedTo:
	default:
		return n.send(action)
	}
	return true
}

// ShutDown tells how a shutdown ended.
func ShutDown(ok bool) string {
	if ok {
		return "has shut down"
	}
	return "has shut down, since the time for it was over"
}

// resetTimer draws as Kafka does for that timer.
func (n *machine) resetTimer(a *kraft.ResetTimer) {
	deadline := a.Deadline
	switch {
	case a.Kind == kraft.ElectionBackoffTimer:
		rule := n.profile.Rules.ElectionBackoff
		lowest, _ := rule.Bounds(a.Retries)
		first, second := n.draw(BackoffDraw, lowest), int32(0)
		if rule == kraft.BackoffFrom50 {
			second = n.draw(JitterDraw, 0)
		}
		ms := rule.Milliseconds(first, second, n.setup.Timeouts.ElectionBackoffMaxMs)
		deadline += kraft.Instant(ms)
		n.say(Drew, ms, "backoff")
	case a.Window > 0:
		v := n.draw(ElectionDraw, 0)
		deadline += kraft.Instant(v)
		n.say(Drew, v, "election")
	}
	n.timers[a.Timer] = deadline
}

// Drew is how a draw is told.
const Drew = "draws %d ms for its %s timer"

// send takes a request or a reply. Requests are put into order later.
func (n *machine) send(action kraft.Action) bool {
	if content, to, api, _ := received(action, math.MaxInt16); content != nil {
		version := n.profile.APIs[0].Max
		if r, known := n.profile.Range(api); known {
			version = r.Max
		}
		if limit, known := n.setup.Limits[api]; known {
			version = min(version, limit)
		}
		content, _, _, ok := received(action, version)
		if !ok {
			content = nil
		}
		p := &Packet{From: n.setup.ID, To: nodeOf(to.Address), API: api, Version: version, Record: to.Record, Content: content, Handle: to.CorrelationID}
		n.out.Effects = append(n.out.Effects, Effect{Packet: p})
		return true
	}
	id, ok := replyTo(action)
	q := n.requests[id]
	if !ok || q == nil {
		n.err = fmt.Errorf("no driver for %v", action)
		return true
	}
	delete(n.requests, id)
	n.parked = slices.DeleteFunc(n.parked, func(p parked) bool { return p.request == id })
	content, text := answered(action, q, n.log)
	n.out.Effects = append(n.out.Effects, Effect{Packet: &Packet{
		From: n.setup.ID, To: q.From, API: q.API, Version: q.Version, Number: q.Number, Record: q.Record, Answer: true, Content: content,
		Text: text, Handle: q.Handle, Request: q,
	}})
	return true
}

func replyTo(action kraft.Action) (kraft.RequestID, bool) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		return a.Request, true
	case *kraft.ReplyBeginQuorumEpoch:
		return a.Request, true
	case *kraft.ReplyEndQuorumEpoch:
		return a.Request, true
	case *kraft.ReplyFetch:
		return a.Request, true
	case *kraft.ReplyDivergingEpoch:
		return a.Request, true
	case *kraft.ReplyFetchSnapshot:
		return a.Request, true
	case *kraft.ReplyDescribeQuorum:
		return a.Request, true
	case *kraft.ReplyAddRaftVoter:
		return a.Request, true
	case *kraft.ReplyRemoveRaftVoter:
		return a.Request, true
	case *kraft.ReplyUpdateRaftVoter:
		return a.Request, true
	}
	return 0, false
}

func nodeOf(a kraft.Address) kraft.NodeID {
	id, err := strconv.ParseInt(strings.TrimPrefix(a.Host, "h"), 10, 32)
	if err != nil {
		return kraft.NoNode
	}
	return kraft.NodeID(id)
}

// orderSends puts each run of requests into the order of their destinations, as the network of the oracle does, and numbers them.
func (n *machine) orderSends() {
	isNew := func(e *Effect) bool { return e.Packet != nil && !e.Packet.Answer && e.Packet.Number == 0 }
	list := n.out.Effects
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && isNew(&list[j]) {
			j++
		}
		if i == j {
			i++
			continue
		}
		slices.SortStableFunc(list[i:j], func(a, b Effect) int {
			if a.Packet.Record != b.Packet.Record {
				return int(a.Packet.Record - b.Packet.Record)
			}
			return int(a.Packet.API - b.Packet.API)
		})
		for k := i; k < j; k++ {
			p := list[k].Packet
			n.nextSend++
			p.Number = n.nextSend
			correlation, _ := p.Handle.(int32)
			n.flights[p.Number] = correlation
		}
		i = j
	}
}

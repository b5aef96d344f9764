package explore

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// inputKind is what may happen to a node.
type inputKind uint8

const (
	deliver    inputKind = iota // a packet arrives
	fire                        // a role action with a set of due timers
	appendOne                   // a client appends a record, and the linger timer runs out
	expire                      // the Fetch with that request id has waited for long enough
	addVoter                    // a client asks to add a voter
	remove                      // a client asks to remove a voter
	snapshot                    // a snapshot at the high watermark, and the log begins behind it
	resign                      // the leader is asked to step down
	crash                       // the node crashes and restarts
	wipe                        // the node loses its disk and restarts with a new directory id
	disconnect                  // the connection that a packet travels on breaks
	forget                      // requests of another node are not waited for any more: bookkeeping, not a step
	inputKinds
)

var inputNames = [inputKinds]string{
	"deliver", "fire", "append", "expire", "add", "remove", "snapshot", "resign", "crash", "wipe", "disconnect", "forget",
}

// input is one thing that happens to one node.
type input struct {
	kind   inputKind
	choice uint8  // of the bootstrap server: 0 the node itself, 1 the next one, …
	cut    uint8  // 0: none; n: crash before the n-th barrier
	keep   bool   // of a crash: it leaves what was not flushed; of a delivery: the update-voter timer has run out meanwhile
	arg    uint32 // packet, timers, request or nodes
}

// argBits is the width of an argument: there may be that many packets.
const argBits = 21

func (in input) code() uint64 {
	code := uint64(in.arg) | uint64(in.kind)<<argBits | uint64(in.choice)<<(argBits+4) | uint64(in.cut)<<(argBits+6)
	if in.keep {
		code |= 1 << 31
	}
	return code
}

// result is what comes of it.
type result struct {
	next     uint32   // the node afterwards
	sends    []uint32 // packets
	orphans  uint16   // slots of the requests that are not waited for any more
	barriers uint8    // passed on the way
	chose    bool     // the choice was looked at
	led      kraft.Epoch
	broken   *safety.Violation
	beyond   bool // leaves the bounds of the model
	unsynced bool // a crash in the end would lose something
}

// runner takes one node one step further.
type runner struct {
	x   *explorer
	l   *local
	in  input
	out result

	event   kraft.Event
	actions kraft.Actions
	tell    func(format string, args ...any) // nil: nobody listens
	packets []sent
	crashed bool
	active  bool // the last event did something that shows
}

// sent is a request that has left, until the end of the step shows whether its answer is still waited for.
type sent struct {
	packet
	correlation int32
}

// run is the step. Messages are handled in turns as by kraft.Turn, but the role action comes after the message, when it has no timers to
// look at, as often as it does something: a node sends what it has to send at once. See the package comment.
func (x *explorer) run(from *local, in input, tell func(string, ...any)) (*local, result) {
	r := &runner{x: x, l: from.clone(), in: in, tell: tell}
	before := from.awaiting
	r.perform()
	if r.crashed && r.out.broken == nil {
		r.restart()
	}
	if r.l.down {
		r.hangUp()
	}
	r.settle(before)
	return r.l, r.out
}

func (r *runner) perform() {
	switch r.in.kind {
	case deliver:
		r.handle(r.x.packets[r.in.arg].event, kraft.TimerSet{})
	case fire:
		r.handle(r.roleAction(), timersOf(r.in.arg, r.l.machine))
	case appendOne:
		r.handle(&kraft.AppendRequested{Epoch: r.l.machine.QuorumState().Epoch, Records: 1, Size: 10, Schedule: true}, kraft.TimerSet{})
		r.handle(r.roleAction(), kraft.Timers(kraft.Timer{Kind: kraft.LingerTimer}))
	case expire:
		r.handle(&kraft.ParkedExpired{Request: kraft.RequestID(r.in.arg)}, kraft.TimerSet{})
	case addVoter:
		i := int(r.x.model.Add) - 1
		r.handle(&kraft.ReceiveAddRaftVoter{
			Request: r.x.request(requestID(client, 0, true)), Voter: kraft.ReplicaKey{ID: nodeID(i), DirectoryID: directory(i, 0)},
			Endpoints: endpoints(i), AckWhenCommitted: true,
		}, kraft.TimerSet{})
	case remove:
		i := int(r.x.model.Remove) - 1
		r.handle(&kraft.ReceiveRemoveRaftVoter{
			Request: r.x.request(requestID(client, 0, true)), Voter: kraft.ReplicaKey{ID: nodeID(i), DirectoryID: directory(i, 0)},
		}, kraft.TimerSet{})
	case snapshot:
		r.snapshot()
	case resign:
		r.handle(&kraft.Resign{Epoch: r.l.machine.QuorumState().Epoch}, kraft.TimerSet{})
	case disconnect:
		p := r.x.packets[r.in.arg]
		r.handle(&kraft.RequestFailed{
			Response: kraft.Response{From: recordOf(p.slot), Error: kraft.BrokerNotAvailable}, API: p.api,
		}, kraft.TimerSet{})
	case crash, wipe:
		r.crashed = true
		return
	}
	r.act()
}

// act lets the role act until it has nothing to do. A new leader announces itself at once.
func (r *runner) act() {
	for i := range 4 {
		if r.crashed || r.l.down || r.out.broken != nil {
			return
		}
		var due kraft.TimerSet
		if r.out.led != 0 && r.l.machine.Role().Kind() == kraft.LeaderRole {
			due.Add(kraft.Timer{Kind: kraft.BeginQuorumEpochTimer})
		}
		if i == 0 && r.in.kind == deliver && r.in.keep {
			due.Add(kraft.Timer{Kind: kraft.UpdateVoterTimer})
		}
		r.active = false
		r.handle(r.roleAction(), due)
		if !r.active {
			return
		}
	}
}

func (r *runner) roleAction() *kraft.RoleAction {
	return &kraft.RoleAction{Choice: (r.l.node + int(r.in.choice)) % r.x.model.Nodes}
}

func (r *runner) handle(ev kraft.Event, due kraft.TimerSet) {
	if r.crashed || r.l.down || r.out.broken != nil {
		return
	}
	r.event = ev
	for _, a := range r.l.machine.OnEvent(ev, r.l.log.View(), kraft.Clock{Now: now, Due: due}, &r.actions) {
		r.x.witness(a)
		if fatal, ok := a.(*kraft.Fatal); ok {
			r.end(fatal)
			return
		}
		if isBarrier(a) {
			if r.out.barriers++; r.out.barriers == r.in.cut {
				r.crashed = true
				if r.x.model.twin != sendsAnyway {
					return
				}
				continue
			}
		}
		if r.out.broken = r.l.observe(a, ev); r.out.broken != nil {
			r.say("%v", a)
			return
		}
		r.execute(a)
	}
	if inspected := r.l.machine.Inspect(); inspected.Stopped {
		r.out.broken = violation(safety.NoFatal, r.l.id(), "stops after %v", ev)
	} else if view := r.l.machine.View(); !view.Equal(r.l.log.View()) {
		r.out.broken = violation(safety.PersistBeforeSend, r.l.id(), "the machine sees %v, the log is %v", view, r.l.log)
	}
}

// end: Kafka's process ends. Where the model expects that, the node is down from then on.
func (r *runner) end(a *kraft.Fatal) {
	r.say("ends: {%v}", a.Reason)
	if r.l.down = slices.Contains(r.x.model.Ends, a.Reason); !r.l.down {
		r.out.broken = violation(safety.NoFatal, r.l.id(), "%v after %v", a, r.event)
	}
}

// isBarrier: nothing behind it may happen before it is durable.
func isBarrier(a kraft.Action) bool {
	switch a.(type) {
	case *kraft.PersistQuorumState, *kraft.AssignEpoch, *kraft.FlushLog:
		return true
	}
	return false
}

func (r *runner) execute(action kraft.Action) {
	if r.faulty(action) {
		return
	}
	done, err := r.l.log.Execute(action, r.event)
	if err != nil {
		r.out.broken = violation(safety.NoFatal, r.l.id(), "%v", err)
		return
	}
	r.explain(action)
	if done {
		r.active = true
		return
	}
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		r.l.stored, r.l.has = a.Stored(), true
	case *kraft.TransitionedTo:
		r.active = true
		if a.Role == kraft.LeaderRole {
			r.out.led = a.Epoch
		}
	case *kraft.ChooseBootstrap:
		r.out.chose = true
	case *kraft.ResetTimer, *kraft.CancelTimer, *kraft.Park, *kraft.Accepted, *kraft.Refused:
	default:
		r.active = true
		r.communicate(action)
	}
}

// faulty is what a broken driver makes of an action.
func (r *runner) faulty(action kraft.Action) bool {
	switch action.(type) {
	case *kraft.PersistQuorumState:
		return r.x.model.twin == skipsPersist
	case *kraft.FlushLog:
		return r.x.model.twin == skipsFlush
	}
	return false
}

// snapshot freezes what is committed, tells the machine, and drops the log before it.
func (r *runner) snapshot() {
	log := r.l.log
	end := log.HighWatermark
	epoch := kraft.Epoch(0)
	for _, b := range log.Batches(log.Start, end, 1<<30) {
		epoch = b.Epoch
	}
	id := kraft.SnapshotID{Offset: end, Epoch: epoch}
	log.AddSnapshot(id, snapshotSize, log.ContentsAt(end))
	r.handle(&kraft.SnapshotCreated{ID: id}, kraft.TimerSet{})
	log.MoveStart(id)
}

// restart makes a new machine of what is on disk.
func (r *runner) restart() {
	l := r.l
	if r.in.kind == wipe {
		l.wipes++
		l.log, l.stored, l.has = memlog.New(), kraft.QuorumState{}, false
		l.told, l.voted = 0, kraft.NoReplica
	} else {
		l.log.Crash(r.in.keep && r.in.kind == crash)
	}
	r.say("crashes, and starts again with %v", l.log)
	if err := r.x.boot(l); err != nil {
		r.out.broken = violation(safety.NoFatal, l.id(), "%v", err)
		return
	}
	r.crashed, r.in.cut, r.out.led, l.down = false, 0, 0, false
	r.hangUp()
	r.handle(&kraft.Start{}, kraft.TimerSet{})
	r.act()
}

// hangUp: nobody waits any more for the answers to what this node has asked.
func (r *runner) hangUp() {
	for i := range r.packets {
		r.packets[i].correlation = -1
	}
	r.out.orphans = 1<<slots - 1
}

// boot makes the machine of a node.
func (x *explorer) boot(l *local) error {
	cfg, err := x.model.config(l.node, l.wipes)
	if err != nil {
		return err
	}
	cfg.History = l.log.History()
	switch x.model.twin {
	case forgetsVote:
		l.stored.Voted = kraft.NoReplica
	case forgetsEpoch:
		l.has = false
	case faultless, skipsPersist, skipsFlush, sendsAnyway:
	}
	cfg.Stored, cfg.HasStored = l.stored, l.has
	l.machine, err = kraft.New(cfg)
	return err
}

// settle gives every request that has left its final form, and the machine its canonical one.
func (r *runner) settle(before uint16) {
	var still uint16 // requests of before the step that are still waited for
	connections := r.l.machine.Inspect().Connections
	for _, c := range connections {
		if !c.BackingOff && c.CorrelationID == 0 && before&(1<<slotOf(c.ID)) != 0 {
			still |= 1 << slotOf(c.ID)
		}
	}
	if r.out.orphans == 0 {
		r.out.orphans = before &^ still
	}
	for i := range r.packets {
		p := &r.packets[i]
		if p.request || p.api == kraft.APIVersionsAPI {
			p.live = slices.ContainsFunc(connections, func(c kraft.Connection) bool {
				return !c.BackingOff && slotOf(c.ID) == p.slot && c.CorrelationID == p.correlation
			})
		}
		switch {
		case p.request && !p.live:
			p.packet = p.orphan()
		case !p.live:
			continue
		}
		if r.x.model.Discovery || p.to != p.from {
			r.out.sends = append(r.out.sends, r.x.internPacket(&p.packet))
		}
	}
	slices.Sort(r.out.sends)
	r.out.unsynced = r.l.log.Flushed() < r.l.log.End
	r.l.machine.Renumber(func(id kraft.RequestID) kraft.RequestID { return id })
	r.out.beyond = r.l.machine.QuorumState().Epoch > r.x.model.Epochs
}

func (r *runner) say(format string, args ...any) {
	if r.tell != nil {
		r.tell("  %s", fmt.Sprintf(format, args...))
	}
}

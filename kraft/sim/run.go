package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Result is what came of a run.
type Result struct {
	Options   Options
	Violation *safety.Violation // nil: nothing was wrong
	At        int64             // microseconds of virtual time at the end
	Events    uint64            // things that happened: deliveries, wake-ups, faults, calls
	Calls     uint64            // of OnEvent
	Faults    int
	Committed kraft.Offset
	Epochs    kraft.Epoch
	Acks      int
	Hazards   [hazards]int

	// ElectionMs is the time from the end of the faults until there was a leader that committed, -1 if the run had no liveness phase.
	ElectionMs int64
	Leaderless bool // nobody led when the faults ended
}

func (r *Result) String() string {
	what := "fine"
	if r.Violation != nil {
		what = r.Violation.Error()
	}
	return fmt.Sprintf("seed %d: %s (%d events, %d faults, %d ms, %d records committed, epoch %d, leader after %d ms)", r.Options.Seed, what,
		r.Events, r.Faults, r.At/1000, r.Committed, r.Epochs, r.ElectionMs)
}

// Run plays a seed.
func (w *World) Run(o Options) Result {
	w.staged, w.hold, w.held, w.slow, w.beforeFlush = false, nil, w.held[:0], 0, nil
	w.build(o)
	if w.violation == nil {
		w.queue.push(item{at: w.faults.below(o.FaultEvery), kind: faultTick})
		w.queue.push(item{at: w.clients.below(o.AppendEvery), kind: clientTick})
		w.queue.push(item{at: w.clients.below(o.AdminEvery), kind: adminTick})
	}
	for w.violation == nil && w.events < uint64(o.Events) && w.step() {
	}
	election := int64(-1)
	if w.violation == nil && !o.SkipLiveness {
		election = w.settle()
	}
	if w.violation == nil {
		w.fail(w.history.Kept(kraft.NoNode))
	}
	return w.result(election)
}

func (w *World) result(election int64) Result {
	r := Result{
		Options: w.opt, Violation: w.violation, At: w.now, Events: w.events, Calls: w.calls, Faults: w.faultCount,
		Committed: w.history.Committed(), Acks: w.history.Acks(), ElectionMs: election, Leaderless: w.leaderless, Hazards: w.hazards,
	}
	for _, n := range w.nodes[:w.opt.nodes()] {
		r.Epochs = max(r.Epochs, n.stored.Epoch)
	}
	return r
}

// The bounds of the liveness phase, in election timeouts. A candidate of 4.0 that has lost backs off in step with the others
// (KAFKA-18345), and needs longer.
const (
	mostEvents       = 2_000_000
	livenessBound    = 40
	livenessBound400 = 400
)

// settle ends the faults: links and clocks work, processes run, disks have space. Then a leader must be elected and commit a new record,
// and the voters must learn that. It returns how long it took until the leader had committed, in milliseconds.
func (w *World) settle() int64 {
	w.calm = true
	w.note(noteCalm, w.nodes[0], "")
	for i := range w.links {
		for j := range w.links[i] {
			w.links[i][j].blockedUntil, w.links[i][j].cloggedUntil = 0, 0
		}
	}
	for _, n := range w.nodes[:w.opt.nodes()] {
		n.crashIn, n.diskFull, n.pauseUntil = 0, false, 0
		switch {
		case n.dead:
		case n.up():
			n.wakeAt = max(w.now, min(n.wakeAt, w.now+1000))
		default:
			n.start()
		}
	}
	began, before := w.now, w.history.Committed()
	w.leaderless = !slices.ContainsFunc(w.nodes[:w.opt.nodes()], (*node).leads)
	bound := int64(livenessBound)
	for i := range w.opt.Profiles {
		if w.opt.Profiles[i].Rules.ElectionBackoff != kraft.WaitForTimer {
			bound = livenessBound400
		}
	}
	limit := began + bound*int64(timeouts.ElectionMs)*1000
	election := int64(-1)
	for w.violation == nil && w.step() {
		if election < 0 && w.history.Committed() > before {
			election = (w.now - began) / 1000
		}
		if election >= 0 && w.events&15 == 0 && w.agreed(before) {
			return election
		}
		if w.now > limit || w.events > cmp.Or(w.opt.MostEvents, mostEvents) {
			if election < 0 {
				w.violated(safety.Liveness, w.nodes[0], "no record was committed within %d election timeouts: %s", bound, w.describe())
			} else {
				w.violated(safety.Liveness, w.nodes[0], "not all voters learnt of the commit within %d election timeouts: %s", bound, w.describe())
			}
		}
	}
	return election
}

// agreed: a leader has committed, and its voters that are alive know.
func (w *World) agreed(before kraft.Offset) bool {
	for _, n := range w.nodes[:w.opt.nodes()] {
		if !n.leads() || n.log.HighWatermark <= before {
			continue
		}
		_, voters := n.lastVoters()
		for i := range voters.Len() {
			key := voters.At(i).Key
			if v := w.nodes[key.ID-1]; w.alive(key) && v.log.HighWatermark <= before {
				return false
			}
		}
		return true
	}
	return false
}

func (w *World) describe() string {
	s := ""
	for _, n := range w.nodes[:w.opt.nodes()] {
		if n.up() {
			s += fmt.Sprintf("\n%v: epoch %d %v %v", n.id, n.machine.QuorumState().Epoch, n.machine.Role(), n.log)
		} else {
			s += fmt.Sprintf("\n%v: down, %v", n.id, n.log)
		}
	}
	return s
}

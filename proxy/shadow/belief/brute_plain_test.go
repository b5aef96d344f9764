package belief

import (
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// The enumeration takes three short cuts: it puts a hidden step as late as it can, it looks at a state once, and of the sets of timers that may
// be due it takes those that can make a difference. None of them may change what it says.

// plain is the enumeration without any: every order of hidden steps and observations, every way to a state for itself.
func (w *bruteWindow) plain(n *bruteNode, at, left, steps int, looked *int) bool {
	if at == len(w.seen) {
		return true
	}
	if *looked++; *looked > bruteLimit {
		return false
	}
	m := w.seen[at]
	if m.closes || m.from != w.start.id {
		for _, o := range n.clone().comes(m) {
			if w.plain(o, at+1, left, steps, looked) {
				return true
			}
		}
	} else {
		n.gap = at
		list, _ := n.leaves(m)
		for _, o := range list {
			if m.to == m.from {
				o.comes(m)
			}
			if w.plain(o, at+1, steps, steps, looked) {
				return true
			}
		}
	}
	if left == 0 {
		return false
	}
	for _, o := range n.after(w.ends(), 1<<30, map[string]bool{}) {
		if w.plain(o, at, left-1, steps, looked) {
			return true
		}
	}
	return false
}

// TestBruteForce_ShortCutsChangeNothing: what is explained with them is explained without, and the other way round.
func TestBruteForce_ShortCutsChangeNothing(t *testing.T) {
	const steps = 2
	want := 150
	if testing.Short() {
		want = 10
	}
	both, neither, gaveUp := 0, 0, 0
	for seed := uint64(1); both+neither+gaveUp < want; seed++ {
		shape := rand.New(rand.NewPCG(seed, 29))
		g := newBruteGame(t, seed, bruteReleases[shape.IntN(len(bruteReleases))], 2+shape.IntN(2), 0, shape.IntN(2) == 0)
		g.longest = 5
		g.found = func(w *bruteWindow) {
			if shape.IntN(2) == 0 && !w.alter(t, shape) || both+neither+gaveUp >= want {
				return
			}
			looked := 0
			plainly := w.plain(w.start, 0, steps, steps, &looked)
			short, _ := w.explain(steps)
			more := short
			for k := steps + 1; plainly && !more && k <= bruteBeyond; k++ { // what was put off comes on top of what comes later
				more, _ = w.explain(k)
			}
			switch {
			case looked > bruteLimit:
				gaveUp++
			case short && !plainly, plainly && !more:
				t.Errorf("seed %d: explained %t, without short cuts %t; %s", seed, short, plainly, w.describe())
				fallthrough
			case plainly:
				both++
			default:
				neither++
			}
		}
		g.play(1000)
	}
	t.Logf("%d explained both ways, %d neither way, %d too large without short cuts", both, neither, gaveUp)
}

// TestBruteForce_LeavesNoTimerOut: whichever timers are due, the role action does what it does with one of the sets that are tried.
func TestBruteForce_LeavesNoTimerOut(t *testing.T) {
	want := 60
	if testing.Short() {
		want = 10
	}
	states, roles := 0, map[kraft.RoleKind]int{}
	for seed := uint64(1); states < want; seed++ {
		shape := rand.New(rand.NewPCG(seed, 31))
		g := newBruteGame(t, seed, bruteReleases[shape.IntN(len(bruteReleases))], 3, 0, shape.IntN(2) == 0)
		for range 40 {
			g.play(40)
			n := g.nodes[shape.IntN(len(g.nodes))]
			if kind := n.m.Role().Kind(); n.ended || roles[kind] > want/4 || states >= want {
				continue
			}
			states++
			roles[n.m.Role().Kind()]++
			n.everyTimer(t, seed)
		}
	}
	t.Logf("%d states: %v", states, roles)
}

// everyTimer holds the sets of timers that are tried against all.
func (n *bruteNode) everyTimer(t *testing.T, seed uint64) {
	outcomes := func(sets [][]kraft.Timer) map[string][]kraft.Timer {
		all := map[string][]kraft.Timer{}
		for _, due := range sets {
			for choice := range n.q.ids {
				next := n.clone()
				chose := next.act(due, choice)
				all[next.key()] = due
				if !chose {
					break
				}
			}
		}
		return all
	}
	timers := n.connectionTimers()
	for _, kind := range []kraft.TimerKind{
		kraft.ElectionTimer, kraft.FetchTimer, kraft.UpdateVoterTimer, kraft.CheckQuorumTimer, kraft.BeginQuorumEpochTimer, kraft.ElectionBackoffTimer,
	} {
		timers = append(timers, kraft.Timer{Kind: kind})
	}
	if l, ok := n.m.Role().(*kraft.Leader); ok {
		for i := range l.Voters {
			timers = append(timers, kraft.Timer{Kind: kraft.SilenceTimer, Peer: l.Voters[i].Key})
		}
	}
	var all [][]kraft.Timer
	for bits := range 1 << len(timers) {
		var due []kraft.Timer
		for i, one := range timers {
			if bits>>i&1 == 1 {
				due = append(due, one)
			}
		}
		all = append(all, due)
	}
	tried := outcomes(bruteTimers(n))
	for key, due := range outcomes(all) {
		if _, ok := tried[key]; !ok {
			t.Errorf("seed %d: %v with %v due does what it does with none of the sets that are tried", seed, n.m.Role(), due)
			return
		}
	}
}

package belief

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

var bruteWindows = flag.Int("brute-windows", 1500, "windows of which the verdict is compared with full enumeration")

// The bounds of a window that is enumerated.
const (
	bruteSeen  = 12 // observations
	bruteSteps = 3  // hidden steps between two of them
	bruteMost  = 60_000
)

// TestVerdict_EqualsFullEnumeration: the judge looks at few states and prefers those that take few steps. Whether it finds an
// explanation must not depend on that: a window of a node, as it was or with one message changed, is explained exactly if some
// sequence of hidden steps explains it.
func TestVerdict_EqualsFullEnumeration(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	explained, not, skipped := 0, 0, 0
	for explained+not < *bruteWindows {
		s := newSim(t, r.Uint64(), []string{"4.0.0", "4.2.0", "4.4.0"}[r.IntN(3)], 2+r.IntN(2), 0, false)
		s.slow = 3000
		var all []*Message
		s.tap = func(m *Message) {
			kept := *m
			all = append(all, &kept)
		}
		s.run(60)
		for id := range kraft.NodeID(len(s.nodes)) {
			w := bruteWindow(s, id+1, all, r.IntN(3) > 0, r)
			if w == nil {
				continue
			}
			byJudge, byAll, known := w.judged(), false, false
			for steps := bruteSteps; steps <= bruteSteps+3 && !known; steps++ {
				byAll, known = w.enumerated(steps)
				known = known && (byAll || !byJudge || steps == bruteSteps+3)
				if byAll && !byJudge && steps > bruteSteps {
					break // more steps than a message is given
				}
			}
			switch {
			case !known:
				skipped++
			case byJudge != byAll:
				for _, x := range w.list {
					t.Logf("%v>%v %s", x.from, x.to, x.words())
				}
				t.Fatalf("seed %d, window %d of node %v: explained %t, by enumeration %t", seed, explained+not, id+1, byJudge, byAll)
			case byAll:
				explained++
			default:
				not++
			}
		}
	}
	t.Logf("%d windows are explained, %d are not, %d were too large to enumerate", explained, not, skipped)
	if not == 0 || skipped > explained {
		t.Error("the comparison says nothing")
	}
}

// window is what one node saw and said first, for a judge and for the enumeration.
type bruteCase struct {
	s    *sim
	id   kraft.NodeID
	list []*crossing
}

func bruteWindow(s *sim, id kraft.NodeID, all []*Message, change bool, r *rand.Rand) *bruteCase {
	w := &bruteCase{s: s, id: id}
	c := w.checker()
	seen := 0
	for _, m := range all {
		if m.Client != id && m.Server != id {
			continue
		}
		x, err := c.read(m)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(w.list) == 0 && (x.from != id || x.reply) {
			continue // judging begins with its own first request
		}
		if w.list = append(w.list, x); x.from == id {
			seen++
		}
		if len(w.list) == bruteSeen {
			break
		}
	}
	if seen < 3 {
		return nil
	}
	if change {
		for range 20 {
			x := w.list[1+r.IntN(len(w.list)-1)]
			if x.from == id && bruteChange(&x.said, x, r) {
				break
			}
		}
	}
	return w
}

// bruteChange makes another message of one.
func bruteChange(c *content, x *crossing, r *rand.Rand) bool {
	switch r.IntN(4) {
	case 0:
		c.epoch++
	case 1:
		if !x.reply || x.key != wire.KeyVote {
			return false
		}
		c.granted = !c.granted
	case 2:
		if !x.reply || c.top != kraft.None {
			return false
		}
		c.err = map[kraft.ErrorCode]kraft.ErrorCode{kraft.None: kraft.FencedLeaderEpoch}[c.err]
	default:
		if x.key != wire.KeyFetch {
			return false
		}
		c.hw++
	}
	return true
}

func (w *bruteCase) checker() *Checker {
	c := New(Options{})
	for _, n := range w.s.nodes {
		c.Release(n.id, w.s.profile.Build)
		c.world.dirs[n.id] = n.config.DirectoryID
	}
	c.world.cluster = "sim"
	c.world.list([]kraft.NodeID{1, 2, 3}[:len(w.s.nodes)])
	return c
}

func (w *bruteCase) judged() bool {
	c := w.checker()
	found := false
	c.options.Found = func(Divergence) { found = true }
	j := c.judgeOf(w.id)
	for _, x := range w.list {
		if x.from == w.id {
			j.saw(x)
		}
		if x.to == w.id {
			j.comes(x)
		}
	}
	return !found && j.stats.Unjudged[TooMany] == 0
}

// enumerated reports whether any sequence of hidden steps explains the window.
func (w *bruteCase) enumerated(steps int) (explained, known bool) {
	j := w.checker().judgeOf(w.id)
	j.anchorAtRequest(w.list[0])
	set, looked := j.set, 0
	for _, x := range w.list {
		if x.to == w.id {
			for _, h := range set {
				j.offered(h, x)
			}
		}
		if x.from != w.id {
			continue
		}
		next := map[string]*hypothesis{}
		seen := map[string]int{}
		j.now = x.at
		j.refused = x.reply && (x.said.top == kraft.BrokerNotAvailable || x.said.err == kraft.BrokerNotAvailable)
		var follow func(h *hypothesis, left int)
		follow = func(h *hypothesis, left int) {
			if looked++; looked > bruteMost {
				return
			}
			key := bruteKey(h)
			if before, ok := seen[key]; ok && before >= left {
				return
			}
			seen[key] = left
			j.accepted, j.sole = map[fingerprint]*hypothesis{}, nil
			accepted, _ := j.accept(nil, h, x)
			for _, a := range accepted {
				next[bruteKey(a)] = a
			}
			if left == 0 {
				return
			}
			var steps []*hypothesis
			h.surprises = 0
			j.expand(h, effort{surprises: 1}, func(n *hypothesis) { steps = append(steps, n) })
			for _, n := range steps {
				n.surprises = 0
				follow(n, left-1)
			}
		}
		for _, h := range set {
			follow(h, steps)
		}
		if set = set[:0:0]; looked > bruteMost {
			return false, false
		}
		for _, h := range next {
			set = append(set, h)
		}
	}
	return len(set) > 0, true
}

// bruteKey tells all that two hypotheses may differ in.
func bruteKey(h *hypothesis) string {
	key := fmt.Sprint(h.m.Fingerprint(), h.view.End, h.view.HighWatermark, h.view.Epochs, h.stored, h.flushed, h.soon, h.openTail, h.dead)
	for i := range h.asked {
		s := &h.asked[i]
		key += fmt.Sprint("|", s.x.id, s.taken, s.parked, s.open, s.closed, s.could)
	}
	for i := range h.sent {
		s := &h.sent[i]
		key += fmt.Sprint("|", s.record, s.key, s.said, h.m.Awaits(s.record, s.correlation))
	}
	for i := range h.open {
		s := &h.open[i]
		key += fmt.Sprint("|", s.record, s.key, s.failed, s.answer != nil)
	}
	return key
}

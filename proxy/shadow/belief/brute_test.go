package belief

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

var (
	bruteWindows = flag.Int("brute-windows", 0, "how many windows are judged by the search and by brute force; 0: some")
	bruteSeed    = flag.Uint64("brute-seed", 0, "the first seed of the quorums that they are cut out of; 0: always the same")
)

// verdicts on a window.
const (
	bruteExplained    = "explained"
	bruteDiverges     = "diverges"
	bruteInconclusive = "inconclusive"
)

// judged is what the search says of a window.
func (w *bruteWindow) judged(g *bruteGame) (verdict, why string) {
	c := New(Options{Found: func(d Divergence) {
		verdict, why = bruteDiverges, fmt.Sprint(d.Said, d.Wanted)
	}})
	c.world.known, c.world.dynamic, c.world.voters, c.world.cluster = true, g.q.dynamic, g.voters, "brute"
	for _, n := range g.nodes {
		c.Release(n.id, g.q.profile.Build)
		c.world.dirs[n.id] = n.config.DirectoryID
		c.world.meet(n.id)
	}
	j := c.judgeOf(w.start.id)
	j.configure(-1)
	w.anchor(g.t, j)
	if j.wire.alive = 1 << 20; len(j.set) == 0 {
		return bruteInconclusive, "not anchored"
	}
	for i, m := range w.seen {
		if _, known := j.wire.conns[m.conn]; !known {
			j.wire.conns[m.conn] = true
		}
		switch {
		case m.closes:
			j.closed(m.conn)
		case m.from == w.start.id:
			x := w.crossing(g.t, j, m, i)
			if j.saw(x); m.to == m.from && len(j.set) > 0 {
				j.comes(x)
			}
		default:
			j.comes(w.crossing(g.t, j, m, i))
		}
		if verdict == bruteDiverges {
			return verdict, fmt.Sprintf("at %d: %s", i, why)
		}
		if len(j.set) == 0 {
			return bruteInconclusive, fmt.Sprintf("at %d: %s", i, j.why)
		}
	}
	return bruteExplained, ""
}

// crossing is a message as the search sees it, i being its place in the window.
func (w *bruteWindow) crossing(t testing.TB, j *judge, m *bruteMessage, i int) *crossing {
	j.c.requests = 1<<32 + kraft.RequestID(i)
	if !m.reply {
		j.c.requests = m.id - 1
	}
	msg := Message{
		Conn: m.conn, Client: m.from, Server: m.to, Response: m.reply, Key: m.key, Version: m.version, Correlation: m.correlation,
		Sent: m.body, Got: m.body, At: (bruteBegin + int64(i)*10) * 1e6, Number: uint64(i + 1000),
	}
	if m.reply {
		msg.Client, msg.Server = m.to, m.from
	}
	x, err := j.c.read(&msg)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// bruteBegin is when windows begin, in milliseconds.
const bruteBegin = 1_000_000

// anchor gives the search the state that the node is in as the window begins.
func (w *bruteWindow) anchor(t testing.TB, j *judge) {
	n := w.start
	h := &hypothesis{m: n.m.Clone(), view: n.log.LogView, stored: n.stored, flushed: n.log.End}
	for _, b := range n.log.Batches(n.log.Start, n.log.End, 1<<30) {
		h.tail = h.tail.push(b)
	}
	h.soon = append(h.soon, n.soon...)
	j.now = bruteBegin - 1000
	for i := range n.unsent {
		j.now++
		j.choosing = n.q.dynamic && n.unsent[i].record < -1
		j.built(h, n.unsent[i].action)
	}
	j.now = bruteBegin
	known := func(m *bruteMessage, i int) *crossing {
		j.wire.conns[m.conn] = true
		return w.crossing(t, j, m, i)
	}
	for i := range n.asked {
		a := &n.asked[i]
		s := askedSlot{x: known(a.message, -1)}
		untaken := false
		for k := range n.came {
			untaken = untaken || !n.came[k].reply && n.came[k].message.id == a.message.id
		}
		if s.taken = !untaken; s.taken {
			s.parked, s.open = true, true
			s.could = []answer{{valid: true, leads: true, said: content{ // as of then: the node may have left office since
				leader: n.id, epoch: s.x.said.epoch, hw: a.parkedHW, diverge: nowhere, snapshot: nowhere,
			}}}
		}
		h.asked = append(h.asked, s)
		j.wire.asked = append(j.wire.asked, s.x)
	}
	for i := range n.said {
		s := &n.said[i]
		reply := known(&bruteMessage{conn: s.asked.conn, from: n.id, to: s.asked.from, reply: true, key: s.asked.key, version: s.asked.version, body: s.body}, -2)
		could := answer{said: reply.said}
		could.leads = reply.said.top == kraft.None && reply.said.err == kraft.None
		could.valid = could.leads && reply.said.diverge == nowhere && reply.said.snapshot == nowhere
		could.some = reply.said.records
		x := known(s.asked, -1)
		h.asked = append(h.asked, askedSlot{x: x, taken: true, could: []answer{could}})
		j.wire.asked = append(j.wire.asked, x)
	}
	for i := range n.came {
		c := &n.came[i]
		switch {
		case c.reply && n.m.Awaits(c.flight.record, c.flight.correlation):
			o := openSlot{conn: c.flight.conn, record: c.flight.record, correlation: c.flight.correlation, key: c.flight.key}
			if o.failed = c.message == nil; !o.failed {
				o.answer = known(c.message, -3-i)
			}
			h.open = append(h.open, o)
		case !c.reply && !n.isAsked(c.message):
			h.asked = append(h.asked, askedSlot{x: known(c.message, -1), closed: true})
		}
	}
	for _, f := range n.flying {
		j.wire.conns[f.conn] = true
		j.wire.out[f.conn] = &crossing{conn: f.conn, key: f.key}
		if n.m.Awaits(f.record, f.correlation) {
			h.open = append(h.open, openSlot{conn: f.conn, record: f.record, correlation: f.correlation, key: f.key})
		}
	}
	for _, l := range n.links {
		j.wire.conns[l.conn] = true
	}
	j.begin([]*hypothesis{h}, nil)
}

func (n *bruteNode) isAsked(m *bruteMessage) bool {
	for i := range n.asked {
		if n.asked[i].message.id == m.id {
			return true
		}
	}
	return false
}

// bruteTally counts what became of windows.
type bruteTally struct {
	windows, altered, unexplained, gaveUp, beyond, unequal int

	quiet bool
	only  func(*bruteGame, *bruteWindow) bool // judges only these both ways; nil: all
}

// bruteSteps is how many hidden steps the enumeration makes between two messages, bruteBeyond how many it tries where the search
// explains what those do not.
const (
	bruteSteps  = 3
	bruteBeyond = 5
)

// compare judges a window both ways.
func (c *bruteTally) compare(g *bruteGame, w *bruteWindow, seed uint64) {
	if c.only != nil && !c.only(g, w) {
		c.windows++
		return
	}
	verdict, why := w.judged(g)
	explained, gaveUp := false, false
	at := 0
	for at = 1; at <= bruteSteps && !explained && !gaveUp; at++ {
		explained, gaveUp = w.explain(at)
	}
	if c.windows++; w.altered != "" {
		c.altered++
	}
	for ; at <= bruteBeyond && !explained && !gaveUp && (verdict == bruteExplained || w.altered == ""); at++ {
		if explained, gaveUp = w.explain(at); explained {
			c.beyond++
		}
	}
	switch {
	case gaveUp:
		c.gaveUp++
		return
	case !explained:
		c.unexplained++
	}
	if want := map[bool]string{true: bruteExplained, false: bruteDiverges}[explained]; verdict != want {
		if c.unequal++; c.unequal <= 5 && !c.quiet {
			g.t.Errorf("-brute-seed=%d: the search says %s (%s), full enumeration %s with %d steps; %s", seed, verdict, why, want, at-1, w.describe())
		}
	}
}

func (w *bruteWindow) describe() string {
	n := w.start
	s := fmt.Sprintf("Kafka %s, node %v epoch %d %v, log %v, %d unsent, %d flying, %d came, %d said, %d asked, altered %q", n.q.profile.Build, n.id, n.m.QuorumState().Epoch, n.m.Role(), &n.log.LogView,
		len(n.unsent), len(n.flying), len(n.came), len(n.said), len(n.asked), w.altered)
	for i := range n.unsent {
		s += fmt.Sprintf("\n   unsent %v", n.unsent[i].action)
	}
	for i := range n.came {
		s += fmt.Sprintf("\n   came %v flight %+v", n.came[i].message, n.came[i].flight)
	}
	for i := range n.flying {
		s += fmt.Sprintf("\n   flying %+v", n.flying[i])
	}
	for _, a := range n.asked {
		s += fmt.Sprintf("\n   asked %v parked %d", a.message, a.parkedHW)
	}
	for i, m := range w.seen {
		s += fmt.Sprintf("\n   %d %v", i, m)
	}
	return s
}

var bruteReleases = []string{"4.0.0", "4.0.1", "4.1.0", "4.2.0", "4.3.0", "4.4.0"}

// play cuts windows out of quorums, beginning with the given seed, until there are enough.
func (c *bruteTally) play(t testing.TB, seed uint64, windows int, enough func() bool) {
	for ; c.windows < windows && !enough(); seed++ {
		shape := rand.New(rand.NewPCG(seed, 23))
		g := newBruteGame(t, seed, bruteReleases[shape.IntN(len(bruteReleases))], 2+shape.IntN(2), shape.IntN(2), shape.IntN(2) == 0)
		g.found = func(w *bruteWindow) {
			if c.windows < windows && !enough() && (shape.IntN(3) == 0 || w.alter(t, shape)) {
				c.compare(g, w, seed)
			}
		}
		g.play(1500)
	}
}

// run plays, and fails unless the windows are of both kinds and nearly all of a size that can be enumerated.
func (c *bruteTally) run(t *testing.T, seed uint64, windows int) {
	c.play(t, seed, windows, func() bool { return false })
	t.Logf("%d windows: %d with something altered; %d cannot be explained; %d took more than %d hidden steps between two messages; enumerating %d was given up; on %d the search says something else",
		c.windows, c.altered, c.unexplained, c.beyond, bruteSteps, c.gaveUp, c.unequal)
	if 50*c.gaveUp > c.windows { // what a node writes that ends the enumeration explains by many steps, if at all
		t.Errorf("enumerating %d windows was given up", c.gaveUp)
	}
	if 5*c.unexplained < c.windows || 5*(c.windows-c.unexplained) < c.windows {
		t.Errorf("%d of %d windows cannot be explained: both verdicts should be common", c.unexplained, c.windows)
	}
}

// TestBruteForce_AgreesWithTheSearch: on every window the search says what the enumeration of all that a node may have done says.
func TestBruteForce_AgreesWithTheSearch(t *testing.T) {
	windows := 400
	if testing.Short() {
		windows = 20
	}
	if *bruteWindows > 0 {
		windows = *bruteWindows
	}
	var c bruteTally
	c.run(t, max(*bruteSeed, 1), windows)
}

// TestBruteForceMatrix_AgreesWithTheSearch is the same on more windows.
func TestBruteForceMatrix_AgreesWithTheSearch(t *testing.T) {
	if os.Getenv("UNDERSTUDY_MATRIX") == "" {
		t.Skip("a longer run: UNDERSTUDY_MATRIX=1")
	}
	var c bruteTally
	c.run(t, 500_000, 800)
}

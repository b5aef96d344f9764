package belief

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/wire"
)

// bruteGame plays a quorum of bruteNodes without a clock: what happens next is drawn. Windows are cut out of what each node does.
type bruteGame struct {
	t       testing.TB
	r       *rand.Rand
	q       *bruteQuorum
	nodes   []*bruteNode
	windows []*bruteWindow // being filled, one for each voter; nil: none
	found   func(*bruteWindow)
	voters  kraft.VoterSet
	count   int
	conns   uint64
	ids     kraft.RequestID
	longest int // of a window
	hurry   int // how often of 100 a timer is due in a role action
}

func newBruteGame(t testing.TB, seed uint64, release string, voters, observers int, dynamic bool) *bruteGame {
	p, err := compat.ByRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	g := &bruteGame{t: t, r: rand.New(rand.NewPCG(seed, 17)), count: voters, longest: 12, conns: 100, found: func(*bruteWindow) {}, ids: 1000}
	g.q = &bruteQuorum{profile: p, dynamic: dynamic, sender: wire.Sender{ClusterID: "brute"}, records: map[string][]byte{}}
	g.hurry = 2 + g.r.IntN(8)
	var set []kraft.Voter
	for i := range voters {
		id := kraft.NodeID(i + 1)
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: made(id), Versions: kraft.VersionRange{Max: 1}}
		if dynamic {
			v.Key.DirectoryID = kraft.DirectoryID{9, byte(id)}
		}
		set = append(set, v)
		g.q.ids = append(g.q.ids, id)
	}
	g.voters = kraft.NewVoterSet(set...)
	for i := range voters + observers {
		g.nodes = append(g.nodes, g.node(kraft.NodeID(i+1), i < voters))
	}
	g.windows = make([]*bruteWindow, voters)
	return g
}

func (g *bruteGame) node(id kraft.NodeID, voter bool) *bruteNode {
	cfg := kraft.Config{
		ID: id, DirectoryID: kraft.DirectoryID{9, byte(id)}, ClusterID: "brute", Rules: g.q.profile.Rules, Timeouts: kraft.DefaultTimeouts(),
		Listener: listenerName, Endpoints: made(id), KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: true,
		FetchMaxWaitMs: 500, FetchMaxBytes: 1 << 20, FetchSnapshotMaxBytes: 1 << 20,
	}
	n := &bruteNode{q: g.q, id: id, config: &cfg, log: memlog.New()}
	if g.q.dynamic {
		for _, to := range g.q.ids {
			cfg.BootstrapServers = append(cfg.BootstrapServers, simAddress(to))
		}
		if voter {
			n.log.AddSnapshot(kraft.BootstrapSnapshot, 100, kraft.SnapshotContents{KRaftVersion: 1, HasKRaftVersion: true, Voters: g.voters, HasVoters: true})
		}
	} else {
		cfg.StaticVoters = g.voters
	}
	cfg.History = n.log.History()
	m, err := kraft.New(cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	n.m = m
	n.handle(&kraft.Start{}, kraft.TimerSet{})
	n.act(nil, 0)
	return n
}

// play lets so many things happen.
func (g *bruteGame) play(moves int) {
	for range moves {
		i := g.r.IntN(len(g.nodes))
		switch at := g.r.IntN(100); {
		case at < 55:
			g.observe(i)
		case at < 98:
			g.step(i)
		case at < 99:
			g.cut(i)
		default:
			g.append()
		}
	}
}

// step has a node make a step that can be seen by nobody.
func (g *bruteGame) step(i int) {
	n := g.nodes[i]
	steps := slices.DeleteFunc(n.steps(nil), func(s bruteStep) bool {
		rare := s.kind == bruteFails || s.kind == bruteExpires || s.kind == bruteShutsDown && g.r.IntN(20) > 0
		return rare && g.r.IntN(20) > 0
	})
	if len(steps) == 0 {
		return
	}
	s := steps[g.r.IntN(len(steps))]
	if n.begin(&s); !s.acts() || n.ended {
		return
	}
	var due []kraft.Timer
	if sets := bruteTimers(n); g.r.IntN(100) < g.hurry {
		due = sets[g.r.IntN(len(sets))]
	}
	n.act(due, g.r.IntN(len(g.q.ids)))
}

func (g *bruteGame) append() {
	for _, n := range g.nodes {
		if n.m.Role().Kind() == kraft.LeaderRole && !n.ended {
			s := bruteStep{kind: bruteAppends, end: n.log.End + 1 + kraft.Offset(g.r.IntN(2))}
			n.begin(&s)
			n.act([]kraft.Timer{{Kind: kraft.LingerTimer}}, 0)
		}
	}
}

// observe lets something that a node has written cross the wire.
func (g *bruteGame) observe(i int) {
	n := g.nodes[i]
	var may []*bruteMessage
	for k := range n.said {
		s := n.said[k]
		if len(s.short) > 0 && g.r.IntN(8) == 0 {
			s.body = s.short[g.r.IntN(len(s.short))]
		}
		may = append(may, &bruteMessage{conn: s.asked.conn, from: n.id, to: s.asked.from, reply: true, key: s.asked.key, version: s.asked.version, body: s.body, correlation: s.asked.correlation})
	}
	for k := range n.unsent {
		s := &n.unsent[k]
		if n.first(k) && !slices.ContainsFunc(n.flying, func(f bruteFlight) bool { return f.record == s.record }) {
			r, _ := g.q.profile.Range(kraft.APIKey(s.key))
			m := &bruteMessage{from: n.id, to: s.to, key: s.key, version: r.Max, body: s.body, record: s.record, correlation: s.correlation}
			for _, l := range n.links {
				if l.record == s.record {
					m.conn = l.conn
				}
			}
			may = append(may, m)
		}
	}
	if len(may) == 0 {
		return
	}
	m := may[g.r.IntN(len(may))]
	if !m.reply && m.conn.ID == 0 {
		g.conns++
		m.conn.ID = g.conns
	}
	if !m.reply {
		g.ids++
		m.id = g.ids
	}
	m.decode(g.t)
	before := n
	list, _ := n.leaves(m)
	if len(list) == 0 {
		g.t.Fatalf("%v does not leave", m)
	}
	for _, next := range list { // of two that say the same it is the one on this connection
		f := bruteFlight{m.conn, m.record, m.correlation, m.key}
		if m.reply || next.flying[len(next.flying)-1] == f {
			g.nodes[i] = next
		}
	}
	if n = g.nodes[i]; !m.reply { // what stood before it has been given up: requests to one node leave in order
		n.unsent = slices.DeleteFunc(n.unsent, func(s bruteSend) bool { return s.record == m.record && s.correlation < m.correlation })
	}
	g.window(m, before)
	to := g.nodes[m.to-1]
	to.comes(m)
}

// decode reads the event that a message is for its receiver.
func (m *bruteMessage) decode(t testing.TB) {
	var d wire.Decoder
	var err error
	if m.reply {
		m.event, err = d.KRaftResponse(m.key, m.version, m.body, kraft.Response{})
	} else {
		m.event, err = d.KRaftRequest(m.key, m.version, m.body, kraft.Request{ID: m.id, Listener: listenerName, From: m.from})
	}
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
}

// cut ends a connection.
func (g *bruteGame) cut(i int) {
	n := g.nodes[i]
	if len(n.links) == 0 {
		return
	}
	conn := n.links[g.r.IntN(len(n.links))].conn
	var at []int
	for k, o := range g.nodes {
		if o == n || slices.ContainsFunc(o.asked, func(a bruteAsked) bool { return a.message.conn == conn }) ||
			slices.ContainsFunc(o.said, func(s bruteSaid) bool { return s.asked.conn == conn }) {
			at = append(at, k)
		}
	}
	m := &bruteMessage{conn: conn, closes: true}
	for _, k := range at {
		m := *m
		m.from = kraft.NoNode
		m.to = g.nodes[k].id
		g.windowOf(k, &m, g.nodes[k])
		worlds := g.nodes[k].closed(conn)
		g.nodes[k] = worlds[g.r.IntN(len(worlds))]
		g.nodes[k].came = slices.DeleteFunc(g.nodes[k].came, func(c bruteCame) bool { // a request may be lost on its way
			return !c.reply && c.message.conn == conn && g.r.IntN(2) == 0
		})
	}
}

// window adds a message to the windows of both of its ends. before is its sender as it was before.
func (g *bruteGame) window(m *bruteMessage, before *bruteNode) {
	g.windowOf(int(m.from)-1, m, before)
	if m.to != m.from {
		g.windowOf(int(m.to)-1, m, g.nodes[m.to-1])
	}
}

func (g *bruteGame) windowOf(i int, m *bruteMessage, before *bruteNode) {
	if i >= g.count {
		return
	}
	w := g.windows[i]
	if w == nil {
		if g.r.IntN(4) > 0 || before.ended || before.hasOrphans() || !before.waits() {
			return
		}
		w = &bruteWindow{start: before.clone().old(), length: 3 + min(g.r.IntN(g.longest-2), g.r.IntN(g.longest-2), g.r.IntN(g.longest-2))}
		g.windows[i] = w
	}
	if w.seen = append(w.seen, m); len(w.seen) == w.length {
		g.windows[i] = nil
		speaks := slices.ContainsFunc(w.seen, func(m *bruteMessage) bool { return !m.closes && m.from == w.start.id })
		if speaks && !slices.ContainsFunc(w.seen, (*bruteMessage).describesLeader) {
			g.found(w)
		}
	}
}

// old makes all that a node has built older than the window.
func (n *bruteNode) old() *bruteNode {
	for i := range n.unsent {
		n.unsent[i].gap = i - len(n.unsent)
	}
	return n
}

// waits reports whether the poll loop has done all that there is to do until a message comes or a timer runs out: only then does the
// search take a state over.
func (n *bruteNode) waits() bool {
	next := n.clone()
	next.act(nil, 0)
	return next.key() == n.key()
}

// hasOrphans reports whether a Fetch waits whose connection has ended.
func (n *bruteNode) hasOrphans() bool {
	return slices.ContainsFunc(n.m.Inspect().Parked, func(p kraft.ParkedFetch) bool {
		return !slices.ContainsFunc(n.asked, func(a bruteAsked) bool { return a.message.id == p.Request })
	})
}

// describesLeader reports whether a message shows a leader that writes the voters anew: the search never blames one, since it may do so
// for a reason that nobody but itself knows.
func (m *bruteMessage) describesLeader() bool {
	e, ok := m.event.(*kraft.ReceiveFetchResponse)
	return ok && slices.ContainsFunc(e.Batches, func(b kraft.Batch) bool { return len(b.Control) > 1 })
}

package belief

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/wire"
)

// A quorum of machines under one virtual clock. Each leg of a message takes a random time, and the checker sees what a proxy in the
// middle would: requests wait unsent behind others, answers overtake, connections break with messages on them, nodes crash.

type sim struct {
	t       testing.TB
	r       *rand.Rand
	c       *Checker
	now     int64 // microseconds
	queue   simQueue
	ties    int64
	nodes   []*simNode
	conns   uint64
	number  uint64
	profile compat.Profile
	dynamic bool
	late    bool  // waiting Fetches that have run out may yet be answered by what a node does first
	abrupt  bool  // a process may be told to end between its role action and the message that it takes
	mixed   bool  // the nodes are of several releases
	slow    int64 // the mean of a leg
	seen    int
	found   []Divergence
	records map[kraft.LogEnd][]byte
	victim  kraft.NodeID // the node that is not what it should be
	wrong   func(on bool)

	changedAt      int               // the message before which its writing first differed
	unjudgedBefore map[string]uint64 // its messages that were not judged by then
	graceful       bool              // some processes end on request
	snapshots      bool              // nodes take snapshots
	swallows       bool              // the proxy loses requests and answers
	operated       bool              // voters come and go
	calm           bool              // nothing breaks
	tap            func(*Message)    // sees the messages in place of the checker
	tapClosed      func(ConnID)      // and the ends of connections
	begin          int               // the first message that the checker sees
}

type simEvent struct {
	at, tie int64
	do      func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, k int) bool {
	return q[i].at < q[k].at || q[i].at == q[k].at && q[i].tie < q[k].tie
}
func (q simQueue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type simNode struct {
	s         *sim
	id        kraft.NodeID
	config    kraft.Config
	m         *kraft.QuorumStateMachine
	log       *memlog.Log
	stored    kraft.QuorumState
	deadlines map[kraft.Timer]int64 // milliseconds
	due       kraft.TimerSet
	inbox     []kraft.Event
	actions   kraft.Actions
	event     kraft.Event
	asked     map[kraft.RequestID]*simAsk
	parked    map[kraft.RequestID]int64
	gone      bool                      // it does not come back
	links     map[kraft.NodeID]*simLink // by connection record, as in Kafka: to a node as a voter, to the same as a bootstrap server
	requests  kraft.RequestID
	life      int
	up        bool
	polling   int64 // when the next turn is; 0: none is planned
	voter     bool
	operators []*simLink
	profile   compat.Profile
	old       bool // of a release that knows no PreVote
	ending    bool // it is about to be told to end

	right *right // of a wrong node
}

// simLink is what a client has to do with one server.
type simLink struct {
	to      *simNode
	record  kraft.NodeID
	unsent  []simRequest
	flying  *simRequest
	conn    ConnID
	open    bool
	waiting int64 // counts flights
	arrives int64 // the last request
	life    int   // of the server, when the connection was opened
	midway  bool  // it was open before the checker saw anything
	hidden  bool  // the checker has not seen the last request
}

type simRequest struct {
	key     int16
	version int16
	dest    kraft.Destination
	body    []byte
	unknown bool // the server knows no version of it that says all
}

type simAsk struct {
	from     *simNode
	link     *simLink
	conn     ConnID
	request  simRequest
	fromLife int
}

func simAddress(id kraft.NodeID) kraft.Address {
	return kraft.Address{Host: "node-" + id.String(), Port: 9093}
}

func newSim(t testing.TB, seed uint64, release string, voters, observers int, dynamic bool) *sim {
	p, err := compat.ByRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, r: rand.New(rand.NewPCG(seed, 11)), now: 1_000_000_000, profile: p, dynamic: dynamic, slow: 2000, records: map[kraft.LogEnd][]byte{}, victim: -1}
	s.c = New(Options{Settle: 600 * time.Millisecond, Found: func(d Divergence) { s.found = append(s.found, d) }})
	var set []kraft.Voter
	for i := range voters {
		id := kraft.NodeID(i + 1)
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: made(id), Versions: kraft.VersionRange{Max: 1}}
		if dynamic {
			v.Key.DirectoryID = kraft.DirectoryID{9, byte(id)}
		}
		set = append(set, v)
	}
	for i := range voters + observers {
		id := kraft.NodeID(i + 1)
		cfg := kraft.Config{
			ID: id, DirectoryID: kraft.DirectoryID{9, byte(id)}, ClusterID: "sim", Rules: p.Rules, Listener: listenerName, Endpoints: made(id),
			Timeouts:       kraft.QuorumTimeouts{ElectionMs: 100, FetchMs: 200, ElectionBackoffMaxMs: 100, RequestMs: 200, RetryBackoffMs: 20, AppendLingerMs: 5},
			KRaftVersions:  kraft.VersionRange{Max: 1},
			CanBecomeVoter: true, FetchMaxWaitMs: 50, FetchMaxBytes: 1 << 20, FetchSnapshotMaxBytes: 150,
		}
		if dynamic {
			for _, v := range set {
				cfg.BootstrapServers = append(cfg.BootstrapServers, simAddress(v.Key.ID))
			}
		} else {
			cfg.StaticVoters = kraft.NewVoterSet(set...)
		}
		n := &simNode{s: s, id: id, config: cfg, log: memlog.New(), voter: i < voters, profile: p}
		if dynamic && n.voter {
			n.log.AddSnapshot(kraft.BootstrapSnapshot, 100, kraft.SnapshotContents{KRaftVersion: 1, HasKRaftVersion: true, Voters: kraft.NewVoterSet(set...), HasVoters: true})
		}
		s.nodes = append(s.nodes, n)
		n.introduce()
	}
	return s
}

func (s *sim) after(d int64, do func()) {
	s.ties++
	heap.Push(&s.queue, simEvent{s.now + max(d, 0), s.ties, do})
}

func (s *sim) leg() int64 {
	d := int64(s.r.ExpFloat64() * float64(s.slow))
	if s.r.IntN(200) == 0 {
		d += s.r.Int64N(100_000)
	}
	return d + 1
}

// run plays until so many messages were seen, or something was found.
func (s *sim) run(messages int) {
	for _, n := range s.nodes {
		n.start()
	}
	s.append()
	if !s.calm {
		s.after(s.r.Int64N(3_000_000), s.disturb)
	}
	if s.operated {
		s.after(s.r.Int64N(3_000_000), s.operate)
	}
	end := s.now + 120_000_000
	s.play(func() bool { return s.seen < messages && s.now < end })
}

// play goes on while there is something to do, and nobody was blamed.
func (s *sim) play(on func() bool) {
	for on() && len(s.queue) > 0 && !s.blamed() {
		e := heap.Pop(&s.queue).(simEvent)
		s.now = e.at
		e.do()
	}
}

func (n *simNode) start() {
	cfg := n.config
	cfg.History = n.log.History()
	cfg.Stored, cfg.HasStored = n.stored, n.stored != kraft.QuorumState{}
	m, err := kraft.New(cfg)
	if err != nil {
		n.s.t.Fatal(err)
	}
	n.m, n.up, n.ending, n.inbox, n.polling = m, true, false, nil, 0
	if n.s.victim == n.id && n.s.wrong != nil && n.life == 0 {
		n.right = &right{}
	}
	if n.right != nil {
		n.right.begin(n)
	}
	n.life++
	n.deadlines, n.asked, n.parked = map[kraft.Timer]int64{}, map[kraft.RequestID]*simAsk{}, map[kraft.RequestID]int64{}
	n.links = map[kraft.NodeID]*simLink{}
	n.handle(&kraft.Start{})
	n.plan(0)
}

func (n *simNode) crash() {
	n.up = false
	n.hangUp()
	for _, o := range n.s.nodes {
		for _, to := range n.s.nodes {
			if o == n || to == n {
				o.linksTo(to, o.lose)
			}
		}
	}
	n.links = map[kraft.NodeID]*simLink{}
	n.s.after(20_000+n.s.r.Int64N(500_000), func() {
		if n.gone {
			return
		}
		keeps := n.s.r.IntN(2) == 0
		if n.log.Crash(keeps); n.right != nil {
			n.right.log.Crash(keeps)
		}
		n.upgrade()
		n.start()
	})
}

// lose breaks the connection of a link.
func (n *simNode) lose(l *simLink) {
	if !l.open {
		return
	}
	l.open = false
	l.waiting++
	conn := l.conn
	n.s.after(n.s.r.Int64N(500), func() {
		if simTrace == n.id || simTrace == l.to.id {
			fmt.Printf("%d WIRE closed %d\n", n.s.now, conn.ID)
		}
		n.s.closed(conn)
	})
	if r := l.flying; r != nil {
		l.flying = nil
		n.fails(*r, kraft.BrokerNotAvailable)
	}
	n.s.after(n.s.leg(), func() { n.leave(l) })
}

func (n *simNode) receive(ev kraft.Event) {
	n.inbox = append(n.inbox, ev)
	n.plan(n.s.r.Int64N(300))
}

// plan lets the node have a turn.
func (n *simNode) plan(d int64) {
	at := n.s.now + d
	if n.polling != 0 && n.polling <= at {
		return
	}
	n.polling = at
	n.s.after(d, n.poll)
}

func (n *simNode) poll() {
	if !n.up || n.polling == 0 || n.polling > n.s.now {
		return
	}
	n.polling = 0
	if !n.s.late || n.s.r.IntN(4) > 0 {
		n.expire()
	}
	kraft.Turn(n.m, n, kraft.Instant(n.s.now/1000))
	if !n.up {
		return
	}
	if len(n.inbox) > 0 {
		n.plan(1 + n.s.r.Int64N(200))
		return
	}
	next := int64(20_000)
	for _, at := range n.deadlines {
		if d := at*1000 - n.s.now; d > 0 {
			next = min(next, d)
		}
	}
	n.plan(next + n.s.r.Int64N(2000))
}

func (n *simNode) expire() {
	for _, id := range slices.Sorted(func(yield func(kraft.RequestID) bool) {
		for id, at := range n.parked {
			if at <= n.s.now/1000 && !yield(id) {
				return
			}
		}
	}) {
		delete(n.parked, id)
		n.handle(&kraft.ParkedExpired{Request: id})
	}
}

func (n *simNode) Log() *kraft.LogView { return n.log.View() }

func (n *simNode) Choice() int {
	c := n.s.r.IntN(8)
	n.event = &kraft.RoleAction{Choice: c}
	return c
}

func (n *simNode) Actions() *kraft.Actions { return &n.actions }

var simTrace = func() kraft.NodeID {
	var id int
	if _, err := fmt.Sscan(os.Getenv("SIM_TRACE"), &id); err != nil {
		return -9
	}
	return kraft.NodeID(id)
}()

func (n *simNode) Due(at kraft.Instant) kraft.TimerSet {
	n.due.Clear()
	for t, deadline := range n.deadlines {
		if int64(at) >= deadline {
			n.due.Add(t)
		}
	}
	if n.s.victim == n.id && n.s.wrong != nil {
		if n.right != nil {
			n.right.now = at
		}
		n.s.wrong(true)
	}
	return n.due
}

func (n *simNode) Next(int64, kraft.TimerSet) (kraft.Event, kraft.Instant) {
	if len(n.inbox) == 0 {
		return nil, 0
	}
	if n.ending {
		n.ending = false
		n.handle(&kraft.Shutdown{TimeoutMs: 200})
	}
	n.event, n.inbox = n.inbox[0], n.inbox[1:]
	return n.event, kraft.Instant(n.s.now / 1000)
}

func (n *simNode) handle(ev kraft.Event) {
	n.event = ev
	at := kraft.Instant(n.s.now / 1000)
	n.Execute(n.m.OnEvent(ev, n.Log(), kraft.Clock{Now: at, Due: n.Due(at)}, &n.actions))
}

func (n *simNode) Execute(actions []kraft.Action) bool {
	if n.id == simTrace {
		if r, ok := n.event.(*kraft.RoleAction); !ok || len(actions) > 0 {
			_ = r
			fmt.Printf("%d NODE %v\n", n.s.now, n.event)
		}
		for _, a := range actions {
			fmt.Printf("      %v\n", a)
		}
	}
	if n.s.wrong != nil {
		n.s.wrong(false)
		if n.s.victim == n.id && n.s.changedAt == 0 {
			n.compare(actions)
		}
	}
	for _, a := range actions {
		done, err := n.log.Execute(a, n.event)
		if err != nil {
			if n.s.victim == n.id {
				n.crash()
				return false
			}
			n.s.t.Fatal(err)
		}
		if !done {
			n.execute(a)
		}
		if !n.up {
			return false
		}
	}
	return true
}

func (n *simNode) execute(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		n.stored = a.Stored()
	case *kraft.ResetTimer:
		deadline := int64(a.Deadline)
		if a.Window > 0 {
			deadline += n.s.r.Int64N(int64(a.Window))
		}
		n.deadlines[a.Timer] = deadline
	case *kraft.CancelTimer:
		delete(n.deadlines, a.Timer)
	case *kraft.Park:
		n.parked[a.Request] = int64(a.Until)
	case *kraft.ShutdownDone:
		n.crash()
	case *kraft.Fatal:
		if n.s.victim < 0 && !n.s.operated { // a quorum that is robbed of its voters may end that way
			n.s.t.Errorf("node %v ends: %v on %v", n.id, a, n.event)
		}
		n.crash()
	default:
		if key, to, ok := wire.SendKey(action); ok {
			n.send(action, key, to)
		} else if _, id, ok := wire.ReplyKey(action); ok {
			n.reply(action, id)
		}
	}
}

func (n *simNode) send(action kraft.Action, key int16, to kraft.Destination) {
	var target *simNode
	for _, o := range n.s.nodes {
		if simAddress(o.id) == to.Address {
			target = o
		}
	}
	if target == nil {
		n.s.t.Fatalf("nobody listens at %v", to.Address)
	}
	if key == wire.KeyAPIVersions {
		n.probe(target, to)
		return
	}
	version := min(n.speaks(key), target.speaks(key))
	sender := wire.Sender{ClusterID: "sim"}
	body, err := sender.AppendSend(nil, action, version)
	if err != nil && !n.s.mixed {
		n.s.t.Fatal(err)
	}
	l := n.links[to.Record]
	if l == nil || l.to != target {
		l = &simLink{to: target, record: to.Record}
		n.links[to.Record] = l
	}
	l.unsent = append(l.unsent, simRequest{key: key, version: version, dest: to, body: body, unknown: err != nil})
	n.leave(l)
}

// leave sends the next request of a link when the one before is answered.
func (n *simNode) leave(l *simLink) {
	if l.flying != nil || len(l.unsent) == 0 || !n.up || n.links[l.record] != l {
		return
	}
	s := n.s
	if !l.to.up {
		for _, r := range l.unsent {
			n.fails(r, kraft.BrokerNotAvailable)
		}
		l.unsent = nil
		return
	}
	r := l.unsent[0]
	l.unsent = l.unsent[1:]
	if r.unknown {
		n.fails(r, kraft.UnsupportedVersion)
		n.leave(l)
		return
	}
	l.flying = &r
	l.waiting++
	flight, life := l.waiting, n.life
	if !l.open {
		s.conns++
		l.open, l.conn, l.life, l.arrives = true, ConnID{0, s.conns}, l.to.life, 0
		l.midway = s.seen+1 < s.begin
		n.introduce()
	}
	conn := l.conn
	s.after(s.leg(), func() {
		if !l.open || l.conn != conn || l.waiting != flight {
			return
		}
		if m := s.message(n, l.to, &r, conn, nil); m.Got == nil {
			return
		}
		l.arrives = max(l.arrives, s.now+s.leg())
		s.after(l.arrives-s.now, func() {
			if l.to.up && l.to.life == l.life {
				l.to.asks(n, l, conn, r)
			}
		})
	})
	s.after(int64(n.config.Timeouts.RequestMs)*1000, func() {
		if n.up && n.life == life && l.flying == &r && l.waiting == flight {
			n.lose(l)
		}
	})
}

// asks hands a request to the server.
func (n *simNode) asks(from *simNode, l *simLink, conn ConnID, r simRequest) {
	n.requests++
	id := n.requests
	n.asked[id] = &simAsk{from: from, link: l, conn: conn, request: r, fromLife: from.life}
	var d wire.Decoder
	ev, err := d.KRaftRequest(r.key, r.version, r.body, kraft.Request{ID: id, Listener: listenerName})
	if err != nil {
		n.s.t.Fatal(err)
	}
	n.receive(ev)
}

func (n *simNode) reply(action kraft.Action, id kraft.RequestID) {
	q := n.asked[id]
	delete(n.asked, id)
	delete(n.parked, id)
	if q == nil {
		return
	}
	var data []byte
	if a, ok := action.(*kraft.ReplyFetch); ok && a.From < a.UpTo {
		for _, b := range n.log.Batches(a.From, a.UpTo, a.MaxBytes) {
			data = append(data, n.s.bytes(b)...)
		}
	}
	if a, ok := action.(*kraft.ReplyFetchSnapshot); ok {
		data = n.chunk(a)
	}
	body, err := wire.AppendReply(nil, action, wire.ReplyTo{Version: q.request.version, Body: q.request.body}, data)
	if err != nil {
		n.s.t.Fatal(err)
	}
	s, l := n.s, q.link
	s.after(s.leg(), func() {
		if !l.open || l.conn != q.conn {
			return
		}
		m := s.message(q.from, n, &q.request, q.conn, body)
		if m.Got == nil || q.from.id < 0 {
			return
		}
		s.after(s.leg(), func() { q.from.answered(l, q, m.Got) })
	})
}

func (n *simNode) answered(l *simLink, q *simAsk, body []byte) {
	if !n.up || n.life != q.fromLife || !l.open || l.conn != q.conn || l.flying == nil {
		return
	}
	r := l.flying
	l.flying = nil
	l.waiting++
	var d wire.Decoder
	ev, err := d.KRaftResponse(r.key, r.version, body, kraft.Response{From: r.dest.Record, CorrelationID: r.dest.CorrelationID})
	if err != nil {
		n.s.t.Fatal(err)
	}
	if e, ok := ev.(*kraft.ReceiveFetchSnapshotResponse); ok {
		e.Contents = n.s.contents(e.SnapshotID)
	}
	n.receive(ev)
	n.leave(l)
}

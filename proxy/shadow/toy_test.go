package shadow

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// A toy quorum replicates a log with Kafka's rules for Fetch: parking, divergence, watermarks, epochs, stale leaders
// that were cut off, requests and answers that overtake each other, crashes that lose an unflushed tail. Elections are
// held by an oracle. Each leg of a message takes a random time, and the checker sees what a proxy in the middle would.

var (
	toySeed = flag.Uint64("toy-seed", 0, "the one seed of the toy quorum to play; 0: many")
	toyRuns = flag.Int("toy-runs", toyRunsDefault, "how many quorums are played, of 20,000 observations each")
)

const toyRunsDefault = 16

// toyFault is a way in which the toy's nodes are wrong.
type toyFault uint8

const (
	correct toyFault = iota
	watermarkBeforeUpdate
	watermarkAheadOfQuorum
	forgetsAcknowledged
	forgetsItsEpoch
	changesItsLog
	electsTheShorterLog
	toyFaults
)

type toy struct {
	t       *testing.T
	r       *rand.Rand
	c       *Checker
	stage   *stage // for encoding
	fault   toyFault
	now     int64
	queue   toyQueue
	nodes   []*toyNode
	conns   uint64
	number  uint64
	epoch   kraft.Epoch
	led     map[kraft.Epoch]kraft.NodeID
	records map[kraft.LogEnd][]byte // as they are served
	seen    int
}

type toyEvent struct {
	at, tie int64
	do      func()
}

type toyQueue []toyEvent

func (q toyQueue) Len() int { return len(q) }
func (q toyQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].tie < q[j].tie
}
func (q toyQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *toyQueue) Push(x any)   { *q = append(*q, x.(toyEvent)) }
func (q *toyQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type toyNode struct {
	w       *toy
	id      kraft.NodeID
	life    int
	up      bool
	epoch   kraft.Epoch
	leader  kraft.NodeID // -1: not known
	leads   bool
	log     []kraft.Epoch // the epoch of each record; its content follows from offset and epoch
	start   int           // of the epoch it leads
	hw      int           // -1: not known
	acked   map[kraft.NodeID]int
	parked  []*toyFetch
	links   map[kraft.NodeID]*toyLink
	asking  bool
	flushed int
}

// toyLink is a connection of a client.
type toyLink struct {
	line       *line
	handled    int64 // when the server took the last request
	broken     bool
	serverLife int
}

type toyFetch struct {
	link    *toyLink
	from    kraft.NodeID
	epoch   kraft.Epoch
	offset  int
	last    kraft.Epoch
	request kmsg.Request
	number  int32
	arrival *fetched // what was answered on arrival
	done    bool
}

func newToy(t *testing.T, seed uint64, fault toyFault, voters int) *toy {
	w := &toy{t: t, r: rand.New(rand.NewPCG(seed, 3)), c: New(Options{}), stage: newStage(t), fault: fault, now: 1_000_000_000, led: map[kraft.Epoch]kraft.NodeID{}, records: map[kraft.LogEnd][]byte{}}
	for id := range voters {
		w.nodes = append(w.nodes, &toyNode{w: w, id: kraft.NodeID(id + 1), up: true, leader: -1, hw: -1, links: map[kraft.NodeID]*toyLink{}})
	}
	return w
}

func (w *toy) after(d int64, do func()) {
	w.number++
	heap.Push(&w.queue, toyEvent{w.now + d, int64(w.number), do})
}

// delay is the time of one leg, mostly short.
func (w *toy) delay() int64 {
	d := w.r.Int64N(3000) + 1
	if w.r.IntN(20) == 0 {
		d += w.r.Int64N(60_000)
	}
	return d
}

// run plays until the checker has seen so many observations.
func (w *toy) run(observations int) *Report {
	for _, n := range w.nodes {
		w.after(w.r.Int64N(1000), n.fetch)
	}
	w.after(2000, w.elect)
	w.after(5000, w.crash)
	for w.seen < observations && len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(toyEvent)
		w.now = e.at
		e.do()
		if w.fault != correct && len(w.c.findings.all) > 0 {
			break
		}
	}
	return w.c.Finish()
}

func (w *toy) observe(o *recordings.Observation) {
	w.seen++
	o.Number, o.At = uint64(w.seen), wire.Stamp{Seen: w.now, Forwarded: w.now}
	w.c.Observe(o)
}

// elect lets the best log of a random majority lead the next epoch. Who is not in the majority hears of it later.
func (w *toy) elect() {
	w.after(20_000+w.r.Int64N(400_000), w.elect)
	var quorum []*toyNode
	for _, i := range w.r.Perm(len(w.nodes)) {
		if n := w.nodes[i]; n.up && len(quorum) <= len(w.nodes)/2 {
			quorum = append(quorum, n)
		}
	}
	if len(quorum) <= len(w.nodes)/2 {
		return
	}
	best := quorum[0]
	for _, n := range quorum {
		longer := n.end().Compare(best.end()) > 0
		if longer != (w.fault == electsTheShorterLog) && n.end() != best.end() {
			best = n
		}
		w.epoch = max(w.epoch, n.epoch)
	}
	w.epoch++
	for _, n := range quorum {
		n.enter(w.epoch, kraft.NoNode)
	}
	best.leader, best.leads, best.start, best.hw, best.acked = best.id, true, len(best.log), -1, map[kraft.NodeID]int{}
	w.led[w.epoch] = best.id
	best.write(1)
	w.work(best, best.epoch)
}

// work appends records while the node leads.
func (w *toy) work(n *toyNode, epoch kraft.Epoch) {
	w.after(w.r.Int64N(8000), func() {
		if !n.up || !n.leads || n.epoch != epoch {
			return
		}
		n.write(1 + w.r.IntN(3))
		w.work(n, epoch)
	})
}

// crash stops a node and starts it again.
func (w *toy) crash() {
	w.after(100_000+w.r.Int64N(600_000), w.crash)
	n := w.nodes[w.r.IntN(len(w.nodes))]
	if !n.up {
		return
	}
	n.up = false
	for _, other := range w.nodes {
		for to, l := range other.links {
			if (other == n || to == n.id) && !l.broken {
				l.broken = true
				w.after(w.r.Int64N(2000), func() {
					w.observe(&recordings.Observation{Kind: recordings.KindClose, Conn: l.line.conn, Reset: true})
				})
			}
		}
	}
	w.after(10_000+w.r.Int64N(100_000), func() {
		n.up, n.life, n.leads, n.parked, n.asking, n.hw = true, n.life+1, false, nil, false, -1
		n.log = n.log[:min(len(n.log), max(n.flushed, 0))]
		if w.fault == forgetsItsEpoch && n.epoch > 1 {
			n.epoch--
			n.leader = kraft.NoNode
		}
		n.fetch()
	})
}

func (n *toyNode) end() kraft.LogEnd {
	e := kraft.LogEnd{LastOffset: kraft.Offset(len(n.log))}
	if len(n.log) > 0 {
		e.LastEpoch = n.log[len(n.log)-1]
	}
	return e
}

// enter moves to a later epoch.
func (n *toyNode) enter(epoch kraft.Epoch, leader kraft.NodeID) {
	if epoch > n.epoch {
		n.epoch, n.leader, n.leads = epoch, kraft.NoNode, false
	}
	if epoch == n.epoch && n.leader < 0 && leader != n.id {
		n.leader = leader
		if leader >= 0 {
			n.unpark()
		}
	}
}

// write appends records of the node's epoch and answers who waits for them. They are flushed a moment later.
func (n *toyNode) write(count int) {
	for range count {
		n.log = append(n.log, n.epoch)
	}
	length, life := len(n.log), n.life
	n.w.after(500, func() {
		if n.up && n.life == life {
			n.flushed = max(n.flushed, min(length, len(n.log)))
		}
	})
	n.commit()
	n.unpark()
}

// commit raises the watermark to what a majority has, once that is in the leader's epoch.
func (n *toyNode) commit() bool {
	ends := []int{len(n.log)}
	for id := range n.w.nodes {
		if kraft.NodeID(id+1) != n.id {
			ends = append(ends, n.acked[kraft.NodeID(id+1)])
		}
	}
	slices.Sort(ends)
	majority := ends[(len(ends)-1)/2]
	if n.w.fault == watermarkAheadOfQuorum && n.w.r.IntN(4) == 0 {
		majority = ends[len(ends)-1]
	}
	if majority <= n.start || majority <= n.hw {
		return false
	}
	n.hw = majority
	return true
}

// unpark answers all parked fetches anew.
func (n *toyNode) unpark() {
	list := n.parked
	n.parked = nil
	for _, f := range list {
		if !f.done {
			f.done = true
			n.reply(f, n.evaluate(f))
		}
	}
}

// evaluate is Kafka's tryCompleteFetchRequest.
func (n *toyNode) evaluate(f *toyFetch) fetched {
	a := fetched{epoch: n.epoch, leader: n.leader, hw: -1}
	switch {
	case f.epoch < n.epoch:
		a.code = kraft.FencedLeaderEpoch
	case f.epoch > n.epoch:
		a.code = kraft.UnknownLeaderEpoch
	case !n.leads:
		a.code = kraft.NotLeaderOrFollower
	}
	if a.code != kraft.None {
		return a
	}
	end := 0 // of the last epoch that is not later than the replica's
	epoch := kraft.Epoch(0)
	for i, e := range n.log {
		if e <= f.last {
			end, epoch = i+1, e
		}
	}
	if f.offset > 0 && (epoch != f.last || end < f.offset) {
		a.diverging = &kraft.LogEnd{LastEpoch: epoch, LastOffset: kraft.Offset(end)}
		a.hw = kraft.Offset(n.hw)
		return a
	}
	before := n.hw
	for i := f.offset; i < len(n.log); i++ {
		a.batches = append(a.batches, n.record(i))
	}
	n.acked[f.from] = f.offset
	if n.commit() {
		defer n.unpark()
	}
	a.hw = kraft.Offset(n.hw)
	if n.w.fault == watermarkBeforeUpdate {
		a.hw = kraft.Offset(before)
		if before > 0 && n.w.r.IntN(10) == 0 {
			a.hw = kraft.Offset(before - 1)
		}
	}
	return a
}

// record is the batch at an offset.
func (n *toyNode) record(i int) []byte {
	if i == 0 || n.log[i-1] != n.log[i] {
		voters := nodes()
		for _, v := range n.w.nodes {
			voters = append(voters, v.id)
		}
		return leaderChange(kraft.Offset(i), n.log[i], n.w.led[n.log[i]], voters, voters[:len(voters)/2+1])
	}
	if n.w.fault == changesItsLog && n.w.r.IntN(50) == 0 {
		return data(kraft.Offset(i), n.log[i], "changed")
	}
	at := kraft.LogEnd{LastEpoch: n.log[i], LastOffset: kraft.Offset(i)}
	if n.w.records[at] == nil {
		n.w.records[at] = data(kraft.Offset(i), n.log[i], fmt.Sprint("record ", i, " of ", n.log[i]))
	}
	return n.w.records[at]
}

// take handles a Fetch.
func (n *toyNode) take(f *toyFetch) {
	a := n.evaluate(f)
	if a.code != kraft.None || a.diverging != nil || len(a.batches) > 0 {
		n.reply(f, a)
		return
	}
	f.arrival = &a
	n.parked = append(n.parked, f)
	life := n.life
	n.w.after(20_000, func() { // the wait expires: answered with what was true on arrival
		if !f.done && n.up && n.life == life {
			f.done = true
			n.reply(f, *f.arrival)
		}
	})
}

func (n *toyNode) reply(f *toyFetch, a fetched) {
	w := n.w
	w.after(w.delay(), func() {
		if f.link.broken {
			return
		}
		self := a.leader
		a.leader = orNone(self)
		resp := a.response()(w.stage, n.id, f.request)
		frame := encodeResponse(resp, f.number)
		o := recordings.Observation{Kind: recordings.KindFrame, Conn: f.link.line.conn, Dir: wire.Response, Seq: f.link.line.seq[1], Frame: wire.Frame{Bytes: frame, Size: len(frame)}}
		f.link.line.seq[1]++
		w.observe(&o)
		w.after(w.delay(), func() { w.nodes[f.from-1].learn(f, a) })
	})
}

// link is the connection to a node.
func (n *toyNode) link(to kraft.NodeID) *toyLink {
	if l := n.links[to]; l != nil && !l.broken {
		return l
	}
	w := n.w
	w.conns++
	conn := &recordings.Conn{ID: w.conns, Node: to, Endpoint: fmt.Sprintf("127.0.0.1:%d", 19090+to), Server: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(19090+to))}
	l := &toyLink{line: &line{conn: conn, from: n.id, to: to}, serverLife: w.nodes[to-1].life}
	n.links[to] = l
	w.observe(&recordings.Observation{Kind: recordings.KindOpen, Conn: conn})
	return l
}

// fetch asks the leader, or anybody while it is not known. It asks again when it has heard back, or after a while.
func (n *toyNode) fetch() {
	w := n.w
	if !n.up || n.asking {
		return
	}
	if n.leads {
		w.after(5000, n.fetch)
		return
	}
	to := n.leader
	if to < 0 || to == n.id || w.r.IntN(40) == 0 {
		to = kraft.NodeID(w.r.IntN(len(w.nodes)) + 1)
	}
	if to == n.id || !w.nodes[to-1].up {
		w.after(1000+w.r.Int64N(3000), n.fetch)
		return
	}
	n.asking = true
	if w.fault == forgetsAcknowledged && len(n.log) > 3 && w.r.IntN(100) == 0 {
		n.log = n.log[:len(n.log)-2]
		n.flushed = min(n.flushed, len(n.log))
	}
	l := n.link(to)
	f := &toyFetch{link: l, from: n.id, epoch: n.epoch, offset: len(n.log), last: n.end().LastEpoch}
	f.request = fetch(f.epoch, kraft.Offset(f.offset), f.last)(w.stage, n.id, to)
	life := n.life
	w.after(w.delay(), func() {
		if l.broken {
			return
		}
		l.line.correlation++
		f.number = l.line.correlation
		frame := encodeRequest(f.request, f.number, l.line.clientID())
		o := recordings.Observation{Kind: recordings.KindFrame, Conn: l.line.conn, Dir: wire.Request, Seq: l.line.seq[0], Frame: wire.Frame{Bytes: frame, Size: len(frame)}}
		l.line.seq[0]++
		w.observe(&o)
		l.handled = max(l.handled, w.now+w.delay())
		w.after(l.handled-w.now, func() {
			if server := w.nodes[to-1]; !l.broken && server.up && server.life == l.serverLife {
				server.take(f)
			}
		})
	})
	w.after(150_000, func() { // the request timed out: the connection is closed and another one opened
		if n.asking && n.life == life && n.up && !f.done {
			f.done, n.asking = true, false
			if !l.broken {
				l.broken = true
				w.observe(&recordings.Observation{Kind: recordings.KindClose, Conn: l.line.conn})
			}
			n.fetch()
		}
	})
}

// learn takes in the answer to a Fetch.
func (n *toyNode) learn(f *toyFetch, a fetched) {
	w := n.w
	if !n.up || f.link.broken {
		return
	}
	f.done = true
	n.asking = false
	w.after(w.r.Int64N(2000), n.fetch)
	if a.epoch < n.epoch {
		return
	}
	n.enter(a.epoch, a.leader)
	if a.code != kraft.None || f.epoch != n.epoch || n.leads {
		return
	}
	if d := a.diverging; d != nil {
		target := 0
		for i, e := range n.log {
			if e <= d.LastEpoch && i < int(d.LastOffset) {
				target = i + 1
			}
		}
		n.log = n.log[:min(target, len(n.log))]
		n.flushed = min(n.flushed, len(n.log))
		return
	}
	if f.offset != len(n.log) {
		return
	}
	for _, b := range a.batches {
		n.log = append(n.log, mustBatch(b).Epoch)
	}
	n.flushed = len(n.log)
}

func TestToy_CorrectQuorumsAreNeverBlamed(t *testing.T) {
	seeds, runs := []uint64{*toySeed}, *toyRuns
	if testing.Short() && runs == toyRunsDefault {
		runs = 2
	}
	if *toySeed == 0 {
		seeds = seeds[:0]
		for range runs {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for i, seed := range seeds {
		r := newToy(t, seed, correct, 3+2*(i%3)).run(20_000)
		if len(r.Findings) > 0 || r.Judged != r.Decisions || r.Decisions < 5000 {
			t.Fatalf("-toy-seed=%d, %d voters: judged %d of %d, %+v", seed, 3+2*(i%3), r.Judged, r.Decisions, r.Findings)
		}
		if len(r.Quorum.Elections) < 5 {
			t.Errorf("-toy-seed=%d: %d elections", seed, len(r.Quorum.Elections))
		}
	}
}

func TestToy_WrongQuorumsAreFound(t *testing.T) {
	want := map[toyFault][]string{
		watermarkBeforeUpdate: {"M9", "M11"}, watermarkAheadOfQuorum: {"M6", "M8", "M9", "M10", "M12"}, forgetsAcknowledged: {"M12"},
		forgetsItsEpoch: {"M3", "M6", "M8", "M9"}, changesItsLog: {"M6"}, electsTheShorterLog: {"M6", "M8", "M9"},
	}
	for fault := correct + 1; fault < toyFaults; fault++ {
		found := 0
		for seed := range uint64(6) {
			r := newToy(t, seed, fault, 3).run(20_000) // it ends with the first finding
			for _, f := range r.Findings {
				if !slices.Contains(want[fault], f.Rule) {
					t.Errorf("fault %d, seed %d: %s: %s", fault, seed, f.Rule, f.Text)
				}
			}
			if len(r.Findings) > 0 {
				found++
			}
		}
		if found < 4 {
			t.Errorf("fault %d: found in %d of 6 runs", fault, found)
		}
	}
}

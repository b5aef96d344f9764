// Package walk plays random histories of a quorum: whole clusters with a bad network, or one node in a made-up but
// plausible world. What a step does is drawn from the history's seed, so that a seed is a history.
package walk

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// Deadlines may be offered by a Stepper: the instants at which something of a node runs out.
type Deadlines interface {
	Deadlines(node string) []int64
}

// history is one walk.
type history struct {
	Options
	*rand.Rand
	*oracle.Cluster
	cut map[[2]int32]bool
	ids []int32 // of the real nodes

	stash []oracle.Message // answers that come when nobody waits for them any more

	offered kraft.SnapshotID // by the made-up leader
	bytes   []byte           // of that snapshot
}

// failed histories carry their options.
type failed struct {
	options Options
	step    int
	err     error
}

func (f *failed) Error() string { return fmt.Sprintf("%v\nstep %d: %v", f.options, f.step, f.err) }
func (f *failed) Unwrap() error { return f.err }

// Steps in one history.
const historySteps = 600

// Histories are the histories that a seed stands for, until there have been that many steps, and the steps of each.
func Histories(release string, seed uint64, steps int, change ...func(Options) Options) iter.Seq2[Options, int] {
	return func(yield func(Options, int) bool) {
		for i := uint64(0); steps > 0; i++ {
			n := min(steps, historySteps)
			o := Draw(seed*1_000_003 + i)
			o.Release = release
			for _, f := range change {
				o = f(o)
			}
			if steps -= n; !yield(o, n) {
				return
			}
		}
	}
}

// Run plays histories until there have been that many steps. The error of a step ends it. Reset is called between histories.
func Run(s oracle.Stepper, release string, seed uint64, steps int, reset func() error, change ...func(Options) Options) error {
	for o, n := range Histories(release, seed, steps, change...) {
		if err := Play(s, o, n); err != nil {
			return err
		}
		if err := reset(); err != nil {
			return err
		}
	}
	return nil
}

// Play plays one history.
func Play(s oracle.Stepper, o Options, steps int) error {
	h := &history{Options: o, Rand: rand.New(rand.NewPCG(o.Seed, 2)), Cluster: oracle.NewCluster(s), cut: map[[2]int32]bool{}}
	h.Cut = func(a, b int32) bool { return h.cut[[2]int32{a, b}] }
	h.begin()
	for i := 0; i < steps; i++ {
		if h.Err != nil {
			return &failed{o, i, h.Err}
		}
		h.step()
	}
	if h.Err != nil {
		return &failed{o, steps, h.Err}
	}
	return nil
}

func (h *history) chance(perMille int) bool { return h.IntN(1000) < perMille }

func (h *history) begin() {
	last := h.Voters + h.Observers
	if h.Lone {
		last = 1
	}
	for id := int32(1); id <= last; id++ {
		if h.Lone && h.chance(150) { // an observer
			id = h.Voters + 1
			last = id
		}
		h.ids = append(h.ids, id)
		in := h.init(id)
		cmd := oracle.Command{Cmd: "init", Init: &in, State: true}
		if h.Old && h.chance(500) {
			cmd.MaxVersions = map[int16]int16{52: int16(h.IntN(3)), 1: 13 + int16(h.IntN(6)), 53: int16(h.IntN(2)), 54: int16(h.IntN(2)), 59: int16(h.IntN(2)), 80: 0}
		}
		h.Nodes[id] = &oracle.Node{ID: id, Init: in}
		h.Do(id, cmd)
		if h.Lone {
			return
		}
	}
}

// turns are what most commands end with: one turn, sometimes none or two, sometimes with time passing inside.
func (h *history) turns() oracle.Command {
	c := oracle.Command{Poll: 1}
	switch h.IntN(20) {
	case 0:
		c.Poll = 0
	case 1:
		c.Poll = 2
	}
	if h.During && h.chance(200) {
		c.During = int64(1 + h.IntN(60))
		if h.chance(100) {
			c.During = int64(h.IntN(2500))
		}
	}
	c.Expire = h.chance(300)
	return c
}

func (h *history) real() int32 { return h.ids[h.IntN(len(h.ids))] }

func (h *history) alive(id int32) bool {
	n := h.Nodes[id]
	return n != nil && n.Fatal == "" && !n.Last.Finished
}

// How many of a thousand steps are what the controller calls seldom.
const resigns, upgrades = 4, 4

func (h *history) step() {
	id := h.real()
	if !h.alive(id) && h.chance(200) {
		h.restart(id)
		return
	}
	if len(h.Net) > 40 {
		h.Net = h.Net[len(h.Net)-30:]
	}
	draw := h.IntN(1000)
	hit := func(perMille int) bool {
		draw -= perMille
		return draw < 0
	}
	switch {
	case hit(h.Crafted):
		h.craft(id)
	case hit(h.Jumps):
		h.jump(id)
	case hit(h.Restarts):
		h.restart(id)
	case hit(h.Partitions):
		h.partition()
	case hit(h.Shutdowns):
		h.do(id, oracle.Command{Cmd: "shutdown", Ms: int64(h.IntN(6000))})
	case hit(h.Snapshots):
		h.snapshot(id)
	case hit(h.VoterChange):
		h.changeVoters(id)
	case len(h.stash) > 0 && hit(20):
		i := h.IntN(len(h.stash))
		m := h.stash[i]
		h.stash = append(h.stash[:i:i], h.stash[i+1:]...)
		if h.alive(m.To) {
			h.Deliver(m, h.turns())
		}
	case h.Lone && hit(h.Follow):
		h.follow(id)
	case hit(h.Disk):
		c := h.turns()
		c.FailAt = map[string]int{[]string{"persist", "append", "flush", "epoch", "truncate"}[h.IntN(5)]: 1 + h.IntN(2)}
		h.do(id, c)
	case hit(60):
		h.append(id)
	case hit(resigns):
		h.do(id, oracle.Command{Cmd: "resign", Epoch: h.near(h.State(id).Epoch)})
	case hit(upgrades):
		h.do(id, oracle.Command{Cmd: "upgrade", Epoch: h.near(h.State(id).Epoch), Level: int16(h.IntN(2)), ValidateOnly: h.chance(200)})
	case hit(150) || len(h.Net) == 0:
		h.Now += int64(h.IntN(40))
		if h.chance(30) {
			h.Now += int64(h.IntN(3000))
		}
		h.do(id, oracle.Command{Cmd: "poll"})
	default:
		h.deliver()
	}
}

// do carries out a command with the usual turns.
func (h *history) do(id int32, c oracle.Command) {
	if !h.alive(id) {
		return
	}
	t := h.turns()
	t.FailAt = c.FailAt
	if c.Cmd == "" {
		c.Cmd = "poll"
	}
	c.Poll, c.During, c.Expire = t.Poll, t.During, t.Expire
	h.Do(id, c)
}

// near is mostly the epoch itself.
func (h *history) near(epoch int32) int32 {
	switch h.IntN(12) {
	case 0:
		return epoch + 1
	case 1:
		return max(0, epoch-1)
	}
	return epoch
}

// jump moves the clock to a deadline of some node, a little before or a little behind.
func (h *history) jump(id int32) {
	at := h.deadlines(h.real())
	if len(at) > 0 {
		h.Now = max(h.Now, at[h.IntN(len(at))]+int64(h.IntN(3)-1))
	}
	h.do(id, oracle.Command{Cmd: "poll"})
}

func (h *history) deadlines(id int32) []int64 {
	var all []int64
	if d, ok := h.Steps.(Deadlines); ok {
		all = d.Deadlines(oracle.Name(id))
	} else {
		for _, name := range []string{"election", "fetch", "updateVoter", "checkQuorum", "beginEpoch", "linger", "backoff"} {
			if at, ok := h.State(id).Timers[name]; ok {
				all = append(all, at)
			}
		}
		if next := h.Nodes[id].Last.NextExpiry; next != nil {
			all = append(all, *next)
		}
	}
	var soon []int64
	for _, at := range all {
		if at >= h.Now && at < h.Now+10_000 {
			soon = append(soon, at)
		}
	}
	return soon
}

func (h *history) restart(id int32) {
	n := h.Nodes[id]
	n.Fatal = ""
	h.Do(id, oracle.Command{Cmd: "restart", LoseUnflushed: !h.FileLog && h.chance(500), State: true})
}

func (h *history) partition() {
	if h.chance(400) {
		h.cut = map[[2]int32]bool{}
		return
	}
	a, b := h.real(), h.real()
	h.cut[[2]int32{a, b}] = true
	if h.chance(700) {
		h.cut[[2]int32{b, a}] = true
	}
}

func (h *history) append(id int32) {
	for _, other := range h.ids { // mostly at a leader
		if h.State(other).Role == "Leader" && h.chance(700) {
			id = other
		}
	}
	if h.State(id).Role != "Leader" && h.chance(900) {
		return
	}
	if h.chance(100) {
		h.do(id, oracle.Command{Cmd: "schedule"})
		return
	}
	h.do(id, oracle.Command{Cmd: "append", Epoch: h.near(h.State(id).Epoch), Records: oracle.Records(1 + h.IntN(3)), NoSchedule: h.chance(200)})
}

func (h *history) snapshot(id int32) {
	s := h.State(id)
	if len(s.Snapshots) > 0 && h.chance(500) {
		latest := s.Snapshots[len(s.Snapshots)-1]
		h.do(id, oracle.Command{Cmd: "deleteBefore", Offset: latest[0], Epoch: int32(latest[1])})
		return
	}
	if s.HighWatermark <= s.Start || len(s.Epochs) == 0 {
		return
	}
	offset := s.HighWatermark
	epoch := int64(0)
	for _, e := range s.Epochs {
		if e[1] < offset {
			epoch = e[0]
		}
	}
	h.do(id, oracle.Command{Cmd: "snapshot", Offset: offset, Epoch: int32(epoch), Records: oracle.Records(h.IntN(4)), Timestamp: 7})
}

// deliver takes a message off the network and hands it over, loses it, repeats it or alters it.
func (h *history) deliver() {
	i := 0
	if h.chance(150) {
		i = h.IntN(len(h.Net))
	}
	m := h.Take(i)
	if h.chance(h.Loss) {
		return
	}
	if m.Response && (h.Cut(m.To, m.From) || !h.alive(m.To)) {
		return
	}
	if m.Response && m.Body == nil {
		m.Body = oracle.ErrorBody(m.API, m.Version, kraft.UnknownServerError)
	}
	if h.chance(h.Mutations) {
		m = h.mutate(m)
	}
	if m.Response {
		if h.veryLate(m) {
			return
		}
		h.Deliver(m, h.turns())
		return
	}
	if h.chance(h.Failures) && h.alive(m.From) {
		h.Fail(m, []string{"disconnect", "disconnect", "auth", "unsupported"}[h.IntN(4)], h.turns())
		return
	}
	if h.chance(h.Duplicates) && m.API != 18 && m.Body != nil && h.alive(m.To) {
		h.Request(oracle.Message{To: m.To, API: m.API, Version: m.Version, Body: m.Body}, h.turns()) // its answer reaches nobody
	}
	if !h.alive(m.From) {
		return
	}
	if h.Nodes[m.To] == nil && m.Body != nil && h.Lone {
		h.world(m)
		return
	}
	h.Deliver(m, h.turns())
}

// veryLate keeps an answer back until its node has gone on, perhaps to another role. Answers that are rare anyhow are
// kept back more often.
func (h *history) veryLate(m oracle.Message) bool {
	chance := h.Late / 8
	switch m.API {
	case 18, 59, 80, 81, 82:
		chance = h.Late
	}
	if !h.chance(chance) {
		return false
	}
	h.stash = append(h.stash, m)
	return true
}

// someID is the id of a node, mostly a real or plausible one.
func (h *history) someID() int32 {
	switch h.IntN(12) {
	case 0:
		return -1
	case 1:
		return 9
	}
	return 1 + int32(h.IntN(int(h.Voters+h.Observers)))
}

// someDir is mostly the node's own directory id.
func (h *history) someDir(id int32) kraft.DirectoryID {
	switch h.IntN(8) {
	case 0:
		return kraft.DirectoryID{}
	case 1:
		return kraft.DirectoryID{15: 77}
	}
	return oracle.DirectoryID(id)
}

func hostName(id int32) string { return fmt.Sprintf("h%d", id) }

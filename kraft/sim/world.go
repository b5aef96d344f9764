package sim

import (
	"fmt"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
	"github.com/understudy-kafka/understudy/wire"
)

const forever = int64(1) << 60

// World is a quorum in virtual time. One value serves many runs, and reuses its storage.
type World struct {
	opt     Options
	now     int64 // microseconds
	queue   queue
	nodes   []*node
	history safety.History
	links   [maxNodes][maxNodes]link
	free    []*message
	keys    int // replica keys that there have been
	lost    []kraft.ReplicaKey

	network, dice, faults, clients random

	events, calls uint64
	faultCount    int
	violation     *safety.Violation
	writes        uint64 // contents written
	hazards       [hazards]int
	leaderAt      int64 // when a leader was elected last
	calm          bool  // the faults have ended
	leaderless    bool  // and nobody led then

	decoder wire.Decoder
	sender  wire.Sender
	buffer  []byte

	notes func(Note)
	told  [maxNodes][maxNodes]string // the last message of one node to another that was noted

	// of a stage
	staged    bool
	favourite kraft.NodeID
	choice    int          // of a bootstrap server
	slow      kraft.NodeID // whose disk is
	hold      func(*message) bool
	held      []*message

	// beforeFlush names a node that is to die instead of flushing
	beforeFlush func(*node) bool
}

// maxNodes bounds a quorum: seven voters and a few others.
const maxNodes = 12

// New is a simulator, to be used for one run after the other.
func New() *World { return &World{} }

func (w *World) fail(v *safety.Violation) {
	if w.violation == nil && v != nil {
		w.violation = v
	}
}

func (w *World) violated(i safety.Invariant, n *node, format string, args ...any) {
	w.fail(&safety.Violation{Invariant: i, Node: n.id, Detail: fmt.Sprintf(format, args...)})
}

// build makes the nodes, formats their disks and starts them.
func (w *World) build(o Options) {
	w.opt, w.now, w.events, w.calls, w.faultCount, w.violation, w.writes = o, 0, 0, 0, 0, nil, 0
	w.keys, w.lost, w.calm, w.hazards = 0, w.lost[:0], false, [hazards]int{}
	w.leaderless = false
	for i := range w.queue.items {
		if m := w.queue.items[i].what; m != nil {
			w.release(m)
		}
	}
	w.queue.reset()
	w.history.Reset()
	w.links = [maxNodes][maxNodes]link{}
	w.network, w.dice = newRandom(o.Seed, 2), newRandom(o.Seed, 3)
	w.faults, w.clients = newRandom(o.Seed, 4), newRandom(o.Seed, 5)
	w.sender = wire.Sender{ClusterID: clusterID, SoftwareName: "apache-kafka-java", SoftwareVersion: "4.4.0"}
	for i := range o.nodes() {
		w.prepare(i)
	}
	for _, n := range w.nodes[:o.nodes()] {
		if w.violation == nil {
			n.start()
		}
	}
}

func (w *World) prepare(i int) {
	if i == len(w.nodes) {
		w.nodes = append(w.nodes, &node{w: w, index: i, id: kraft.NodeID(i + 1)})
	}
	n := w.nodes[i]
	for _, m := range n.inbox {
		w.release(m)
	}
	*n = node{
		w: w, index: i, id: n.id, timers: n.timers, actions: n.actions, inbox: n.inbox[:0], clients: n.clients[:0], chain: n.chain,
		snapshots: n.snapshots[:0], broker: i >= w.opt.Voters+w.opt.Spares, profile: &w.opt.Profiles[i],
	}
	n.highest = versions(n.profile)
	if w.opt.Kinds.Has(Skew) {
		n.skew = w.dice.between(-50, 50)
	}
	w.format(n)
	if w.opt.Dynamic && i < w.opt.Voters {
		n.log.AddSnapshot(kraft.BootstrapSnapshot, 100, kraft.SnapshotContents{
			KRaftVersion: 1, HasKRaftVersion: true, Voters: w.firstVoters(true), HasVoters: true,
		})
	}
}

// format gives a node an empty disk with a new directory id.
func (w *World) format(n *node) {
	w.keys++
	n.key = w.keys - 1
	n.directory = kraft.DirectoryID{0: 1, 14: byte(n.key >> 8), 15: byte(n.key)}
	n.log, n.stored, n.hasStored = memlog.New(), kraft.QuorumState{}, false
	n.snapshots = n.snapshots[:0]
	n.chain.Reset()
}

func versions(p *compat.Profile) (highest [128]int16) {
	for api := range highest {
		if r, ok := p.Range(kraft.APIKey(api)); ok {
			highest[api] = r.Max
		}
	}
	return highest
}

const (
	clusterID = "simulated-quorum-simul"
	listener  = "CONTROLLER"
	basePort  = 9000
)

var hosts, endpointSets = func() (h [2][maxNodes]string, e [2][maxNodes]kraft.Endpoints) {
	for g := range h {
		for i := range h[g] {
			h[g][i] = fmt.Sprintf("%c%d", "ab"[g], i+1)
			e[g][i] = kraft.NewEndpoints(kraft.Endpoint{Name: listener, Address: kraft.Address{Host: h[g][i], Port: uint16(basePort + i)}})
		}
	}
	return h, e
}()

func (n *node) endpoints() kraft.Endpoints { return endpointSets[n.endpoint&1][n.index] }

// at is the node that listens at an address. A node whose endpoint has changed can still be reached at the one before.
func (w *World) at(a kraft.Address) *node {
	if i := int(a.Port) - basePort; i >= 0 && i < w.opt.nodes() {
		return w.nodes[i]
	}
	return nil
}

func (w *World) firstVoters(directories bool) kraft.VoterSet {
	voters := make([]kraft.Voter, w.opt.Voters)
	for i := range voters {
		voters[i] = kraft.Voter{Key: kraft.ReplicaKey{ID: kraft.NodeID(i + 1)}, Endpoints: endpointSets[0][i]}
		if directories {
			voters[i].Key.DirectoryID = kraft.DirectoryID{0: 1, 15: byte(i)}
			voters[i].Versions = kraft.VersionRange{Max: 1}
		}
	}
	return kraft.NewVoterSet(voters...)
}

func (w *World) config(n *node) kraft.Config {
	cfg := kraft.Config{
		ID: n.id, DirectoryID: n.directory, ClusterID: clusterID, Rules: n.profile.Rules, Timeouts: timeouts, Listener: listener,
		Endpoints: n.endpoints(), KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: !n.broker, AutoJoin: w.opt.AutoJoin,
		FetchMaxWaitMs: 500, FetchMaxBytes: 1 << 10, FetchSnapshotMaxBytes: 60,
	}
	if w.opt.Dynamic {
		for i := range w.opt.Voters {
			cfg.BootstrapServers = append(cfg.BootstrapServers, kraft.Address{Host: hosts[0][i], Port: uint16(basePort + i)})
		}
	} else {
		cfg.StaticVoters = w.firstVoters(false)
	}
	return cfg
}

// step lets the next thing happen.
func (w *World) step() bool {
	n, at := (*node)(nil), forever
	for _, candidate := range w.nodes[:w.opt.nodes()] {
		if candidate.wakeAt < at {
			n, at = candidate, candidate.wakeAt
		}
	}
	if len(w.queue.items) > 0 && w.queue.items[0].at <= at {
		it := w.queue.pop()
		w.now = max(w.now, it.at)
		w.events++
		w.happen(&it)
		return true
	}
	if n == nil {
		return false
	}
	w.now = max(w.now, at)
	w.events++
	n.wake()
	return true
}

func (w *World) happen(it *item) {
	switch it.kind {
	case deliver:
		w.delivered(it.what)
	case faultTick:
		w.tickFaults()
	case clientTick:
		w.tickClients()
	case adminTick:
		w.tickAdmin()
	case restart:
		if n := w.nodes[it.arg]; !n.up() && !n.dead {
			n.diskFull = false
			n.start()
		}
	}
}

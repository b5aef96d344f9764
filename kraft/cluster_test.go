package kraft_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// cluster is a few machines under one virtual clock, with a network that delivers in order. It shows what a driver does; the
// simulator has the faults.
type cluster struct {
	now    kraft.Instant
	random *rand.Rand
	nodes  []*node
	step   int
	tick   kraft.Instant // milliseconds between two turns
	// drop decides whether a message from one node to another gets lost.
	drop func(from, to kraft.NodeID) bool
	// seen is called with each action.
	seen func(n *node, a kraft.Action)
}

// node is a machine with its host.
type node struct {
	cluster   *cluster
	id        kraft.NodeID
	machine   *kraft.QuorumStateMachine
	log       *memlog.Log
	stored    kraft.QuorumState
	config    kraft.Config
	deadlines map[kraft.Timer]kraft.Instant
	due       kraft.TimerSet
	inbox     []kraft.Event
	actions   kraft.Actions
	event     kraft.Event
	clients   map[kraft.RequestID]client
	requests  kraft.RequestID
	ended     bool
	fatal     kraft.FatalReason
	outcomes  []kraft.Action // replies to requests that came from no node
}

// client is who waits for a reply.
type client struct {
	node        *node // nil: the test
	correlation int32
	record      kraft.NodeID // what the sender calls this node
	parkedUntil kraft.Instant
}

func directory(id kraft.NodeID) kraft.DirectoryID { return kraft.DirectoryID{15: byte(id) + 1} }

func endpoints(id kraft.NodeID) kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: address(id)})
}

func address(id kraft.NodeID) kraft.Address {
	return kraft.Address{Host: fmt.Sprintf("node%d", id), Port: 9093}
}

func staticVoter(id kraft.NodeID) kraft.Voter {
	return kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: endpoints(id)}
}

func dynamicVoter(id kraft.NodeID) kraft.Voter {
	return kraft.Voter{
		Key: kraft.ReplicaKey{ID: id, DirectoryID: directory(id)}, Endpoints: endpoints(id), Versions: kraft.VersionRange{Max: 1},
	}
}

// latestRules are those of 4.4.0; compat has them as data.
func latestRules() kraft.Rules {
	return kraft.Rules{
		DropNewerEpochBatches: true, ElectionBackoff: kraft.WaitForTimer, FetchHighWatermark: true, UpgradeKRaftVersion: true,
		UpdateVoterPeriod: 1, UpdateVoterRestartIfSent: true, UpdateVoterEndpoint: true, FetchSnapshotErrors: true,
		AckWhenCommitted: true, AutoJoin: true, ObserverKeepsLeader: true, BeginOnlyToSilent: true, NullSuccessMessage: true,
		ConfiguredFetchBytes: true, FetchSnapshotStrictShape: true,
	}
}

func config(id kraft.NodeID) kraft.Config {
	return kraft.Config{
		ID: id, DirectoryID: directory(id), ClusterID: "cluster", Rules: latestRules(), Timeouts: kraft.DefaultTimeouts(),
		Listener: "CONTROLLER", Endpoints: endpoints(id), KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: true,
		FetchMaxWaitMs: 500, FetchMaxBytes: 1 << 20, FetchSnapshotMaxBytes: 1 << 20,
	}
}

// newCluster makes a cluster of static voters 1..n, and starts them.
func newCluster(seed uint64, voters int) *cluster {
	c := emptyCluster(seed)
	var set []kraft.Voter
	for i := range voters {
		set = append(set, staticVoter(kraft.NodeID(i+1)))
	}
	for i := range voters {
		cfg := config(kraft.NodeID(i + 1))
		cfg.StaticVoters = kraft.NewVoterSet(set...)
		c.add(cfg)
	}
	return c
}

// newDynamicCluster formats controllers 1..n with a bootstrap checkpoint, and starts them.
func newDynamicCluster(seed uint64, voters int) *cluster {
	c := emptyCluster(seed)
	var set []kraft.Voter
	for i := range voters {
		set = append(set, dynamicVoter(kraft.NodeID(i+1)))
	}
	for i := range voters {
		cfg := config(kraft.NodeID(i + 1))
		cfg.BootstrapServers = []kraft.Address{address(1), address(2), address(3)}
		n := c.prepare(cfg)
		n.log.AddSnapshot(kraft.BootstrapSnapshot, 100, kraft.SnapshotContents{
			KRaftVersion: 1, HasKRaftVersion: true, Voters: kraft.NewVoterSet(set...), HasVoters: true,
		})
		n.start()
	}
	return c
}

func emptyCluster(seed uint64) *cluster {
	return &cluster{random: rand.New(rand.NewPCG(seed, 1)), now: 1000, tick: 5}
}

func (c *cluster) add(cfg kraft.Config) *node {
	n := c.prepare(cfg)
	n.start()
	return n
}

func (c *cluster) prepare(cfg kraft.Config) *node {
	n := &node{cluster: c, id: cfg.ID, log: memlog.New(), config: cfg}
	c.nodes = append(c.nodes, n)
	return n
}

// start makes a machine of what is on disk.
func (n *node) start() {
	cfg := n.config
	cfg.History = n.log.History()
	if n.stored != (kraft.QuorumState{}) {
		cfg.Stored, cfg.HasStored = n.stored, true
	}
	m, err := kraft.New(cfg)
	if err != nil {
		panic(err)
	}
	n.machine, n.ended, n.inbox = m, false, nil
	n.deadlines, n.due, n.clients = map[kraft.Timer]kraft.Instant{}, kraft.TimerSet{}, map[kraft.RequestID]client{}
	n.handle(&kraft.Start{})
}

// crash loses what was not flushed, and starts anew.
func (n *node) crash() {
	n.log.Crash(false)
	n.start()
}

// at is the node that listens at an address.
func (c *cluster) at(a kraft.Address) *node {
	for _, n := range c.nodes {
		if address(n.id) == a {
			return n
		}
	}
	return nil
}

// run takes turns until the condition holds; it panics if that takes too long.
func (c *cluster) run(until func() bool) {
	for limit := c.step + 100_000; !until(); c.step++ {
		if c.step >= limit {
			panic(fmt.Sprintf("nothing happens any more at t=%d: %v", c.now, c))
		}
		c.turn()
	}
}

// settle runs for some milliseconds.
func (c *cluster) settle(ms kraft.Instant) {
	end := c.now + ms
	c.run(func() bool { return c.now >= end })
}

// turn lets each node have one turn, then moves the clock.
func (c *cluster) turn() {
	for _, n := range c.nodes {
		if !n.ended {
			n.expireParked()
			kraft.Turn(n.machine, n, c.now)
		}
	}
	c.now += c.tick
}

// leader is the node that leads the highest epoch.
func (c *cluster) leader() *node {
	var best *node
	for _, n := range c.nodes {
		if !n.ended && n.machine.Role().Kind() == kraft.LeaderRole && (best == nil || n.epoch() > best.epoch()) {
			best = n
		}
	}
	return best
}

func (n *node) epoch() kraft.Epoch { return n.machine.QuorumState().Epoch }

// lead waits for a leader that all nodes know and that has committed its first record.
func (c *cluster) lead() *node {
	c.run(func() bool {
		l := c.leader()
		if l == nil || l.log.HighWatermark == 0 {
			return false
		}
		for _, n := range c.nodes {
			if !n.ended && n.machine.QuorumState().Leader != l.id {
				return false
			}
		}
		return true
	})
	return c.leader()
}

func (c *cluster) String() string {
	var lines []string
	for _, n := range c.nodes {
		lines = append(lines, fmt.Sprintf("%v: epoch=%d %v %v", n.id, n.epoch(), n.machine.Role(), n.log))
	}
	return strings.Join(lines, "\n")
}

// The host of a node.

func (n *node) Log() *kraft.LogView     { return n.log.View() }
func (n *node) Choice() int             { return n.cluster.random.IntN(8) }
func (n *node) Actions() *kraft.Actions { return &n.actions }
func (n *node) Due(at kraft.Instant) kraft.TimerSet {
	n.due.Clear()
	for t, deadline := range n.deadlines {
		if at >= deadline {
			n.due.Add(t)
		}
	}
	return n.due
}

func (n *node) Next(int64, kraft.TimerSet) (kraft.Event, kraft.Instant) {
	if len(n.inbox) == 0 {
		return nil, n.cluster.now
	}
	n.event, n.inbox = n.inbox[0], n.inbox[1:]
	return n.event, n.cluster.now
}

func (n *node) handle(ev kraft.Event) {
	n.event = ev
	clock := kraft.Clock{Now: n.cluster.now, Due: n.Due(n.cluster.now)}
	n.Execute(n.machine.OnEvent(ev, n.Log(), clock, &n.actions))
}

func (n *node) Execute(actions []kraft.Action) bool {
	for _, a := range actions {
		if n.cluster.seen != nil {
			n.cluster.seen(n, a)
		}
		done, err := n.log.Execute(a, n.event)
		if err != nil {
			panic(err)
		}
		if !done {
			n.execute(a)
		}
	}
	if !n.log.Equal(n.machine.View()) && len(actions) > 0 {
		panic(fmt.Sprintf("node %v: the log is %v, the machine sees %v", n.id, n.log, n.machine.View()))
	}
	return !n.ended
}

func (n *node) execute(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		n.stored = a.Stored()
	case *kraft.ResetTimer:
		deadline := a.Deadline
		if a.Window > 0 {
			deadline += kraft.Instant(n.cluster.random.IntN(int(a.Window)))
		}
		n.deadlines[a.Timer] = deadline
	case *kraft.CancelTimer:
		delete(n.deadlines, a.Timer)
	case *kraft.Park:
		c := n.clients[a.Request]
		c.parkedUntil = a.Until
		n.clients[a.Request] = c
	case *kraft.ShutdownDone:
		n.ended = true
	case *kraft.Fatal:
		n.ended, n.fatal = true, a.Reason
	default:
		n.communicate(a)
	}
}

func (n *node) expireParked() {
	ids := make([]kraft.RequestID, 0, len(n.clients))
	for id, c := range n.clients {
		if c.parkedUntil > 0 && n.cluster.now >= c.parkedUntil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, cmp.Compare[kraft.RequestID])
	for _, id := range ids {
		n.handle(&kraft.ParkedExpired{Request: id})
	}
}

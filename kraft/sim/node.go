package sim

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// node is a machine and its host: process, disk, clock.
type node struct {
	w       *World
	index   int
	id      kraft.NodeID
	key     int // of the replica key in the history: a new disk has a new one
	profile *compat.Profile
	highest [128]int16 // version by API that it serves and sends at most
	broker  bool       // can never be a voter

	// the disk
	directory kraft.DirectoryID
	log       *memlog.Log
	chain     safety.Chain
	snapshots []snapshotLink
	stored    kraft.QuorumState
	hasStored bool
	unwritten bool // AppendFetched and its likes have changed the log since the last comparison
	lateFlush kraft.Offset

	// the process
	machine   *kraft.QuorumStateMachine // nil: it does not run
	life      uint32                    // counts the processes
	timers    timers
	actions   kraft.Actions
	role      kraft.RoleAction
	event     kraft.Event // in hand
	inFlight  *message    // that the event came with
	inbox     []*message
	clients   []client
	freeSlots []int32
	parked    kraft.Instant // when the first parked Fetch may expire
	dead      bool          // can never start again
	stopping  bool          // a graceful shutdown
	newVoters bool          // the last event has written a set of voters
	idle      bool          // the last event asked for nothing
	endpoint  int           // generation of its address

	asked [maxNodes]kraft.Response // of the last Fetch to each node, for TakesSecondAnswer

	// time
	skew       int64 // per mille
	wakeAt     int64
	busyUntil  int64 // the disk is at work
	pauseUntil int64
	crashIn    int // actions from now
	crashMode  crashMode
	diskFull   bool
}

// snapshotLink says what a snapshot on the disk stands for.
type snapshotLink struct {
	id   kraft.SnapshotID
	link safety.Link
}

// client is who waits for a reply.
type client struct {
	used        bool
	from        *node // nil: an operator
	life        uint32
	record      kraft.NodeID
	correlation int32
	api         kraft.APIKey
	version     int16
	preVote     bool
	candidate   kraft.NodeID
	generation  uint32
	second      bool
	parkedUntil kraft.Instant
	body        []byte // of the request, where it went through bytes
}

// local is the time on the node's own clock, in its milliseconds.
func (n *node) local(at int64) kraft.Instant {
	if n.w.opt.Broken == ClockStops {
		at = min(at, 5_000_000)
	}
	return kraft.Instant(1000 + (at+at/1000*n.skew)/1000)
}

// when is the first moment at which the node's clock shows the instant.
func (n *node) when(local kraft.Instant) int64 {
	if local >= never/2000 || n.w.opt.Broken == ClockStops && local > n.local(forever) {
		return forever
	}
	at := (int64(local) - 1000) * 1000
	if n.skew != 0 {
		at = at * 1000 / (1000 + n.skew)
		for at > 0 && n.local(at-1) >= local {
			at--
		}
		for n.local(at) < local && at < forever {
			at += 100
		}
	}
	return at
}

func (n *node) up() bool { return n.machine != nil }

func (n *node) leads() bool { return n.up() && n.machine.Role().Kind() == kraft.LeaderRole }

func (n *node) replicaKey() kraft.ReplicaKey {
	return kraft.ReplicaKey{ID: n.id, DirectoryID: n.directory}
}

// start makes a process of what is on the disk.
func (n *node) start() {
	cfg := n.w.config(n)
	cfg.History = n.log.History()
	if n.hasStored {
		cfg.Stored, cfg.HasStored = n.stored, true
	}
	n.breakStart(&cfg)
	m, err := kraft.New(cfg)
	if err != nil {
		n.w.fail(&safety.Violation{Invariant: safety.NoFatal, Node: n.id, Detail: err.Error()})
		return
	}
	n.machine, n.life, n.stopping = m, n.life+1, false
	n.timers.clear()
	n.unwritten, n.newVoters = false, false
	n.clients, n.freeSlots, n.parked = n.clients[:0], n.freeSlots[:0], never
	n.busyUntil, n.wakeAt, n.crashIn = n.w.now, n.w.now, 0
	n.w.history.Started(n.key)
	n.w.note(noteStart, n, "")
	if n.on(&kraft.Start{}, nil) {
		n.act()
	}
	n.sleep()
}

// breakStart is what broken drivers find on the disk.
func (n *node) breakStart(cfg *kraft.Config) {
	switch n.w.opt.Broken {
	case ForgetsVote:
		cfg.Stored.Voted = kraft.NoReplica
	case ForgetsElection:
		cfg.Stored.Voted, cfg.Stored.Leader = kraft.NoReplica, kraft.NoNode
	case ForgetsState:
		cfg.HasStored = false
	case ForgetsVoters:
		if len(cfg.History) > 2 {
			cfg.History = cfg.History[:2]
		}
	default:
	}
}

// on hands an event to the machine and executes what it asks for. It reports whether the process still runs.
func (n *node) on(ev kraft.Event, m *message) bool {
	n.event, n.inFlight = ev, m
	now := n.local(n.w.now)
	n.w.calls++
	actions := n.machine.OnEvent(ev, n.log.View(), kraft.Clock{Now: now, Due: n.timers.at(now)}, &n.actions)
	n.idle = len(actions) == 0
	for _, a := range actions {
		if n.crashIn > 0 && n.dies(a) {
			return false
		}
		n.execute(a)
		if n.machine == nil || n.w.violation != nil {
			return false
		}
	}
	if n.newVoters {
		n.newVoters = false
		if !n.knowsItsVoters() {
			return false
		}
	}
	if n.unwritten {
		n.unwritten = false
		if !n.log.Equal(n.machine.View()) {
			n.w.violated(safety.NoFatal, n, "the log is %v, the machine sees %v", n.log, n.machine.View())
			return false
		}
	}
	return true
}

// knowsItsVoters: a machine that has cut its log off does not read control records again below the offset that it had read up to
// (Kafka: KRaftControlRecordStateMachine.truncateNewEntries leaves nextOffset alone), so it may go on with a set of voters that its log has
// replaced, until it is restarted. Nothing holds from then on. The simulator restarts it at once; the scenario stale-voters shows what
// would follow.
func (n *node) knowsItsVoters() bool {
	if _, voters := n.lastVoters(); n.machine.Inspect().Voters.Equal(voters) || n.w.opt.KeepStaleVoters {
		return true
	}
	n.w.hazards[StaleVoters]++
	n.w.note(noteStale, n, "")
	n.w.crash(n, keepsAll)
	return false
}

// dies counts the actions that are left until the crash that a fault has ordered. Timers leave no trace on a disk or in the network.
func (n *node) dies(a kraft.Action) bool {
	switch a.(type) {
	case *kraft.ResetTimer, *kraft.CancelTimer, *kraft.ChooseBootstrap:
		return false
	}
	if n.crashIn--; n.crashIn > 0 {
		return false
	}
	n.w.crash(n, n.crashMode)
	return true
}

// act is the first half of a turn.
func (n *node) act() {
	if n.parked <= n.local(n.w.now) && !n.expireParked() {
		return
	}
	n.role.Choice = n.w.dice.pick(8)
	if n.w.staged {
		n.role.Choice = n.w.choice
	}
	n.on(&n.role, nil)
}

// receive is the second half of a turn: one message. The first half of the next one follows at once, as in Kafka's loop.
func (n *node) receive(m *message) {
	if m.request != nil {
		m.request.ID = n.admit(m)
	}
	if e, ok := m.event.(*kraft.ReceiveFetchResponse); ok && m.second && n.w.opt.Broken == TakesSecondAnswer {
		e.From, e.CorrelationID = n.asked[m.from.index].From, n.asked[m.from.index].CorrelationID
	}
	ok := n.on(m.event, m)
	n.inFlight = nil
	n.w.release(m)
	if ok {
		n.act()
	}
}

// sleep works out when the node wakes by itself.
func (n *node) sleep() {
	if n.machine == nil {
		n.wakeAt = forever
		return
	}
	now := n.w.now
	if len(n.inbox) > 0 {
		n.wakeAt = max(now, n.busyUntil, n.pauseUntil)
		return
	}
	atMost, waits := n.machine.Wait()
	wake := n.parked
	if atMost < 1<<40 {
		wake = min(wake, n.local(now)+kraft.Instant(atMost))
	}
	waits.Each(func(t kraft.Timer) {
		if deadline, ok := n.timers.deadline(t); ok {
			wake = min(wake, deadline)
		}
	})
	at := forever
	if wake < never {
		at = n.when(wake)
	}
	soon := int64(10)
	if n.idle { // Kafka's loop would spin until its clock ticks, as that of an observer does whose election timer has run out
		soon = 1000
	}
	n.wakeAt = max(at, now+soon, n.busyUntil, n.pauseUntil)
}

// wake is a turn without a message, or with one that had to wait.
func (n *node) wake() {
	if len(n.inbox) > 0 {
		m := n.inbox[0]
		copy(n.inbox, n.inbox[1:])
		n.inbox = n.inbox[:len(n.inbox)-1]
		if m.response && m.toLife != n.life {
			n.w.release(m)
		} else {
			n.receive(m)
		}
	} else {
		n.act()
	}
	n.sleep()
}

// arrives takes a message from the network.
func (n *node) arrives(m *message) {
	if len(n.inbox) > 0 || n.busyUntil > n.w.now || n.pauseUntil > n.w.now {
		n.inbox = append(n.inbox, m)
		n.wakeAt = max(n.w.now, n.busyUntil, n.pauseUntil)
		return
	}
	n.receive(m)
	n.sleep()
}

// call hands over an event that comes from no other node, and takes a turn.
func (n *node) call(ev kraft.Event) {
	if n.on(ev, nil) {
		n.act()
	}
	n.sleep()
}

// expireParked answers the Fetches that have waited for long enough.
func (n *node) expireParked() bool {
	now := n.local(n.w.now)
	next := never
	for i := range n.clients {
		c := &n.clients[i]
		if !c.used || c.parkedUntil == 0 {
			continue
		}
		if c.parkedUntil > now {
			next = min(next, c.parkedUntil)
			continue
		}
		c.parkedUntil = 0
		if !n.on(&kraft.ParkedExpired{Request: requestID(i, c.generation)}, nil) {
			return false
		}
	}
	n.parked = next
	return true
}

func requestID(slot int, generation uint32) kraft.RequestID {
	return kraft.RequestID(generation)<<32 | kraft.RequestID(slot)
}

// admit remembers who waits for the answer to a request.
func (n *node) admit(m *message) kraft.RequestID {
	c := n.slot()
	c.from, c.life, c.record, c.correlation = m.from, m.fromLife, m.record, m.correlation
	c.api, c.version, c.preVote, c.candidate, c.second = m.api, m.version, m.preVote, m.candidate, m.second
	c.body = append(c.body[:0], m.body...)
	return requestID(n.slotOf(c), c.generation)
}

func (n *node) slot() *client {
	if last := len(n.freeSlots) - 1; last >= 0 {
		c := &n.clients[n.freeSlots[last]]
		n.freeSlots = n.freeSlots[:last]
		c.used, c.parkedUntil = true, 0
		c.generation++
		return c
	}
	if len(n.clients) < cap(n.clients) {
		n.clients = n.clients[:len(n.clients)+1]
	} else {
		n.clients = append(n.clients, client{})
	}
	c := &n.clients[len(n.clients)-1]
	c.used, c.parkedUntil = true, 0
	c.generation++
	return c
}

func (n *node) slotOf(c *client) int {
	for i := range n.clients {
		if &n.clients[i] == c {
			return i
		}
	}
	return -1
}

// settle finds who waits for a reply, and forgets it. The generation tells an answer given twice.
func (n *node) settle(id kraft.RequestID) *client {
	slot := int(uint32(id))
	if slot >= len(n.clients) || !n.clients[slot].used || n.clients[slot].generation != uint32(id>>32) {
		return nil
	}
	c := &n.clients[slot]
	c.used = false
	n.freeSlots = append(n.freeSlots, int32(slot))
	return c
}

package twin

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// node is one of our nodes: a machine and all that surrounds it, driven by the same commands as the oracle's node.
// It is told the queued random draws and the bytes of snapshots, which nobody decides.
type node struct {
	profile compat.Profile
	init    oracle.Init
	sender  wire.Sender
	decoder wire.Decoder

	m       *kraft.QuorumStateMachine
	actions kraft.Actions
	log     nodeLog
	stored  *kraft.QuorumState
	version int16 // data version of the stored state

	now     kraft.Instant
	during  int64
	inside  kraft.Event // that comes while the next turn waits for a message; nil: none
	timers  map[kraft.Timer]kraft.Instant
	before  map[kraft.TimerKind]kraft.Instant // check-quorum and voter change as they stood before the role action
	cleaner kraft.Instant
	queue   []message
	hand    message // the message being handled

	maxVersions map[int16]int16
	nextSend    int32
	inFlight    map[int32]flight
	requests    map[kraft.RequestID]request
	parked      []parkedFetch
	prepared    map[kraft.Offset][]byte // records that have an offset but are not written yet
	partial     []byte                  // of the snapshot being fetched
	made        []byte                  // the snapshot that the state machine above has just made
	pending     []kraft.Action          // sends of this turn

	failAt   map[string]int
	text     []byte // of the last digest
	out      outcome
	draws    []draw
	scripted bool // draws are told by the oracle: some are queued, or it has no seed
	instant  kraft.Instant
	drawn    uint64 // at that instant

	born      map[kraft.Offset]kraft.Instant // when the offset was reserved, which is the time stamp of a batch that begins there
	bornEpoch kraft.Epoch
	bornNext  kraft.Offset

	dead     bool // Fatal
	finished bool // ShutdownDone
	coverage *Coverage
}

// message waits in the queue.
type message struct {
	event   kraft.Event
	records []byte // of a Fetch response
	chunk   []byte // of a FetchSnapshot response
}

type flight struct {
	key, version int16
	to           kraft.Destination
}

type request struct {
	key, version int16
	body         []byte
}

type parkedFetch struct {
	request kraft.RequestID
	until   kraft.Instant
}

// outcome is what a command did.
type outcome struct {
	effects  []oracle.Effect
	waits    []int64
	fatal    string
	refused  bool
	offset   kraft.Offset
	deleted  bool
	problems []string // the driver could not execute an action
}

func (o *outcome) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

func (n *node) effect(kind string, args ...any) {
	for i, a := range args {
		switch v := a.(type) {
		case kraft.Offset:
			args[i] = int64(v)
		case kraft.Epoch:
			args[i] = int64(v)
		case kraft.NodeID:
			args[i] = int64(v)
		case int32:
			args[i] = int64(v)
		case int16:
			args[i] = int64(v)
		case int:
			args[i] = int64(v)
		}
	}
	n.out.effects = append(n.out.effects, oracle.Effect{Kind: kind, Args: args})
}

func newNode(p compat.Profile, c oracle.Command, coverage *Coverage, log nodeLog) *node {
	n := &node{
		profile: p, init: *c.Init, log: log, maxVersions: map[int16]int16{}, failAt: map[string]int{},
		now: kraft.Instant(c.Now), coverage: coverage, scripted: c.Seed == nil, born: map[kraft.Offset]kraft.Instant{},
	}
	n.sender = wire.Sender{ClusterID: n.init.Cluster, SoftwareName: "understudy", SoftwareVersion: "0"}
	if s := n.init.Stored; s != nil {
		n.stored, n.version = &kraft.QuorumState{Epoch: kraft.Epoch(s.Epoch), Leader: kraft.NodeID(s.Leader), Voted: kraft.ReplicaKey{ID: kraft.NodeID(s.Voted)}}, s.Version
		if s.VotedDir != "" && s.Version > 0 {
			n.stored.Voted.DirectoryID, _ = kraft.ParseDirectoryID(s.VotedDir)
		}
	}
	return n
}

// start makes a machine on what is on disk and lets it take its first role.
func (n *node) start() {
	n.dead, n.finished = false, false
	n.timers, n.before = map[kraft.Timer]kraft.Instant{}, map[kraft.TimerKind]kraft.Instant{}
	n.queue, n.parked, n.pending, n.partial = nil, nil, nil, nil
	n.inFlight, n.requests, n.prepared = map[int32]flight{}, map[kraft.RequestID]request{}, map[kraft.Offset][]byte{}
	n.bornEpoch = -1 // it may come to lead the same epoch again if that was not persisted
	n.cleaner = n.now + cleanerPeriod
	cfg, err := n.config()
	if err != nil {
		n.out.problem("configuration: %v", err)
		n.dead = true
		return
	}
	if n.m, err = kraft.New(cfg); err != nil {
		n.out.fatal, n.dead = err.Error(), true
		return
	}
	n.handle(&kraft.Start{})
	n.flushSends()
}

const cleanerPeriod = 60_000

func (n *node) config() (kraft.Config, error) {
	in := &n.init
	dir, err := kraft.ParseDirectoryID(in.Dir)
	if err != nil {
		return kraft.Config{}, err
	}
	cfg := kraft.Config{
		ID: kraft.NoNode, DirectoryID: dir, ClusterID: in.Cluster, Rules: n.profile.Rules, Timeouts: timeouts(in.Config),
		Listener: channel(in), Endpoints: endpoints(in.Endpoints), KRaftVersions: kraft.VersionRange{Max: 1},
		CanBecomeVoter: !in.CannotBecome, FetchMaxWaitMs: 500,
		FetchMaxBytes:         int32(number(in.Config, "controller.quorum.fetch.max.bytes", 1<<20)),
		FetchSnapshotMaxBytes: int32(number(in.Config, "controller.quorum.fetch.snapshot.max.bytes", 1<<20)),
	}
	if in.ID != nil {
		cfg.ID = kraft.NodeID(*in.ID)
	}
	if in.MaxKRaft != nil {
		cfg.KRaftVersions.Max = *in.MaxKRaft
	}
	if in.FetchMaxWaitMs != 0 {
		cfg.FetchMaxWaitMs = in.FetchMaxWaitMs
	}
	cfg.AutoJoin, _ = in.Config["controller.quorum.auto.join.enable"].(bool)
	if in.KRaft == 0 {
		cfg.StaticVoters = voterSet(in.Voters, false, cfg.Listener)
	}
	for _, s := range in.BootstrapServers {
		cfg.BootstrapServers = append(cfg.BootstrapServers, address(s))
	}
	if n.stored != nil {
		cfg.HasStored, cfg.Stored = true, *n.stored
		if n.version == 0 { // the file has no room for it
			cfg.Stored.Voted.DirectoryID = kraft.DirectoryID{}
		}
	}
	cfg.History, err = n.log.history()
	return cfg, err
}

func channel(in *oracle.Init) string {
	if in.Channel != "" {
		return in.Channel
	}
	return oracle.Channel
}

// do carries out a command. The oracle has already done so and says what nobody decides.
func (n *node) do(c oracle.Command, a *oracle.Answer) outcome {
	n.out, n.during, n.inside, n.hand = outcome{}, c.During, nil, message{}
	n.now = max(n.now, kraft.Instant(c.Now))
	n.draws = n.draws[:0]
	if len(c.Random) > 0 {
		n.scripted = true
	}
	if n.scripted {
		for i := range a.Effects {
			if e := &a.Effects[i]; e.Kind == "draw" {
				n.draws = append(n.draws, draw{e.Text(0), e.Int(1)})
			}
		}
	}
	for api, v := range c.MaxVersions {
		n.maxVersions[api] = v
	}
	for operation, at := range c.FailAt {
		n.failAt[operation] = at
	}
	if c.Expire {
		n.expire()
	}
	if !n.dead || c.Cmd == "restart" || c.Cmd == "init" {
		n.command(c, a)
	}
	polls := c.Poll
	if c.Settle {
		polls += a.Polls
	}
	for ; polls > 0 && !n.dead && !n.finished; polls-- {
		n.poll()
	}
	n.flushSends()
	return n.out
}

func (n *node) command(c oracle.Command, a *oracle.Answer) {
	if a.Error != "" && slices.Contains([]string{"request", "response", "snapshot", "log", "snapshotBytes"}, c.Cmd) {
		if c.Cmd == "response" {
			delete(n.inFlight, c.Corr)
		}
		return // the harness refused it: nothing reached the client
	}
	switch c.Cmd {
	case "init":
		n.start()
	case "restart":
		if n.log.reopen(c.LoseUnflushed) {
			n.effect("truncateToSnapshot", n.log.View().Start, n.log.View().Snapshots[0].ID.Epoch)
		}
		n.start()
	case "request":
		n.request(c)
	case "response":
		n.response(c)
	case "append":
		n.prepare(c)
	case "schedule":
		n.handle(&kraft.ScheduleAppend{})
	case "resign":
		n.handle(&kraft.Resign{Epoch: kraft.Epoch(c.Epoch)})
	case "shutdown":
		n.inside = &kraft.Shutdown{TimeoutMs: int32(c.Ms)}
		if !c.Inside {
			n.meanwhile()
		}
	case "upgrade":
		n.handle(&kraft.UpgradeKRaftVersion{Epoch: kraft.Epoch(c.Epoch), Version: c.Level, ValidateOnly: c.ValidateOnly})
	case "snapshot":
		if !a.Created {
			return
		}
		id := kraft.SnapshotID{Offset: kraft.Offset(c.Offset), Epoch: kraft.Epoch(c.Epoch)}
		n.log.addSnapshot(id, n.made)
		n.effect("freeze", id.Offset, id.Epoch, int64(len(n.made)))
		n.handle(&kraft.SnapshotCreated{ID: id})
	case "deleteBefore":
		n.out.deleted = n.log.moveStart(kraft.SnapshotID{Offset: kraft.Offset(c.Offset), Epoch: kraft.Epoch(c.Epoch)})
	}
}

func (n *node) prepare(c oracle.Command) {
	size := int32(0)
	for _, r := range c.Records {
		size += int32(len(r)) + recordOverhead
	}
	n.handle(&kraft.AppendRequested{Epoch: kraft.Epoch(c.Epoch), Records: int32(len(c.Records)), Size: size, Schedule: !c.NoSchedule})
	if n.out.refused {
		return
	}
	for i, r := range c.Records {
		n.prepared[n.out.offset-kraft.Offset(len(c.Records)-1-i)] = r
	}
}

// recordOverhead is what a small record without key and headers takes besides its value: length, attributes, time stamp,
// offset, key length, value length and header count, one byte each.
const recordOverhead = 7

// expire answers the parked requests whose time has come, in the order of their deadlines and arrival.
func (n *node) expire() {
	for !n.dead {
		first := -1
		for i, p := range n.parked {
			if p.until <= n.now && (first < 0 || p.until < n.parked[first].until) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		p := n.parked[first]
		n.parked = slices.Delete(n.parked, first, first+1)
		n.handle(&kraft.ParkedExpired{Request: p.request})
	}
}

// poll is one turn.
func (n *node) poll() {
	waits := len(n.out.waits)
	for _, k := range []kraft.TimerKind{kraft.CheckQuorumTimer, kraft.VoterChangeTimer} {
		delete(n.before, k)
		if at, ok := n.timers[kraft.Timer{Kind: k}]; ok {
			n.before[k] = at
		}
	}
	kraft.Turn(n.m, n, n.now)
	n.flushSends()
	if len(n.out.waits) == waits {
		n.out.waits = append(n.out.waits, -1) // the turn ended before the queue was asked
	}
}

// meanwhile is what another thread does while a turn waits for a message.
func (n *node) meanwhile() {
	if ev := n.inside; ev != nil {
		n.inside = nil
		n.handle(ev)
	}
}

// handle lets the machine handle an event outside a turn, or before the turn takes a message.
func (n *node) handle(ev kraft.Event) {
	n.coverage.event(n.m, ev)
	n.Execute(n.m.OnEvent(ev, n.Log(), kraft.Clock{Now: n.now, Due: n.Due(n.now)}, n.Actions()))
}

package interact

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// machine plays a node with the state machine on a log in memory. It is the smallest complete driver.
type machine struct {
	profile  compat.Profile
	setup    Setup
	coverage *Coverage

	m       *kraft.QuorumStateMachine
	actions kraft.Actions
	log     *memlog.Log
	stored  *kraft.QuorumState
	version int16

	now      kraft.Instant
	timers   map[kraft.Timer]kraft.Instant
	before   map[kraft.TimerKind]kraft.Instant
	cleaner  kraft.Instant
	queue    []kraft.Event
	inHand   kraft.Event
	requests map[kraft.RequestID]*Packet // not answered yet
	parked   []parked
	nextID   kraft.RequestID
	nextSend int64
	flights  map[int64]int32 // correlation ids of the requests in flight, by number
	draws    []Draw
	out      Outcome
	err      error
}

type parked struct {
	request kraft.RequestID
	until   kraft.Instant
}

// Machines makes players that run the machine. They count what they reach.
func Machines(c *Coverage) NewPlayer {
	return func(p compat.Profile, s Setup) (Player, error) {
		n := &machine{profile: p, setup: s, coverage: c, log: memlog.New(), draws: s.Draws, stored: s.Stored}
		if err := n.log.Append(s.Log...); err != nil {
			return nil, err
		}
		n.log.Flush()
		if s.KRaft == 1 && len(s.Voters) > 0 {
			n.log.AddSnapshot(kraft.BootstrapSnapshot, 1, kraft.SnapshotContents{
				KRaftVersion: 1, HasKRaftVersion: true, Voters: s.InitialVoters(), HasVoters: true,
			})
		}
		n.version = s.KRaft
		return n, nil
	}
}

func (n *machine) config() kraft.Config {
	s := &n.setup
	c := kraft.Config{
		ID: s.ID, DirectoryID: s.Directory, ClusterID: ClusterID, Rules: n.profile.Rules, Timeouts: s.Timeouts,
		Listener: Channel, Endpoints: s.Endpoints, KRaftVersions: kraft.VersionRange{Max: s.MaxKRaft},
		CanBecomeVoter: !s.Broker, AutoJoin: s.AutoJoin, FetchMaxWaitMs: 500,
		FetchMaxBytes: s.FetchMaxBytes, FetchSnapshotMaxBytes: s.FetchSnapshotMaxBytes, History: n.log.History(),
	}
	if s.KRaft == 0 {
		c.StaticVoters = s.StaticVoters()
	}
	for _, id := range s.Bootstrap {
		c.BootstrapServers = append(c.BootstrapServers, Address(id))
	}
	if n.stored != nil {
		c.Stored, c.HasStored = *n.stored, true
		if n.version == 0 { // the file has no room for it
			c.Stored.Voted.DirectoryID = kraft.DirectoryID{}
		}
	}
	return c
}

func (n *machine) start() {
	n.timers, n.queue, n.parked = map[kraft.Timer]kraft.Instant{}, nil, nil
	n.requests, n.flights = map[kraft.RequestID]*Packet{}, map[int64]int32{}
	n.cleaner = n.now + cleanerPeriod
	m, err := kraft.New(n.config())
	if err != nil {
		n.out.Fatal, n.m = err.Error(), nil
		return
	}
	n.m = m
	n.handle(&kraft.Start{})
}

// Do is part of Player.
func (n *machine) Do(s Step) (Outcome, error) {
	n.out, n.err = Outcome{}, nil
	n.now = max(n.now, s.Now)
	n.draws = append(n.draws, s.Draws...)
	if s.Expire {
		n.expire()
	}
	n.command(&s)
	for turns := s.Turns; turns > 0 && n.running(); turns-- {
		n.turn()
	}
	n.orderSends()
	return n.out, n.err
}

func (n *machine) running() bool { return n.m != nil && n.out.Fatal == "" && !n.out.Finished }

func (n *machine) command(s *Step) {
	switch s.Kind {
	case TurnStep:
	case StartStep:
		n.start()
	case RestartStep:
		before := n.log.Start
		n.log.Crash(!s.LoseUnflushed)
		if n.log.Start != before {
			n.say("begins the log anew at %d", n.log.Start)
		}
		n.start()
	case RequestStep:
		n.request(s.Packet)
	case ResponseStep:
		n.response(s)
	case AppendStep:
		n.handle(&kraft.AppendRequested{
			Epoch: s.Epoch, Records: int32(s.Records), Size: int32(s.Records) * (RecordBytes + RecordOverhead), Schedule: !s.Hold,
		})
	case ScheduleStep:
		n.handle(&kraft.ScheduleAppend{})
	case SnapshotStep:
		n.snapshot(s)
	case CleanStep:
		if n.log.MoveStart(s.ID) {
			n.say("log begins at %d now", n.log.Start)
		}
	case ResignStep:
		n.handle(&kraft.Resign{Epoch: s.Epoch})
	case ShutdownStep:
		n.handle(&kraft.Shutdown{TimeoutMs: s.Ms})
	case UpgradeStep:
		n.handle(&kraft.UpgradeKRaftVersion{Epoch: s.Epoch, Version: s.Level, ValidateOnly: s.ValidateOnly})
	}
}

func (n *machine) request(p *Packet) {
	n.nextID++
	n.requests[n.nextID] = p
	event, ok := p.Content.(kraft.Event)
	if !ok {
		n.err = fmt.Errorf("%v is no event", p.Content)
		return
	}
	n.queue = append(n.queue, numbered(event, n.nextID))
}

// numbered sets the request id of a received request. The event is the packet's, which is delivered once.
func numbered(event kraft.Event, id kraft.RequestID) kraft.Event {
	switch e := event.(type) {
	case *kraft.ReceiveVoteRequest:
		e.ID = id
	case *kraft.ReceiveBeginQuorumEpoch:
		e.ID = id
	case *kraft.ReceiveEndQuorumEpoch:
		e.ID = id
	case *kraft.ReceiveFetch:
		e.ID = id
	case *kraft.ReceiveFetchSnapshot:
		e.ID = id
	case *kraft.ReceiveDescribeQuorum:
		e.ID = id
	case *kraft.ReceiveAddRaftVoter:
		e.ID = id
	case *kraft.ReceiveRemoveRaftVoter:
		e.ID = id
	case *kraft.ReceiveUpdateRaftVoter:
		e.ID = id
	}
	return event
}

func (n *machine) response(s *Step) {
	p := s.Packet
	correlation, ok := n.flights[p.Number]
	if !ok {
		return // asked before a restart
	}
	delete(n.flights, p.Number)
	if s.Failure != kraft.None {
		n.queue = append(n.queue, &kraft.RequestFailed{
			Response: kraft.Response{From: p.Record, CorrelationID: correlation, Error: s.Failure}, API: p.API,
		})
		return
	}
	n.queue = append(n.queue, deliverable(p, correlation))
}

// snapshot is what the state machine above makes: it has the voters and the kraft.version in force at its end.
func (n *machine) snapshot(s *Step) {
	if _, exists := n.log.FindSnapshot(s.ID); exists || s.ID.Offset < n.log.Start {
		n.say("makes no snapshot")
		return
	}
	if s.ID.Offset > n.log.HighWatermark {
		n.err = fmt.Errorf("snapshot %v lies beyond the high watermark %d", s.ID, n.log.HighWatermark)
		return
	}
	contents := kraft.SnapshotContents{}
	for _, h := range n.log.History() {
		if h.Offset >= s.ID.Offset {
			continue
		}
		switch h.Record.Type {
		case kraft.KRaftVersionRecord:
			contents.KRaftVersion, contents.HasKRaftVersion = h.Record.KRaftVersion, true
		case kraft.VotersRecord:
			contents.Voters, contents.HasVoters = h.Record.Voters, true
		case kraft.OtherControlRecord, kraft.LeaderChangeRecord:
		}
	}
	n.log.AddSnapshot(s.ID, s.Size, contents)
	n.say("freezes snapshot %v of %d bytes", s.ID, s.Size)
	n.handle(&kraft.SnapshotCreated{ID: s.ID})
}

// expire answers the parked Fetches whose time has come.
func (n *machine) expire() {
	for n.running() {
		first := -1
		for i, p := range n.parked {
			if p.until <= n.now && (first < 0 || p.until < n.parked[first].until) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		id := n.parked[first].request
		n.parked = slices.Delete(n.parked, first, first+1)
		n.handle(&kraft.ParkedExpired{Request: id})
	}
}

func (n *machine) handle(e kraft.Event) {
	if n.m == nil {
		return
	}
	clock := kraft.Clock{Now: n.now, Due: n.Due(n.now)}
	n.coverage.event(n.m, e, clock.Due)
	n.inHand = e
	n.Execute(n.m.OnEvent(e, n.log.View(), clock, &n.actions))
}

func (n *machine) say(format string, args ...any) {
	n.out.Effects = append(n.out.Effects, Effect{Text: fmt.Sprintf(format, args...)})
}

package controller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// loop owns the machine: its log, its timers, and who waits for what. Only the goroutine of run touches it.
type loop struct {
	*Controller
	m       *kraft.QuorumStateMachine
	before  *kraft.QuorumStateMachine // storage for the state before a request
	log     *storage.Log
	timers  *timers
	actions kraft.Actions
	born    time.Time
	sleep   *time.Timer

	hand     *message // whose event is being handled; nil: it is no message
	requests map[kraft.RequestID]*request
	parked   map[kraft.RequestID]kraft.Instant // when they expire
	expires  kraft.Instant                     // the first of them
	peers    map[kraft.NodeID]*peer
	refusals []*kraft.ReceiveVoteResponse // of requests that were not sent
	appends  appends
	scratch  []byte
	cleaned  kraft.Instant
	forgot   kraft.Instant // when observers were forgotten last, because there were too many
	meter    meter

	spawn    func(*peer)           // starts its goroutine
	java     map[kraft.NodeID]bool // replicas that are Kafka's
	role     string                // as the log calls it
	doubts   int                   // answers in a row that contradict what this node holds
	caughtUp bool                  // has been
	resigned kraft.Epoch           // in which a resignation was asked for
	idle     bool                  // the last event asked for nothing
	ended    bool
	err      error // why
}

// message is what comes from the network: a request, or what became of one that was sent.
type message struct {
	event   kraft.Event
	request *request            // of a request
	from    *peer               // who was asked, of an answer
	records []byte              // of a Fetch response
	chunk   []byte              // of a FetchSnapshot response
	instead kraft.RequestFailed // of an answer that must not count
	handled atomic.Bool         // nobody looks at it any more
}

var errAborted = errors.New("ended without a shutdown")

// run is Kafka's loop (Kafka: KafkaRaftClientDriver.doWork).
func (l *loop) run() {
	l.on(&kraft.Start{})
	for !l.ended {
		if l.hand != nil {
			l.hand.handled.Store(true)
			l.hand = nil
		}
		kraft.Turn(l.m, l, l.now())
	}
	l.publish()
	l.appends.fail(ErrStopped)
}

// now is the wall clock's time when the process began, and the time since on the monotonic clock.
func (l *loop) now() kraft.Instant {
	return kraft.Instant(l.born.Add(time.Since(l.born)).UnixMilli())
}

// on handles an event between two turns, or one that begins a turn.
func (l *loop) on(ev kraft.Event) {
	if l.ended {
		return
	}
	now := l.now()
	l.Execute(l.m.OnEvent(ev, l.log.View(), kraft.Clock{Now: now, Due: l.Due(now)}, &l.actions))
}

// Log is part of kraft.Host, as are the methods up to Next.
func (l *loop) Log() *kraft.LogView { return l.log.View() }

// Due tells what has run out.
func (l *loop) Due(at kraft.Instant) kraft.TimerSet {
	due := l.timers.due(at)
	if l.updateVoterWaits() {
		due.Remove(kraft.Timer{Kind: kraft.UpdateVoterTimer})
	}
	return due
}

// updateVoterWaits: up to 4.0 the update-voter timer starts anew even if nothing was sent since the leader's connection was busy (Kafka 4.0:
// pollFollowerAsVoter). A follower has a Fetch with its leader nearly all the time, so an update that is needed would miss one period after
// the other. Here the timer is seen when the answer has come, as by a node that wakes up a little late.
func (l *loop) updateVoterWaits() bool {
	if l.cfg.Profile.Rules.UpdateVoterRestartIfSent {
		return false
	}
	leader, known := l.peers[l.m.QuorumState().Leader]
	return known && leader.asked
}

// Choice is drawn anew for each turn.
func (l *loop) Choice() int { return rand.IntN(1 << 30) }

// Actions are those of the loop.
func (l *loop) Actions() *kraft.Actions { return &l.actions }

// Next waits for one message. What does not come from the network is handled on the way, and ends the wait: it may have woken the
// machine.
func (l *loop) Next(atMost int64, waits kraft.TimerSet) (kraft.Event, kraft.Instant) {
	l.handOver()
	l.publish()
	l.expireParked()
	l.cleanLog()
	if l.ended {
		return nil, l.now()
	}
	if ev, ok := l.nextRefusal(); ok {
		return ev, l.now()
	}
	d := l.untilWake(atMost, waits)
	if l.idle { // a timer may have run out that the role does not look at: Kafka's loop would spin
		d = max(d, idleTurn)
	}
	l.sleep.Reset(d)
	l.meter.sleeps(time.Since(l.born))
	defer func() { l.meter.wakes(time.Since(l.born)) }()
	select {
	case m := <-l.inbox:
		return l.take(m), l.now()
	case call := <-l.calls:
		l.call(call)
	case <-l.sleep.C:
	case <-l.abort:
		l.end(errAborted)
	}
	return nil, l.now()
}

// idleTurn is the least time between two turns in which nothing happens.
const idleTurn = 5 * time.Millisecond

// call handles what other goroutines of this process ask for, and all that they have asked for meanwhile: so their records share a batch
// and a sync.
func (l *loop) call(call func(*loop)) {
	for yielded := false; ; {
		call(l)
		select {
		case call = <-l.calls:
			continue
		default:
		}
		if yielded {
			return
		}
		runtime.Gosched() // those that the last commit has woken want to ask, too
		select {
		case call = <-l.calls:
			yielded = true
		default:
			return
		}
	}
}

// untilWake is how long the machine may sleep.
func (l *loop) untilWake(atMost int64, waits kraft.TimerSet) time.Duration {
	wake := l.expires
	if l.updateVoterWaits() {
		waits.Remove(kraft.Timer{Kind: kraft.UpdateVoterTimer})
	}
	waits.Each(func(t kraft.Timer) { wake = min(wake, l.timers.deadline(t)) })
	now := time.Since(l.born)
	d := l.born.Add(now).UnixMilli()
	wake = min(wake, kraft.Instant(d)+kraft.Instant(min(atMost, cleanPeriodMs)))
	// The clock of the machine counts whole milliseconds: what is left of this one belongs to the wait.
	return time.Duration(int64(wake)-d)*time.Millisecond - time.Duration(l.born.Add(now).Nanosecond())%time.Millisecond
}

// take prepares the event of a message.
func (l *loop) take(m *message) kraft.Event {
	l.hand = m
	if m.request != nil {
		l.requests[m.request.id] = m.request
		m.request.sender = senderOf(m.event)
		l.noteSoftware(m)
		l.limitObservers(m)
		l.m.CopyInto(l.before)
		return m.event
	}
	m.from.asked = false
	l.m.CopyInto(l.before)
	return l.response(m)
}

// response completes what a peer has answered by what only the owner knows.
func (l *loop) response(m *message) kraft.Event {
	switch e := m.event.(type) {
	case *kraft.ReceiveFetchResponse:
		// 4.0.0 appends a batch of a later epoch, which no leader makes and no checksum tells, and is refused ever after. Later releases drop it.
		if l.cfg.Profile.Rules.DropNewerEpochBatches || !l.ofAnEpochToCome(l.m, e) {
			break
		}
		l.cfg.Log.Error().Stringer("event", e).Msg("refused records of an epoch to come; the request has failed")
		return &m.instead
	case *kraft.ReceiveBeginQuorumEpochResponse:
		if e.LeaderEpoch == l.m.QuorumState().Epoch && l.isStranger(e.From) { // it was removed meanwhile; Kafka's leader ends on it (LeaderState.addAcknowledgementFrom)
			return &m.instead
		}
	case *kraft.ReceiveFetchSnapshotResponse:
		id, held := l.log.PartialSize()
		code := e.PartitionAnswer.Error // up to 4.0 most errors are passed over, and the bytes beside them count
		if code == kraft.SnapshotNotFound || code != kraft.None && l.cfg.Profile.Rules.FetchSnapshotErrors || e.SnapshotID != id || e.Position != held || e.Position+int64(e.Bytes) != e.Size {
			break
		}
		var err error
		if e.Contents, err = l.log.PartialContents(m.chunk); err != nil {
			l.cfg.Log.Error().Err(err).Stringer("snapshot", id).Msg("the snapshot that was fetched cannot be read: it is asked for again")
			return &m.instead
		}
	}
	return m.event
}

// ofAnEpochToCome: an answer has records of a later epoch than a machine knows of.
func (*loop) ofAnEpochToCome(m *kraft.QuorumStateMachine, e *kraft.ReceiveFetchResponse) bool {
	return slices.ContainsFunc(e.Batches, func(b kraft.Batch) bool { return b.Epoch > m.QuorumState().Epoch })
}

// expireParked answers the Fetches that have waited for long enough.
func (l *loop) expireParked() {
	now := l.now()
	if now < l.expires {
		return
	}
	l.expires = never
	for id, until := range l.parked {
		if until > now {
			l.expires = min(l.expires, until)
			continue
		}
		delete(l.parked, id)
		if _, waits := l.requests[id]; waits {
			l.on(&kraft.ParkedExpired{Request: id})
		}
	}
}

// cleanPeriodMs is how often Kafka looks for segments and snapshots that retention lets go (Kafka: KafkaRaftClient.SnapshotCleaner).
const cleanPeriodMs = storage.CleanerPeriodMs

func (l *loop) cleanLog() {
	now := l.now()
	if now < l.cleaned+cleanPeriodMs {
		return
	}
	l.cleaned = now
	moved, err := l.log.Clean(int64(now))
	if err != nil {
		l.end(fmt.Errorf("clean the log: %w", err))
		return
	}
	if id, ok := l.log.EarliestSnapshot(); ok && moved {
		l.snapshotCovers(id)
	}
}

// snapshotCovers tells the machine that the voters which a snapshot holds stand for those of all before it. A set at the snapshot's very end is not
// among them: it may be uncommitted and be cut off again, and then the one before it is in force. Kafka, which tells its history the end itself,
// forgets that one (TreeMapLogHistory.truncateOldEntries).
func (l *loop) snapshotCovers(id kraft.SnapshotID) {
	id.Offset--
	l.on(&kraft.SnapshotCreated{ID: id})
}

func (l *loop) end(err error) {
	if !l.ended {
		l.ended, l.err = true, err
	}
}

package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// ErrFatal marks the end of a node that met what Kafka's process exits on.
var ErrFatal = errors.New("a state that Kafka ends on")

// Execute carries out the actions of an event in their order. It is part of kraft.Host.
func (l *loop) Execute(actions []kraft.Action) bool {
	l.idle = len(actions) == 0
	if l.refuse(actions) {
		return true
	}
	for _, a := range actions {
		if l.execute(a); l.ended {
			return false
		}
	}
	l.appends.complete(l.log.HighWatermark)
	return true
}

// refuse undoes what a peer has sent if Kafka's process would end on it: nothing has happened. Of a request the connection is closed; of an
// answer the request has failed, as if it had been lost on the way. This node ends as Kafka does on what it meets in its own files, and where
// its leader contradicts what it holds again and again: then one of the two has lost something, and somebody must look.
func (l *loop) refuse(actions []kraft.Action) bool {
	m := l.hand
	if m == nil || len(actions) == 0 {
		return false
	}
	var reason kraft.FatalReason
	if fatal, ok := actions[len(actions)-1].(*kraft.Fatal); ok {
		reason = fatal.Reason
	} else if l.m.LacksLeaderAddress() { // it would end on it with its next turn
		reason = kraft.FatalNoEndpoint
	} else {
		l.trust(m)
		return false
	}
	if m.request == nil && l.mustEnd(reason) {
		return false
	}
	l.m, l.before = l.before, l.m
	if m.request != nil {
		l.cfg.Log.Error().Stringer("reason", reason).Stringer("event", m.event).Stringer("peer", m.request.peer).
			Msg("refused a request that Kafka's process would end on; its connection is closed")
		l.settle(m.request.id, nil)
		return true
	}
	level := zerolog.ErrorLevel
	if l.told(m.from, reason) {
		level = zerolog.DebugLevel
	}
	l.cfg.Log.WithLevel(level).Stringer("reason", reason).Stringer("event", m.event).Stringer("peer", m.instead.From).
		Msg("refused an answer that Kafka's process would end on; the request has failed")
	m.handled.Store(true)
	l.hand = nil
	l.on(&m.instead)
	return true
}

// trust begins to count anew with an answer of the leader to a Fetch that fits what this node holds. One with records that no leader can have is none.
func (l *loop) trust(m *message) {
	e, is := m.event.(*kraft.ReceiveFetchResponse)
	if !is || e.PartitionAnswer.Error != kraft.None || l.ofAnEpochToCome(l.before, e) {
		return
	}
	l.doubts = 0
	if m.from != nil {
		m.from.refused = nil
	}
}

// told reports whether that reason to refuse an answer of a peer has been told since the peer's last answer that counted: a peer that does not
// change is asked several times a second.
func (l *loop) told(p *peer, reason kraft.FatalReason) bool {
	if p == nil {
		return false
	}
	if slices.Contains(p.refused, reason) {
		return true
	}
	p.refused = append(p.refused, reason)
	return false
}

// maxDoubts is how many answers in a row may contradict what this node holds. One may be a frame that was altered on the way; a leader
// that has lost what was committed says so each time.
const maxDoubts = 10

// mustEnd reports whether an answer ends this node, too.
func (l *loop) mustEnd(reason kraft.FatalReason) bool {
	switch reason {
	case kraft.FatalInconsistentLeader, kraft.FatalInvalidTransition, kraft.FatalUnknownEndpoints, kraft.FatalInvalidRequest, kraft.FatalNotAuthorized,
		kraft.FatalUnexpectedRole, kraft.FatalUnexpectedSnapshot, kraft.FatalContradictoryVote, kraft.FatalNotAVoter, kraft.FatalResponseInRole,
		kraft.FatalSnapshotRequest, kraft.FatalNoEndpoint:
		return false // it says nothing about the log, and of a leader or a vote nothing that must be believed
	case kraft.FatalTruncationBelowHW, kraft.FatalHighWatermarkFell, kraft.FatalUnexpectedOffset, kraft.FatalCorruptRecords, kraft.FatalOffsetsNotIncreasing,
		kraft.FatalEpochRefused, kraft.FatalSnapshotNotNewer, kraft.FatalControlRecord:
		l.doubts++
		return l.doubts >= maxDoubts
	default:
		return true
	}
}

func (l *loop) execute(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.ResetTimer:
		l.timers.reset(a.Timer, a.Deadline+l.draw(a)+l.handicap(a))
	case *kraft.CancelTimer:
		l.timers.cancel(a.Timer)
	case *kraft.ChooseBootstrap:
	case *kraft.Park:
		until := min(a.Until, l.now()+kraft.Instant(l.cfg.Limits.Park.Milliseconds()))
		l.parked[a.Request] = until
		l.expires = min(l.expires, until)
	case *kraft.TransitionedTo:
		l.transitioned(a)
	case *kraft.Accepted:
		l.appends.accepted(a.LastOffset)
	case *kraft.Refused:
		l.appends.refused(a.Reason)
	case *kraft.ShutdownDone:
		var err error
		if !a.OK {
			err = ErrShutdownTimeout
		}
		l.end(err)
	case *kraft.Fatal:
		l.end(fmt.Errorf("%w: %v in the role %v", ErrFatal, a.Reason, l.m.Role()))
	default:
		l.executeRest(action)
	}
}

// executeRest has the actions that are a message, and those of the log.
func (l *loop) executeRest(action kraft.Action) {
	if key, to, ok := wire.SendKey(action); ok {
		if !l.keepBack(action) {
			l.send(key, to, action)
		}
		return
	}
	if _, id, ok := wire.ReplyKey(action); ok {
		l.reply(id, action)
		return
	}
	p := storage.Payload{Timestamp: int64(l.now())}
	if a, ok := action.(*kraft.AppendRecords); ok {
		p.Values = l.appends.take(a.Base, a.Last)
	}
	if l.hand != nil {
		p.Records, p.Chunk = l.hand.records, l.hand.chunk
	}
	if _, err := l.log.Execute(action, &p); err != nil {
		l.end(fmt.Errorf("execute %v: %w", action, err))
	}
}

func (l *loop) transitioned(a *kraft.TransitionedTo) {
	role := fmt.Sprintf("%v(epoch=%d, leaderId=%v)", a.Role, a.Epoch, a.Leader)
	l.cfg.Log.Info().Msgf("Completed transition to %s from %s", role, l.role) // as Kafka says it
	l.role = role
	switch a.Role {
	case kraft.LeaderRole:
	case kraft.FollowerRole:
		l.appends.fail(ErrUnknownOutcome)
	default:
		l.appends.drop(ErrNotLeader)
	}
}

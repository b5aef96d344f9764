package kraft

import "slices"

// slot puts one action at the end of the list and returns it to be filled in. A machine that has stopped emits nothing: the
// action is handed out all the same, so that callers need not ask, and is lost.
func slot[T any, P interface {
	*T
	Action
}](m *QuorumStateMachine, s *slab[T]) *T {
	out := m.turn.out
	item := s.next(out.event)
	var zero T
	*item = zero
	if !m.stopped {
		out.list = append(out.list, P(item))
	}
	return item
}

// put is slot for a value that is complete already.
func put[T any, P interface {
	*T
	Action
}](m *QuorumStateMachine, s *slab[T], value *T) {
	if m.stopped {
		return
	}
	out := m.turn.out
	item := s.next(out.event)
	*item = *value
	out.list = append(out.list, P(item))
}

// fatal ends the machine where Kafka's process would end. Everything emitted so far stands.
func (m *QuorumStateMachine) fatal(reason FatalReason) {
	slot(m, &m.turn.out.fatal).Reason = reason
	m.stopped = true
}

// due reports whether a timer has run out and has not been reset since.
func (m *QuorumStateMachine) due(t Timer) bool {
	return m.turn.due.Has(t) && (t.Kind < firstPeerTimer || !slices.Contains(m.turn.reset, t))
}

func (m *QuorumStateMachine) dueKind(kind TimerKind) bool { return m.turn.due.Has(Timer{Kind: kind}) }

// resetTimer starts a timer that runs for some milliseconds from now.
func (m *QuorumStateMachine) resetTimer(t Timer, ms int32) { m.resetTimerAt(t, m.turn.now+Instant(ms)) }

func (m *QuorumStateMachine) resetTimerAt(t Timer, deadline Instant) {
	a := slot(m, &m.turn.out.resetTimer)
	a.Timer, a.Deadline = t, deadline
	m.notDue(t)
}

func (m *QuorumStateMachine) resetKind(kind TimerKind, ms int32) { m.resetTimer(Timer{Kind: kind}, ms) }

func (m *QuorumStateMachine) cancelTimer(kind TimerKind) {
	slot(m, &m.turn.out.cancelTimer).Timer = Timer{Kind: kind}
	m.notDue(Timer{Kind: kind})
}

// drawElectionTimeout starts the election timer: between one and two election timeouts from now, as the driver draws
// (Kafka: QuorumState.randomElectionTimeoutMs).
func (m *QuorumStateMachine) drawElectionTimeout() {
	t := m.cfg.Timeouts.ElectionMs
	a := slot(m, &m.turn.out.resetTimer)
	a.Timer, a.Deadline, a.Window = Timer{Kind: ElectionTimer}, m.turn.now+Instant(t), t
	m.notDue(a.Timer)
}

// notDue makes a timer that was reset in this event no longer due in it. The driver's set of peer timers is not touched.
func (m *QuorumStateMachine) notDue(t Timer) {
	if t.Kind < firstPeerTimer {
		m.turn.due.fixed &^= 1 << t.Kind
	} else if len(m.turn.due.peers) > 0 {
		m.turn.reset = append(m.turn.reset, t)
	}
}

package kraft

import "slices"

// slot puts one action at the end of the list and returns it to be filled in. A machine that has stopped emits nothing: the
// action is handed out all the same, so that callers need not ask, and is lost.
func slot[T any, P interface {
	*T
	Action
}](m *QuorumStateMachine, s *slab[T]) *T {
	item := prepare(m, s)
	m.emit(P(item))
	return item
}

// prepare is slot for an action that is emitted later, or not at all.
func prepare[T any](m *QuorumStateMachine, s *slab[T]) *T {
	item := s.next(m.turn.out.event)
	var zero T
	*item = zero
	return item
}

func (m *QuorumStateMachine) emit(a Action) {
	if !m.stopped {
		m.turn.out.list = append(m.turn.out.list, a)
	}
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
func (m *QuorumStateMachine) resetTimer(t Timer, ms int32) {
	m.resetPeerTimer(t.Kind, &t.Peer, m.turn.now+Instant(ms))
}

func (m *QuorumStateMachine) resetPeerTimer(kind TimerKind, peer *ReplicaKey, deadline Instant) {
	a := slot(m, &m.turn.out.resetTimer)
	a.Kind, a.Deadline = kind, deadline
	a.Peer = *peer
	m.notDue(&a.Timer)
}

func (m *QuorumStateMachine) resetKind(kind TimerKind, ms int32) {
	a := slot(m, &m.turn.out.resetTimer)
	a.Kind, a.Deadline = kind, m.turn.now+Instant(ms)
	m.notDue(&a.Timer)
}

func (m *QuorumStateMachine) cancelTimer(kind TimerKind) {
	a := slot(m, &m.turn.out.cancelTimer)
	a.Kind = kind
	m.notDue(&a.Timer)
}

// drawElectionTimeout starts the election timer: between one and two election timeouts from now, as the driver draws
// (Kafka: QuorumState.randomElectionTimeoutMs).
func (m *QuorumStateMachine) drawElectionTimeout() {
	t := m.cfg.Timeouts.ElectionMs
	a := slot(m, &m.turn.out.resetTimer)
	a.Kind, a.Deadline, a.Window = ElectionTimer, m.turn.now+Instant(t), t
	m.notDue(&a.Timer)
}

// notDue makes a timer that was reset in this event no longer due in it. The driver's set of peer timers is not touched.
func (m *QuorumStateMachine) notDue(t *Timer) {
	if t.Kind < firstPeerTimer {
		m.turn.due.fixed &^= 1 << t.Kind
	} else if len(m.turn.due.peers) > 0 {
		m.turn.reset = append(m.turn.reset, *t)
	}
}

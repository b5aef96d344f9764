package kraft

import "math"

// wait is how long the host may sleep after a role action. Kafka computes a minimum of milliseconds; the machine knows no
// deadlines, so it names the timers and leaves the minimum to the host.
type wait struct {
	atMost int64
	timers TimerSet
}

const forever = math.MaxInt64

// Wait tells how long the host may sleep: at most atMost milliseconds, and not beyond the deadline of any of the named timers
// (Kafka: the timeout that poll asks of its queue). A timer that does not run bounds nothing. CheckQuorumTimer and
// VoterChangeTimer count with the deadline that they had before the role action, which may have reset them.
//
// Events between two role actions may shorten it, as Kafka wakes its loop.
func (m *QuorumStateMachine) Wait() (atMost int64, timers TimerSet) {
	return m.wait.atMost, m.wait.timers
}

func (m *QuorumStateMachine) waitNothing() {
	m.wait.atMost = forever
	m.wait.timers.Clear()
}

func (m *QuorumStateMachine) waitAtMost(ms int64) { m.wait.atMost = min(m.wait.atMost, ms) }

func (m *QuorumStateMachine) waitFor(t Timer) { m.wait.timers.Add(t) }

func (m *QuorumStateMachine) waitForKind(kind TimerKind) { m.wait.timers.Add(Timer{Kind: kind}) }

// wakeUp makes the host run the next role action at once.
func (m *QuorumStateMachine) wakeUp() { m.wait.atMost = 0 }

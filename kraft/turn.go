package kraft

// Host is what a driver offers to Turn.
type Host interface {
	// Log is the log as it is now.
	Log() *LogView
	// Due are the timers that have run out at the instant.
	Due(at Instant) TimerSet
	// Choice is the index of the bootstrap server to ask, should one be asked.
	Choice() int
	// Next waits for one message, at most as long as Wait allows, and tells when it came. Nil: none did.
	Next(atMost int64, timers TimerSet) (Event, Instant)
	// Actions is the storage for the actions of one event.
	Actions() *Actions
	// Execute carries out the actions in order. It returns false behind Fatal and ShutdownDone.
	Execute(actions []Action) bool
}

// Turn is one turn of Kafka's poll loop (Kafka: KafkaRaftClient.poll), the same for every driver: the action of the role held,
// with the timers due at t0, then at most one message, with those due at the time it came.
//
// Timers must not be events of their own before the role action. Kafka looks at them in an order that depends on the role, and
// a role that has just been entered does not act in the same turn.
func Turn(m *QuorumStateMachine, h Host, t0 Instant) {
	out := h.Actions()
	out.role = RoleAction{Choice: h.Choice()}
	if !h.Execute(m.OnEvent(&out.role, h.Log(), Clock{Now: t0, Due: h.Due(t0)}, out)) {
		return
	}
	event, t1 := h.Next(m.Wait())
	if event != nil {
		h.Execute(m.OnEvent(event, h.Log(), Clock{Now: t1, Due: h.Due(t1)}, h.Actions()))
	}
}

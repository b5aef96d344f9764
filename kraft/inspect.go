package kraft

// Inspection is what a machine knows besides its role, for tests and for people. It is a copy.
type Inspection struct {
	Connections     []Connection // in the order in which they are walked
	NextCorrelation int32
	Parked          []ParkedFetch // in the order in which they are answered

	Voters       VoterSet // in force
	VotersOffset Offset   // where they were recorded: -1 the bootstrap checkpoint, -2 nowhere (the static voters)
	KRaftVersion int16
	NextRead     Offset // first offset whose control records have not been read

	ShuttingDown bool
	Stopped      bool
}

// ParkedFetch is a Fetch that waits.
type ParkedFetch struct {
	Request RequestID
	Replica ReplicaKey
	Offset  Offset
}

// Inspect describes the machine.
func (m *QuorumStateMachine) Inspect() Inspection {
	s := Inspection{
		Connections:     append([]Connection(nil), m.requests.connections...),
		NextCorrelation: m.requests.nextCorrelation,
		Voters:          m.history.lastVoters(),
		VotersOffset:    m.history.lastVotersOffset(),
		KRaftVersion:    m.history.kraftVersion(),
		NextRead:        m.history.next,
		ShuttingDown:    m.shutdown,
		Stopped:         m.stopped,
	}
	for _, f := range m.parked.waiting() {
		s.Parked = append(s.Parked, ParkedFetch{Request: f.request, Replica: f.replica, Offset: f.offset})
	}
	return s
}

// Busy reports whether any request is in flight or any node is left alone after a failure.
func (m *QuorumStateMachine) Busy() bool { return len(m.requests.connections) > 0 }

// Awaits reports whether an answer to that request would be looked at.
func (m *QuorumStateMachine) Awaits(record NodeID, correlation int32) bool {
	return m.requests.expects(record, correlation)
}

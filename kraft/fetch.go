package kraft

// fetchInfo is what a Fetch asks for, as far as its evaluation needs it; it is what a parked one is remembered by.
type fetchInfo struct {
	request          RequestID
	replica          ReplicaKey
	epoch            Epoch
	offset           Offset
	lastFetchedEpoch Epoch
	maxBytes         int32
	version          int16
	listener         listenerID
}

// onFetch answers a Fetch, or parks it (KIP-595; Kafka: handleFetchRequest). It is answered at once if it failed, found records, is
// not willing to wait, has diverged or needs a snapshot, or if its sender does not know the high watermark yet (KIP-1166).
func (m *QuorumStateMachine) onFetch(e *ReceiveFetch) {
	if err := m.checkMessage(&e.Request); err != None {
		a := slot(m, &m.turn.out.replyFetch)
		a.Request, a.Error = e.ID, err
		return
	}
	listener := m.internListener(e.Listener)
	f := &fetchInfo{
		request: e.ID, replica: e.Replica, epoch: e.FetchEpoch, offset: e.FetchOffset, lastFetchedEpoch: e.LastFetchedEpoch,
		maxBytes: e.MaxBytes, version: e.Version, listener: listener,
	}
	if e.MaxWaitMs < 0 || e.FetchOffset < 0 || e.LastFetchedEpoch < 0 || e.LastFetchedEpoch > e.FetchEpoch {
		m.replyFetchError(f, InvalidRequest)
		return
	}
	reply := prepare(m, &m.turn.out.replyFetch)
	answer := &reply.FetchAnswer
	m.evaluateFetch(f, answer)
	if answer.PartitionError != None || answer.From < answer.UpTo || e.MaxWaitMs == 0 || answer.isElsewhere() ||
		m.cfg.Rules.FetchHighWatermark && e.HighWatermark < answer.HighWatermark {
		m.replyFetch(reply)
		return
	}
	m.park(f, answer, e.MaxWaitMs)
}

// evaluateFetch works out the answer as of now (Kafka: tryCompleteFetchRequest). Only a valid position counts as progress, and it does
// so before the answer is made: the progress may raise the high watermark, with all that follows from that, and the answer tells it.
func (m *QuorumStateMachine) evaluateFetch(f *fetchInfo, answer *FetchAnswer) {
	if err := m.checkLeaderOnly(f.epoch); err != None {
		m.emptyAnswer(f, err, answer)
		return
	}
	log := &m.turn.log
	position, at := log.Validate(f.offset, f.lastFetchedEpoch)
	if latest, ok := log.LatestSnapshot(); ok && f.offset == 0 && latest != BootstrapSnapshot {
		position, at = SnapshotPosition, latest // whatever the log still holds (KIP-630)
	}
	if position == ValidPosition && f.offset < log.End && f.maxBytes < 0 && m.cfg.Rules.ConfiguredFetchBytes {
		m.emptyAnswer(f, UnknownServerError, answer)
		return
	}
	end := log.End
	if position == ValidPosition {
		advanced, ok := m.noteFetch(&f.replica, log.Base(f.offset))
		if !ok {
			m.emptyAnswer(f, UnknownServerError, answer)
			return
		}
		if advanced {
			m.publishHighWatermark()
		}
	}
	m.emptyAnswer(f, None, answer)
	answer.HighWatermark = m.leader.HighWatermark
	switch position {
	case ValidPosition:
		answer.From, answer.UpTo, answer.MaxBytes = f.offset, end, m.fetchLimit(f.maxBytes)
	case DivergingPosition:
		answer.Diverging = at
	case SnapshotPosition:
		answer.Snapshot = at
	}
}

func (m *QuorumStateMachine) fetchLimit(requested int32) int32 {
	if m.cfg.Rules.ConfiguredFetchBytes {
		return requested
	}
	return maxBatchBytes
}

// emptyAnswer is an answer without records: what every answer has.
func (m *QuorumStateMachine) emptyAnswer(f *fetchInfo, err ErrorCode, a *FetchAnswer) {
	a.Request, a.HighWatermark, a.LogStart = f.request, -1, m.turn.log.Start
	a.Diverging, a.Snapshot = nowhere, nowhere
	a.From, a.UpTo = f.offset, f.offset
	m.describe(&a.PartitionReply, f.version, endpointsInFetch, m.listeners[f.listener], err)
}

// endpointsInFetch is the first version of Fetch whose answer names the leader's endpoint.
const endpointsInFetch = 17

// nowhere is the absent position.
var nowhere = OffsetAndEpoch{-1, -1}

// isElsewhere: the records asked for are not the ones to continue with.
func (a *FetchAnswer) isElsewhere() bool {
	return a.Diverging != nowhere || a.Snapshot != nowhere
}

func (m *QuorumStateMachine) replyFetch(reply *ReplyFetch) {
	if reply.Diverging.Epoch >= 0 {
		slot(m, &m.turn.out.replyDiverging).FetchAnswer = reply.FetchAnswer
		return
	}
	m.emit(reply)
}

func (m *QuorumStateMachine) replyFetchError(f *fetchInfo, err ErrorCode) {
	reply := prepare(m, &m.turn.out.replyFetch)
	m.emptyAnswer(f, err, &reply.FetchAnswer)
	m.emit(reply)
}

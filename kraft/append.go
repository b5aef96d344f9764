package kraft

// maxCompleted is how many batches may wait to be written before the state machine is refused more (Kafka:
// KafkaRaftClient.MAX_NUMBER_OF_BATCHES).
const maxCompleted = 10

// onAppendRequested reserves offsets for records of the state machine (Kafka: BatchAccumulator.append). They wait in a batch until
// ScheduleAppend releases them and it is full, the linger timer runs out, or a control batch closes it.
func (m *QuorumStateMachine) onAppendRequested(e *AppendRequested) {
	if refusal := m.checkAppend(e); refusal != acceptable {
		slot(m, &m.turn.out.refused).Reason = refusal
		return
	}
	acc := &m.leader.Accumulator
	first := !acc.Lingering
	if acc.Current.Count > 0 && acc.Current.Size+e.Size > maxBatchBytes {
		acc.complete()
	}
	if acc.HoldFrom == noOffset {
		acc.HoldFrom = acc.NextOffset
	}
	if acc.Current.Count == 0 {
		acc.Current = PreparedBatch{Base: acc.NextOffset}
	}
	acc.Current.Count += e.Records
	acc.Current.Size += e.Size
	acc.NextOffset += Offset(e.Records)
	if !acc.Lingering {
		acc.Lingering = true
		m.resetKind(LingerTimer, m.cfg.Timeouts.AppendLingerMs)
	}
	slot(m, &m.turn.out.accepted).LastOffset = acc.NextOffset - 1
	if e.Schedule {
		m.onScheduleAppend()
	}
	if first {
		m.wakeUp()
	}
}

func (m *QuorumStateMachine) checkAppend(e *AppendRequested) Refusal {
	switch {
	case m.kind != LeaderRole:
		return NotLeader
	case e.Records <= 0:
		return NoRecords
	case e.Epoch < m.epoch:
		return NotLeader
	case e.Epoch > m.epoch:
		return EpochTooNew
	case len(m.leader.Accumulator.Completed) >= maxCompleted:
		return TooManyBatches
	case e.Size > maxBatchBytes:
		return RecordsTooLarge
	}
	return acceptable
}

// onScheduleAppend releases what was reserved.
func (m *QuorumStateMachine) onScheduleAppend() {
	if m.kind != LeaderRole {
		slot(m, &m.turn.out.refused).Reason = NotLeader
		return
	}
	acc := &m.leader.Accumulator
	acc.HoldFrom = noOffset
	if acc.hasDrainable() || acc.Lingering && m.dueKind(LingerTimer) {
		m.wakeUp()
	}
}

// complete closes the current batch.
func (a *Accumulator) complete() {
	if a.Current.Count > 0 {
		a.Completed = append(a.Completed, a.Current)
		a.Current = PreparedBatch{}
	}
}

// hasDrainable reports whether the first completed batch may be written.
func (a *Accumulator) hasDrainable() bool {
	return len(a.Completed) > 0 && a.Completed[0].Last() < a.HoldFrom
}

// queueControl makes a batch of control records, due at once, and returns the offset of its last record. Records of the state machine
// that are in preparation become a batch before it. Those prepared from now until the next drain stay out of that drain, and wait for
// their own linger timer (Kafka: BatchAccumulator.appendControlMessages, forceDrain).
func (m *QuorumStateMachine) queueControl(records []ControlRecord, start bool) Offset {
	acc := &m.leader.Accumulator
	acc.complete()
	m.stopLinger()
	acc.ForcedDone = true
	acc.Completed = append(acc.Completed, PreparedBatch{
		Base: acc.NextOffset, Count: int32(len(records)), Control: records, Start: start,
	})
	acc.NextOffset += Offset(len(records))
	return acc.NextOffset - 1
}

func (m *QuorumStateMachine) queueVoters(voters VoterSet) Offset {
	return m.queueControl([]ControlRecord{{Type: VotersRecord, Voters: voters}}, false)
}

func (m *QuorumStateMachine) stopLinger() {
	if m.leader.Accumulator.Lingering {
		m.leader.Accumulator.Lingering = false
		m.cancelTimer(LingerTimer)
	}
}

// appendDueBatches writes what is due (Kafka: maybeAppendBatches). In order: the appends; the own progress and with it perhaps the
// high watermark; the answers to parked Fetches; the flush. So followers may hold, and a majority may commit, what this node has not
// yet made durable itself.
//
// A drain can be due and find nothing to write, when the linger timer runs out on records that are still held. The rest happens all
// the same.
func (m *QuorumStateMachine) appendDueBatches() {
	acc := &m.leader.Accumulator
	if acc.hasDrainable() || acc.Lingering && m.dueKind(LingerTimer) {
		if !acc.ForcedDone {
			acc.complete()
			m.stopLinger()
		}
		acc.ForcedDone = false
		m.appendDrained()
		if m.noteLocalEnd() {
			m.publishHighWatermark()
		}
		m.completeParked(m.turn.log.End)
		slot(m, &m.turn.out.flushLog)
	}
	switch {
	case acc.hasDrainable():
		m.waitAtMost(0)
	case acc.Lingering:
		m.waitForKind(LingerTimer)
	}
}

func (m *QuorumStateMachine) appendDrained() {
	acc := &m.leader.Accumulator
	written := 0
	for i := range acc.Completed {
		b := &acc.Completed[i]
		if b.Last() >= acc.HoldFrom {
			break
		}
		m.appendBatch(b)
		written++
	}
	acc.Completed = append(acc.Completed[:0], acc.Completed[written:]...)
}

// appendBatch writes one batch and reads it back for its control records: a new voter set is in force at once.
func (m *QuorumStateMachine) appendBatch(b *PreparedBatch) {
	log := &m.turn.log
	if b.Base < log.End {
		m.fatal(FatalUnexpectedOffset)
		return
	}
	batch := Batch{Base: b.Base, Last: b.Last(), Epoch: m.epoch, Size: b.Size, Control: b.Control}
	switch {
	case b.Start:
		slot(m, &m.turn.out.appendLeaderChange).Batch = batch
	case b.Control != nil:
		slot(m, &m.turn.out.appendControl).Batch = batch
	default:
		slot(m, &m.turn.out.appendRecords).Batch = batch
	}
	log.Append(batch.Base, batch.Last, batch.Epoch)
	log.appended = append(log.appended, batch.Base)
	if !m.history.read(batch.Base, batch.Last, batch.Control) {
		m.fatal(FatalControlRecord)
	}
}

package kraft

import "slices"

// onFetchResponse takes what a leader has sent (KIP-595; Kafka: handleFetchResponse): truncate where the logs differ, begin to fetch
// a snapshot, or append and take over the high watermark. An empty answer, or one whose records had to be dropped, counts as well:
// the leader is alive.
func (m *QuorumStateMachine) onFetchResponse(e *ReceiveFetchResponse) bool {
	if e.Response.Error != None {
		return m.onTopLevelError(e.Response.Error)
	}
	if e.WrongPartition {
		return false
	}
	if handled, success := m.common(&e.PartitionAnswer); handled {
		return success
	}
	if m.kind != FollowerRole {
		m.fatal(FatalUnexpectedRole)
		return false
	}
	if e.PartitionAnswer.Error != None {
		return false
	}
	switch {
	case e.Diverging.Epoch >= 0:
		m.truncate(e.Diverging)
	case e.Snapshot.Epoch >= 0 || e.Snapshot.Offset >= 0:
		if e.Snapshot.Epoch < 0 || e.Snapshot.Offset < 0 {
			return false
		}
		m.beginSnapshotFetch(e.Snapshot)
	default:
		m.appendFetched(e)
		m.followHighWatermark(e.HighWatermark)
	}
	m.noteAnswerFromLeader()
	return true
}

// noteAnswerFromLeader: the leader is there and follows the log. From now on no PreVote is granted (KIP-996; Kafka:
// resetFetchTimeoutForSuccessfulFetch).
func (m *QuorumStateMachine) noteAnswerFromLeader() {
	m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
	m.follower.FetchedFromLeader = true
}

// truncate cuts the log where it differs from the leader's. What is committed is never cut.
func (m *QuorumStateMachine) truncate(diverging OffsetAndEpoch) {
	log := &m.turn.log
	if hw := m.follower.HighWatermark; hw >= 0 && diverging.Offset < hw {
		m.fatal(FatalTruncationBelowHW)
		return
	}
	if diverging.Epoch != 0 && len(log.Epochs) == 0 {
		m.lastEpoch() // where Kafka asks for it, it may fail
	}
	target := log.TruncationPoint(diverging)
	if target < log.HighWatermark {
		m.fatal(FatalTruncationBelowHW)
		return
	}
	slot(m, &m.turn.out.truncateTo).Offset = target
	log.TruncateTo(target)
	m.history.truncateNew(target)
}

// appendFetched writes the batches of an answer (Kafka: appendAsFollower). Since KAFKA-18723 it stops before the first batch of an
// epoch above the own one: the sender may have lost its leadership while it answered. Corrupt records are dropped as a whole, and
// the log is flushed all the same. A node that can never be a voter does not flush.
func (m *QuorumStateMachine) appendFetched(e *ReceiveFetchResponse) {
	if e.RecordsSize == 0 {
		return
	}
	take, fine := m.acceptedBatches(e)
	if m.stopped {
		return
	}
	if fine {
		m.writeFetched(e.Batches[:take])
	} else if !m.cfg.Rules.DropNewerEpochBatches {
		m.fatal(FatalCorruptRecords)
		return
	}
	if m.isVoter() || m.cfg.CanBecomeVoter {
		slot(m, &m.turn.out.flushLog)
	}
	if fine {
		m.readFetched(e.Batches[:take])
	}
}

// acceptedBatches is the number of batches to append; not fine: the records are dropped.
func (m *QuorumStateMachine) acceptedBatches(e *ReceiveFetchResponse) (take int, fine bool) {
	stopped := false
	for last := Offset(-1); take < len(e.Batches); take++ {
		b := &e.Batches[take]
		if m.cfg.Rules.DropNewerEpochBatches && b.Epoch > m.epoch {
			stopped = true
			break
		}
		if b.Last <= last {
			m.fatal(FatalOffsetsNotIncreasing)
			return 0, false
		}
		last = b.Last
	}
	if e.Fault == BatchCorrupt && m.cfg.Rules.DropNewerEpochBatches && e.FaultEpoch > m.epoch {
		stopped = true // Kafka leaves such a batch out before it looks at the checksum
	}
	switch {
	case take == 0, !stopped && e.Fault == BatchCorrupt, e.Fault == RecordsCorrupt:
		return 0, false
	case e.Batches[0].Base < m.turn.log.End:
		m.fatal(FatalUnexpectedOffset)
	case slices.ContainsFunc(e.Batches[:take], func(b Batch) bool { return b.Epoch < 0 || b.Base < 0 }):
		m.fatal(FatalEpochRefused)
	}
	return take, true
}

func (m *QuorumStateMachine) writeFetched(batches []Batch) {
	a := slot(m, &m.turn.out.appendFetched)
	a.Take, a.Base, a.Last = int32(len(batches)), batches[0].Base, batches[len(batches)-1].Last
	for i := range batches {
		m.turn.log.Append(batches[i].Base, batches[i].Last, batches[i].Epoch)
	}
}

func (m *QuorumStateMachine) readFetched(batches []Batch) {
	for i := range batches {
		if !m.history.read(batches[i].Base, batches[i].Last, batches[i].Control) {
			m.fatal(FatalControlRecord)
			return
		}
	}
}

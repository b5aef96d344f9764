package kraft

import "math"

const (
	maxBatchBytes = 8 << 20 // Kafka: MAX_BATCH_SIZE_BYTES; also the size of all fetches before KIP-1219
	noOffset      = Offset(math.MaxInt64)
)

// sendFetch asks for what follows the own log end.
func (m *QuorumStateMachine) sendFetch(to Destination) {
	lastEpoch := m.lastEpoch()
	a := slot(m, &m.turn.out.sendFetch)
	a.Destination, a.Replica, a.Epoch = to, m.selfKey(), m.epoch
	a.FetchOffset, a.LastFetchedEpoch = m.turn.log.End, lastEpoch
	a.MaxWaitMs, a.MaxBytes = m.cfg.FetchMaxWaitMs, maxBatchBytes
	a.HighWatermark = noOffset
	if m.cfg.Rules.FetchHighWatermark {
		a.HighWatermark = m.highWatermark()
	}
	if m.cfg.Rules.ConfiguredFetchBytes {
		a.MaxBytes = m.cfg.FetchMaxBytes
	}
}

// sendFetchSnapshot asks for the next piece of the snapshot in progress (KIP-630).
func (m *QuorumStateMachine) sendFetchSnapshot(to Destination) {
	a := slot(m, &m.turn.out.sendFetchSnapshot)
	a.Destination, a.Replica, a.Epoch = to, m.selfKey(), m.epoch
	a.ID, a.Position, a.MaxBytes = m.follower.FetchingSnapshot, m.follower.FetchedBytes, maxBatchBytes
	if m.cfg.Rules.ConfiguredFetchBytes {
		a.MaxBytes = m.cfg.FetchSnapshotMaxBytes
	}
}

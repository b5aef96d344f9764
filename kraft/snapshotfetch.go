package kraft

// Snapshots reach a follower in pieces (KIP-630). The leader names one in a Fetch answer; the follower then asks for its bytes where
// it would otherwise ask for records, until it holds them all and begins its log anew at the snapshot's end.

// beginSnapshotFetch starts to fetch a snapshot, or gives up on the one in progress if it holds the named one already.
func (m *QuorumStateMachine) beginSnapshotFetch(id SnapshotID) {
	f := &m.follower
	if _, held := m.turn.log.FindSnapshot(id); held {
		m.dropSnapshotFetch()
		return
	}
	slot(m, &m.turn.out.beginSnapshot).ID = id
	f.Fetching, f.FetchingSnapshot, f.FetchedBytes = true, id, 0
}

func (m *QuorumStateMachine) dropSnapshotFetch() {
	f := &m.follower
	if f.Fetching {
		slot(m, &m.turn.out.abandonSnapshot).ID = f.FetchingSnapshot
	}
	m.forgetSnapshotFetch()
}

func (m *QuorumStateMachine) forgetSnapshotFetch() {
	m.follower.Fetching, m.follower.FetchingSnapshot, m.follower.FetchedBytes = false, SnapshotID{}, 0
}

// onFetchSnapshotResponse takes one piece (Kafka: handleFetchSnapshotResponse). It must continue exactly what is held.
func (m *QuorumStateMachine) onFetchSnapshotResponse(e *ReceiveFetchSnapshotResponse) bool {
	if e.Response.Error != None {
		return m.onTopLevelError(e.Response.Error)
	}
	if !m.acceptShape(e.Shape) || e.WrongPartition {
		return false
	}
	if handled, success := m.common(&e.PartitionAnswer); handled {
		return success
	}
	err := e.PartitionAnswer.Error
	switch {
	case m.kind != FollowerRole:
		m.fatal(FatalUnexpectedRole)
		return false
	case err == SnapshotNotFound || e.SnapshotID.Offset < 0 || e.SnapshotID.Epoch < 0:
		m.dropSnapshotFetch()
		m.noteAnswerFromLeader()
		return true
	case err != None && m.cfg.Rules.FetchSnapshotErrors:
		return false
	}
	f := &m.follower
	if !f.Fetching || f.FetchingSnapshot != e.SnapshotID || f.FetchedBytes != e.Position {
		m.fatal(FatalUnexpectedSnapshot)
		return false
	}
	a := slot(m, &m.turn.out.appendSnapshot)
	a.ID, a.Position, a.Bytes = e.SnapshotID, e.Position, e.Bytes
	f.FetchedBytes += int64(e.Bytes)
	if f.FetchedBytes == e.Size {
		m.installSnapshot(e)
	}
	m.noteAnswerFromLeader()
	return true
}

// installSnapshot: the snapshot is whole. It replaces the log, which must end before it, and its control records replace the history.
func (m *QuorumStateMachine) installSnapshot(e *ReceiveFetchSnapshotResponse) {
	log := &m.turn.log
	m.forgetSnapshotFetch()
	a := slot(m, &m.turn.out.installSnapshot)
	a.ID, a.Size = e.SnapshotID, e.Size
	log.AddSnapshot(Snapshot{ID: e.SnapshotID, Size: e.Size})
	if !log.TruncateToLatestSnapshot() {
		m.fatal(FatalSnapshotNotNewer)
		return
	}
	if !m.history.load(e.SnapshotID, log.Start, &e.Contents) {
		m.fatal(FatalControlRecord)
		return
	}
	m.followHighWatermark(log.HighWatermark)
}

// acceptShape judges how many topics and partitions a FetchSnapshot message names. Before the check was corrected both counts had to
// be wrong for it to fail, and the second count was taken of a topic that need not exist.
func (m *QuorumStateMachine) acceptShape(shape SnapshotShape) bool {
	if m.cfg.Rules.FetchSnapshotStrictShape {
		return shape == ShapeFine
	}
	if shape == ShapeNoTopic {
		m.fatal(FatalSnapshotRequest)
	}
	return shape != ShapeWrong
}

// onFetchSnapshot answers with a piece of a snapshot (Kafka: handleFetchSnapshotRequest). It is a sign of life of the replica, but no
// Fetch: its progress stays as it was. It is never parked.
func (m *QuorumStateMachine) onFetchSnapshot(e *ReceiveFetchSnapshot) {
	switch {
	case !m.clusterIDMatches(e.ClusterID):
		m.refuseFetchSnapshot(e, InconsistentClusterID)
		return
	case !m.acceptShape(e.Shape):
		m.refuseFetchSnapshot(e, InvalidRequest)
		return
	case e.WrongPartition:
		if e.Shape == ShapeNoPartition {
			m.fatal(FatalSnapshotRequest)
		}
		m.replyFetchSnapshot(e, UnknownTopicOrPartition).HasLeader = false
		return
	}
	if err := m.checkLeaderOnly(e.FetchEpoch); err != None {
		m.replyFetchSnapshot(e, err)
		return
	}
	snapshot, ok := m.turn.log.FindSnapshot(e.SnapshotID)
	switch {
	case !ok || e.SnapshotID == BootstrapSnapshot:
		m.replyFetchSnapshot(e, SnapshotNotFound)
		return
	case e.Position < 0 || e.Position >= snapshot.Size:
		m.replyFetchSnapshot(e, PositionOutOfRange)
		return
	case e.Position > maxPosition || e.MaxBytes < 0:
		m.fatal(FatalSnapshotRequest)
		return
	}
	m.accountForCheckQuorum(e.Replica)
	a := m.replyFetchSnapshot(e, None)
	a.ID, a.Size, a.Position, a.MaxBytes = e.SnapshotID, snapshot.Size, e.Position, e.MaxBytes
}

const maxPosition = 1<<31 - 1 // Kafka reads a snapshot at an int

func (m *QuorumStateMachine) refuseFetchSnapshot(e *ReceiveFetchSnapshot, err ErrorCode) {
	a := slot(m, &m.turn.out.replyFetchSnapshot)
	a.Request, a.Error = e.ID, err
}

func (m *QuorumStateMachine) replyFetchSnapshot(e *ReceiveFetchSnapshot, err ErrorCode) *ReplyFetchSnapshot {
	a := slot(m, &m.turn.out.replyFetchSnapshot)
	a.Request, a.HasLeader = e.ID, true
	m.describe(&a.PartitionReply, e.Version, 1, e.Listener, err)
	return a
}

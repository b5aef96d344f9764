package kraft

import (
	"fmt"
	"slices"
)

// LogView is what the machine knows of the log: its bounds, its epochs and its snapshots, without records. The same value and
// the same methods serve the machine, which works on a copy while it handles an event, and the logs, which embed it. So the
// rules exist once.
type LogView struct {
	Start         Offset // first retained offset
	End           Offset // offset of the next record
	HighWatermark Offset // as the log has it: the log start after a restart
	Epochs        EpochCache
	Snapshots     []Snapshot // in ascending order of their ids; immutable

	// BatchBase is the base offset of the first batch that ends at or behind the offset, which lies below End. Nil stands
	// for batches of one record.
	BatchBase func(Offset) Offset

	appended []Offset // bases of the batches that the machine appended to its copy: BatchBase does not know them yet
}

// Snapshot is a frozen snapshot of the log.
type Snapshot struct {
	ID   SnapshotID
	Size int64
}

// EndOffset is the log end with the last epoch, the position that votes are compared by.
func (l *LogView) EndOffset() LogEnd {
	epoch, _ := l.LastEpoch()
	return LogEnd{LastEpoch: epoch, LastOffset: l.End}
}

// LastEpoch is the last fetched epoch: the newest one of the cache, else that of the snapshot the log begins and ends at, else
// 0. Not ok: there is a snapshot that does not match; Kafka fails on it (RaftLog.lastFetchedEpoch).
func (l *LogView) LastEpoch() (Epoch, bool) {
	if epoch, ok := l.Epochs.Last(); ok {
		return epoch, true
	}
	latest, ok := l.LatestSnapshot()
	if !ok {
		return 0, true
	}
	empty := l.Start == l.End
	return latest.Epoch, empty && latest.Offset == l.End
}

// LatestSnapshot is the newest snapshot.
func (l *LogView) LatestSnapshot() (SnapshotID, bool) {
	if len(l.Snapshots) == 0 {
		return SnapshotID{}, false
	}
	return l.Snapshots[len(l.Snapshots)-1].ID, true
}

// EarliestSnapshot is the oldest snapshot.
func (l *LogView) EarliestSnapshot() (SnapshotID, bool) {
	if len(l.Snapshots) == 0 {
		return SnapshotID{}, false
	}
	return l.Snapshots[0].ID, true
}

// FindSnapshot looks for a snapshot.
func (l *LogView) FindSnapshot(id SnapshotID) (Snapshot, bool) {
	for _, s := range l.Snapshots {
		if s.ID == id {
			return s, true
		}
	}
	return Snapshot{}, false
}

// EndOffsetForEpoch answers where an epoch ends (Kafka: KafkaRaftLog.endOffsetForEpoch). An epoch newer than all gives the log
// end and the last epoch. The end of the oldest snapshot stands for the epoch that was asked for.
func (l *LogView) EndOffsetForEpoch(epoch Epoch) OffsetAndEpoch {
	end, ok := l.Epochs.endOffsetFor(epoch, l.End)
	if !ok {
		last, _ := l.LastEpoch()
		return OffsetAndEpoch{Offset: l.End, Epoch: last}
	}
	if earliest, ok := l.EarliestSnapshot(); ok && end.Offset == earliest.Offset && end.Epoch == epoch {
		return earliest
	}
	return end
}

// Position is how a fetch position relates to the log.
type Position uint8

// The kinds of fetch positions.
const (
	ValidPosition     Position = iota
	DivergingPosition          // the logs differ: truncate to the given epoch's end
	SnapshotPosition           // before the log: the given snapshot is needed
)

// Validate compares a fetch position with the log (Kafka: RaftLog.validateOffsetAndEpoch). First match: the very beginning is
// valid; a position that the oldest snapshot covers needs the latest snapshot; an epoch that ends elsewhere or earlier
// diverges.
func (l *LogView) Validate(offset Offset, epoch Epoch) (Position, OffsetAndEpoch) {
	if l.Start == 0 && offset == 0 {
		return ValidPosition, OffsetAndEpoch{}
	}
	if earliest, ok := l.EarliestSnapshot(); ok &&
		(offset < l.Start || offset == l.Start && epoch != earliest.Epoch || epoch < earliest.Epoch) {
		latest, _ := l.LatestSnapshot()
		return SnapshotPosition, latest
	}
	if end := l.EndOffsetForEpoch(epoch); end.Epoch != epoch || end.Offset < offset {
		return DivergingPosition, end
	}
	return ValidPosition, OffsetAndEpoch{Offset: offset, Epoch: epoch}
}

// Base is the base offset of the batch that holds the offset, or the offset itself at the log end. It is the progress that
// a leader notes for a Fetch from there.
func (l *LogView) Base(offset Offset) Offset {
	if offset >= l.End {
		return offset
	}
	for i := len(l.appended) - 1; i >= 0; i-- {
		if l.appended[i] <= offset {
			return l.appended[i]
		}
	}
	if l.BatchBase == nil {
		return offset
	}
	return l.BatchBase(offset)
}

// Append adds a batch at the end.
func (l *LogView) Append(base, last Offset, epoch Epoch) {
	l.End = last + 1
	l.Epochs = l.Epochs.Assign(epoch, base)
}

// AssignEpoch notes that an epoch starts at the log end (Kafka: RaftLog.initializeLeaderEpoch).
func (l *LogView) AssignEpoch(epoch Epoch) { l.Epochs = l.Epochs.Assign(epoch, l.End) }

// TruncationPoint is where a follower's log must end after a diverging epoch (Kafka: RaftLog.truncateToEndOffset).
func (l *LogView) TruncationPoint(diverging OffsetAndEpoch) Offset {
	if diverging.Epoch == 0 {
		return min(diverging.Offset, l.End)
	}
	local := l.EndOffsetForEpoch(diverging.Epoch)
	if local.Epoch == diverging.Epoch {
		return min(local.Offset, diverging.Offset)
	}
	return local.Offset
}

// TruncateTo makes the log end at the offset, also inside a batch. At or behind the end no record goes, but the epoch cache is
// trimmed all the same.
func (l *LogView) TruncateTo(offset Offset) {
	if offset < l.End {
		l.End = offset
		l.HighWatermark = min(l.HighWatermark, offset)
	}
	l.Epochs = l.Epochs.TruncateFromEnd(offset)
}

// AdvanceHighWatermark moves the log's high watermark, clamped to what the log holds.
func (l *LogView) AdvanceHighWatermark(offset Offset) {
	l.HighWatermark = max(l.Start, min(offset, l.End))
}

// MoveStart drops what lies before the snapshot, and older snapshots. It reports whether it did: the snapshot must exist,
// lie behind the log start and not behind the high watermark (Kafka: KafkaRaftLog.deleteBeforeSnapshot).
func (l *LogView) MoveStart(id SnapshotID) bool {
	if _, ok := l.FindSnapshot(id); !ok || id.Offset <= l.Start || id.Offset > l.HighWatermark {
		return false
	}
	l.Start = id.Offset
	l.End = max(l.End, l.Start)
	l.Epochs = l.Epochs.TruncateFromStart(id.Offset)
	l.dropSnapshotsBefore(id)
	return true
}

// AddSnapshot lists a frozen snapshot.
func (l *LogView) AddSnapshot(s Snapshot) {
	at, found := slices.BinarySearchFunc(l.Snapshots, s, func(a, b Snapshot) int { return a.ID.Compare(b.ID) })
	if found {
		return
	}
	l.Snapshots = slices.Insert(slices.Clone(l.Snapshots), at, s)
}

// TruncateToLatestSnapshot begins the log anew at the end of the latest snapshot, if that lies beyond the log. It reports
// whether it did (Kafka: KafkaRaftLog.truncateToLatestSnapshot).
func (l *LogView) TruncateToLatestSnapshot() bool {
	latest, ok := l.LatestSnapshot()
	if !ok {
		return false
	}
	last, _ := l.Epochs.Last()
	if latest.Epoch < last || latest.Epoch == last && latest.Offset <= l.End {
		return false
	}
	l.Start, l.End, l.HighWatermark = latest.Offset, latest.Offset, latest.Offset
	l.Epochs, l.appended = nil, l.appended[:0]
	l.dropSnapshotsBefore(latest)
	return true
}

func (l *LogView) dropSnapshotsBefore(id SnapshotID) {
	keep := slices.IndexFunc(l.Snapshots, func(s Snapshot) bool { return s.ID.Compare(id) >= 0 })
	l.Snapshots = l.Snapshots[keep:]
}

// Equal compares all that decides, which is all but BatchBase.
func (l *LogView) Equal(o *LogView) bool {
	return l.Start == o.Start && l.End == o.End && l.HighWatermark == o.HighWatermark &&
		slices.Equal(l.Epochs, o.Epochs) && slices.Equal(l.Snapshots, o.Snapshots)
}

func (l *LogView) String() string {
	return fmt.Sprintf("log[%d..%d) hw=%d epochs=%v snapshots=%v", l.Start, l.End, l.HighWatermark, l.Epochs, l.Snapshots)
}

package twin

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// nodeLog is the log of one of our nodes, with the rules of the engine's LogView. What cannot be done ends in a panic, which the twin
// reports as a difference.
type nodeLog interface {
	View() *kraft.LogView
	Flushed() kraft.Offset
	append(b kraft.Batch, raw []byte)
	flush()
	truncate(offset kraft.Offset)
	assignEpoch(epoch kraft.Epoch)
	persist(a *kraft.PersistQuorumState)
	read(from, upTo kraft.Offset, maxBytes int32) []byte
	addSnapshot(id kraft.SnapshotID, bytes []byte)
	snapshot(id kraft.SnapshotID) []byte
	// install begins the log anew at a snapshot that was fetched, and reports whether it did.
	install(id kraft.SnapshotID, bytes []byte) bool
	moveStart(id kraft.SnapshotID) bool
	// reopen is what a restart finds: all, or what was flushed. It reports whether the log had to begin anew at its latest snapshot.
	reopen(loseUnflushed bool) bool
	history() ([]kraft.HistoryEntry, error)
	// close ends it.
	close()
}

// hostLog keeps whole batches as bytes, in memory.
type hostLog struct {
	view      kraft.LogView
	entries   []entry
	flushed   kraft.Offset
	snapshots map[kraft.SnapshotID][]byte
}

type entry struct {
	kraft.Batch
	bytes []byte
}

func newHostLog() *hostLog {
	l := &hostLog{snapshots: map[kraft.SnapshotID][]byte{}}
	l.view.BatchBase = l.base
	return l
}

// View is part of nodeLog.
func (l *hostLog) View() *kraft.LogView { return &l.view }

// Flushed is part of nodeLog.
func (l *hostLog) Flushed() kraft.Offset { return l.flushed }

func (l *hostLog) assignEpoch(epoch kraft.Epoch)       { l.view.AssignEpoch(epoch) }
func (l *hostLog) persist(*kraft.PersistQuorumState)   {}
func (l *hostLog) snapshot(id kraft.SnapshotID) []byte { return l.snapshots[id] }
func (l *hostLog) close()                              {}

func (l *hostLog) install(id kraft.SnapshotID, bytes []byte) bool {
	l.addSnapshot(id, bytes)
	return l.truncateToLatestSnapshot()
}

// base is the base offset of the first batch that ends at or behind the offset.
func (l *hostLog) base(offset kraft.Offset) kraft.Offset {
	if i := l.find(offset); i < len(l.entries) {
		return l.entries[i].Base
	}
	return offset
}

// find is the index of the first batch that ends at or behind the offset.
func (l *hostLog) find(offset kraft.Offset) int {
	lo, hi := 0, len(l.entries)
	for lo < hi {
		if mid := (lo + hi) / 2; l.entries[mid].Last < offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (l *hostLog) append(b kraft.Batch, raw []byte) {
	l.entries = append(l.entries, entry{b, append([]byte{}, raw...)})
	l.view.Append(b.Base, b.Last, b.Epoch)
}

// appendAll appends the first take batches of the records, all of them if take is negative.
func appendAll(l nodeLog, records []byte, take int32) ([]kraft.Batch, error) {
	batches, fault, _ := wire.KRaftBatches(nil, records)
	if take < 0 {
		if fault != kraft.RecordsFine {
			return nil, fmt.Errorf("batch %d is corrupt", len(batches))
		}
		take = int32(len(batches))
	}
	if int(take) > len(batches) {
		return nil, fmt.Errorf("%d batches to append of %d", take, len(batches))
	}
	for _, b := range batches[:take] {
		l.append(b, records[:b.Size])
		records = records[b.Size:]
	}
	return batches[:take], nil
}

func (l *hostLog) truncate(offset kraft.Offset) {
	n := len(l.entries)
	for n > 0 && l.entries[n-1].Last >= offset {
		n--
	}
	l.entries = l.entries[:n]
	l.view.TruncateTo(offset)
	l.flushed = min(l.flushed, l.view.End)
}

func (l *hostLog) flush() { l.flushed = l.view.End }

// read returns the batches from the one that holds the offset: at least one as a whole, the last one perhaps cut.
func (l *hostLog) read(from, upTo kraft.Offset, maxBytes int32) []byte {
	var out []byte
	if from >= upTo {
		return out
	}
	for i := l.find(from); i < len(l.entries) && l.entries[i].Base < upTo; i++ {
		b := l.entries[i].bytes
		switch {
		case len(out) == 0:
			out = append(out, b...)
		case len(out) >= int(maxBytes):
			return out
		default:
			out = append(out, b[:min(len(b), int(maxBytes)-len(out))]...)
		}
	}
	return out
}

func (l *hostLog) addSnapshot(id kraft.SnapshotID, bytes []byte) {
	if _, ok := l.snapshots[id]; ok {
		return
	}
	l.snapshots[id] = bytes
	l.view.AddSnapshot(kraft.Snapshot{ID: id, Size: int64(len(bytes))})
}

// truncateToLatestSnapshot begins the log anew where the latest snapshot lies beyond it.
func (l *hostLog) truncateToLatestSnapshot() bool {
	if !l.view.TruncateToLatestSnapshot() {
		return false
	}
	l.entries, l.flushed = nil, l.view.End
	l.dropSnapshots()
	return true
}

func (l *hostLog) moveStart(id kraft.SnapshotID) bool {
	if !l.view.MoveStart(id) {
		return false
	}
	l.entries = l.entries[l.find(l.view.Start):]
	l.dropSnapshots()
	return true
}

func (l *hostLog) dropSnapshots() {
	for id := range l.snapshots {
		if _, ok := l.view.FindSnapshot(id); !ok {
			delete(l.snapshots, id)
		}
	}
}

// reopen is part of nodeLog. An epoch that starts at the end is forgotten.
func (l *hostLog) reopen(loseUnflushed bool) bool {
	l.view.HighWatermark = l.view.Start
	if loseUnflushed {
		l.truncate(max(l.flushed, l.view.Start))
	}
	// A truncation inside a batch left a gap before the end. On disk there are only batches.
	end := l.view.Start
	if n := len(l.entries); n > 0 {
		end = l.entries[n-1].Last + 1
	}
	l.truncate(end)
	for _, e := range l.entries { // recovery reads them over the epochs as they were (Kafka: LogSegment.recover)
		l.view.Epochs = l.view.Epochs.Recover(e.Epoch, e.Base)
	}
	l.flush()
	l.view.HighWatermark = l.view.Start
	l.view.Snapshots = slices.DeleteFunc(slices.Clone(l.view.Snapshots), func(s kraft.Snapshot) bool { return s.ID.Offset < l.view.Start })
	l.dropSnapshots()
	return l.truncateToLatestSnapshot()
}

// history lists the control records of the latest snapshot and of the log behind it.
func (l *hostLog) history() ([]kraft.HistoryEntry, error) {
	var list []kraft.HistoryEntry
	next := kraft.Offset(0)
	if id, ok := l.view.LatestSnapshot(); ok {
		contents, err := wire.SnapshotContents(l.snapshots[id])
		if err != nil {
			return nil, err
		}
		if contents.HasKRaftVersion {
			list = append(list, kraft.HistoryEntry{Offset: id.Offset - 1, Record: kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: contents.KRaftVersion}})
		}
		if contents.HasVoters {
			list = append(list, kraft.HistoryEntry{Offset: id.Offset - 1, Record: kraft.ControlRecord{Type: kraft.VotersRecord, Voters: contents.Voters}})
		}
		next = id.Offset
	}
	for _, e := range l.entries {
		if e.Last < next {
			continue
		}
		for i, c := range e.Control {
			list = append(list, kraft.HistoryEntry{Offset: e.Base + kraft.Offset(i), Record: c})
		}
	}
	return list, nil
}

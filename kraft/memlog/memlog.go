// Package memlog is a metadata log in memory, for simulators, explorers and tests. It keeps what decides (bounds, epochs,
// control records, snapshots) and a value per batch, and knows what a crash leaves: all that was flushed.
package memlog

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Log is a metadata log. The embedded view has the rules; Log adds the batches and their durability.
type Log struct {
	kraft.LogView

	batches  []kraft.Batch
	contents []contents // of the snapshots in LogView.Snapshots
	flushed  kraft.Offset
	partial  partial
}

type contents struct {
	id kraft.SnapshotID
	kraft.SnapshotContents
}

// partial is a snapshot that is being fetched; a crash loses it.
type partial struct {
	active bool
	id     kraft.SnapshotID
	size   int64
}

// New is an empty log.
func New() *Log {
	l := &Log{}
	l.BatchBase = l.base
	return l
}

// Clone is an independent copy.
func (l *Log) Clone() *Log {
	c := *l
	c.batches = slices.Clone(l.batches)
	c.contents = slices.Clip(l.contents)
	c.BatchBase = c.base
	return &c
}

// View is the log as the machine sees it.
func (l *Log) View() *kraft.LogView { return &l.LogView }

// base is the base offset of the first batch that ends at or behind the offset.
func (l *Log) base(offset kraft.Offset) kraft.Offset {
	if i := l.find(offset); i < len(l.batches) {
		return l.batches[i].Base
	}
	return l.End
}

func (l *Log) find(offset kraft.Offset) int {
	i, _ := slices.BinarySearchFunc(l.batches, offset, func(b kraft.Batch, o kraft.Offset) int {
		if b.Last < o {
			return -1
		}
		return 1
	})
	return i
}

// Append adds batches at the end. They are not durable before Flush. As in Kafka, only the first of them must begin behind the end; the
// others must end behind it.
func (l *Log) Append(batches ...kraft.Batch) error {
	if len(batches) > 0 && batches[0].Base < l.End {
		return fmt.Errorf("append %v: the log ends at %d", &batches[0], l.End)
	}
	for i := range batches {
		b := &batches[i]
		if b.Last < b.Base || b.Last < l.End {
			return fmt.Errorf("append %v: the log ends at %d", b, l.End)
		}
		l.LogView.Append(b.Base, b.Last, b.Epoch)
		l.batches = append(l.batches, *b)
	}
	return nil
}

// Flush makes everything durable.
func (l *Log) Flush() { l.flushed = l.End }

// Flushed is the end of what a crash leaves.
func (l *Log) Flushed() kraft.Offset { return l.flushed }

// TruncateTo makes the log end at the offset. A batch that reaches beyond it goes as a whole.
func (l *Log) TruncateTo(offset kraft.Offset) {
	l.batches = l.batches[:l.find(offset)]
	l.LogView.TruncateTo(offset)
	l.flushed = min(l.flushed, l.End)
}

// Batches are those that hold offsets of [from, upTo), in order: as many as fit into maxBytes, but at least one. They must not be
// changed.
func (l *Log) Batches(from, upTo kraft.Offset, maxBytes int32) []kraft.Batch {
	if from >= upTo {
		return nil
	}
	first := l.find(from)
	bytes, end := int32(0), first
	for end < len(l.batches) && l.batches[end].Base < upTo {
		if bytes += l.batches[end].Size; end > first && bytes > maxBytes {
			break
		}
		end++
	}
	return l.batches[first:end:end]
}

// AddSnapshot lists a frozen, durable snapshot.
func (l *Log) AddSnapshot(id kraft.SnapshotID, size int64, c kraft.SnapshotContents) {
	l.LogView.AddSnapshot(kraft.Snapshot{ID: id, Size: size})
	l.contents = append(l.contents, contents{id, c})
}

// Contents are the control records of a snapshot.
func (l *Log) Contents(id kraft.SnapshotID) (kraft.SnapshotContents, bool) {
	for _, c := range l.contents {
		if c.id == id {
			return c.SnapshotContents, true
		}
	}
	return kraft.SnapshotContents{}, false
}

// MoveStart drops what lies before a snapshot.
func (l *Log) MoveStart(id kraft.SnapshotID) bool {
	if !l.LogView.MoveStart(id) {
		return false
	}
	l.batches = slices.Clone(l.batches[l.find(l.Start):])
	l.flushed = max(l.flushed, l.Start)
	return true
}

// Crash loses what was not flushed, unless keepUnflushed says that the disk had it, and opens the log anew: the high watermark is
// unknown, an epoch that was assigned at the log end is forgotten, a gap before the log end is gone, and a snapshot beyond the log
// replaces it.
func (l *Log) Crash(keepUnflushed bool) {
	l.partial = partial{}
	l.HighWatermark = l.Start
	end := l.flushed
	if keepUnflushed {
		end = l.End
	}
	l.TruncateTo(end)
	l.TruncateTo(l.lastEnd())
	for i := range l.batches { // read over the epochs as they were (Kafka: LogSegment.recover)
		l.Epochs = l.Epochs.Recover(l.batches[i].Epoch, l.batches[i].Base)
	}
	l.Snapshots = slices.DeleteFunc(slices.Clone(l.Snapshots), func(s kraft.Snapshot) bool { return s.ID.Offset < l.Start })
	l.Flush()
	l.truncateToLatestSnapshot()
}

// lastEnd is the end of the last batch. A gap that a truncation inside a batch has left before the log end is not on disk.
func (l *Log) lastEnd() kraft.Offset {
	if n := len(l.batches); n > 0 {
		return l.batches[n-1].Last + 1
	}
	return l.Start
}

func (l *Log) truncateToLatestSnapshot() bool {
	if !l.TruncateToLatestSnapshot() {
		return false
	}
	l.batches, l.flushed = nil, l.End
	return true
}

// ContentsAt is what a snapshot that ends at the offset says of kraft.version and the voters.
func (l *Log) ContentsAt(end kraft.Offset) (c kraft.SnapshotContents) {
	for _, h := range l.History() {
		if h.Offset >= end {
			break
		}
		switch h.Record.Type {
		case kraft.VotersRecord:
			c.HasVoters, c.Voters = true, h.Record.Voters
		case kraft.KRaftVersionRecord:
			c.HasKRaftVersion, c.KRaftVersion = true, h.Record.KRaftVersion
		case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
		}
	}
	return c
}

// History are the control records of the latest snapshot and of the log, as kraft.Config wants them.
func (l *Log) History() []kraft.HistoryEntry {
	var history []kraft.HistoryEntry
	read := kraft.Offset(0)
	if id, ok := l.LatestSnapshot(); ok {
		c, _ := l.Contents(id)
		at := id.Offset - 1
		if c.HasKRaftVersion {
			history = append(history, kraft.HistoryEntry{Offset: at, Record: kraft.ControlRecord{
				Type: kraft.KRaftVersionRecord, KRaftVersion: c.KRaftVersion,
			}})
		}
		if c.HasVoters {
			history = append(history, kraft.HistoryEntry{Offset: at, Record: kraft.ControlRecord{
				Type: kraft.VotersRecord, Voters: c.Voters,
			}})
		}
		read = id.Offset
	}
	for _, b := range l.batches {
		for i, record := range b.Control {
			if at := b.Base + kraft.Offset(i); at >= read {
				history = append(history, kraft.HistoryEntry{Offset: at, Record: record})
			}
		}
	}
	return history
}

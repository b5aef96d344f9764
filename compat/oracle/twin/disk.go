package twin

import (
	"errors"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// Disk is where a node of ours keeps Kafka's files.
type Disk struct {
	FS  storage.FS
	Dir string // of the partition
	// Crash returns the file system as a crash of the machine leaves it; nil: nothing is lost.
	Crash func(storage.FS) storage.FS
}

// diskLog is kraft/storage as a nodeLog. Each batch gets a segment of its own, so that the log start survives a restart exactly, as it
// does in memory; otherwise a log comes back with the begin of its first segment, in Kafka too.
type diskLog struct {
	*storage.Log
	disk    *Disk
	flushed kraft.Offset // as the log in memory counts: of what nobody asked to flush nothing is promised
}

func newDiskLog(disk *Disk) *diskLog {
	l := &diskLog{disk: disk}
	l.open()
	return l
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (l *diskLog) open() {
	var err error
	l.Log, err = storage.Open(l.disk.FS, l.disk.Dir, storage.Options{SegmentBytes: 1})
	check(err)
	l.flushed = l.End
}

func (l *diskLog) append(_ kraft.Batch, raw []byte) { check(l.Append(raw)) }

// Flushed is part of nodeLog.
func (l *diskLog) Flushed() kraft.Offset { return l.flushed }

func (l *diskLog) flush() {
	check(l.Flush())
	l.flushed = l.End
}

func (l *diskLog) truncate(offset kraft.Offset) {
	check(l.TruncateTo(offset))
	l.flushed = min(l.flushed, l.End)
}

func (l *diskLog) assignEpoch(epoch kraft.Epoch)          { check(l.AssignEpoch(epoch)) }
func (l *diskLog) close()                                 { check(l.Close()) }
func (l *diskLog) history() ([]kraft.HistoryEntry, error) { return l.History() }

func (l *diskLog) persist(a *kraft.PersistQuorumState) {
	_, err := l.Execute(a, nil)
	check(err)
}

func (l *diskLog) read(from, upTo kraft.Offset, maxBytes int32) []byte {
	b, err := l.Read(nil, from, upTo, maxBytes)
	check(err)
	return b
}

func (l *diskLog) snapshot(id kraft.SnapshotID) []byte {
	s, ok := l.FindSnapshot(id)
	if !ok {
		return nil
	}
	b, err := l.ReadSnapshot(id, 0, int32(s.Size))
	check(err)
	return b
}

// addSnapshot freezes a snapshot that the state machine above made; the bootstrap checkpoint is there before the log.
func (l *diskLog) addSnapshot(id kraft.SnapshotID, bytes []byte) {
	if _, held := l.FindSnapshot(id); held {
		return
	}
	w, ok, err := l.CreateSnapshot(id)
	check(err)
	if !ok {
		panic(fmt.Sprintf("snapshot %v is refused by %v", id, l.View()))
	}
	check(w.Append(bytes))
	check(w.Freeze())
}

func (l *diskLog) install(id kraft.SnapshotID, bytes []byte) bool {
	for _, a := range []kraft.Action{
		&kraft.BeginSnapshotFetch{ID: id}, &kraft.AppendSnapshot{ID: id, Bytes: int32(len(bytes))}, &kraft.InstallSnapshot{ID: id, Size: int64(len(bytes))},
	} {
		_, err := l.Execute(a, &storage.Payload{Chunk: bytes})
		if errors.Is(err, storage.ErrLogAhead) {
			return false
		}
		check(err)
	}
	l.flushed = l.End
	return true
}

func (l *diskLog) moveStart(id kraft.SnapshotID) bool {
	moved, err := l.MoveStart(id)
	check(err)
	return moved
}

// reopen lets the machine crash, or the process end, and looks at what is left.
func (l *diskLog) reopen(loseUnflushed bool) bool {
	before := l.Start
	if loseUnflushed {
		l.truncate(max(l.flushed, l.Start)) // a roll may have made more durable than was promised
		if l.disk.Crash != nil {
			l.disk.FS = l.disk.Crash(l.disk.FS)
		}
	}
	if !loseUnflushed || l.disk.Crash == nil {
		l.close()
	}
	l.open()
	if l.Start < before { // the first segment begins with a gap: its name is older than the snapshot that the log begins at
		l.AdvanceHighWatermark(before)
		for _, s := range l.Snapshots {
			if s.ID.Offset == before {
				l.moveStart(s.ID)
			}
		}
		l.AdvanceHighWatermark(l.Start)
	}
	return l.BegunAnew
}

// bootstrapBytes is the 0-0 checkpoint of a voter set.
func bootstrapBytes(voters kraft.VoterSet) []byte {
	c, err := wire.ControlOf(kraft.ControlRecord{Type: kraft.VotersRecord, Voters: voters})
	check(err)
	head := wire.NewBatch(0, 0, 0)
	head.Attributes = wire.AttrControl
	b := wire.AppendBatch(nil, head, wire.NewControl(wire.SnapshotHeader{}), wire.NewControl(wire.KRaftVersion{Level: 1}), wire.NewControl(c))
	head.BaseOffset = 3
	return wire.AppendBatch(b, head, wire.NewControl(wire.SnapshotFooter{}))
}

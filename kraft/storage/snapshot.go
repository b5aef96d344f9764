package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// SnapshotName is the file name of a snapshot (Kafka: Snapshots.filenameFromSnapshotId).
func SnapshotName(id kraft.SnapshotID) string {
	return fmt.Sprintf("%020d-%010d.checkpoint", int64(id.Offset), int64(id.Epoch))
}

// ParseSnapshotName reads the name of a frozen snapshot.
func ParseSnapshotName(name string) (kraft.SnapshotID, bool) {
	stem, ok := strings.CutSuffix(name, ".checkpoint")
	if !ok || len(stem) != 31 || stem[20] != '-' {
		return kraft.SnapshotID{}, false
	}
	offset, err1 := strconv.ParseInt(stem[:20], 10, 64)
	epoch, err2 := strconv.ParseInt(stem[21:], 10, 32)
	if err1 != nil || err2 != nil || offset < 0 || epoch < 0 {
		return kraft.SnapshotID{}, false
	}
	return kraft.SnapshotID{Offset: kraft.Offset(offset), Epoch: kraft.Epoch(epoch)}, true
}

// SnapshotWriter writes a snapshot into a .part file, which gets its name once it is whole and durable.
type SnapshotWriter struct {
	log  *Log
	id   kraft.SnapshotID
	path string
	file File
	size int64
}

func (l *Log) newPart(id kraft.SnapshotID) (*SnapshotWriter, error) {
	l.parts++
	w := &SnapshotWriter{log: l, id: id}
	w.path = filepath.Join(l.dir, fmt.Sprintf("%s-%d.checkpoint.part", strings.TrimSuffix(SnapshotName(id), ".checkpoint"), l.parts))
	var err error
	w.file, err = l.fsys.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	return w, err
}

// CreateSnapshot begins a snapshot of the state at a position of the log, which must be committed, at a batch's begin, and not lie before the log
// start. Not ok: there is such a snapshot, or the log has passed it (Kafka: KafkaRaftLog.createNewSnapshot).
func (l *Log) CreateSnapshot(id kraft.SnapshotID) (w *SnapshotWriter, ok bool, err error) {
	if l.broken != nil {
		return nil, false, l.broken
	}
	if _, held := l.FindSnapshot(id); held || id.Offset < l.Start {
		return nil, false, nil
	}
	if id.Offset > l.HighWatermark {
		return nil, false, fmt.Errorf("create snapshot %v: the high watermark is %d", id, l.HighWatermark)
	}
	if position, end := l.Validate(id.Offset, id.Epoch); position != kraft.ValidPosition {
		return nil, false, fmt.Errorf("create snapshot %v: the log has %v there", id, end)
	}
	if base := l.Base(id.Offset); base != id.Offset {
		return nil, false, fmt.Errorf("create snapshot %v: within the batch that begins at %d", id, base)
	}
	w, err = l.newPart(id) // without a file there is no snapshot; the log is what it was
	return w, err == nil, err
}

// Append adds bytes of the snapshot.
func (w *SnapshotWriter) Append(b []byte) error {
	if w.log.broken != nil {
		return w.log.broken
	}
	if err := w.log.failed(writeAll(w.file, w.path, b, w.size)); err != nil {
		return err
	}
	w.size += int64(len(b))
	return nil
}

// Write is Append for another goroutine than the log's owner. That it fails concerns the snapshot alone.
func (w *SnapshotWriter) Write(b []byte) (int, error) {
	if err := writeAll(w.file, w.path, b, w.size); err != nil {
		return 0, err
	}
	w.size += int64(len(b))
	return len(b), nil
}

// Sync makes what has been written durable, on any goroutine, so that Freeze has little left to wait for.
func (w *SnapshotWriter) Sync() error { return w.file.Sync() }

// Leave closes the file where the log has ended already. The next Open removes it.
func (w *SnapshotWriter) Leave() error { return w.file.Close() }

// Size is the number of bytes so far.
func (w *SnapshotWriter) Size() int64 { return w.size }

// ErrSuperseded says that the log has passed a snapshot while it was written.
var ErrSuperseded = errors.New("the log has a later start, or the same snapshot, by now")

// Freeze makes the snapshot durable and lists it.
func (w *SnapshotWriter) Freeze() error {
	l := w.log
	if l.broken != nil {
		return l.broken
	}
	if _, held := l.FindSnapshot(w.id); held || w.id.Offset < l.Start {
		return errors.Join(ErrSuperseded, w.Abandon())
	}
	return w.freeze()
}

func (w *SnapshotWriter) freeze() error {
	if err := w.log.failed(w.publish()); err != nil {
		return err
	}
	w.log.AddSnapshot(kraft.Snapshot{ID: w.id, Size: w.size})
	return nil
}

func (w *SnapshotWriter) publish() error {
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", w.path, err)
	}
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", w.path, err)
	}
	if err := w.log.fsys.Rename(w.path, filepath.Join(w.log.dir, SnapshotName(w.id))); err != nil {
		return fmt.Errorf("rename %s: %w", w.path, err)
	}
	return syncDir(w.log.fsys, w.log.dir)
}

// Abandon removes what has been written.
func (w *SnapshotWriter) Abandon() error {
	err := w.log.failed(errors.Join(w.file.Close(), remove(w.log.fsys, w.path)))
	return err
}

// abandon is Abandon for a log that ends: a file that stays is removed by the next Open.
func (w *SnapshotWriter) abandon() { _ = errors.Join(w.file.Close(), remove(w.log.fsys, w.path)) }

// ErrLogAhead says that the log ends behind the snapshot that was fetched. Kafka's process ends on it (KafkaRaftClient: "Full log
// truncation expected but didn't happen").
var ErrLogAhead = errors.New("the log ends behind it")

// install freezes the snapshot that was fetched, whatever is held by now, and begins the log anew at its end.
func (l *Log) install(id kraft.SnapshotID, size int64) error {
	w := l.partial
	if w == nil || w.id != id || w.size != size {
		return fmt.Errorf("install snapshot %v of %d bytes: another one is held", id, size)
	}
	l.partial = nil
	if l.broken != nil {
		return l.broken
	}
	if err := w.freeze(); err != nil {
		return err
	}
	began, err := l.truncateToLatestSnapshot()
	if err == nil && !began {
		err = fmt.Errorf("install snapshot %v: %v: %w", id, &l.LogView, ErrLogAhead)
	}
	return err
}

// truncateToLatestSnapshot begins the log anew, if its latest snapshot lies beyond it. The old segments go before the new one
// appears: whatever a crash leaves of them ends before the snapshot, so that the next Open does this again.
func (l *Log) truncateToLatestSnapshot() (bool, error) {
	before := l.Snapshots
	if !l.TruncateToLatestSnapshot() {
		return false, nil
	}
	return true, l.failed(l.beginAnew(before))
}

func (l *Log) beginAnew(before []kraft.Snapshot) error {
	for len(l.segments) > 0 {
		if err := l.segments[0].delete(); err != nil {
			return err
		}
		l.segments = l.segments[1:]
	}
	if err := syncDir(l.fsys, l.dir); err != nil {
		return err
	}
	if err := l.saveEpochs(); err != nil {
		return err
	}
	s, err := createSegment(l.fsys, l.dir, l.Start)
	if err != nil {
		return err
	}
	l.segments, l.dirty, l.flushed, l.history = []*segment{s}, false, l.End, nil
	return l.dropBefore(before)
}

// ReadSnapshot reads up to n bytes of a snapshot at the position.
func (l *Log) ReadSnapshot(id kraft.SnapshotID, position int64, n int32) ([]byte, error) {
	s, ok := l.FindSnapshot(id)
	if !ok || position < 0 || position >= s.Size || n < 0 {
		return nil, fmt.Errorf("read snapshot %v at %d: there is no such byte", id, position)
	}
	path := filepath.Join(l.dir, SnapshotName(id))
	f, err := l.fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, min(int64(n), s.Size-position))
	if err := readFull(f, b, position); err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", path, position, err)
	}
	return b, nil
}

// ReadSnapshotContents reads a snapshot file and returns the control records that decide.
func ReadSnapshotContents(fsys FS, path string) (c kraft.SnapshotContents, err error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return c, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return c, err
	}
	return readContents(path, f, size)
}

func readContents(path string, f io.ReaderAt, size int64) (c kraft.SnapshotContents, err error) {
	in := NewScanner(f, 0, size)
	for {
		b, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err == nil {
			err = snapshotControl(b, &c)
		}
		if err != nil {
			return c, &Error{Path: path, Err: err, Remedy: "the snapshot cannot be used: remove it if an older one or the whole log is there, else fetch from the others"}
		}
	}
}

func snapshotControl(b *wire.Batch, c *kraft.SnapshotContents) error {
	if !b.Control() {
		return nil
	}
	return b.Each(func(r wire.Record) error {
		record, err := wire.DecodeControl(r.Key, r.Value)
		if errors.Is(err, wire.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		switch k := wire.KRaftControl(record); k.Type {
		case kraft.KRaftVersionRecord:
			c.HasKRaftVersion, c.KRaftVersion = true, k.KRaftVersion
		case kraft.VotersRecord:
			c.HasVoters, c.Voters = true, k.Voters
		case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
		}
		return nil
	})
}

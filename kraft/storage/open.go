package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// MetadataTopicID is the id of the metadata topic as text (Kafka: Uuid.METADATA_TOPIC_ID).
const MetadataTopicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// PartitionFile is the name of the file that holds the topic's id.
const PartitionFile = "partition.metadata"

// Open opens the log of a partition directory, and makes one that is not there. What a crash left is repaired: unfinished and
// superseded files go, the last segment is cut at its first batch that is not whole, indexes are made again, and a snapshot beyond the
// log replaces it (Kafka: LogLoader, KafkaRaftLog.createLog). Nothing is changed before all of it has been looked at and found fit.
func Open(fsys FS, dir string, opts Options) (*Log, error) {
	l := &Log{fsys: fsys, dir: dir, opts: opts.withDefaults()}
	l.BatchBase = l.batchBase
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return nil, withRemedy(err)
	}
	if err := withRemedy(l.open()); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	entries, err := l.fsys.ReadDir(l.dir)
	if err != nil {
		return err
	}
	topic, err := l.checkPartition()
	if err != nil {
		return err
	}
	if l.stored, l.hasState, err = ReadQuorumState(l.fsys, l.dir); err != nil {
		return err
	}
	marked := l.readMark(entries)
	bases, files, err := l.sort(entries)
	if err != nil {
		return err
	}
	files.topic = topic
	if marked != nil {
		err = l.openMarked(marked)
	} else {
		err = l.scanSegments(bases)
	}
	if err != nil {
		return err
	}
	if err := l.checkStart(); err != nil {
		return err
	}
	return l.repair(files)
}

// leftovers are what Open found beside segments and snapshots.
type leftovers struct {
	remove []string       // unfinished, superseded, or indexes without log
	tail   []kraft.Offset // segments behind a damaged one
	cut    int64          // where the last segment kept must end, negative: nowhere
	why    error
	epochs kraft.EpochCache // as the file has them
	topic  bool             // partition.metadata is there
}

// sort reads the names: segments in order, snapshots into the view, and what has to go.
func (l *Log) sort(entries []FileInfo) (bases []kraft.Offset, files *leftovers, err error) {
	files = &leftovers{cut: -1}
	var indexed []FileInfo
	for _, e := range entries {
		if e.Dir {
			continue
		}
		base, isLog := segmentBase(e.Name)
		id, isSnapshot := ParseSnapshotName(e.Name)
		switch {
		case isLog:
			bases = append(bases, base)
		case isSnapshot:
			if e.Size == 0 {
				return nil, nil, fail(filepath.Join(l.dir, e.Name), "remove it if an older snapshot or the whole log is there; otherwise remove the "+
					"partition directory but for quorum-state, and let it fetch from the others", ErrCorrupt, "an empty snapshot")
			}
			l.AddSnapshot(kraft.Snapshot{ID: id, Size: e.Size})
		case strings.HasSuffix(e.Name, ".checkpoint.part"), strings.HasSuffix(e.Name, ".deleted"), strings.HasSuffix(e.Name, ".tmp"),
			strings.HasSuffix(e.Name, ".cleaned"), e.Name == MarkFile:
			files.remove = append(files.remove, e.Name)
		case strings.HasSuffix(e.Name, "index"):
			indexed = append(indexed, e)
		}
	}
	slices.Sort(bases)
	for _, e := range indexed {
		stem, _, _ := strings.Cut(e.Name, ".")
		if base, ok := segmentBase(stem + ".log"); ok && !slices.Contains(bases, base) {
			files.remove = append(files.remove, e.Name)
		}
	}
	l.left = files
	return bases, files, nil
}

// checkPartition looks whose partition it is, if that is said.
func (l *Log) checkPartition() (exists bool, err error) {
	path := filepath.Join(l.dir, PartitionFile)
	text, err := ReadFile(l.fsys, path, maxSmallFile)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "version" && value != "0":
			return true, fail(path, "use a release that knows this version", ErrVersion, "version %q, want 0", value)
		case key == "topic_id" && value != MetadataTopicID:
			return true, fail(path, "this is the directory of another topic: name the one of the metadata log", ErrIdentity, "topic id %s, want %s", value, MetadataTopicID)
		}
	}
	return true, nil
}

// scanSegments reads all batches. The last segment may be torn; any other was made durable before the next one began, so that damage
// in it is no trace of a crash.
func (l *Log) scanSegments(bases []kraft.Offset) error {
	var err error
	if l.left.epochs, err = ReadEpochs(l.fsys, l.dir); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		l.Recovered = append(l.Recovered, fmt.Sprintf("%v: made again from the log", err))
	}
	l.Epochs = l.left.epochs
	if len(bases) == 0 {
		return nil
	}
	l.Start, l.End = bases[0], bases[0]
	for i, base := range bases {
		s, err := openSegment(l.fsys, l.dir, base)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		if base < l.End {
			return fail(s.logName(), "move one of the two files away after comparing them with another node's", ErrCorrupt,
				"it begins at offset %d, but the segment before it reaches up to %d", base, l.End)
		}
		damage, err := l.scan(s)
		if err != nil {
			return err
		}
		if damage == nil {
			l.End = max(l.End, base)
			continue
		}
		if i < len(bases)-1 && !l.opts.CutDamaged {
			return &Error{
				Path: s.logName(), Err: damage,
				Remedy: fmt.Sprintf("this segment was complete once, so the disk has damaged it. Kafka would cut the log to offset %d and drop %d later segments. "+
					"Remove the partition directory but for quorum-state, if the other voters have the log, or ask for the cut", l.End, len(bases)-1-i),
			}
		}
		l.left.cut, l.left.why, l.left.tail = damage.Position, damage, bases[i+1:]
		return nil
	}
	return nil
}

// scan reads one segment and returns where it is damaged.
func (l *Log) scan(s *segment) (*Damage, error) {
	in := NewScanner(s.file, 0, s.size)
	for {
		b, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			s.indexed = true
			return nil, nil
		}
		var damage *Damage
		if errors.As(err, &damage) {
			s.indexed = true
			return damage, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.logName(), err)
		}
		if b.LastOffset() < l.End || b.BaseOffset < s.base {
			return nil, fail(s.logName(), "the file cannot be trusted: compare it with another node's", ErrCorrupt,
				"%v at byte %d does not continue the log, which ends at %d", b, at, l.End)
		}
		l.Epochs = l.Epochs.Recover(b.Epoch, b.BaseOffset)
		s.note(b, at)
		l.End = end(b)
		if err := l.remember(b); err != nil {
			return nil, &Error{Path: s.logName(), Err: err, Remedy: "a batch with a right checksum holds a control record that cannot be read: it was written so"}
		}
	}
}

// checkStart: what lies before the log start must be in a snapshot.
func (l *Log) checkStart() error {
	l.Epochs = l.Epochs.TruncateFromEnd(l.End).TruncateFromStart(l.Start)
	if l.Start == 0 || slices.ContainsFunc(l.Snapshots, func(s kraft.Snapshot) bool { return s.ID.Offset >= l.Start }) {
		return nil
	}
	return fail(l.dir, "restore the snapshot from a backup, or remove the partition directory but for quorum-state and let it fetch from the others", ErrCorrupt,
		"the log begins at offset %d, but no snapshot covers what was before", l.Start)
}

// repair makes the files what the view says.
func (l *Log) repair(files *leftovers) error {
	l.left = nil
	changed := len(files.remove) > 0 || len(files.tail) > 0
	for _, name := range files.remove {
		if err := remove(l.fsys, filepath.Join(l.dir, name)); err != nil {
			return err
		}
	}
	for i := len(files.tail) - 1; i >= 0; i-- {
		if err := l.removeSegment(files.tail[i]); err != nil {
			return err
		}
	}
	if files.cut >= 0 {
		s := l.active()
		l.Recovered = append(l.Recovered, fmt.Sprintf("%s: cut to %d bytes, offset %d: %v", s.logName(), files.cut, l.End, files.why))
		if err := s.cut(files.cut); err != nil {
			return err
		}
	} else if len(l.segments) > 0 { // what was read may be in the page cache only
		if err := l.active().sync(); err != nil {
			return err
		}
	}
	for _, s := range l.Snapshots {
		if s.ID.Offset < l.Start {
			changed = true
			if err := remove(l.fsys, filepath.Join(l.dir, SnapshotName(s.ID))); err != nil {
				return err
			}
		}
	}
	l.Snapshots = slices.DeleteFunc(slices.Clone(l.Snapshots), func(s kraft.Snapshot) bool { return s.ID.Offset < l.Start })
	l.HighWatermark, l.flushed = l.Start, l.End
	if changed {
		if err := syncDir(l.fsys, l.dir); err != nil {
			return err
		}
	}
	return l.finishOpen(files)
}

func (l *Log) removeSegment(base kraft.Offset) error {
	stem := segmentStem(l.dir, base)
	l.Recovered = append(l.Recovered, stem+".log: removed, it lies behind the cut")
	for _, suffix := range []string{".index", ".timeindex", ".snapshot", ".log"} {
		if err := remove(l.fsys, stem+suffix); err != nil {
			return err
		}
	}
	return syncDir(l.fsys, l.dir)
}

// finishOpen begins the log anew at a snapshot beyond it, makes the first segment where there is none, and writes what is missing.
func (l *Log) finishOpen(files *leftovers) error {
	began, err := l.truncateToLatestSnapshot()
	if err != nil {
		return err
	}
	l.BegunAnew = began
	if began {
		l.Recovered = append(l.Recovered, fmt.Sprintf("%s: begun anew at offset %d, the end of the latest snapshot", l.dir, l.Start))
	}
	if len(l.segments) == 0 {
		s, err := createSegment(l.fsys, l.dir, l.End)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
	}
	if !files.topic {
		if err := replaceFile(l.fsys, filepath.Join(l.dir, PartitionFile), []byte("version: 0\ntopic_id: "+MetadataTopicID)); err != nil {
			return err
		}
	}
	if began || slices.Equal(l.Epochs, files.epochs) {
		return nil
	}
	return l.saveEpochs()
}

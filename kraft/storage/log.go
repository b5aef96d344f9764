package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Options say how a log is kept. Zero values stand for Kafka's defaults.
type Options struct {
	SegmentBytes   int64 // metadata.log.segment.bytes: 1 GiB
	SegmentMs      int64 // metadata.log.segment.ms: 7 days
	RetentionBytes int64 // metadata.max.retention.bytes: 100 MiB; negative: no limit
	RetentionMs    int64 // metadata.max.retention.ms: 7 days; negative: no limit

	// CutDamaged lets Open cut a segment before the last one at its first batch that cannot be read, and remove all later
	// segments, as Kafka does without a word. Otherwise it is an error: what would go has been durable once.
	CutDamaged bool

	// Unmarked leaves out the mark of a clean shutdown, which lets the next Open of this package pass over the log.
	Unmarked bool
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value *int64
		def   int64
	}{{&o.SegmentBytes, 1 << 30}, {&o.SegmentMs, 7 * 24 * 3600_000}, {&o.RetentionBytes, 100 << 20}, {&o.RetentionMs, 7 * 24 * 3600_000}} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	return o
}

// Log is the metadata log on disk. The embedded view has the rules; Log adds the files. It has one owner.
type Log struct {
	kraft.LogView

	fsys     FS
	dir      string
	opts     Options
	segments []*segment // in order; the last one is appended to
	dirty    bool       // the last segment has bytes that are not durable
	flushed  kraft.Offset
	history  []kraft.HistoryEntry // Voters and KRaftVersion records of the segments
	lapsed   bool                 // a batch was appended of an older epoch than the one before it: a restart finds other epochs
	partial  *SnapshotWriter      // being fetched
	stored   StoredState
	hasState bool
	parts    int    // number of the next .part file
	batch    []byte // storage of the one that a leader writes
	broken   error
	left     *leftovers // while opening

	// Recovered tells what Open had to repair, BegunAnew that the latest snapshot lay beyond the log and replaced it.
	Recovered []string
	BegunAnew bool
}

// View is the log as the machine sees it.
func (l *Log) View() *kraft.LogView { return &l.LogView }

// Flushed is the end of what a crash leaves.
func (l *Log) Flushed() kraft.Offset { return l.flushed }

// Stored is the durable election state, if there is one.
func (l *Log) Stored() (StoredState, bool) { return l.stored, l.hasState }

// Err is why the log has ended, nil if it has not.
func (l *Log) Err() error { return l.broken }

// SegmentBases are the base offsets of the segments.
func (l *Log) SegmentBases() []kraft.Offset {
	var list []kraft.Offset
	for _, s := range l.segments {
		list = append(list, s.base)
	}
	return list
}

// Size is the number of bytes in the segments.
func (l *Log) Size() (n int64) {
	for _, s := range l.segments {
		n += s.size
	}
	return n
}

// end the log at the first failure: what is on disk is no longer known.
func (l *Log) failed(err error) error {
	if err = withRemedy(err); err != nil && l.broken == nil {
		l.broken = err
	}
	return err
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// Append adds whole batches, as bytes, at the end. They are not durable before Flush. As in Kafka the first one must not begin before
// the end, and each must end behind the one before.
func (l *Log) Append(raw []byte) error { return l.append(raw, (*wire.Batch).CRCValid) }

func (l *Log) append(raw []byte, valid func(*wire.Batch) bool) error {
	if l.broken != nil {
		return l.broken
	}
	batches, err := l.accept(raw, valid)
	if err != nil || len(batches) == 0 {
		return err
	}
	if s := l.active(); !s.fits(&batches[0], &batches[len(batches)-1], int64(len(raw)), l.opts.SegmentBytes, l.opts.SegmentMs) {
		if err := l.failed(l.roll(batches[0].BaseOffset)); err != nil {
			return err
		}
	}
	s, epochs := l.active(), l.Epochs
	if err := l.failed(s.loadIndex()); err != nil {
		return err
	}
	position := s.size
	l.dirty = true
	if err := l.failed(s.write(raw)); err != nil {
		return err
	}
	for i := range batches {
		b := &batches[i]
		if last, ok := l.Epochs.Last(); ok && b.Epoch < last {
			l.lapsed = true
		}
		s.note(b, position)
		position += int64(len(b.Bytes))
		l.LogView.Append(b.BaseOffset, b.LastOffset(), b.Epoch)
		if err := l.failed(l.remember(b)); err != nil {
			return err
		}
	}
	if !slices.Equal(epochs, l.Epochs) {
		return l.saveEpochs()
	}
	return nil
}

// accept cuts what is to be appended into batches and checks that they continue the log.
func (l *Log) accept(raw []byte, valid func(*wire.Batch) bool) ([]wire.Batch, error) {
	var batches []wire.Batch
	next := l.End
	for rest := raw; len(rest) > 0; {
		b, more, err := wire.NextBatch(rest)
		if err != nil {
			return nil, fmt.Errorf("append at %d: %w", l.End, err)
		}
		if !valid(&b) || b.LastOffsetDelta < 0 || b.LastOffset() < next || len(batches) == 0 && b.BaseOffset < next {
			return nil, fmt.Errorf("append %v: the log ends at %d: %w", &b, l.End, ErrCorrupt)
		}
		next, rest = end(&b), more
		batches = append(batches, b)
	}
	return batches, nil
}

// remember keeps the control records that decide. Their offsets are counted, as Kafka counts them (KRaftControlRecordStateMachine.handleBatch).
func (l *Log) remember(b *wire.Batch) error {
	if !b.Control() {
		return nil
	}
	next := b.BaseOffset
	err := b.Each(func(r wire.Record) error {
		at := next
		next++
		c, err := wire.DecodeControl(r.Key, r.Value)
		if errors.Is(err, wire.ErrUnsupported) {
			return nil // of a later release: it decides nothing that this one knows
		}
		if err != nil {
			return err
		}
		switch k := wire.KRaftControl(c); k.Type {
		case kraft.VotersRecord, kraft.KRaftVersionRecord:
			l.history = append(l.history, kraft.HistoryEntry{Offset: at, Record: k})
		case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("control batch at offset %d: %w", b.BaseOffset, err)
	}
	return nil
}

// roll begins a new segment. All before it is durable, so that only the last segment of a log can be torn.
func (l *Log) roll(base kraft.Offset) error {
	if err := l.sync(); err != nil {
		return err
	}
	if err := errors.Join(l.active().loadIndex(), l.active().indexes.write(l.fsys, l.active().stem)); err != nil {
		return err
	}
	s, err := createSegment(l.fsys, l.dir, base)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, s)
	return nil
}

// Flush makes everything durable.
func (l *Log) Flush() error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.failed(l.sync()); err != nil {
		return err
	}
	l.flushed = l.End
	return nil
}

func (l *Log) sync() error {
	if !l.dirty {
		return nil
	}
	if err := l.active().sync(); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

// AssignEpoch notes, durably, that an epoch starts at the log end.
func (l *Log) AssignEpoch(epoch kraft.Epoch) error {
	if l.broken != nil {
		return l.broken
	}
	l.LogView.AssignEpoch(epoch)
	return l.saveEpochs()
}

func (l *Log) saveEpochs() error {
	return l.failed(replaceFile(l.fsys, filepath.Join(l.dir, EpochsFile), AppendEpochs(nil, l.Epochs)))
}

// TruncateTo makes the log end at the offset, durably. A batch that reaches beyond it goes as a whole.
func (l *Log) TruncateTo(offset kraft.Offset) error {
	if l.broken != nil {
		return l.broken
	}
	if offset < l.End {
		if err := l.failed(l.cutFiles(offset)); err != nil {
			return err
		}
	}
	epochs := l.Epochs
	l.LogView.TruncateTo(offset)
	l.flushed = min(l.flushed, l.End)
	if len(epochs) == len(l.Epochs) {
		return nil
	}
	return l.saveEpochs()
}

// cutFiles removes later segments, the last one first and each durably, so that what a crash leaves has no hole; then it cuts the one
// that holds the offset.
func (l *Log) cutFiles(offset kraft.Offset) error {
	for n := len(l.segments) - 1; n > 0 && l.segments[n].base >= offset; n-- {
		if err := l.segments[n].delete(); err != nil {
			return err
		}
		l.segments, l.dirty = l.segments[:n], false
		if err := syncDir(l.fsys, l.dir); err != nil {
			return err
		}
	}
	s := l.active()
	b, position, ok, err := s.find(offset)
	if err != nil {
		return err
	}
	if ok {
		if err := s.cut(position); err != nil {
			return err
		}
		l.dirty = false
		if err := s.rescan(); err != nil {
			return err
		}
	}
	if ok { // the batch goes as a whole
		offset = min(offset, b.BaseOffset)
	}
	for n := len(l.history); n > 0 && l.history[n-1].Offset >= offset; n-- {
		l.history = l.history[:n-1]
	}
	return nil
}

// Persist makes an election state durable.
func (l *Log) Persist(state kraft.QuorumState, kraftVersion int16, voters kraft.VoterSet) error {
	if l.broken != nil {
		return l.broken
	}
	s := StoredState{QuorumState: state, DataVersion: min(kraftVersion, 1)}
	if s.DataVersion == 0 {
		s.Voted.DirectoryID = kraft.DirectoryID{}
		for i := range voters.Len() {
			s.VoterIDs = append(s.VoterIDs, voters.At(i).Key.ID)
		}
	}
	if err := l.failed(replaceFile(l.fsys, filepath.Join(l.dir, QuorumStateFile), AppendQuorumState(nil, s))); err != nil {
		return err
	}
	l.stored, l.hasState = s, true
	return nil
}

// MoveStart drops what lies before a snapshot, by whole segments, and older snapshots. It reports whether it did.
func (l *Log) MoveStart(id kraft.SnapshotID) (bool, error) {
	if l.broken != nil {
		return false, l.broken
	}
	before := l.Snapshots
	if !l.LogView.MoveStart(id) {
		return false, nil
	}
	l.flushed = max(l.flushed, l.Start)
	return true, l.failed(l.dropBefore(before))
}

// dropBefore removes segments that end at or before the log start, the oldest first, and the snapshots that are no longer listed. At
// the log end nothing is left to keep: a new segment begins there, so that the start is known after a restart.
func (l *Log) dropBefore(before []kraft.Snapshot) error {
	if l.Start == l.End && l.active().base < l.Start {
		if err := l.roll(l.Start); err != nil {
			return err
		}
	}
	for len(l.segments) > 1 && l.segments[1].base <= l.Start {
		if err := l.segments[0].delete(); err != nil {
			return err
		}
		l.segments = l.segments[1:]
	}
	for _, s := range before {
		if _, kept := l.FindSnapshot(s.ID); !kept {
			if err := remove(l.fsys, filepath.Join(l.dir, SnapshotName(s.ID))); err != nil {
				return err
			}
		}
	}
	if err := syncDir(l.fsys, l.dir); err != nil {
		return err
	}
	return l.saveEpochs()
}

// Close makes everything durable and closes the files. After a failure it only closes them.
func (l *Log) Close() error {
	broken := l.broken
	if errors.Is(broken, ErrClosed) {
		return nil
	}
	if broken == nil {
		broken = l.Flush()
	}
	clean := broken == nil
	var err error
	last := l.End
	if clean {
		last, err = l.lastEnd()
	}
	for _, s := range l.segments {
		err = errors.Join(err, s.close(clean && s == l.active()))
	}
	if l.partial != nil {
		l.partial.abandon()
	}
	// A truncation may have left a gap before the end, and a lapse epochs that recovery changes: the next Open must read the log.
	if clean && err == nil && last == l.End && !l.lapsed && !l.opts.Unmarked {
		err = l.mark()
	}
	l.broken = fmt.Errorf("%s: %w", l.dir, ErrClosed)
	return errors.Join(broken, withRemedy(err))
}

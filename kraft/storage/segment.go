package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// segment is one .log file with its indexes (Kafka: LogSegment).
type segment struct {
	fsys FS
	base kraft.Offset
	stem string // path without suffix
	file File
	size int64
	indexes

	indexed        bool  // the offset index is in memory
	firstTimestamp int64 // of the first batch: rolling by time counts from it; -1: empty
}

func segmentStem(dir string, base kraft.Offset) string {
	return filepath.Join(dir, fmt.Sprintf("%020d", int64(base)))
}

func (s *segment) logName() string { return s.stem + ".log" }

// segmentBase reads the name of a segment.
func segmentBase(name string) (kraft.Offset, bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	if !ok || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return kraft.Offset(n), err == nil && n >= 0
}

// createSegment makes an empty segment and makes its name durable.
func createSegment(fsys FS, dir string, base kraft.Offset) (*segment, error) {
	s := &segment{fsys: fsys, base: base, stem: segmentStem(dir, base), indexes: newIndexes(base), indexed: true, firstTimestamp: -1}
	var err error
	if s.file, err = fsys.OpenFile(s.logName(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return nil, err
	}
	return s, syncDir(fsys, dir)
}

// openSegment opens a segment that exists; nothing is known of its content yet.
func openSegment(fsys FS, dir string, base kraft.Offset) (*segment, error) {
	s := &segment{fsys: fsys, base: base, stem: segmentStem(dir, base), indexes: newIndexes(base), firstTimestamp: -1}
	var err error
	if s.file, err = fsys.OpenFile(s.logName(), os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if s.size, err = s.file.Size(); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: s.logName(), Err: err}, s.file.Close())
	}
	return s, nil
}

// note adds a batch that stands at the position to what is known.
func (s *segment) note(b *wire.Batch, position int64) {
	if s.firstTimestamp < 0 {
		s.firstTimestamp = b.MaxTimestamp
	}
	s.add(b.LastOffset(), b.MaxTimestamp, position, int64(len(b.Bytes)))
}

// fits reports whether the batches may go into this segment, or a new one has to begin (Kafka: LogSegment.shouldRoll).
func (s *segment) fits(first, last *wire.Batch, size int64, limitBytes, limitMs int64) bool {
	if s.size == 0 {
		return true
	}
	return s.size <= limitBytes-size && last.LastOffset()-s.base <= math.MaxInt32 && s.size+size <= math.MaxInt32 &&
		(s.firstTimestamp < 0 || first.MaxTimestamp-s.firstTimestamp <= limitMs)
}

func (s *segment) write(b []byte) error {
	if err := writeAll(s.file, s.logName(), b, s.size); err != nil {
		return err
	}
	s.size += int64(len(b))
	return nil
}

func (s *segment) sync() error {
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.logName(), err)
	}
	return nil
}

// cut makes the file end at the position, durably: bytes that came back after a crash could follow what is appended next.
func (s *segment) cut(position int64) error {
	if position < s.size {
		if err := s.file.Truncate(position); err != nil {
			return fmt.Errorf("truncate %s to %d: %w", s.logName(), position, err)
		}
		s.size = position
	}
	return s.sync()
}

// loadIndex reads the indexes of a segment that was not scanned. They follow from the log where the files do not serve.
func (s *segment) loadIndex() error {
	if s.indexed {
		return nil
	}
	offsets, err1 := readOffsets(s.fsys, s.stem+".index", s.size)
	times, err2 := readTimes(s.fsys, s.stem+".timeindex")
	if err1 != nil || err2 != nil {
		return s.rescan()
	}
	s.offsets, s.times, s.indexed = offsets, times, true
	return nil
}

// rescan makes both indexes again from the log.
func (s *segment) rescan() error {
	s.indexes, s.firstTimestamp = newIndexes(s.base), -1
	in := NewScanner(s.file, 0, s.size)
	for {
		b, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			s.indexed = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.logName(), err)
		}
		s.note(b, at)
	}
}

// find is the first batch that ends at or behind the offset, by its header. Not ok: there is none.
func (s *segment) find(offset kraft.Offset) (b wire.Batch, position int64, ok bool, err error) {
	if err := s.loadIndex(); err != nil {
		return b, 0, false, err
	}
	position = s.position(offset)
	var chunk [8 << 10]byte
	for position < s.size {
		n := min(int64(len(chunk)), s.size-position)
		if n < wire.BatchOverhead {
			return b, 0, false, fmt.Errorf("%s at %d: %w", s.logName(), position, wire.ErrCut)
		}
		if err := readFull(s.file, chunk[:n], position); err != nil {
			return b, 0, false, fmt.Errorf("read %s at %d: %w", s.logName(), position, err)
		}
		for in := chunk[:n]; len(in) >= wire.BatchOverhead; {
			b, _, err = wire.NextBatch(in)
			if err != nil && !errors.Is(err, wire.ErrCut) {
				return b, 0, false, fmt.Errorf("%s at %d: %w", s.logName(), position, err)
			}
			if b.LastOffset() >= offset {
				b.Bytes, b.Records = nil, nil
				return b, position, true, nil
			}
			size := int64(b.Length) + 12
			position += size
			if size >= int64(len(in)) {
				break
			}
			in = in[size:]
		}
	}
	return wire.Batch{}, s.size, false, nil
}

// close writes the indexes, which a clean shutdown leaves complete, and closes the file.
func (s *segment) close(writeIndexes bool) error {
	var err error
	if writeIndexes && s.indexed {
		err = s.indexes.write(s.fsys, s.stem)
	}
	return errors.Join(err, s.file.Close())
}

// delete removes all files of the segment; the log goes last, so that a crash leaves no index without log.
func (s *segment) delete() error {
	err := s.file.Close()
	for _, suffix := range []string{".index", ".timeindex", ".snapshot", ".txnindex", ".log"} {
		err = errors.Join(err, remove(s.fsys, s.stem+suffix))
	}
	return err
}

func readFull(f File, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%d of %d bytes", n, len(b))
	}
	return err
}

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// indexInterval is how many bytes of log lie between two entries (Kafka: log.index.interval.bytes, which KRaft does not change).
const indexInterval = 4096

// offsetEntry says where in the log the batch that ends at an offset begins (Kafka: OffsetIndex).
type offsetEntry struct {
	last     int32 // relative to the base offset of the segment
	position int32
}

// timeEntry says that no batch up to an offset is younger (Kafka: TimeIndex).
type timeEntry struct {
	timestamp int64
	offset    int32
}

// indexes are both indexes of a segment. What they hold follows from the log: they are made again wherever they are missing.
type indexes struct {
	base    kraft.Offset
	offsets []offsetEntry
	times   []timeEntry

	sinceEntry   int64        // bytes of log since the last entry
	maxTimestamp int64        // -1: none
	maxAt        kraft.Offset // last offset of the first batch with it
}

func newIndexes(base kraft.Offset) indexes {
	return indexes{base: base, maxTimestamp: -1, maxAt: base}
}

// add notes a batch (Kafka: LogSegment.append and LogSegment.recover, which agree).
func (x *indexes) add(last kraft.Offset, maxTimestamp, position, size int64) {
	if maxTimestamp > x.maxTimestamp {
		x.maxTimestamp, x.maxAt = maxTimestamp, last
	}
	if x.sinceEntry > indexInterval {
		x.offsets = append(x.offsets, offsetEntry{int32(last - x.base), int32(position)})
		x.addTime()
		x.sinceEntry = 0
	}
	x.sinceEntry += size
}

// addTime appends to the time index, if there is something new (Kafka: TimeIndex.maybeAppend).
func (x *indexes) addTime() {
	last := int64(-1)
	if n := len(x.times); n > 0 {
		last = x.times[n-1].timestamp
	}
	if x.maxTimestamp > last {
		x.times = append(x.times, timeEntry{x.maxTimestamp, int32(x.maxAt - x.base)})
	}
}

// position is where to begin to look for the batch that holds the offset.
func (x *indexes) position(offset kraft.Offset) int64 {
	i, found := slices.BinarySearchFunc(x.offsets, int64(offset-x.base), func(e offsetEntry, o int64) int { return int(int64(e.last) - o) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return int64(x.offsets[i].position)
}

// files are the bytes of .index and .timeindex. A segment that is closed ends its time index with the greatest time stamp.
func (x *indexes) files() (offsets, times []byte) {
	x.addTime()
	for _, e := range x.offsets {
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(e.last))
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(e.position))
	}
	for _, e := range x.times {
		times = binary.BigEndian.AppendUint64(times, uint64(e.timestamp))
		times = binary.BigEndian.AppendUint32(times, uint32(e.offset))
	}
	return offsets, times
}

// write writes both files. They need no sync.
func (x *indexes) write(fsys FS, stem string) error {
	offsets, times := x.files()
	for suffix, content := range map[string][]byte{".index": offsets, ".timeindex": times} {
		f, err := fsys.OpenFile(stem+suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		if len(content) > 0 {
			err = writeAll(f, stem+suffix, content, 0)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readOffsets reads an offset index, of a segment that was closed. Entries that do not ascend, or lie behind the log, are an error.
func readOffsets(fsys FS, name string, logSize int64) ([]offsetEntry, error) {
	b, err := ReadFile(fsys, name, 1<<30)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%s: %d bytes, want entries of 8: %w", name, len(b), ErrCorrupt)
	}
	list := make([]offsetEntry, 0, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		e := offsetEntry{int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:]))}
		if n := len(list); e.last < 0 || int64(e.position) >= logSize || n > 0 && (e.last <= list[n-1].last || e.position <= list[n-1].position) {
			return nil, fmt.Errorf("%s: entry %d, offset %d at %d, does not follow the one before or lies behind the log: %w", name, n, e.last, e.position, ErrCorrupt)
		}
		list = append(list, e)
	}
	return list, nil
}

// readTimes reads a time index; see readOffsets.
func readTimes(fsys FS, name string) ([]timeEntry, error) {
	b, err := ReadFile(fsys, name, 1<<30)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b)%12 != 0 {
		return nil, fmt.Errorf("%s: %d bytes, want entries of 12: %w", name, len(b), ErrCorrupt)
	}
	list := make([]timeEntry, 0, len(b)/12)
	for ; len(b) > 0; b = b[12:] {
		e := timeEntry{int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))}
		if n := len(list); n > 0 && (e.timestamp <= list[n-1].timestamp || e.offset < list[n-1].offset) {
			return nil, fmt.Errorf("%s: entry %d does not follow the one before: %w", name, n, ErrCorrupt)
		}
		list = append(list, e)
	}
	return list, nil
}

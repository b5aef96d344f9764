package storage

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// segmentAt is the index of the segment that holds the offset, or the first one behind it.
func (l *Log) segmentAt(offset kraft.Offset) int {
	i, found := slices.BinarySearchFunc(l.segments, offset, func(s *segment, o kraft.Offset) int { return int(min(1, max(-1, s.base-o))) })
	if !found && i > 0 {
		i--
	}
	return i
}

// batchBase is the base offset of the first batch that ends at or behind the offset.
func (l *Log) batchBase(offset kraft.Offset) kraft.Offset {
	for i := l.segmentAt(offset); i < len(l.segments); i++ {
		b, _, ok, err := l.segments[i].find(offset)
		if l.failed(err) != nil {
			return offset
		}
		if ok {
			return b.BaseOffset
		}
	}
	return l.End
}

// Read appends the batches that hold offsets of [from, upTo) to dst: at least one as a whole, the last one perhaps cut at maxBytes
// (Kafka: LogSegment.read).
func (l *Log) Read(dst []byte, from, upTo kraft.Offset, maxBytes int32) ([]byte, error) {
	if from >= upTo || from >= l.End {
		return dst, nil
	}
	start := len(dst)
	for i := l.segmentAt(from); i < len(l.segments); i++ {
		s := l.segments[i]
		b, position, ok, err := s.find(from)
		if err != nil {
			return dst, l.failed(err)
		}
		if !ok {
			continue
		}
		if b.BaseOffset >= upTo {
			break
		}
		limit := s.size
		if upTo < l.End {
			if _, limit, ok, err = s.find(upTo); err != nil {
				return dst, l.failed(err)
			} else if ok {
				if limit, err = s.behind(limit, upTo); err != nil {
					return dst, l.failed(err)
				}
			}
		}
		n := limit - position
		room := int64(maxBytes) - int64(len(dst)-start)
		if first := int64(b.Length) + 12; len(dst) == start {
			room = max(room, first)
		}
		if room <= 0 {
			break
		}
		n = min(n, room)
		at := len(dst)
		dst = slices.Grow(dst, int(n))[:at+int(n)]
		if err := readFull(s.file, dst[at:], position); err != nil {
			return dst[:at], l.failed(fmt.Errorf("read %s at %d: %w", s.logName(), position, err))
		}
		if n == room || limit < s.size {
			break
		}
	}
	return dst, nil
}

// behind is where the batch at the position ends, if it holds records before the offset, else the position.
func (s *segment) behind(position int64, offset kraft.Offset) (int64, error) {
	in := NewScanner(s.file, position, s.size)
	b, _, err := in.Next()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.logName(), err)
	}
	if b.BaseOffset < offset {
		return position + int64(len(b.Bytes)), nil
	}
	return position, nil
}

// History are the control records of the latest snapshot and of the log, as kraft.Config wants them.
func (l *Log) History() ([]kraft.HistoryEntry, error) {
	var history []kraft.HistoryEntry
	read := kraft.Offset(0)
	if id, ok := l.LatestSnapshot(); ok {
		c, err := ReadSnapshotContents(l.fsys, filepath.Join(l.dir, SnapshotName(id)))
		if err != nil {
			return nil, err
		}
		if c.HasKRaftVersion {
			history = append(history, kraft.HistoryEntry{Offset: id.Offset - 1, Record: kraft.ControlRecord{
				Type: kraft.KRaftVersionRecord, KRaftVersion: c.KRaftVersion,
			}})
		}
		if c.HasVoters {
			history = append(history, kraft.HistoryEntry{Offset: id.Offset - 1, Record: kraft.ControlRecord{
				Type: kraft.VotersRecord, Voters: c.Voters,
			}})
		}
		read = id.Offset
	}
	for _, h := range l.history {
		if h.Offset >= read {
			history = append(history, h)
		}
	}
	return history, nil
}

package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// MarkFile is the mark of a clean shutdown. Kafka has none for this log, does not look at it, and reads all segments at each start. It
// holds good only while each segment has the size and the time of change that it names: after Kafka has run here, it does not.
const MarkFile = ".understudy-clean"

type mark struct {
	Segments []markedSegment  `json:"segments"`
	Start    kraft.Offset     `json:"start"`
	End      kraft.Offset     `json:"end"`
	Epochs   kraft.EpochCache `json:"epochs"`
	Control  []markedControl  `json:"control"` // the Voters and KRaftVersion records of the segments
}

type markedSegment struct {
	Base           kraft.Offset `json:"base"`
	Size           int64        `json:"size"`
	Modified       int64        `json:"modified"`
	FirstTimestamp int64        `json:"firstTimestamp"`
	SinceEntry     int64        `json:"sinceEntry"`
	MaxTimestamp   int64        `json:"maxTimestamp"`
	MaxAt          kraft.Offset `json:"maxAt"`
}

// markedControl is a control record as its key and value.
type markedControl struct {
	Offset kraft.Offset `json:"offset"`
	Key    []byte       `json:"key"`
	Value  []byte       `json:"value"`
}

// mark writes the mark. It is the last thing that a clean shutdown does.
func (l *Log) mark() error {
	entries, err := l.fsys.ReadDir(l.dir)
	if err != nil {
		return err
	}
	files := map[string]FileInfo{}
	for _, e := range entries {
		files[e.Name] = e
	}
	m := mark{Start: l.Start, End: l.End, Epochs: l.Epochs.TruncateFromEnd(l.End)}
	for _, s := range l.segments {
		info, ok := files[filepath.Base(s.logName())]
		if !ok || info.Size != s.size {
			return fmt.Errorf("%s: %d bytes, want %d", s.logName(), info.Size, s.size)
		}
		m.Start = min(m.Start, s.base) // where a scan would find it
		m.Segments = append(m.Segments, markedSegment{
			s.base, s.size, info.Modified, s.firstTimestamp, s.sinceEntry, s.maxTimestamp, s.maxAt,
		})
	}
	for _, h := range l.history {
		c, err := wire.ControlOf(h.Record)
		if err != nil {
			return err
		}
		r := wire.NewControl(c)
		m.Control = append(m.Control, markedControl{h.Offset, r.Key, r.Value})
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	return replaceFile(l.fsys, filepath.Join(l.dir, MarkFile), text)
}

// lastEnd is the end of the last batch on disk.
func (l *Log) lastEnd() (kraft.Offset, error) {
	s := l.active()
	if s.size == 0 {
		return s.base, nil
	}
	if err := s.loadIndex(); err != nil {
		return 0, err
	}
	last := s.base
	in := NewScanner(s.file, s.position(l.End), s.size)
	for {
		b, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", s.logName(), err)
		}
		last = end(b)
	}
}

// readMark returns the mark if there is one that holds good, and else nil.
func (l *Log) readMark(entries []FileInfo) *mark {
	text, err := ReadFile(l.fsys, filepath.Join(l.dir, MarkFile), 64<<20)
	var m mark
	if err != nil || json.Unmarshal(text, &m) != nil || len(m.Segments) == 0 {
		return nil
	}
	segments := map[kraft.Offset]FileInfo{}
	for _, e := range entries {
		if base, ok := segmentBase(e.Name); ok {
			segments[base] = e
		}
	}
	if len(segments) != len(m.Segments) {
		return nil
	}
	for _, s := range m.Segments {
		if e, ok := segments[s.Base]; !ok || e.Size != s.Size || e.Modified != s.Modified {
			return nil
		}
	}
	return &m
}

// openMarked takes the log as the mark describes it.
func (l *Log) openMarked(m *mark) error {
	l.Start, l.End, l.Epochs = m.Start, m.End, m.Epochs
	l.left.epochs = m.Epochs
	for _, k := range m.Segments {
		s, err := openSegment(l.fsys, l.dir, k.Base)
		if err != nil {
			return err
		}
		s.firstTimestamp, s.sinceEntry, s.maxTimestamp, s.maxAt = k.FirstTimestamp, k.SinceEntry, k.MaxTimestamp, k.MaxAt
		l.segments = append(l.segments, s)
	}
	for _, c := range m.Control {
		record, err := wire.DecodeControl(c.Key, c.Value)
		if err != nil {
			return fail(filepath.Join(l.dir, MarkFile), "remove the file", ErrCorrupt, "control record at %d: %v", c.Offset, err)
		}
		l.history = append(l.history, kraft.HistoryEntry{Offset: c.Offset, Record: wire.KRaftControl(record)})
	}
	return nil
}

package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// CleanerPeriodMs is how often Kafka cleans (Kafka: KafkaRaftClient.SnapshotCleaner).
const CleanerPeriodMs = 60_000

// Clean removes the oldest snapshots, and the segments before the next one, while the newest are more than the retention allows: by
// age, then by size. One snapshot always stays. It reports whether anything went (Kafka: KafkaRaftLog.maybeClean).
func (l *Log) Clean(nowMs int64) (bool, error) {
	byAge, err := l.cleanWhile(func(s kraft.Snapshot) (bool, error) {
		if l.opts.RetentionMs < 0 {
			return false, nil
		}
		at, ok, err := l.snapshotTimestamp(s.ID)
		return ok && nowMs-at > l.opts.RetentionMs, err
	})
	if err != nil {
		return byAge, err
	}
	bySize, err := l.cleanWhile(func(kraft.Snapshot) (bool, error) {
		total := l.Size()
		for _, s := range l.Snapshots {
			total += s.Size
		}
		return l.opts.RetentionBytes >= 0 && total > l.opts.RetentionBytes, nil
	})
	return byAge || bySize, err
}

func (l *Log) cleanWhile(old func(kraft.Snapshot) (bool, error)) (cleaned bool, err error) {
	for len(l.Snapshots) > 1 {
		if drop, err := old(l.Snapshots[0]); err != nil || !drop {
			return cleaned, err
		}
		moved, err := l.MoveStart(l.Snapshots[1].ID)
		if err != nil || !moved {
			return cleaned, err
		}
		cleaned = true
	}
	return cleaned, nil
}

// snapshotTimestamp is that of the snapshot's header.
func (l *Log) snapshotTimestamp(id kraft.SnapshotID) (at int64, ok bool, err error) {
	path := filepath.Join(l.dir, SnapshotName(id))
	f, err := l.fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return 0, false, err
	}
	b, _, err := NewScanner(f, 0, size).Next()
	if errors.Is(err, io.EOF) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, &Error{Path: path, Err: err}
	}
	err = b.Each(func(r wire.Record) error {
		if c, err := wire.DecodeControl(r.Key, r.Value); err == nil {
			if h, is := c.(wire.SnapshotHeader); is {
				at, ok = h.Timestamp, true
			}
		}
		return nil
	})
	return at, ok, err
}

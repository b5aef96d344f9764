package standby

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// Snapshots says when a snapshot is made (Kafka: SnapshotGenerator).
type Snapshots struct {
	Bytes    int64         // metadata.log.max.record.bytes.between.snapshots; 0: none is made
	Interval time.Duration // metadata.log.max.snapshot.interval.ms; 0: none by time
}

// snapshotNode is asked for a place to write a snapshot to.
type snapshotNode interface {
	Node
	CreateSnapshot(ctx context.Context, id kraft.SnapshotID) (*controller.SnapshotWriter, error)
}

// noOp is the type of the record by which an active controller shows that it lives (KIP-835).
const noOp = 20

// snapshotter makes snapshots of the committed records, which it cannot interpret: a snapshot is all of them in their order, without those
// that say nothing. To replay it is to replay the log from its beginning. It does not shrink as Kafka's does, so the next one is due when a quarter
// of what the last one holds has come: what is written in all then stays in proportion to the log.
type snapshotter struct {
	*Standby
	node    snapshotNode
	since   int64 // bytes of log behind the last snapshot
	last    time.Time
	running chan struct{} // closed when no snapshot is being written
	missed  atomic.Int64  // bytes of log that one was due for which has failed
	pause   time.Time     // until then none is tried
}

// afterFailure is how long a snapshot that could not be made is not tried again.
const afterFailure = time.Minute

func (s *Standby) newSnapshotter(node Node) *snapshotter {
	n, ok := node.(snapshotNode)
	if !ok || s.cfg.Snapshots.Bytes <= 0 {
		return nil
	}
	k := &snapshotter{Standby: s, node: n, last: time.Now(), running: make(chan struct{})}
	close(k.running)
	return k
}

// passed counts committed batches, which end at a position. Within a metadata transaction no snapshot can be made.
func (k *snapshotter) passed(ctx context.Context, bytes int, end kraft.SnapshotID, within bool) {
	if k == nil {
		return
	}
	base := k.node.Status().Snapshot
	if end.Offset <= base.Offset {
		k.since = 0
		return
	}
	k.since += int64(bytes)
	if within || k.missed.Load() == 0 && !k.due(base) {
		return
	}
	select {
	case <-k.running:
	default:
		return
	}
	if failed := k.missed.Swap(0); failed > 0 {
		k.since, k.last, k.pause = k.since+failed, time.Time{}, time.Now().Add(afterFailure)
	}
	if time.Now().Before(k.pause) {
		return
	}
	bytesBehind, done := k.since, make(chan struct{})
	k.since, k.last, k.running = 0, time.Now(), done
	k.tasks.Go(func() {
		defer close(done)
		err := k.write(ctx, base, end)
		if err != nil {
			k.missed.Store(bytesBehind)
		}
		if err != nil && ctx.Err() == nil && k.cfg.Report != nil && !errors.Is(err, controller.ErrStopped) {
			k.cfg.Report(fmt.Errorf("snapshot %v: %w", end, err))
		}
	})
}

func (k *snapshotter) due(base kraft.SnapshotID) bool {
	if k.since < k.cfg.Snapshots.Bytes && (k.cfg.Snapshots.Interval <= 0 || time.Since(k.last) < k.cfg.Snapshots.Interval) {
		return false
	}
	info, err := os.Stat(k.path(base))
	return err != nil || base.Offset == 0 || k.since >= info.Size()/4
}

func (s *Standby) path(id kraft.SnapshotID) string {
	return filepath.Join(s.cfg.Directory, storage.PartitionDir, storage.SnapshotName(id))
}

// write makes the snapshot of the one before and of the log behind that.
func (k *snapshotter) write(ctx context.Context, base, id kraft.SnapshotID) error {
	var found survey
	file, err := os.Open(k.path(base))
	switch {
	case err == nil:
		defer func() { _ = file.Close() }() // it was only read
		if err = eachSnapshotBatch(ctx, file, found.control); err != nil {
			return err
		}
	case base.Offset > 0 || !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := k.eachBatch(ctx, base.Offset, id.Offset, found.note); err != nil {
		return err
	}
	if base.Offset == 0 && found.timestamp == 0 {
		return nil // no active controller has written what is in 0-0 to the log
	}
	w, err := k.node.CreateSnapshot(ctx, id)
	if err != nil || w == nil {
		return err
	}
	out := &compactor{to: w, epoch: id.Epoch, now: time.Now().UnixMilli()}
	err = out.head(&found)
	if err == nil && base.Offset > 0 { // what is in 0-0 the first leader has written to the log
		err = eachSnapshotBatch(ctx, file, out.add)
	}
	if err == nil {
		out.aborted = found.aborted
		err = k.eachBatch(ctx, base.Offset, id.Offset, out.add)
	}
	if err == nil {
		err = out.foot()
	}
	if err != nil {
		return errors.Join(err, w.Abandon(ctx))
	}
	if err = w.Freeze(ctx); errors.Is(err, storage.ErrSuperseded) {
		return nil
	}
	return err
}

// eachBatch has the committed batches from one offset up to another.
func (k *snapshotter) eachBatch(ctx context.Context, from, to kraft.Offset, f func(*wire.Batch) error) error {
	var buf []byte
	for from < to {
		var err error
		if buf, err = k.node.Read(ctx, buf[:0], from, readBytes); err != nil {
			return err
		}
		rest := buf
		if len(rest) == 0 {
			return fmt.Errorf("committed records from offset %d are not there", from)
		}
		for len(rest) > 0 && from < to {
			var b wire.Batch
			if b, rest, err = wire.NextBatch(rest); err != nil {
				return fmt.Errorf("committed records from offset %d: %w", from, err)
			}
			if err := f(&b); err != nil {
				return err
			}
			from = b.LastOffset() + 1
		}
	}
	return nil
}

func eachSnapshotBatch(ctx context.Context, file *os.File, f func(*wire.Batch) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	in := storage.NewScanner(file, 0, info.Size())
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

// recordType is the type of a metadata record; negative if it cannot be told, or needs more than one byte, as no type does that matters
// here.
func recordType(value []byte) int {
	if len(value) < 3 || value[0] != 1 || value[1] > 0x7f {
		return -1
	}
	return int(value[1])
}

// offsets are from one up to another.
type offsets struct{ from, to kraft.Offset }

// survey is what must be known of the log before the first byte of its snapshot can be written.
type survey struct {
	kraft.SnapshotContents
	timestamp int64 // of the last batch of records
	aborted   []offsets
	began     kraft.Offset // of the open transaction
}

// control notes what the control records of a batch say of the voters.
func (s *survey) control(b *wire.Batch) error {
	if !b.Control() {
		return nil
	}
	return b.Each(func(r wire.Record) error {
		c, err := wire.DecodeControl(r.Key, r.Value)
		if errors.Is(err, wire.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		switch k := wire.KRaftControl(c); k.Type {
		case kraft.KRaftVersionRecord:
			s.HasKRaftVersion, s.KRaftVersion = true, k.KRaftVersion
		case kraft.VotersRecord:
			s.HasVoters, s.Voters = true, k.Voters
		case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
		}
		return nil
	})
}

func (s *survey) note(b *wire.Batch) error {
	if b.Control() {
		return s.control(b)
	}
	s.timestamp = b.MaxTimestamp
	return b.Each(func(r wire.Record) error {
		switch recordType(r.Value) {
		case beginTransaction:
			s.began = r.Offset
		case abortTransaction:
			s.aborted = append(s.aborted, offsets{s.began, r.Offset + 1})
		}
		return nil
	})
}

// compactor writes the records that say something, in batches of its own.
type compactor struct {
	to      io.Writer
	epoch   kraft.Epoch
	now     int64
	next    kraft.Offset // counted from the snapshot's beginning
	aborted []offsets    // of the log; none while records of a snapshot come

	values [][]byte
	size   int
	out    []byte
}

// head writes the header, and the set of voters where it is a matter of records (Kafka: RecordsSnapshotWriter).
func (c *compactor) head(s *survey) error {
	control := []wire.ControlRecord{wire.SnapshotHeader{Timestamp: s.timestamp}}
	if s.HasKRaftVersion && s.KRaftVersion > 0 {
		control = append(control, wire.KRaftVersion{Level: s.KRaftVersion})
		if s.HasVoters {
			voters, err := wire.ControlOf(kraft.ControlRecord{Type: kraft.VotersRecord, Voters: s.Voters})
			if err != nil {
				return err
			}
			control = append(control, voters)
		}
	}
	return c.control(control...)
}

func (c *compactor) foot() error {
	if err := c.flush(); err != nil {
		return err
	}
	return c.control(wire.SnapshotFooter{})
}

func (c *compactor) control(list ...wire.ControlRecord) error {
	head := wire.NewBatch(c.next, c.epoch, c.now)
	head.Attributes = wire.AttrControl
	var records []wire.Record
	for _, r := range list {
		records = append(records, wire.NewControl(r))
	}
	c.next += kraft.Offset(len(records))
	c.out = wire.AppendBatch(c.out[:0], head, records...)
	_, err := c.to.Write(c.out)
	return err
}

// batchBytes is about how much goes into a batch.
const batchBytes = 256 << 10

// add takes the records of a batch.
func (c *compactor) add(b *wire.Batch) error {
	if b.Control() {
		return nil
	}
	return b.Each(func(r wire.Record) error {
		switch recordType(r.Value) {
		case noOp, beginTransaction, endTransaction, abortTransaction:
			return nil
		}
		for len(c.aborted) > 0 && r.Offset >= c.aborted[0].to {
			c.aborted = c.aborted[1:]
		}
		if len(c.aborted) > 0 && r.Offset >= c.aborted[0].from {
			return nil
		}
		if c.size > 0 && c.size+len(r.Value) > batchBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
		c.values = append(c.values, bytes.Clone(r.Value))
		c.size += len(r.Value)
		return nil
	})
}

func (c *compactor) flush() error {
	if len(c.values) == 0 {
		return nil
	}
	c.out = wire.AppendDataBatch(c.out[:0], c.next, c.epoch, c.now, c.values...)
	c.next += kraft.Offset(len(c.values))
	c.values, c.size = c.values[:0], 0
	_, err := c.to.Write(c.out)
	return err
}

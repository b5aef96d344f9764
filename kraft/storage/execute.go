package storage

import (
	"fmt"
	"io"
	"os"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Payload is what an action needs beside what the machine knows.
type Payload struct {
	Timestamp int64    // of the batch that a leader writes, ms
	Values    [][]byte // of AppendRecords: the records that were announced
	Records   []byte   // of AppendFetched: those of the Fetch response in hand
	Chunk     []byte   // of AppendSnapshot: that of the FetchSnapshot response in hand
}

// keptBatch is the most memory that is kept for the next batch of a leader.
const keptBatch = 1 << 20

// Execute carries out an action that concerns the directory, and reports whether it was one. After an error nothing else may be
// executed, and no reply may be sent: the node has ended.
func (l *Log) Execute(action kraft.Action, p *Payload) (bool, error) {
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		return true, l.Persist(a.State, a.KRaftVersion, a.Voters)
	case *kraft.AppendLeaderChange:
		return true, l.appendControl(a.Batch, p.Timestamp)
	case *kraft.AppendControl:
		return true, l.appendControl(a.Batch, p.Timestamp)
	case *kraft.AppendRecords:
		if int64(len(p.Values)) != int64(a.Last-a.Base)+1 {
			return true, fmt.Errorf("execute %v: there are %d records", a, len(p.Values))
		}
		l.batch = wire.AppendDataBatch(l.batch[:0], a.Base, a.Epoch, p.Timestamp, p.Values...)
		err := l.Append(l.batch)
		if cap(l.batch) > keptBatch {
			l.batch = nil
		}
		return true, err
	case *kraft.AppendFetched:
		return true, l.appendFetched(a, p.Records)
	case *kraft.FlushLog:
		return true, l.Flush()
	case *kraft.TruncateTo:
		return true, l.TruncateTo(a.Offset)
	case *kraft.AssignEpoch:
		return true, l.AssignEpoch(a.Epoch)
	case *kraft.AdvanceHighWatermark:
		l.AdvanceHighWatermark(a.Offset)
		return true, nil
	case *kraft.BeginSnapshotFetch:
		return true, l.beginFetch(a.ID)
	case *kraft.AbandonSnapshotFetch:
		return true, l.endFetch()
	case *kraft.AppendSnapshot:
		if l.partial == nil || l.partial.id != a.ID || l.partial.size != a.Position || int64(len(p.Chunk)) != int64(a.Bytes) {
			return true, fmt.Errorf("execute %v: another snapshot or position is held, or the chunk has %d bytes", a, len(p.Chunk))
		}
		return true, l.partial.Append(p.Chunk)
	case *kraft.InstallSnapshot:
		return true, l.install(a.ID, a.Size)
	default:
		return false, nil
	}
}

func (l *Log) appendControl(b kraft.Batch, timestamp int64) error {
	raw, err := wire.AppendControlBatch(nil, b, timestamp)
	if err != nil {
		return err
	}
	return l.Append(raw)
}

// appendFetched writes the first batches of a response, as they came. Of a response it sees those alone whose checksum is right (wire.KRaftBatches): a
// second look at every byte would make catching up slower by a twentieth.
func (l *Log) appendFetched(a *kraft.AppendFetched, records []byte) error {
	size := 0
	for n := a.Take; n > 0; n-- {
		b, _, err := wire.NextBatch(records[size:])
		if err != nil {
			return fmt.Errorf("execute %v: %w", a, err)
		}
		size += len(b.Bytes)
	}
	return l.append(records[:size], func(*wire.Batch) bool { return true })
}

func (l *Log) beginFetch(id kraft.SnapshotID) error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.endFetch(); err != nil {
		return err
	}
	var err error
	if l.partial, err = l.newPart(id); err != nil {
		return l.failed(err)
	}
	return nil
}

func (l *Log) endFetch() error {
	w := l.partial
	l.partial = nil
	if w == nil || l.broken != nil {
		return l.broken
	}
	return w.Abandon()
}

// PartialSize is how many bytes of a snapshot in transfer are held, and of which.
func (l *Log) PartialSize() (kraft.SnapshotID, int64) {
	if l.partial == nil {
		return kraft.SnapshotID{}, 0
	}
	return l.partial.id, l.partial.size
}

// PartialContents are the control records of the snapshot in transfer once the last chunk is added: what
// kraft.ReceiveFetchSnapshotResponse.Contents asks for.
func (l *Log) PartialContents(chunk []byte) (kraft.SnapshotContents, error) {
	w := l.partial
	if w == nil {
		return kraft.SnapshotContents{}, fmt.Errorf("no snapshot is being fetched")
	}
	f, err := l.fsys.OpenFile(w.path, os.O_RDONLY, 0)
	if err != nil {
		return kraft.SnapshotContents{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return readContents(w.path, joined{f, w.size, chunk}, w.size+int64(len(chunk)))
}

// joined is a file with more bytes behind it.
type joined struct {
	file File
	size int64
	more []byte
}

// ReadAt is part of io.ReaderAt.
func (j joined) ReadAt(b []byte, at int64) (n int, err error) {
	if at < j.size {
		part := b[:min(int64(len(b)), j.size-at)]
		if n, err = j.file.ReadAt(part, at); n < len(part) {
			return n, err
		}
	}
	if n < len(b) && at+int64(n)-j.size < int64(len(j.more)) {
		n += copy(b[n:], j.more[at+int64(n)-j.size:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

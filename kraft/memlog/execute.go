package memlog

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// Execute carries out an action that concerns the log, and reports whether it was one. event is the event that the action came from:
// a Fetch response brings the batches, a FetchSnapshot response the contents.
func (l *Log) Execute(action kraft.Action, event kraft.Event) (bool, error) {
	switch a := action.(type) {
	case *kraft.AppendLeaderChange:
		return true, l.Append(a.Batch)
	case *kraft.AppendControl:
		return true, l.Append(a.Batch)
	case *kraft.AppendRecords:
		return true, l.Append(a.Batch)
	case *kraft.AppendFetched:
		response, ok := event.(*kraft.ReceiveFetchResponse)
		if !ok {
			return true, fmt.Errorf("execute %v: the event is %v", a, event)
		}
		return true, l.Append(response.Batches[:a.Take]...)
	case *kraft.FlushLog:
		l.Flush()
	case *kraft.TruncateTo:
		l.TruncateTo(a.Offset)
	case *kraft.AssignEpoch:
		l.AssignEpoch(a.Epoch)
	case *kraft.AdvanceHighWatermark:
		l.AdvanceHighWatermark(a.Offset)
	case *kraft.BeginSnapshotFetch:
		l.partial = partial{active: true, id: a.ID}
	case *kraft.AbandonSnapshotFetch:
		l.partial = partial{}
	case *kraft.AppendSnapshot:
		if !l.partial.active || l.partial.id != a.ID || l.partial.size != a.Position {
			return true, fmt.Errorf("execute %v: %d bytes of %v are held", a, l.partial.size, l.partial.id)
		}
		l.partial.size += int64(a.Bytes)
	case *kraft.InstallSnapshot:
		return true, l.install(a, event)
	default:
		return false, nil
	}
	return true, nil
}

func (l *Log) install(a *kraft.InstallSnapshot, event kraft.Event) error {
	response, ok := event.(*kraft.ReceiveFetchSnapshotResponse)
	if !ok || l.partial.size != a.Size {
		return fmt.Errorf("execute %v: %d bytes are held, the event is %v", a, l.partial.size, event)
	}
	l.partial = partial{}
	l.AddSnapshot(a.ID, a.Size, response.Contents)
	if !l.truncateToLatestSnapshot() {
		return fmt.Errorf("execute %v: %v ends behind it", a, l)
	}
	return nil
}

package kraft

import (
	"fmt"
	"slices"
)

// ControlRecordType is the type of a record that the consensus layer itself writes.
type ControlRecordType uint8

// The control records of the metadata partition. Snapshot headers and footers decide nothing.
const (
	OtherControlRecord ControlRecordType = iota
	LeaderChangeRecord
	KRaftVersionRecord
	VotersRecord
)

func (t ControlRecordType) String() string {
	return [...]string{"Other", "LeaderChange", "KRaftVersion", "Voters"}[t]
}

// ControlRecord is one decoded control record. The fields used depend on the type.
type ControlRecord struct {
	Type ControlRecordType

	Leader   NodeID   // LeaderChange
	VoterIDs []NodeID // LeaderChange: the leader's voter map
	Granting []NodeID // LeaderChange: who granted their vote, the leader included

	KRaftVersion int16 // KRaftVersion

	Voters VoterSet // Voters
}

func (r ControlRecord) String() string {
	switch r.Type {
	case LeaderChangeRecord:
		return fmt.Sprintf("LeaderChange(%v voters=%v granting=%v)", r.Leader, r.VoterIDs, r.Granting)
	case KRaftVersionRecord:
		return fmt.Sprintf("KRaftVersion(%d)", r.KRaftVersion)
	case VotersRecord:
		return fmt.Sprintf("Voters%v", r.Voters)
	case OtherControlRecord:
	}
	return r.Type.String()
}

func (r ControlRecord) clone() ControlRecord {
	r.VoterIDs, r.Granting = slices.Clone(r.VoterIDs), slices.Clone(r.Granting)
	return r
}

// Batch describes one record batch: what decides, without its bytes. Base is at most Last: whoever decodes a batch that says otherwise
// counts it as corrupt (RecordsCorrupt).
type Batch struct {
	Base, Last Offset
	Epoch      Epoch // partition leader epoch
	Size       int32 // bytes
	Control    []ControlRecord
}

func (b Batch) String() string {
	s := fmt.Sprintf("[%d..%d]@%d", b.Base, b.Last, b.Epoch)
	if len(b.Control) > 0 {
		s += fmt.Sprint(b.Control)
	}
	return s
}

// SnapshotID names a snapshot: the end offset and epoch of the log that it stands for. It is ordered by epoch first,
// as LogEnd is (Kafka: OffsetAndEpoch).
type SnapshotID = OffsetAndEpoch

// BootstrapSnapshot is the checkpoint that a formatted dynamic controller starts from (KIP-853). It is read locally and
// never offered to anyone.
var BootstrapSnapshot = SnapshotID{}

// OffsetAndEpoch is a position in a log and the epoch there (Kafka: OffsetAndEpoch).
type OffsetAndEpoch struct {
	Offset Offset
	Epoch  Epoch
}

// LogOffsetMetadata is a position in the log.
type LogOffsetMetadata = OffsetAndEpoch

// Compare orders by epoch first.
func (p OffsetAndEpoch) Compare(o OffsetAndEpoch) int { return p.LogEnd().Compare(o.LogEnd()) }

// LogEnd is the same position in the words of a vote.
func (p OffsetAndEpoch) LogEnd() LogEnd { return LogEnd{LastEpoch: p.Epoch, LastOffset: p.Offset} }

func (p OffsetAndEpoch) String() string { return fmt.Sprintf("%d@%d", p.Offset, p.Epoch) }

// SnapshotContents are the control records of a whole snapshot, as far as they decide.
type SnapshotContents struct {
	KRaftVersion    int16
	HasKRaftVersion bool
	Voters          VoterSet
	HasVoters       bool
}

package wire

import (
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Control records stand in batches with the control bit. Their key names the type, their value is a flexible message
// that begins with its own version. KRaft writes version 0 of each (Kafka: ControlRecordType, ControlRecordUtils).

// ControlType is the type in a control record's key.
type ControlType int16

// The control records of the metadata log. Transaction markers (0 and 1) never occur in it.
const (
	TypeLeaderChange   ControlType = 2
	TypeSnapshotHeader ControlType = 3
	TypeSnapshotFooter ControlType = 4
	TypeKRaftVersion   ControlType = 5
	TypeKRaftVoters    ControlType = 6
)

func (t ControlType) String() string {
	switch t {
	case TypeLeaderChange:
		return "LeaderChange"
	case TypeSnapshotHeader:
		return "SnapshotHeader"
	case TypeSnapshotFooter:
		return "SnapshotFooter"
	case TypeKRaftVersion:
		return "KRaftVersion"
	case TypeKRaftVoters:
		return "KRaftVoters"
	default:
		return "control type " + strconv.Itoa(int(t))
	}
}

// ControlRecord is the value of a control record: a LeaderChange, SnapshotHeader, SnapshotFooter, KRaftVersion or
// Voters, by value.
type ControlRecord interface {
	Type() ControlType
	// AppendValue appends the value as Kafka encodes it.
	AppendValue(dst []byte) []byte
	String() string
}

// LeaderChange is the first record of an epoch: who leads, the voters, and who granted the vote. Version 1 gives the
// voters' directory ids; no release writes it, and readers up to 4.3 take every value for version 0.
type LeaderChange struct {
	Version  int16
	Leader   kraft.NodeID
	Voters   []kraft.ReplicaKey
	Granting []kraft.ReplicaKey
}

// SnapshotHeader is the first record of a snapshot.
type SnapshotHeader struct {
	Version   int16
	Timestamp int64 // of the last record that the snapshot covers, ms
}

// SnapshotFooter is the last record of a snapshot.
type SnapshotFooter struct{ Version int16 }

// KRaftVersion sets kraft.version: 0 for a static quorum, 1 for a dynamic one.
type KRaftVersion struct {
	Version int16
	Level   int16
}

// Voters is the voter set of a dynamic quorum (Kafka: VotersRecord).
type Voters struct {
	Version int16
	Voters  []Voter
}

// Voter is one entry of a voter set.
type Voter struct {
	Key        kraft.ReplicaKey
	Endpoints  []Endpoint
	MinVersion int16 // kraft.version range that the voter supports
	MaxVersion int16
}

// Endpoint is a listener's address.
type Endpoint struct {
	Name string // of the listener
	Host string
	Port uint16
}

func (e Endpoint) String() string {
	return e.Name + "://" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// ControlTypeOf reads the type from a control record's key. Like Kafka it takes longer keys and any version.
func ControlTypeOf(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("control record key of %d bytes: %w", len(key), ErrMalformed)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// AppendControlKey appends a control record's key.
func AppendControlKey(dst []byte, t ControlType) []byte {
	return binary.BigEndian.AppendUint16(append(dst, 0, 0), uint16(t))
}

// NewControl is the record that holds a control record.
func NewControl(c ControlRecord) Record {
	return Record{Key: AppendControlKey(nil, c.Type()), Value: c.AppendValue(nil)}
}

// DecodeControl decodes a control record. Bytes behind the value are not looked at, as in Kafka; whether there were
// any shows when the result is encoded again.
func DecodeControl(key, value []byte) (ControlRecord, error) {
	t, err := ControlTypeOf(key)
	if err != nil {
		return nil, err
	}
	r := reader{b: value, flex: true}
	version := r.int16()
	if version < 0 || version > 0 && (t != TypeLeaderChange || version > 1) {
		return nil, fmt.Errorf("%s record version %d: %w", t, version, ErrUnsupported)
	}
	var c ControlRecord
	switch t {
	case TypeLeaderChange:
		c = decodeLeaderChange(version, &r)
	case TypeSnapshotHeader:
		c = SnapshotHeader{Version: version, Timestamp: r.int64()}
	case TypeSnapshotFooter:
		c = SnapshotFooter{Version: version}
	case TypeKRaftVersion:
		c = KRaftVersion{Version: version, Level: r.int16()}
	case TypeKRaftVoters:
		c = decodeVoters(version, &r)
	default:
		return nil, fmt.Errorf("%s: %w", t, ErrUnsupported)
	}
	r.tags()
	if r.bad {
		return nil, fmt.Errorf("%s record of %d bytes: %w", t, len(value), ErrMalformed)
	}
	return c, nil
}

func decodeLeaderChange(version int16, r *reader) LeaderChange {
	c := LeaderChange{Version: version, Leader: kraft.NodeID(r.int32())}
	for _, list := range []*[]kraft.ReplicaKey{&c.Voters, &c.Granting} {
		for n := r.array(); n > 0 && !r.bad; n-- {
			key := kraft.ReplicaKey{ID: kraft.NodeID(r.int32())}
			if version >= 1 {
				key.DirectoryID = r.uuid()
			}
			r.tags()
			*list = append(*list, key)
		}
	}
	return c
}

func decodeVoters(version int16, r *reader) Voters {
	c := Voters{Version: version}
	for n := r.array(); n > 0 && !r.bad; n-- {
		v := Voter{Key: kraft.ReplicaKey{ID: kraft.NodeID(r.int32()), DirectoryID: r.uuid()}}
		for n := r.array(); n > 0 && !r.bad; n-- {
			e := Endpoint{Name: r.text(), Host: r.text(), Port: uint16(r.int16())}
			r.tags()
			v.Endpoints = append(v.Endpoints, e)
		}
		v.MinVersion, v.MaxVersion = r.int16(), r.int16()
		r.tags()
		r.tags()
		c.Voters = append(c.Voters, v)
	}
	return c
}

// text reads a string that must not be null.
func (r *reader) text() string {
	b := r.str()
	if b == nil {
		r.fail()
	}
	return string(b)
}

// Type is TypeLeaderChange.
func (LeaderChange) Type() ControlType { return TypeLeaderChange }

// Type is TypeSnapshotHeader.
func (SnapshotHeader) Type() ControlType { return TypeSnapshotHeader }

// Type is TypeSnapshotFooter.
func (SnapshotFooter) Type() ControlType { return TypeSnapshotFooter }

// Type is TypeKRaftVersion.
func (KRaftVersion) Type() ControlType { return TypeKRaftVersion }

// Type is TypeKRaftVoters.
func (Voters) Type() ControlType { return TypeKRaftVoters }

// AppendValue appends the value as Kafka encodes it.
func (c LeaderChange) AppendValue(dst []byte) []byte {
	dst = appendInt16(dst, c.Version)
	dst = appendInt32(dst, int32(c.Leader))
	for _, list := range [][]kraft.ReplicaKey{c.Voters, c.Granting} {
		dst = appendUvarint(dst, len(list)+1)
		for _, v := range list {
			dst = appendInt32(dst, int32(v.ID))
			if c.Version >= 1 {
				dst = append(dst, v.DirectoryID[:]...)
			}
			dst = append(dst, 0)
		}
	}
	return append(dst, 0)
}

// AppendValue appends the value as Kafka encodes it.
func (c SnapshotHeader) AppendValue(dst []byte) []byte {
	dst = appendInt16(dst, c.Version)
	return append(binary.BigEndian.AppendUint64(dst, uint64(c.Timestamp)), 0)
}

// AppendValue appends the value as Kafka encodes it.
func (c SnapshotFooter) AppendValue(dst []byte) []byte { return append(appendInt16(dst, c.Version), 0) }

// AppendValue appends the value as Kafka encodes it.
func (c KRaftVersion) AppendValue(dst []byte) []byte {
	return append(appendInt16(appendInt16(dst, c.Version), c.Level), 0)
}

// AppendValue appends the value as Kafka encodes it.
func (c Voters) AppendValue(dst []byte) []byte {
	dst = appendUvarint(appendInt16(dst, c.Version), len(c.Voters)+1)
	for _, v := range c.Voters {
		dst = append(appendInt32(dst, int32(v.Key.ID)), v.Key.DirectoryID[:]...)
		dst = appendUvarint(dst, len(v.Endpoints)+1)
		for _, e := range v.Endpoints {
			dst = append(appendUvarint(dst, len(e.Name)+1), e.Name...)
			dst = append(appendUvarint(dst, len(e.Host)+1), e.Host...)
			dst = append(appendInt16(dst, int16(e.Port)), 0)
		}
		dst = appendInt16(appendInt16(dst, v.MinVersion), v.MaxVersion)
		dst = append(dst, 0, 0)
	}
	return append(dst, 0)
}

func appendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }

func appendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }

func appendUvarint(dst []byte, v int) []byte { return binary.AppendUvarint(dst, uint64(v)) }

func (c LeaderChange) String() string {
	return fmt.Sprintf("LeaderChange leader %d, voters %s, granted by %s", c.Leader, keys(c.Voters), keys(c.Granting))
}

func (c SnapshotHeader) String() string {
	return "SnapshotHeader last timestamp " + strconv.FormatInt(c.Timestamp, 10)
}

func (c SnapshotFooter) String() string { return "SnapshotFooter" }

func (c KRaftVersion) String() string { return "KRaftVersion " + strconv.Itoa(int(c.Level)) }

func (c Voters) String() string {
	voters := make([]string, len(c.Voters))
	for i, v := range c.Voters {
		voters[i] = v.String()
	}
	return "KRaftVoters " + strings.Join(voters, ", ")
}

func (v Voter) String() string {
	endpoints := make([]string, len(v.Endpoints))
	for i, e := range v.Endpoints {
		endpoints[i] = e.String()
	}
	return fmt.Sprintf("%s at %s (kraft.version %d..%d)", v.Key, strings.Join(endpoints, " "), v.MinVersion, v.MaxVersion)
}

func keys(list []kraft.ReplicaKey) string {
	text := make([]string, len(list))
	for i, k := range list {
		text[i] = k.String()
	}
	return "[" + strings.Join(text, " ") + "]"
}

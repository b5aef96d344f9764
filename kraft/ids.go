package kraft

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// NodeID is a Kafka node id: 0 or above for a broker or controller, -1 for "none", and -2, -3, … for
// a bootstrap server whose id is not known yet.
type NodeID int32

// NoNode is the wire value of an absent leader, candidate or voter id.
const NoNode NodeID = -1

func (id NodeID) String() string { return strconv.FormatInt(int64(id), 10) }

// Epoch is a leader epoch, 0 before the first election. -1 stands for "unknown" on the wire.
type Epoch int32

// Offset is a position in the metadata log, counted in records. -1 stands for "unknown".
type Offset int64

// Instant is a point in time in milliseconds. Its origin is the driver's; the engine only adds to it.
type Instant int64

// DirectoryID identifies the metadata log directory of a replica (KIP-853; meta.properties, directory.id).
// The zero value means that no directory id is known.
type DirectoryID uuid.UUID

// IsZero reports whether no directory id is known.
func (d DirectoryID) IsZero() bool { return d == DirectoryID{} }

// String prints the id as Kafka does: base64url without padding, 22 characters.
func (d DirectoryID) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// MarshalText writes the id as String does.
func (d DirectoryID) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *DirectoryID) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDirectoryID(string(text))
	return err
}

// ParseDirectoryID reads the text form of a directory id.
func ParseDirectoryID(text string) (DirectoryID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return DirectoryID{}, fmt.Errorf("directory id %q: want 22 characters of base64url", text)
	}
	return DirectoryID(raw), nil
}

// ReplicaKey names a replica: a node id and, where known, its directory id (Kafka: ReplicaKey).
type ReplicaKey struct {
	ID          NodeID      `json:"id"`
	DirectoryID DirectoryID `json:"directoryId,omitzero"`
}

func (k ReplicaKey) String() string {
	if k.DirectoryID.IsZero() {
		return k.ID.String()
	}
	return k.ID.String() + "/" + k.DirectoryID.String()
}

// LogEnd is the last epoch and end offset of a log. Logs are compared by epoch first
// (Kafka: OffsetAndEpoch.compareTo), so the greater LogEnd is the more up-to-date log.
type LogEnd struct {
	LastEpoch  Epoch
	LastOffset Offset
}

// Compare is negative, zero or positive as l is behind, level with or ahead of o.
func (l LogEnd) Compare(o LogEnd) int {
	return cmp.Or(cmp.Compare(l.LastEpoch, o.LastEpoch), cmp.Compare(l.LastOffset, o.LastOffset))
}

func (l LogEnd) String() string { return fmt.Sprintf("%d@%d", l.LastOffset, l.LastEpoch) }

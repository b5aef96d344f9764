package storage

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// FormatSpec says what Format writes.
type FormatSpec struct {
	ClusterID   string
	NodeID      kraft.NodeID
	DirectoryID kraft.DirectoryID // of the metadata directory
	MetadataDir string
	OtherDirs   []string // further log directories: they hold no metadata log

	Controller   bool
	KRaftVersion int16
	Voters       kraft.VoterSet // empty: no Voters record
	Records      [][]byte       // what the first active controller of an empty log writes

	// OneCheckpoint puts the records into the 0-0 checkpoint, as 4.4 does (KAFKA-19648); earlier releases have a bootstrap.checkpoint beside
	// it, in every directory of every node, which 4.4 reads, too.
	OneCheckpoint bool
	Now           time.Time
}

// Format writes the files of new data directories. meta.properties comes last: it makes a directory a formatted one, so that a
// crash leaves one that can be formatted again (Kafka: Formatter).
func Format(fsys FS, s *FormatSpec) error {
	if err := s.writeMetadata(fsys); err != nil {
		return withRemedy(err)
	}
	for _, dir := range append([]string{s.MetadataDir}, s.OtherDirs...) {
		m := Meta{ClusterID: s.ClusterID, NodeID: s.NodeID, DirectoryID: s.DirectoryID}
		if dir != s.MetadataDir {
			m.DirectoryID = NewDirectoryID()
		}
		if err := errors.Join(fsys.MkdirAll(dir, 0o755), WriteMeta(fsys, dir, m, s.Now)); err != nil {
			return withRemedy(err)
		}
	}
	return nil
}

func (s *FormatSpec) writeMetadata(fsys FS) error {
	now := s.Now.UnixMilli()
	if !s.OneCheckpoint {
		content := s.checkpoint(0, now, nil, s.Records)
		for _, dir := range append([]string{s.MetadataDir}, s.OtherDirs...) {
			if err := fsys.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := replaceFile(fsys, filepath.Join(dir, BootstrapFile), content); err != nil {
				return err
			}
		}
	}
	if !s.Controller || !s.OneCheckpoint && s.Voters.Len() == 0 {
		return nil
	}
	partition := filepath.Join(s.MetadataDir, PartitionDir)
	var control []wire.ControlRecord
	if s.KRaftVersion > 0 {
		control = append(control, wire.KRaftVersion{Level: s.KRaftVersion})
	}
	if s.Voters.Len() > 0 {
		voters, err := wire.ControlOf(kraft.ControlRecord{Type: kraft.VotersRecord, Voters: s.Voters})
		if err != nil {
			return err
		}
		control = append(control, voters)
	}
	records := s.Records
	if !s.OneCheckpoint {
		records = nil
	}
	if err := fsys.MkdirAll(partition, 0o755); err != nil {
		return err
	}
	name := filepath.Join(partition, SnapshotName(kraft.BootstrapSnapshot))
	return replaceSnapshot(fsys, name, s.checkpoint(now, now, control, records))
}

// replaceSnapshot writes a snapshot as a running node does: a .part file that is synced, made read-only and renamed.
func replaceSnapshot(fsys FS, name string, content []byte) error {
	part := name + ".part"
	if err := errors.Join(remove(fsys, part), writeFile(fsys, part, content, 0o400)); err != nil {
		return err
	}
	if err := fsys.Rename(part, name); err != nil {
		return err
	}
	return syncDir(fsys, filepath.Dir(name))
}

// checkpoint is a snapshot: the header with the control records in one batch, the records in another, the footer.
func (s *FormatSpec) checkpoint(last, now int64, control []wire.ControlRecord, records [][]byte) []byte {
	head := wire.NewBatch(0, 0, now)
	head.Attributes = wire.AttrControl
	first := []wire.Record{wire.NewControl(wire.SnapshotHeader{Timestamp: last})}
	for _, c := range control {
		first = append(first, wire.NewControl(c))
	}
	b := wire.AppendBatch(nil, head, first...)
	head.BaseOffset = kraft.Offset(len(first))
	if len(records) > 0 {
		b = wire.AppendDataBatch(b, head.BaseOffset, 0, now, records...)
		head.BaseOffset += kraft.Offset(len(records))
	}
	return wire.AppendBatch(b, head, wire.NewControl(wire.SnapshotFooter{}))
}

// NewDirectoryID draws an id as Kafka does (Uuid.randomUuid): one whose text does not begin with a dash, which command lines would take
// for an option.
func NewDirectoryID() kraft.DirectoryID {
	for {
		var id kraft.DirectoryID
		_, _ = rand.Read(id[:]) // never fails, by its contract
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}

// HoldsLog reports whether a directory holds a metadata log, formatted or not.
func HoldsLog(fsys FS, dir string) (bool, error) {
	entries, err := fsys.ReadDir(filepath.Join(dir, PartitionDir))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e FileInfo) bool {
		_, isLog := segmentBase(e.Name)
		return isLog || e.Name == QuorumStateFile
	}), err
}

// Package doctortest damages data directories of real controllers in every way that the doctor knows. What is to be changed is looked up in
// the directory, so that one of any release will do: of a dynamic quorum with one voter, with several segments, snapshots and epochs.
package doctortest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

// Root is where Load puts a directory.
const Root = "d"

const partition = Root + "/" + storage.PartitionDir + "/"

// Dir is a directory in memory, and what a damage has to know of it.
type Dir struct {
	*memfs.FS
	Segments  []string // paths, the first offset first
	Snapshots []string
	Meta      storage.Meta
	State     storage.StoredState
	End       kraft.Offset
	Epoch     kraft.Epoch
	OtherID   string // a directory id that is not the node's
}

// Load copies a directory into memory and looks at it.
func Load(data string) (*Dir, error) {
	d := &Dir{FS: memfs.New(), OtherID: "Ed0_z6eWSMito5mSxIgznw"}
	err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(data, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		d.Put(Root+"/"+filepath.ToSlash(rel), content)
		return err
	})
	if err != nil {
		return nil, err
	}
	for name := range d.Files() {
		switch {
		case strings.HasSuffix(name, ".log"):
			d.Segments = append(d.Segments, name)
		case strings.HasSuffix(name, ".checkpoint") && strings.HasPrefix(name, partition):
			d.Snapshots = append(d.Snapshots, name)
		}
	}
	slices.Sort(d.Segments)
	slices.Sort(d.Snapshots)
	if d.Meta, err = storage.ReadMeta(d, Root); err != nil {
		return nil, err
	}
	if d.State, _, err = storage.ReadQuorumState(d, partition); err != nil {
		return nil, err
	}
	if len(d.Segments) < 3 || len(d.Snapshots) < 2 {
		return nil, fmt.Errorf("%s: %d segments and %d snapshots, want 3 and 2", data, len(d.Segments), len(d.Snapshots))
	}
	last := d.Files()[d.Segments[len(d.Segments)-1]]
	for len(last) > 0 {
		b, rest, err := wire.NextBatch(last)
		if err != nil {
			return nil, err
		}
		d.End, d.Epoch, last = b.LastOffset()+1, b.Epoch, rest
	}
	return d, nil
}

func (d *Dir) change(name string, f func([]byte) []byte) string {
	d.Put(name, f(d.Files()[name]))
	return name
}

func (d *Dir) replace(name, old, with string) string {
	return d.change(name, func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), old, with)) })
}

func (d *Dir) flip(name string, at int) string {
	return d.change(name, func(b []byte) []byte { b[at] ^= 1; return b })
}

func (d *Dir) cut(name string, n int) string {
	return d.change(name, func(b []byte) []byte { return b[:len(b)-n] })
}

func (d *Dir) write(name, text string) string {
	d.Put(name, []byte(text))
	return name
}

func (d *Dir) remove(name string) string {
	if err := d.Remove(name); err != nil {
		panic(err) // the table names a file that is not there
	}
	return name
}

func (d *Dir) last() string   { return d.Segments[len(d.Segments)-1] }
func (d *Dir) newest() string { return d.Snapshots[len(d.Snapshots)-1] }

// appended adds a batch to the last segment.
func (d *Dir) appended(raw []byte) string {
	return d.change(d.last(), func(b []byte) []byte { return append(b, raw...) })
}

// voters appends a Voters record. What the doctor then says is about the partition, not about a segment.
func (d *Dir) voters(list ...wire.Voter) string {
	d.appended(wire.AppendBatch(nil, head(d.End, d.Epoch), wire.NewControl(wire.Voters{Voters: list})))
	return partition
}

func (d *Dir) voter(id kraft.NodeID, host string) wire.Voter {
	key := kraft.ReplicaKey{ID: id, DirectoryID: kraft.DirectoryID{15: byte(id)}}
	if id == d.Meta.NodeID {
		key.DirectoryID = d.Meta.DirectoryID
	}
	v := wire.Voter{Key: key, MaxVersion: 1}
	if host != "" {
		v.Endpoints = []wire.Endpoint{{Name: "CONTROLLER", Host: host, Port: 1}}
	}
	return v
}

func head(base kraft.Offset, epoch kraft.Epoch) wire.Batch {
	h := wire.NewBatch(base, epoch, 1)
	h.Attributes = wire.AttrControl
	return h
}

// snapshot is one of no state: header, the given control records, footer.
func snapshot(epoch kraft.Epoch, control ...wire.ControlRecord) []byte {
	records := []wire.Record{wire.NewControl(wire.SnapshotHeader{})}
	for _, c := range control {
		records = append(records, wire.NewControl(c))
	}
	b := wire.AppendBatch(nil, head(0, epoch), records...)
	return wire.AppendBatch(b, head(kraft.Offset(len(records)), epoch), wire.NewControl(wire.SnapshotFooter{}))
}

// Damage is one way to damage a directory, and all that the doctor then has to say.
type Damage struct {
	Kind     string
	Severity doctor.Severity
	Do       func(*Dir) string // returns the file that is to be named
	Also     []string          // kinds that follow from it
}

// Check damages a copy of the directory and compares what the doctor says: the kind, its severity and file, and nothing but that and
// what follows from it.
func (c *Damage) Check(data string) error {
	d, err := Load(data)
	if err != nil {
		return err
	}
	file := c.Do(d)
	r, err := doctor.Examine(d, Root)
	if err != nil {
		return err
	}
	want := append([]string{c.Kind}, c.Also...)
	var got []string
	found := false
	for _, f := range r.Findings {
		got = append(got, f.Kind)
		found = found || f.Kind == c.Kind && f.Severity == c.Severity && filepath.ToSlash(f.File) == filepath.ToSlash(filepath.Clean(file)) && f.Evidence != ""
	}
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !found || !slices.Equal(got, want) {
		return fmt.Errorf("%s in %s: found %v, want %v\n%v", c.Kind, file, got, want, r)
	}
	return nil
}

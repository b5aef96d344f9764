package storage

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/understudy-kafka/understudy/kraft"
)

// Directory is the data directory of a node, locked as Kafka locks it.
type Directory struct {
	Meta

	fsys FS
	path string
	lock io.Closer
}

// Identity is what the node believes to be. A field that is not given is not compared.
type Identity struct {
	ClusterID string
	NodeID    kraft.NodeID
}

// OpenDirectory locks a formatted directory and checks that it belongs to the node.
func OpenDirectory(fsys FS, path string, want Identity) (*Directory, error) {
	meta, err := ReadMeta(fsys, path)
	if err != nil {
		return nil, withRemedy(err)
	}
	file := filepath.Join(path, MetaFile)
	if meta.Version != 1 {
		return nil, fail(file, "start the directory once with Kafka 3.9, which converts it", ErrVersion, "version %d, want 1", meta.Version)
	}
	if meta.NodeID != want.NodeID {
		return nil, fail(file, "correct node.id in the configuration, or name the directory of this node", ErrIdentity,
			"the directory is that of node %v, the configuration says %v", meta.NodeID, want.NodeID)
	}
	if want.ClusterID != "" && meta.ClusterID != want.ClusterID {
		return nil, fail(file, "name the directory of this cluster, or format an empty one", ErrIdentity,
			"the directory belongs to cluster %s, this one is %s", meta.ClusterID, want.ClusterID)
	}
	lock, err := fsys.Lock(filepath.Join(path, LockFile))
	if err != nil {
		if errors.Is(err, ErrLocked) {
			return nil, &Error{Path: filepath.Join(path, LockFile), Err: err, Remedy: "stop the other process that uses this directory, or name another directory"}
		}
		return nil, withRemedy(err)
	}
	return &Directory{Meta: meta, fsys: fsys, path: path, lock: lock}, nil
}

// Path is the directory's path.
func (d *Directory) Path() string { return d.path }

// OpenLog opens the metadata log.
func (d *Directory) OpenLog(opts Options) (*Log, error) {
	return Open(d.fsys, filepath.Join(d.path, PartitionDir), opts)
}

// Close gives the lock back. The log must have been closed.
func (d *Directory) Close() error { return d.lock.Close() }

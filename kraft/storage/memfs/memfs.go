// Package memfs is a file system in memory for package storage. It knows what has been synced: a crash leaves that, and of the rest
// any part, torn. It can also fill up, be read-only and fail at any operation.
package memfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/understudy-kafka/understudy/kraft/storage"
)

// Op is an operation that changes something, as hooks see it.
type Op struct {
	Kind string // create, write, truncate, sync, rename, remove, mkdir, syncdir, lock
	Name string
	Size int // of a write, bytes
}

func (o Op) String() string { return fmt.Sprintf("%s %s (%d)", o.Kind, o.Name, o.Size) }

// FS is the file system. It has one owner.
type FS struct {
	// Before, if set, is called before each operation that changes something. An error fails it; a write then still does the
	// first part bytes.
	Before func(Op) (part int, err error)
	// Read, if set, is called before each read of a file. An error fails it.
	Read func(name string, at int64) error
	// Capacity bounds the bytes of all files; 0: no bound.
	Capacity int64
	// ReadOnly refuses every change.
	ReadOnly bool

	names   map[string]*node
	stable  map[string]*node // what a crash leaves of names
	journal []nameChange     // of names, not yet in stable
	dirs    map[string]bool
	locks   map[string]bool
	clock   int64
}

// node is a file, whatever its name.
type node struct {
	data    []byte
	stable  []byte
	pending []change // from stable to data
	changed int64
}

// change is a write, or a truncation where data is nil.
type change struct {
	at   int64
	data []byte
}

// nameChange takes a name away, gives a file one, or both.
type nameChange struct {
	gone, added string
	node        *node
}

// New is an empty file system.
func New() *FS {
	return &FS{names: map[string]*node{}, stable: map[string]*node{}, dirs: map[string]bool{"/": true, ".": true}, locks: map[string]bool{}}
}

func (f *FS) before(op Op) (int, error) {
	if f.ReadOnly {
		return 0, &fs.PathError{Op: op.Kind, Path: op.Name, Err: syscall.EROFS}
	}
	if f.Before == nil {
		return 0, nil
	}
	part, err := f.Before(op)
	if err != nil {
		err = &fs.PathError{Op: op.Kind, Path: op.Name, Err: err}
	}
	return part, err
}

func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
}

// OpenFile is part of storage.FS.
func (f *FS) OpenFile(name string, flag int, _ fs.FileMode) (storage.File, error) {
	name = path.Clean(name)
	n := f.names[name]
	if n == nil && flag&os.O_CREATE == 0 {
		return nil, missing("open", name)
	}
	if n == nil {
		if !f.dirs[path.Dir(name)] {
			return nil, missing("open", name)
		}
		if _, err := f.before(Op{Kind: "create", Name: name}); err != nil {
			return nil, err
		}
		n = &node{}
		f.change(nameChange{added: name, node: n})
	}
	h := &file{fs: f, node: n, name: name, writable: flag&(os.O_WRONLY|os.O_RDWR) != 0}
	if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
		return h, h.Truncate(0)
	}
	return h, nil
}

func (f *FS) change(c nameChange) {
	f.journal = append(f.journal, c)
	c.apply(f.names)
}

func (c nameChange) apply(names map[string]*node) {
	if c.gone != "" {
		delete(names, c.gone)
	}
	if c.added != "" {
		names[c.added] = c.node
	}
}

// Rename is part of storage.FS.
func (f *FS) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	n := f.names[from]
	if n == nil {
		return missing("rename", from)
	}
	if _, err := f.before(Op{Kind: "rename", Name: from}); err != nil {
		return err
	}
	f.change(nameChange{gone: from, added: to, node: n})
	return nil
}

// Remove is part of storage.FS.
func (f *FS) Remove(name string) error {
	name = path.Clean(name)
	if f.names[name] == nil {
		return missing("remove", name)
	}
	if _, err := f.before(Op{Kind: "remove", Name: name}); err != nil {
		return err
	}
	f.change(nameChange{gone: name})
	return nil
}

// MkdirAll is part of storage.FS. Directories are durable at once.
func (f *FS) MkdirAll(name string, _ fs.FileMode) error {
	name = path.Clean(name)
	if f.dirs[name] {
		return nil
	}
	if _, err := f.before(Op{Kind: "mkdir", Name: name}); err != nil {
		return err
	}
	for ; !f.dirs[name]; name = path.Dir(name) {
		f.dirs[name] = true
	}
	return nil
}

// ReadDir is part of storage.FS.
func (f *FS) ReadDir(name string) ([]storage.FileInfo, error) {
	name = path.Clean(name)
	if !f.dirs[name] {
		return nil, missing("open", name)
	}
	var list []storage.FileInfo
	for p, n := range f.names {
		if path.Dir(p) == name {
			list = append(list, storage.FileInfo{Name: path.Base(p), Size: int64(len(n.data)), Modified: n.changed})
		}
	}
	for p := range f.dirs {
		if path.Dir(p) == name && p != name {
			list = append(list, storage.FileInfo{Name: path.Base(p), Dir: true})
		}
	}
	slices.SortFunc(list, func(a, b storage.FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// SyncDir is part of storage.FS. As in a journal, earlier changes of names become durable with it.
func (f *FS) SyncDir(name string) error {
	if _, err := f.before(Op{Kind: "syncdir", Name: path.Clean(name)}); err != nil {
		return err
	}
	for _, c := range f.journal {
		c.apply(f.stable)
	}
	f.journal = nil
	return nil
}

type unlock func()

func (u unlock) Close() error { u(); return nil }

// Lock is part of storage.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	name = path.Clean(name)
	if f.locks[name] {
		return nil, storage.ErrLocked
	}
	if f.names[name] == nil {
		h, err := f.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		_ = h.Close()
	}
	f.locks[name] = true
	return unlock(func() { delete(f.locks, name) }), nil
}

// Files are the contents of all files by name.
func (f *FS) Files() map[string][]byte {
	all := map[string][]byte{}
	for name, n := range f.names {
		all[name] = slices.Clone(n.data)
	}
	return all
}

// Put makes a durable file.
func (f *FS) Put(name string, content []byte) {
	name = path.Clean(name)
	for dir := path.Dir(name); !f.dirs[dir]; dir = path.Dir(dir) {
		f.dirs[dir] = true
	}
	f.clock++
	n := &node{data: slices.Clone(content), stable: slices.Clone(content), changed: f.clock}
	f.names[name], f.stable[name] = n, n
}

// CopyTo writes all files below root into a directory of the machine.
func (f *FS) CopyTo(root, dir string) error {
	for name, n := range f.names {
		rel, ok := strings.CutPrefix(name, path.Clean(root)+"/")
		if !ok {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, n.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system as storage needs it. OS is the real one; package memfs has one in memory that can crash and fail.
type FS interface {
	// OpenFile opens a file; flag is that of os.OpenFile.
	OpenFile(name string, flag int, mode fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	MkdirAll(name string, mode fs.FileMode) error
	ReadDir(name string) ([]FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Lock takes the lock that a file stands for, or returns ErrLocked. It ends with Close and with the process.
	Lock(name string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes bytes and size durable.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// FileInfo is an entry of a directory.
type FileInfo struct {
	Name     string
	Dir      bool
	Size     int64
	Modified int64 // ns since the Unix epoch
}

// OS is the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

func (osFS) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return syncData(f.File) }

func (osFS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) MkdirAll(name string, mode fs.FileMode) error { return os.MkdirAll(name, mode) }

func (osFS) ReadDir(name string) ([]FileInfo, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	list := make([]FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed by somebody in between
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, FileInfo{Name: e.Name(), Dir: e.IsDir(), Size: info.Size(), Modified: info.ModTime().UnixNano()})
	}
	return list, nil
}

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if size > limit {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d: %w", name, size, limit, ErrCorrupt)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && (!errors.Is(err, io.EOF) || n < len(b)) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

// writeAll writes b at the offset. A short write is an error.
func writeAll(f File, name string, b []byte, at int64) error {
	n, err := f.WriteAt(b, at)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write %s at %d: %d of %d bytes: %w", name, at, n, len(b), err)
	}
	return nil
}

// replaceFile writes a file so that a crash leaves either the old or the new content: all of it goes to NAME.tmp, is synced and gets
// the name, which is then made durable (Kafka: Utils.atomicMoveWithFallback).
func replaceFile(fsys FS, name string, content []byte) error {
	tmp := name + ".tmp"
	if err := writeFile(fsys, tmp, content, 0o644); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return fmt.Errorf("rename %s: %w", tmp, err)
	}
	return syncDir(fsys, filepath.Dir(name))
}

// writeFile writes and syncs a file; its name is not durable yet.
func writeFile(fsys FS, name string, content []byte, mode fs.FileMode) (err error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := writeAll(f, name, content, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

func syncDir(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// remove removes a file that may be gone already.
func remove(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

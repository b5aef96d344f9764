package memfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file.
type file struct {
	fs       *FS
	node     *node
	name     string
	writable bool
	closed   bool
}

func (h *file) refuse(op string) error {
	switch {
	case h.closed:
		return &fs.PathError{Op: op, Path: h.name, Err: fs.ErrClosed}
	case !h.writable:
		return &fs.PathError{Op: op, Path: h.name, Err: syscall.EBADF}
	}
	return nil
}

// ReadAt is part of storage.File.
func (h *file) ReadAt(b []byte, at int64) (int, error) {
	if h.closed {
		return 0, &fs.PathError{Op: "read", Path: h.name, Err: fs.ErrClosed}
	}
	if h.fs.Read != nil {
		if err := h.fs.Read(h.name, at); err != nil {
			return 0, &fs.PathError{Op: "read", Path: h.name, Err: err}
		}
	}
	if at >= int64(len(h.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.node.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt is part of storage.File.
func (h *file) WriteAt(b []byte, at int64) (int, error) {
	if err := h.refuse("write"); err != nil {
		return 0, err
	}
	part, err := h.fs.before(Op{Kind: "write", Name: h.name, Size: len(b)})
	if err == nil {
		part, err = h.room(len(b), at)
	}
	if part > 0 {
		h.do(change{at: at, data: slices.Clone(b[:part])})
	}
	return part, err
}

// room is how much of a write fits.
func (h *file) room(n int, at int64) (int, error) {
	if h.fs.Capacity == 0 {
		return n, nil
	}
	left := h.fs.Capacity
	for _, other := range h.fs.names {
		left -= int64(len(other.data))
	}
	grows := max(0, at+int64(n)-int64(len(h.node.data)))
	if grows <= left {
		return n, nil
	}
	return max(0, n-int(grows-max(0, left))), &fs.PathError{Op: "write", Path: h.name, Err: syscall.ENOSPC}
}

func (h *file) do(c change) {
	h.node.data = c.apply(h.node.data)
	h.node.pending = append(h.node.pending, c)
	h.fs.clock++
	h.node.changed = h.fs.clock
}

func (c change) apply(data []byte) []byte {
	size := c.at + int64(len(c.data))
	if grow := size - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	if c.data == nil {
		return data[:c.at:c.at]
	}
	copy(data[c.at:], c.data)
	return data
}

// Truncate is part of storage.File.
func (h *file) Truncate(size int64) error {
	if err := h.refuse("truncate"); err != nil {
		return err
	}
	if _, err := h.fs.before(Op{Kind: "truncate", Name: h.name}); err != nil {
		return err
	}
	h.do(change{at: size})
	return nil
}

// Sync is part of storage.File.
func (h *file) Sync() error {
	if err := h.refuse("sync"); err != nil {
		return err
	}
	if _, err := h.fs.before(Op{Kind: "sync", Name: h.name}); err != nil {
		return err
	}
	for _, c := range h.node.pending {
		h.node.stable = c.apply(h.node.stable)
	}
	h.node.pending = nil
	return nil
}

// Size is part of storage.File.
func (h *file) Size() (int64, error) { return int64(len(h.node.data)), nil }

// Close is part of storage.File.
func (h *file) Close() error {
	if h.closed {
		return &fs.PathError{Op: "close", Path: h.name, Err: fs.ErrClosed}
	}
	h.closed = true
	return nil
}

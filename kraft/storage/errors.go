package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The kinds of errors. Others are those of the file system, with the path in them.
var (
	// ErrCorrupt marks a file whose content cannot be right.
	ErrCorrupt = errors.New("corrupt")
	// ErrLocked: another process has the directory open.
	ErrLocked = errors.New("locked by another process")
	// ErrVersion marks a file of a format that is not known here.
	ErrVersion = errors.New("unknown version")
	// ErrIdentity: the directory belongs to another node or cluster.
	ErrIdentity = errors.New("another node's directory")
	// ErrNotFormatted: the directory has no meta.properties.
	ErrNotFormatted = errors.New("not formatted")
	// ErrClosed: the log has been closed.
	ErrClosed = errors.New("closed")
)

// Error is a failure with what can be done about it.
type Error struct {
	Path   string
	Remedy string
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %v", e.Path, e.Err)
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// fail wraps an error of the given kind with a path and a remedy.
func fail(path, remedy string, kind error, format string, args ...any) error {
	return &Error{Path: path, Remedy: remedy, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), kind)}
}

// remedies are what can be done where the file system itself refuses.
var remedies = []struct {
	err  error
	text string
}{
	{syscall.ENOSPC, "free space on this disk and start again: what was flushed is there"},
	{syscall.EDQUOT, "raise the quota or free space, and start again: what was flushed is there"},
	{syscall.EIO, "the disk fails: look at the kernel's messages and copy the directory before anything is repaired; nothing has been cut"},
	{syscall.EROFS, "mount the file system for writing: errors of the disk make the kernel mount it read-only"},
	{fs.ErrPermission, "give the user of this process the right to it"},
}

// withRemedy adds what can be done to an error of the file system.
func withRemedy(err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, r := range remedies {
		if errors.Is(err, r.err) {
			return fmt.Errorf("%w: %s", err, r.text)
		}
	}
	return err
}

package storage

import (
	"errors"
	"fmt"
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

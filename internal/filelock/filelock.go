//go:build unix

// Package filelock keeps two processes of one machine from doing the same thing at the same moment.
// The locks are advisory (flock) and end with the process that holds them.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Lock is a lock that is held.
type Lock struct{ file *os.File }

// Try takes the lock at once, or returns nil if another holds it.
func Try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Wait takes the lock as soon as it is free.
func Wait(ctx context.Context, path string) (*Lock, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := Try(path)
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s is held by another process: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// Unlock gives the lock back.
func (l *Lock) Unlock() {
	if l != nil {
		_ = l.file.Close()
	}
}

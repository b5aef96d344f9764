package filelock

import (
	"context"
	"path/filepath"
	"testing"
)

func TestLock_IsExclusiveUntilUnlocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil || first == nil {
		t.Fatalf("free lock: %v, %v", first, err)
	}
	if second, err := Try(path); err != nil || second != nil {
		t.Fatalf("held lock was given again: %v, %v", second, err)
	}
	first.Unlock()
	again, err := Wait(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again.Unlock()
}

func TestWait_EndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(ctx, path); err == nil {
		t.Error("a held lock was given")
	}
}

package twin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
)

// TestMatrix_DiskDecidesAsMemory plays the oracle's schedules with two machines of ours side by side, one on the log in memory and one on
// Kafka's files. Every action, message, byte and piece of state must be equal, across restarts and crashes.
func TestMatrix_DiskDecidesAsMemory(t *testing.T) {
	steps, required := 24_000, 20_000 // the first counts the schedule's commands, not all of which step a machine
	if testing.Short() {
		steps, required = 2_400, 0
	}
	for _, version := range []string{"4.0.0", "4.4.0"} {
		t.Run(version, func(t *testing.T) {
			tw := twin.Alone(version)
			tw.Disk = func() *twin.Disk {
				return &twin.Disk{FS: memfs.New(), Dir: "data/__cluster_metadata-0", Crash: func(f storage.FS) storage.FS { return f.(*memfs.FS).Crash(nil) }}
			}
			if err := walk.Run(tw, version, 7, steps, tw.Reset); err != nil {
				t.Fatal(err)
			}
			if t.Logf("%d steps equal", tw.Steps); int(tw.Steps) < required {
				t.Errorf("%d steps, want %d", tw.Steps, required)
			}
		})
	}
}

// TestMatrix_DiskDecidesAsMemoryOnARealFileSystem is the same on files of the machine.
func TestMatrix_DiskDecidesAsMemoryOnARealFileSystem(t *testing.T) {
	steps := 3_000
	if testing.Short() {
		steps = 600
	}
	root, made := t.TempDir(), 0
	if dir, err := os.MkdirTemp("/dev/shm", "understudy-twin-"); err == nil { //nolint:usetesting // many syncs: not on a disk
		t.Cleanup(func() { os.RemoveAll(dir) })
		root = dir
	}
	tw := twin.Alone("4.4.0")
	tw.Disk = func() *twin.Disk {
		made++
		return &twin.Disk{FS: storage.OS(), Dir: filepath.Join(root, fmt.Sprint(made))}
	}
	if err := walk.Run(tw, "4.4.0", 8, steps, tw.Reset); err != nil {
		t.Fatal(err)
	}
}

// lossy forgets the last flushed batch at each crash: the comparison must find it.
func TestDisk_ALogThatForgetsIsFoundOut(t *testing.T) {
	tw := twin.Alone("4.4.0")
	tw.Disk = func() *twin.Disk {
		return &twin.Disk{FS: memfs.New(), Dir: "data/__cluster_metadata-0", Crash: func(f storage.FS) storage.FS {
			after := f.(*memfs.FS).Crash(nil)
			last := ""
			for name := range after.Files() {
				if strings.HasSuffix(name, ".log") && name > last {
					last = name
				}
			}
			if err := after.Remove(last); err != nil {
				t.Fatal(err)
			}
			return after
		}}
	}
	crashes := func(o walk.Options) walk.Options { o.Restarts = 40; return o }
	if err := walk.Run(tw, "4.4.0", 7, 3_000, tw.Reset, crashes); err == nil {
		t.Error("not found")
	}
}

var _ oracle.Stepper = (*twin.Solo)(nil)

package doctor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
)

// copied puts the real directory on a disk.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(real)))
	return dir
}

// What cannot be read of one directory is a finding, and the others are looked at all the same.
func TestDoctor_AFileThatCannotBeReadHidesNothingElse(t *testing.T) {
	broken, other := copied(t), copied(t)
	must(t, os.Remove(filepath.Join(other, storage.PartitionDir, storage.QuorumStateFile)))
	segments, err := fs.Glob(os.DirFS(broken), storage.PartitionDir+"/*.log")
	must(t, err)
	segment := filepath.Join(broken, segments[1])
	must(t, os.Remove(segment), os.Mkdir(segment, 0o755)) // a file that cannot be read, also for root
	r, err := doctor.Examine(storage.OS(), broken, other)
	must(t, err)
	found := kinds(r)
	if !slices.Contains(found, "unreadable") || !slices.Contains(found, "state-missing") || r.Directories[0].Starts {
		t.Fatalf("%v\n%v", found, r)
	}
	if r.Findings[0].File != segment {
		t.Errorf("names %s, want %s", r.Findings[0].File, segment)
	}
}

// A property file is that of a directory however either is written.
func TestDoctor_KnowsADirectoryByEachOfItsNames(t *testing.T) {
	dir := copied(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	for _, configured := range []string{dir, dir + "/", filepath.Join(dir, "..", filepath.Base(dir)), link} {
		r, err := doctor.ExamineConfigured(storage.OS(), []doctor.Config{{File: "c.properties", NodeID: 7, Directories: []string{configured}}}, dir)
		must(t, err)
		if !slices.Contains(kinds(r), "other-node-id") {
			t.Errorf("%s: %v", configured, r)
		}
	}
}

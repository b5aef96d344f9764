package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestImages_AreReadByTheirUser: files of an image are root's, and neither Kafka nor understudy runs as root.
func TestImages_AreReadByTheirUser(t *testing.T) {
	files := []struct {
		name     string
		is, want fs.FileMode
	}{
		{"opt", fs.ModeDir | 0o700, fs.ModeDir | 0o755},
		{"opt/log4j2.yaml", 0o600, 0o644},
		{"opt/java", 0o700, 0o755},
		{"opt/lib.so", 0o555, 0o555},
		{"tmp", fs.ModeDir | fs.ModeSticky | 0o700, fs.ModeDir | fs.ModeSticky | 0o755},
	}
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if f.is.IsDir() {
			check(os.Mkdir(path, 0o700))
		} else {
			check(os.WriteFile(path, nil, 0o600))
		}
		check(os.Chmod(path, f.is))
	}
	check(os.Symlink("nowhere", filepath.Join(dir, "link")))
	check(letAllRead(dir))
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.name))
		check(err)
		if info.Mode() != f.want {
			t.Errorf("%s: %v, want %v", f.name, info.Mode(), f.want)
		}
	}
}

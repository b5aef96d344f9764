package mutants

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/understudy-kafka/understudy/kraft/mutants/selected"
)

// TB is the part of testing.TB that Inside needs.
type TB interface {
	Helper()
	Name() string
	Log(args ...any)
	Fatal(args ...any)
}

// Inside reports whether the test runs in a binary that holds the mutants. If not, it builds one of the test's package, runs the same
// test in it with the same flags, shows what that printed, and fails if that failed.
func Inside(t TB) bool {
	t.Helper()
	if selected.Built {
		return true
	}
	binary, err := testBinary()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.count=1"}
	flag.Visit(func(f *flag.Flag) {
		switch name, _, _ := strings.Cut(f.Name, "."); {
		case name != "test", f.Name == "test.timeout", f.Name == "test.short":
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	out, err := exec.Command(binary, args...).CombinedOutput()
	t.Log("in a binary with the mutants:\n" + string(out))
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// testBinary builds the test binary of the package in the working directory, which is where "go test" starts a test.
func testBinary() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	overlay, err := Overlay(root, filepath.Join(cache, "understudy"))
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(filepath.Dir(overlay), filepath.Base(here)+strings.TrimPrefix(filepath.Base(overlay), "overlay")+".test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", errors.Join(errors.New("building the tests with the mutants:\n"+string(out)), err)
	}
	return binary, nil
}

// moduleRoot is the next directory upwards with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

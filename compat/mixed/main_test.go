package mixed

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// builtBinary is the program under test, built once for all tests; "" in the short tier, which runs none.
var builtBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if !testing.Short() {
		dir, err := os.MkdirTemp("", "understudy-mixed-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		builtBinary = filepath.Join(dir, "understudy")
		if out, err := exec.Command("go", "build", "-o", builtBinary, "../../cmd/understudy").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program under test: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

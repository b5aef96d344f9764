package kraft_test

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // has the flag
)

// TestMain sets how many cases of each property are drawn, unless -rapid.checks does: many, but fewer in short runs.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		checks := "10000"
		if testing.Short() {
			checks = "1500" // of which rapid takes a fifth
		}
		_ = f.Value.Set(checks)
	}
	os.Exit(m.Run())
}

package conform

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// keepIn names the directory that each report goes to, as what the matrix of docs is made from.
var keepIn = flag.String("reports", "", "keep what each target answered in this directory")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

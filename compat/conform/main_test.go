package conform

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// writeMatrix names the file that the matrix of all targets of the run goes to.
var writeMatrix = flag.String("matrix", "", "write the Markdown matrix of all targets to this file")

var (
	reportsMu sync.Mutex
	reports   []Column
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *writeMatrix != "" && code == 0 {
		var b bytes.Buffer
		if err := WriteMarkdown(&b, reports); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if err := os.WriteFile(*writeMatrix, b.Bytes(), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

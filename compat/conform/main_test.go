package conform

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
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
		if err := WriteMarkdown(&b, byRelease()); err != nil {
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

// byRelease joins the reports of a release's leader, follower and own quorum into one column.
func byRelease() (columns []Column) {
	at := map[string]int{}
	for _, c := range reports {
		i, ok := at[c.Name]
		if !ok {
			i = len(columns)
			at[c.Name] = i
			columns = append(columns, Column{Name: c.Name, Report: &Report{}})
		}
		columns[i].Report.Results = append(columns[i].Report.Results, c.Report.Results...)
	}
	slices.SortFunc(columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return columns
}

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failureErrors checks docs/failures.md: the last cell of each row names files of this module with a test function, and no cell is empty.
func failureErrors(page string, read func(path string) (string, error)) (rows int, found []string) {
	for i, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| issue |") || strings.HasPrefix(line, "| what |") {
			continue
		}
		rows++
		fail := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for _, c := range cells {
			if strings.TrimSpace(c) == "" {
				fail("an empty cell")
			}
		}
		for _, ours := range strings.Split(strings.TrimSpace(cells[len(cells)-1]), ", ") {
			m := traceFile.FindStringSubmatch(ours)
			if m == nil || m[2] == "" {
				fail("%q is no file with a function", ours)
				continue
			}
			if text, err := read(m[1]); err != nil {
				fail("%s does not exist", m[1])
			} else if !strings.Contains(text, "\nfunc "+m[2]+"(") {
				fail("%s has no function %s", m[1], m[2])
			}
		}
	}
	return rows, found
}

func TestFailures_RowsNameWhatExists(t *testing.T) {
	rows, found := failureErrors(read(t, "docs/failures.md"), func(path string) (string, error) {
		text, err := os.ReadFile(filepath.Join(root, path))
		return string(text), err
	})
	for _, e := range found {
		t.Errorf("docs/failures.md, %s", e)
	}
	if rows < 40 {
		t.Errorf("docs/failures.md has %d rows", rows)
	}
}

func TestFailures_BrokenTwinIsSeen(t *testing.T) {
	file := func(path string) (string, error) {
		if path == "a_test.go" {
			return "package a\n\nfunc TestA(t *testing.T) {}\n", nil
		}
		return "", os.ErrNotExist
	}
	for _, tt := range []struct{ name, row, says string }{
		{"fine", "| K-1 | it broke | M1 | `a_test.go` TestA, `a_test.go` TestA |", ""},
		{"no such file", "| K-1 | it broke | M1 | `b_test.go` TestA |", "b_test.go does not exist"},
		{"no such function", "| K-1 | it broke | M1 | `a_test.go` TestB |", "no function TestB"},
		{"no function", "| it is legal | `a_test.go` |", "is no file with a function"},
		{"no rule", "| K-1 | it broke | | `a_test.go` TestA |", "an empty cell"},
	} {
		rows, found := failureErrors("| issue | what |\n|---|---|\n"+tt.row+"\n", file)
		if got := strings.Join(found, "; "); rows != 1 || tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %d rows, %q", tt.name, rows, got)
		}
	}
}

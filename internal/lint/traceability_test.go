package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	traceClass = regexp.MustCompile(`^## (\w+) \((\d+)\)$`)
	traceFile  = regexp.MustCompile("^`([^`]+)`(?: (\\w+))?$")
)

// traceErrors checks a traceability page: each row names tests of Kafka that no other row of its class has, and either files of
// this module with a test function (or golden conversations), or why the row does not apply. A class has as many tests as it says.
func traceErrors(page string, read func(path string) (string, error)) (found []string) {
	class, want := "", 0
	seen := map[string]bool{}
	end := func() {
		if class != "" && len(seen) != want {
			found = append(found, fmt.Sprintf("%s: %d tests, it says %d", class, len(seen), want))
		}
		class, want, seen = "", 0, map[string]bool{}
	}
	for i, line := range strings.Split(page, "\n") {
		fail := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		if strings.HasPrefix(line, "#") {
			end()
			if m := traceClass.FindStringSubmatch(line); m != nil {
				class = m[1]
				want, _ = strconv.Atoi(m[2])
			}
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if class == "" || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| Kafka test |") {
			continue
		}
		if len(cells) != 4 {
			fail("%d cells, want 4", len(cells))
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for _, name := range strings.Split(cells[0], ", ") {
			if seen[name] {
				fail("%s.%s is there twice", class, name)
			}
			seen[name] = true
		}
		if cells[1] == "" {
			fail("does not say what is asked")
		}
		if cells[2] == "—" {
			if !strings.HasPrefix(cells[3], "does not apply: ") {
				fail("neither a test nor a reason")
			}
			continue
		}
		for _, ours := range strings.Split(cells[2], ", ") {
			m := traceFile.FindStringSubmatch(ours)
			if m == nil {
				fail("%q is no file with a function", ours)
				continue
			}
			text, err := read(m[1])
			switch {
			case err != nil:
				fail("%s does not exist", m[1])
			case m[2] == "" && filepath.Ext(m[1]) != ".txt":
				fail("%s without a function", m[1])
			case m[2] != "" && !strings.Contains(text, "\nfunc "+m[2]+"("):
				fail("%s has no function %s", m[1], m[2])
			}
		}
	}
	end()
	return found
}

func TestTraceability_RowsNameWhatExists(t *testing.T) {
	cache := map[string]string{}
	file := func(path string) (string, error) {
		if text, ok := cache[path]; ok {
			return text, nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		cache[path] = string(text)
		return string(text), err
	}
	page := read(t, "docs/traceability.md")
	for _, e := range traceErrors(page, file) {
		t.Errorf("docs/traceability.md, %s", e)
	}
	// Files that are named outside the tables.
	for _, m := range regexp.MustCompile("`((?:kraft|wire|compat)/[a-z/_]+\\.\\w+)`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/traceability.md: %s does not exist", m[1])
		}
	}
}

func TestTraceability_BrokenTwinIsSeen(t *testing.T) {
	file := func(path string) (string, error) {
		if path == "a_test.go" {
			return "package a\n\nfunc TestA(t *testing.T) {}\n", nil
		}
		return "", os.ErrNotExist
	}
	page := func(rows ...string) string {
		return "# Title\n\n## FooTest (2)\n\n| Kafka test | what it asks | ours | note |\n|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
	}
	const first = "| testOne | one | `a_test.go` TestA | |"
	tests := []struct {
		name, row string
		says      string
	}{
		{"fine", "| testTwo | two | `a_test.go` TestA | |", ""},
		{"fine, with a reason", "| testTwo | two | — | does not apply: no threads |", ""},
		{"no reason", "| testTwo | two | — | |", "neither a test nor a reason"},
		{"no such file", "| testTwo | two | `b_test.go` TestA | |", "b_test.go does not exist"},
		{"no such function", "| testTwo | two | `a_test.go` TestAB | |", "no function TestAB"},
		{"no function", "| testTwo | two | `a_test.go` | |", "without a function"},
		{"nothing", "| testTwo | two | | |", "is no file"},
		{"no question", "| testTwo | | `a_test.go` TestA | |", "what is asked"},
		{"twice", "| testTwo, testOne | two | `a_test.go` TestA | |", "testOne is there twice"},
		{"one is missing", "", "1 tests, it says 2"},
		{"one too many", "| testTwo, testThree | two | `a_test.go` TestA | |", "3 tests, it says 2"},
	}
	for _, tt := range tests {
		got := strings.Join(traceErrors(page(first, tt.row), file), "; ")
		if tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

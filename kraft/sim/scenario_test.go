package sim

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens of the scenarios anew")

// TestScenarios_TellWhatTheyShow holds every scenario against its golden. -rewrite writes them anew.
func TestScenarios_TellWhatTheyShow(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		seen[s.Name+".txt"] = true
		t.Run(s.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := s.Tell(&out, false); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
			file := filepath.Join("testdata", "scenarios", s.Name+".txt")
			if *rewrite {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s differs (-rewrite writes it anew):\n%s", file, out.String())
			}
			if lines := strings.Count(out.String(), "\n"); lines > 300 {
				t.Errorf("%d lines: nobody reads them", lines)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f.Name()] {
			t.Errorf("no scenario %s", f.Name())
		}
	}
	if len(seen) < 25 {
		t.Errorf("%d scenarios, want at least 25", len(seen))
	}
}

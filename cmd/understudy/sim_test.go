package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func runSim(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"sim"}, args...), strings.NewReader(""), &out, &out)
	return out.String(), code
}

func TestSim_CommandLine(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"list", []string{"--list"}, exitFine, "double-leader-prevented"},
		{"a scenario", []string{"--scenario", "check-quorum"}, exitFine, "Resigned in epoch 1"},
		{"a scenario that breaks what it says", []string{"--scenario", "vote-before-persisting"}, exitFine, "BROKEN persist before send"},
		{"every message", []string{"--scenario", "first-election", "--all"}, exitFine, "Fetch(offset=0"},
		{"an unknown scenario", []string{"--scenario", "nothing"}, exitUsage, "there is no scenario"},
		{"a seed", []string{"--seed", "3", "--events", "300"}, exitFine, "seed 3: fine"},
		{"a seed with less", []string{
			"--seed", "3", "--events", "300", "--without", "crash,loss", "--skip-faults", "1,3-5", "--plain", "--nodes", "3,0,0",
			"--append-every", "50ms",
		}, exitFine, "voters=3 spares=0 observers=0"},
		{"many seeds", []string{"--seeds", "3", "--events", "300"}, exitFine, "no invariant is broken"},
		{"an unknown fault", []string{"--seed", "3", "--without", "meteor"}, exitUsage, "there is no fault"},
		{"odd numbers", []string{"--seed", "3", "--skip-faults", "x"}, exitUsage, "want numbers and ranges"},
		{"too many nodes", []string{"--seed", "3", "--nodes", "9,9,9"}, exitUsage, "want 1 to 7 voters"},
		{"two numbers of nodes", []string{"--seed", "3", "--nodes", "3,1"}, exitUsage, "want three numbers"},
		{"nothing to do", nil, exitUsage, "want --list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if out, code := runSim(t, tt.args...); code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d with %q:\n%.3000s", code, tt.code, tt.want, out)
			}
		})
	}
}

func TestSim_PageNeedsNoNetwork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	if out, code := runSim(t, "--scenario", "split-brain-prevented", "--html", file); code != exitFine {
		t.Fatal(out)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"https://", "src=", "<link", "@import", "fetch("} {
		if text := strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", ""); strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// TestSim_PageInChromium lets a browser draw the page of a scenario, and looks at what it has drawn.
func TestSim_PageInChromium(t *testing.T) {
	if testing.Short() {
		return // needs a browser
	}
	browse := browser(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if out, code := runSim(t, "--scenario", "double-leader-by-the-seeds-rule", "--html", file); code != exitFine {
		t.Fatal(out)
	}
	dom := browse("--dump-dom", "file://"+file+"#12")
	rows := len(regexp.MustCompile(`<g class="row`).FindAllString(dom, -1))
	arrows := len(regexp.MustCompile(`class="arrow`).FindAllString(dom, -1))
	for _, want := range []string{`data-ready="`, "one vote per epoch", "12 of ", "var(--Leader)", `class="row on"`} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page as drawn lacks %q", want)
		}
	}
	if rows < 20 || arrows < 10 {
		t.Errorf("%d rows and %d arrows are drawn", rows, arrows)
	}
	shot := filepath.Join(dir, "shot.png")
	browse("--screenshot="+shot, "file://"+file+"#20")
	png, err := os.ReadFile(shot)
	if err != nil || len(png) < 10_000 || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("a screenshot of %d bytes: %v", len(png), err)
	}
	if keep := os.Getenv("UNDERSTUDY_SCREENSHOT"); keep != "" {
		if err := os.WriteFile(keep, png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

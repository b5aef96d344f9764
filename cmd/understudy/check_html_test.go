package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

// TestCheck_PageNeedsNothingElse: the page holds all it shows, and text from the wire cannot become part of it.
func TestCheck_PageNeedsNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	if code, _, stderr := checkCommand(nil, "check", "--html", file, lowered(t)); code != exitFinding {
		t.Fatal(code, stderr)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "http://www.w3.org/2000/svg", "")
	for _, bad := range []string{"https://", "http://", "src=", "<link", "@import", "fetch(", "innerHTML"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts", n)
	}
	if code, _, stderr := checkCommand(nil, "check", "--html", filepath.Join(file, "x"), quorumCapture); code != exitRuntime || !strings.Contains(stderr, "write the report") {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestCheck_PageInChromium lets a browser draw the page, and looks at what it has drawn.
func TestCheck_PageInChromium(t *testing.T) {
	if testing.Short() {
		return // needs a browser
	}
	browse := browser(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if code, _, stderr := checkCommand(nil, "check", "--html", file, lowered(t)); code != exitFinding {
		t.Fatal(code, stderr)
	}
	dom := browse("--dump-dom", "file://"+file+"#3")
	for _, want := range []string{
		`data-ready="`, `class="DIVERGES">DIVERGES`, "M9 watermark-never-falls: node 1", "what must hold:", "resembles:", "KAFKA-12619", `class="row finding"`,
		"var(--leader)", ` on"`, "node 2 grants the vote of node",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page as drawn lacks %q", want)
		}
	}
	rows := len(regexp.MustCompile(`<g class="row`).FindAllString(dom, -1))
	arrows := len(regexp.MustCompile(`class="arrow`).FindAllString(dom, -1))
	lanes := len(regexp.MustCompile(`class="lane`).FindAllString(dom, -1))
	if rows < 10 || arrows < 2 || lanes < 6 {
		t.Errorf("%d rows, %d arrows and %d stretches of roles are drawn", rows, arrows, lanes)
	}
	shot := filepath.Join(dir, "shot.png")
	browse("--screenshot="+shot, "file://"+file)
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

func TestCheck_JUnit(t *testing.T) {
	type suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	read := func(file string, want int) (s suites) {
		t.Helper()
		code, stdout, stderr := checkCommand(nil, "check", "-o", "junit", file)
		if code != want {
			t.Fatal(code, stderr)
		}
		if err := xml.Unmarshal([]byte(stdout), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := read(quorumCapture, exitFine); s.Failures != 0 || s.Skipped != 0 || s.Tests != 1+(len(s.Suites)-1)*21 || len(s.Suites) < 4 {
		t.Errorf("%+v", s)
	}
	s := read(lowered(t), exitFinding)
	found := false
	for _, suite := range s.Suites {
		for _, c := range suite.Cases {
			if c.Failure == nil {
				continue
			}
			if suite.Name != "node 1" {
				t.Errorf("%s fails %s", suite.Name, c.Name)
			}
			found = found || c.Name == "M9 watermark-never-falls" && strings.Contains(c.Failure.Text, "what must hold:") && c.Failure.Message != ""
		}
	}
	if !found || s.Failures == 0 {
		t.Errorf("%+v", s)
	}
	if s := read(empty(t), exitInconclusive); s.Failures != 0 || s.Skipped == 0 {
		t.Errorf("%+v", s)
	}
}

// empty is a recording of nothing.
func empty(t *testing.T) string {
	base := filepath.Join(t.TempDir(), "empty")
	w, err := recordings.Create(base, recordings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base
}

package belief

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bruteTwin is the mistake that the search makes at present, in a binary that has them all. bruteTwinsBuilt: it has.
var (
	bruteTwin       string
	bruteTwinsBuilt bool
)

// bruteTwins are mistakes of the search, as changes of its source.
var bruteTwins = []struct{ name, file, right, wrong string }{
	{
		"the timers of connections are left out", "step.go",
		"if j.connections(h, &due) {\n\t\tfire(due)", "if j.connections(h, &due) && bruteTwin != NAME {\n\t\tfire(due)",
	},
	{
		"a leader's check of its quorum is left out", "step.go",
		"\tcase *kraft.Leader:\n\t\tfire(checkQuorumDue)\n\t\tif r.Change", "\tcase *kraft.Leader:\n\t\tif bruteTwin != NAME {\n\t\t\tfire(checkQuorumDue)\n\t\t}\n\t\tif r.Change",
	},
	{
		"states that differ in the machine are merged", "hypothesis.go",
		"\tengine := h.m.Likeness()\n", "\tengine := h.m.Likeness()\n\tif bruteTwin == NAME {\n\t\tengine = [16]byte{}\n\t}\n",
	},
	{
		"a reply that a taken request could have got is forgotten", "execute.go",
		"\tif !s.has(&a) {\n", "\tif bruteTwin == NAME {\n\t\ts.could = nil\n\t}\n\tif !s.has(&a) {\n",
	},
	{
		"an answer with an error is not looked at any further", "match.go",
		"\tif c.err != kraft.None {\n\t\treturn ", "\tif c.err != kraft.None {\n\t\treturn bruteTwin == NAME || ",
	},
	{
		"any vote is a right one", "match.go",
		"return a.said.granted == c.granted", "return bruteTwin == NAME || a.said.granted == c.granted",
	},
}

// TestBruteForce_FindsBrokenTwins: with each of the mistakes the search disagrees with the enumeration on some window.
func TestBruteForce_FindsBrokenTwins(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package anew")
	}
	if !bruteTwinsBuilt {
		insideTwins(t)
		return
	}
	for _, twin := range bruteTwins {
		c := bruteTally{quiet: true, only: func(g *bruteGame, w *bruteWindow) bool { // the search without the mistake says the same: no need to ask further
			bruteTwin = ""
			right, _ := w.judged(g)
			bruteTwin = twin.name
			wrong, _ := w.judged(g)
			return wrong != right
		}}
		c.play(t, 1, bruteTwinWindows, func() bool { return c.unequal > 0 })
		if bruteTwin = ""; c.unequal == 0 {
			t.Errorf("%s: nobody notices in %d windows", twin.name, c.windows)
			continue
		}
		t.Logf("%s: after %d windows", twin.name, c.windows)
	}
}

// bruteTwinWindows is on how many windows at most a mistake must show.
const bruteTwinWindows = 2500

// insideTwins builds the test binary of this package with all mistakes in it, and runs the test in there.
func insideTwins(t *testing.T) {
	dir := t.TempDir()
	replaced := map[string]string{}
	for _, twin := range bruteTwins {
		path, err := filepath.Abs(twin.file)
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if replaced[path] != "" {
			from = replaced[path]
		}
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), twin.right); n != 1 {
			t.Fatalf("%s: the lines of %s that the mistake %q is made in are there %d times", path, twin.file, twin.name, n)
		}
		wrong := strings.ReplaceAll(twin.wrong, "NAME", `"`+twin.name+`"`)
		replaced[path] = filepath.Join(dir, twin.file)
		if err := os.WriteFile(replaced[path], []byte(strings.Replace(string(source), twin.right, wrong, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built, err := filepath.Abs("brute_built.go")
	if err != nil {
		t.Fatal(err)
	}
	replaced[built] = filepath.Join(dir, "brute_built.go")
	if err := os.WriteFile(replaced[built], []byte("package belief\n\nfunc init() { bruteTwinsBuilt = true }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "twins.test")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the twins: %v\n%s", err, out)
	}
	out, err := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1").CombinedOutput()
	t.Logf("in a binary with the mistakes:\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

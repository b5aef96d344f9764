package mutants

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRegistry_EachSnippetOccursOnceInOneFunction(t *testing.T) {
	for name, list := range byFile() {
		source, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list { // one by one, to name all that are out of date
			if _, err := rewrite(name, source, []*Mutant{m}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestRegistry_IsWellFormed(t *testing.T) {
	if n := len(All()); n < 100 {
		t.Errorf("%d mutants, want at least 100", n)
	}
	names, edits := map[string]bool{}, map[string]string{}
	for i, m := range All() {
		if m.number != i+1 {
			t.Errorf("%s has number %d, want %d", m.Name, m.number, i+1)
		}
		if names[m.Name] {
			t.Errorf("two mutants are called %s", m.Name)
		}
		names[m.Name] = true
		edit := m.File + "\n" + m.Old + "\n" + m.New
		if other := edits[edit]; other != "" {
			t.Errorf("%s and %s are the same edit", m.Name, other)
		}
		edits[edit] = m.Name
		if m.Rule == "" || m.Old == m.New {
			t.Errorf("%s says nothing or changes nothing", m.Name)
		}
		if found, err := ByName(m.Name); err != nil || found != m {
			t.Errorf("ByName(%s) = %v, %v", m.Name, found, err)
		}
	}
	if _, err := ByName("nobody"); err == nil {
		t.Error("ByName finds a mutant that does not exist")
	}
}

func TestMutant_ExistsInReleasesOfItsRule(t *testing.T) {
	for _, c := range []struct {
		since, until, release string
		want                  bool
	}{
		{"", "", "4.0.0", true},
		{"4.1", "", "4.0.2", false},
		{"4.1", "", "4.1.2", true},
		{"4.1", "", "4.4.0", true},
		{"", "4.0", "4.0.2", true},
		{"", "4.0.0", "4.0.2", false},
		{"4.0.1", "4.0", "4.0.0", false},
		{"4.0.1", "4.0", "4.0.2", true},
		{"", "4.1", "4.2.1", false},
	} {
		m := Mutant{Since: c.since, Until: c.until}
		if got := m.In(c.release); got != c.want {
			t.Errorf("a rule since %q until %q in %s: %t", c.since, c.until, c.release, got)
		}
	}
}

// TestOverlay_Compiles builds the engine with all mutants, and nothing else.
func TestOverlay_Compiles(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestOverlay_RottenSnippetIsNamed(t *testing.T) {
	source := []byte("package kraft\n\nvar x = 1\n\nfunc f(a int, b ...int) int { return a + x }\n\nfunc g() { f(1); f(2) }\n")
	for _, c := range []struct{ name, old, want string }{
		{"gone", "a - x", "occurs 0 times"},
		{"ambiguous", "f(", "occurs 3 times"},
		{"outside of functions", "var x = 1", "not inside a function"},
	} {
		m := &Mutant{Name: "m", File: "f.go", Old: c.old, New: "y", number: 7}
		if _, err := rewrite("f.go", source, []*Mutant{m}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestOverlay_SwitchLeadsToTheCopy(t *testing.T) {
	source := []byte("package kraft\n\nfunc (m *M) f(a, c int, b ...int) int { return a + c }\n\nfunc g() {\n\tprintln()\n}\n")
	out, err := rewrite("f.go", source, []*Mutant{
		{Name: "minus", File: "f.go", Old: "a + c", New: "a - c", number: 7}, {Name: "silent", File: "f.go", Old: "println()", number: 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"selected.Enter(7)\n\tswitch selected.Mutant {\n\tcase 7:\n\t\treturn m.fMutant7(a, c, b...)\n\t}\n return a + c }",
		"func (m *M) fMutant7(a, c int, b ...int) int { return a - c }",
		"func g() {\n\tselected.Enter(8)\n\tswitch selected.Mutant {\n\tcase 8:\n\t\tgMutant8()\n\t\treturn\n\t}\n\tprintln()\n}",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}

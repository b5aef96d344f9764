// Package lint checks policy that the compiler does not: who may import whom, and a few words and calls
// that have no place in the tree.
package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/understudy-kafka/understudy"

// allowed lists, for each package (a trailing /... covers what lies below), the packages of this module
// that it may import. Test files are exempt.
var allowed = map[string][]string{
	"kraft":            {},
	"kraft/memlog":     {"kraft"},
	"kraft/interact":   {"kraft", "kraft/memlog", "compat"},
	"kraft/safety":     {"kraft", "kraft/memlog"},
	"kraft/sim":        {"kraft", "kraft/memlog", "kraft/safety", "compat", "wire"},
	"kraft/explore":    {"kraft", "kraft/memlog", "kraft/safety", "kraft/interact", "compat"},
	"kraft/storage":    {"kraft", "wire"},
	"kraft/controller": {"kraft", "kraft/storage", "wire", "compat"},

	"kraft/controller/standby":    {"kraft", "kraft/controller", "kraft/storage", "wire", "compat"},
	"kraft/controller/properties": {"kraft", "kraft/storage", "internal/secure"},

	"kraft/storage/memfs":             {"kraft/storage"},
	"kraft/storage/doctor":            {"kraft", "kraft/storage", "wire", "compat"},
	"kraft/storage/doctor/doctortest": {"kraft", "kraft/storage", "kraft/storage/doctor", "kraft/storage/memfs", "wire"},

	"compat":       {"kraft"},
	"wire":         {"kraft", "compat"},
	"recordings":   {"kraft", "wire"},
	"proxy":        {"kraft", "wire", "recordings", "proxy/shadow", "compat"},
	"proxy/bench":  {"wire", "recordings"},
	"proxy/shadow": {"kraft", "wire", "compat", "recordings", "proxy/shadow/belief"},
	"proxy/web":    {"kraft", "wire", "recordings", "proxy/shadow", "compat"},
	"compat/...":   {"kraft/...", "kraft", "wire", "compat", "compat/...", "recordings", "proxy", "proxy/shadow", "internal/..."},
	"internal/...": {"kraft", "wire", "recordings", "proxy", "proxy/shadow", "compat", "internal/..."},
	"cmd/...":      {"..."},

	"internal/benchcheck": {"kraft", "kraft/controller", "kraft/storage", "wire", "recordings", "proxy/shadow", "compat"}, // it runs a quorum

	"internal/etcdbench": {"kraft", "kraft/memlog", "compat"}, // a module of its own

	"proxy/shadow/belief":    {"kraft", "wire", "compat"},
	"kraft/mutants":          {"kraft/mutants/selected"},
	"kraft/mutants/selected": {},
}

// foreign lists, for some packages, the only modules outside the standard library that they may import.
var foreign = map[string][]string{
	"kraft":        {"github.com/google/uuid"},
	"kraft/memlog": {},
}

// forbiddenImports names imports that a package must not have: the packages that judge or decide know no clock
// and no network.
var forbiddenImports = map[string][]string{
	"kraft":        {"time", "math/rand", "math/rand/v2", "os", "net", "log", "sync"},
	"kraft/memlog": {"time", "math/rand", "math/rand/v2", "os", "net", "log"},
	"proxy/shadow": {"net", "os", "math/rand", "math/rand/v2"},
}

func TestImports_FollowTheDirections(t *testing.T) {
	for file, imports := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		rules, ok := lookup(pkg)
		if !ok {
			t.Errorf("%s: package %s has no line in the table of import directions", file, pkg)
			continue
		}
		for _, imp := range imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok {
				if !matches(rules, own) {
					t.Errorf("%s: %s must not import %s", file, pkg, own)
				}
				continue
			}
			if list, ok := foreign[pkg]; ok && strings.Contains(strings.Split(imp, "/")[0], ".") && !matches(list, imp) {
				t.Errorf("%s: %s must not import %s", file, pkg, imp)
			}
			if matches(forbiddenImports[pkg], imp) {
				t.Errorf("%s: %s must not import %s", file, pkg, imp)
			}
			if strings.HasPrefix(imp, "github.com/rs/zerolog") && !mayLog(pkg) {
				t.Errorf("%s: %s must not log", file, pkg)
			}
			if strings.HasPrefix(imp, "github.com/prometheus/") && !strings.HasPrefix(pkg, "cmd/") {
				t.Errorf("%s: only cmd may import %s", file, imp)
			}
		}
	}
}

func TestImports_BrokenTwinIsSeen(t *testing.T) {
	rules, ok := lookup("kraft")
	if !ok || matches(rules, "wire") {
		t.Error("the table lets kraft import wire")
	}
	if rules, _ := lookup("compat/kafka"); !matches(rules, "kraft/sim") {
		t.Error("the table does not let compat/kafka import kraft/sim")
	}
}

func mayLog(pkg string) bool {
	return pkg == "proxy" || pkg == "proxy/web" || pkg == "kraft/controller" ||
		strings.HasPrefix(pkg, "compat/") || strings.HasPrefix(pkg, "cmd/")
}

func lookup(pkg string) ([]string, bool) {
	if rules, ok := allowed[pkg]; ok {
		return rules, true
	}
	for pattern, rules := range allowed {
		if base, ok := strings.CutSuffix(pattern, "/..."); ok && strings.HasPrefix(pkg, base+"/") {
			return rules, true
		}
	}
	return nil, false
}

func matches(rules []string, pkg string) bool {
	for _, rule := range rules {
		if rule == "..." || rule == pkg {
			return true
		}
		if base, ok := strings.CutSuffix(rule, "/..."); ok && strings.HasPrefix(pkg, base+"/") {
			return true
		}
	}
	return false
}

var (
	machinePath = regexp.MustCompile(`/(w[o]rk|f[a]rm|r[o]ot|h[o]me)/`)
	testSleep   = regexp.MustCompile(`\btime\.Sleep\(`)
)

func TestText_NoMachinePaths(t *testing.T) {
	walk(t, func(path string) {
		switch filepath.Ext(path) {
		case ".go", ".md", ".java", ".yml", ".yaml", ".sh", "":
		default:
			return
		}
		if strings.Contains(path, "testdata/") {
			return
		}
		for i, line := range strings.Split(read(t, path), "\n") {
			if machinePath.MatchString(line) {
				t.Errorf("%s:%d: names a path of one machine", path, i+1)
			}
		}
	})
}

// TestUnitTests_DoNotSleep lets only the tests that run real processes wait by the clock.
func TestUnitTests_DoNotSleep(t *testing.T) {
	walk(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "compat/") {
			return
		}
		for i, line := range strings.Split(read(t, path), "\n") {
			if testSleep.MatchString(line) && !strings.Contains(path, "internal/lint/") {
				t.Errorf("%s:%d: a unit test sleeps", path, i+1)
			}
		}
	})
}

// maxLines bounds a source file; generated files (_gen.go) are exempt.
const maxLines = 600

func TestFiles_StayShort(t *testing.T) {
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_gen.go") {
			return
		}
		if n := strings.Count(read(t, path), "\n"); n > maxLines {
			t.Errorf("%s: %d lines, want at most %d", path, n, maxLines)
		}
	})
}

func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = []string{}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			files[path] = append(files[path], p)
		}
	})
	return files
}

// root is the module's directory, seen from this package.
const root = "../.."

func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" || d.Name() == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package mutants

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const selectedPackage = "github.com/understudy-kafka/understudy/kraft/mutants/selected"

// Overlay writes the engine with all mutants below dir, and returns the file for the -overlay flag of the go command. root is the
// directory of the module. The same mutants of the same engine give the same directory, so that the build cache helps.
func Overlay(root, dir string) (string, error) {
	sources := map[string][]byte{ // by their path in the module
		"kraft/mutants/selected/built.go": []byte("package selected\n\n// Built reports whether this binary holds the mutants.\nconst Built = true\n"),
	}
	for name, list := range byFile() {
		source, err := os.ReadFile(filepath.Join(root, "kraft", name))
		if err != nil {
			return "", fmt.Errorf("mutants of %s: %w", name, err)
		}
		if sources["kraft/"+name], err = rewrite(name, source, list); err != nil {
			return "", err
		}
	}
	hash := sha256.New()
	names := slices.Sorted(maps.Keys(sources))
	for _, name := range names {
		fmt.Fprintf(hash, "%s %d\n", name, len(sources[name]))
		hash.Write(sources[name])
	}
	dir = filepath.Join(dir, "mutants-"+hex.EncodeToString(hash.Sum(nil)[:6]))
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for _, name := range names {
		copied := filepath.Join(dir, filepath.FromSlash(name))
		overlay.Replace[filepath.Join(root, filepath.FromSlash(name))] = copied
		if err := write(copied, sources[name]); err != nil {
			return "", err
		}
	}
	text, err := json.MarshalIndent(&overlay, "", "\t")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	file := filepath.Join(dir, "overlay-"+hex.EncodeToString(sum[:6])+".json")
	return file, write(file, text)
}

func write(name string, text []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

func byFile() map[string][]*Mutant {
	files := map[string][]*Mutant{}
	for _, m := range registry {
		files[m.File] = append(files[m.File], m)
	}
	return files
}

// rewrite is one file of the engine with its mutants: each of them is a copy of the function that it breaks, and the function
// begins with a switch that leads to it.
func rewrite(name string, source []byte, list []*Mutant) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("mutants of %s: %w", name, err)
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	switches, numbers := map[*ast.FuncDecl]string{}, map[*ast.FuncDecl][]string{}
	var copies strings.Builder
	for _, m := range list {
		start, err := find(source, m)
		if err != nil {
			return nil, err
		}
		f := enclosing(file, at, start, start+len(m.Old))
		if f == nil {
			return nil, fmt.Errorf("mutant %s: the snippet is not inside a function of %s", m.Name, name)
		}
		own := fmt.Sprintf("%sMutant%d", f.Name.Name, m.number)
		fmt.Fprintf(&copies, "\n// %s: %s\n%s%s%s%s%s\n", m.Name, m.Rule,
			source[at(f.Pos()):at(f.Name.Pos())], own, source[at(f.Name.End()):start], m.New, source[start+len(m.Old):at(f.End())])
		numbers[f] = append(numbers[f], strconv.Itoa(m.number))
		switches[f] += fmt.Sprintf("\tcase %d:\n\t\t%s\n", m.number, call(f, own))
	}
	var out bytes.Buffer
	out.Write(source[:at(file.Name.End())])
	fmt.Fprintf(&out, "\n\nimport %q\n", selectedPackage)
	from := at(file.Name.End())
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && switches[f] != "" {
			body := at(f.Body.Lbrace) + 1
			out.Write(source[from:body])
			fmt.Fprintf(&out, "\n\tselected.Enter(%s)\n\tswitch selected.Mutant {\n%s\t}", strings.Join(numbers[f], ", "), switches[f])
			if source[body] != '\n' {
				out.WriteString("\n")
			}
			from = body
		}
	}
	out.Write(source[from:])
	out.WriteString(copies.String())
	return out.Bytes(), nil
}

func find(source []byte, m *Mutant) (int, error) {
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return 0, fmt.Errorf("mutant %s: the snippet occurs %d times in %s, want once:\n%s", m.Name, n, m.File, m.Old)
	}
	return bytes.Index(source, []byte(m.Old)), nil
}

// enclosing is the function whose body holds the range.
func enclosing(file *ast.File, at func(token.Pos) int, start, end int) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && at(f.Body.Lbrace) < start && end <= at(f.Body.Rbrace) {
			return f
		}
	}
	return nil
}

// call passes the parameters of a function on to its copy.
func call(f *ast.FuncDecl, name string) string {
	var args []string
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			arg := n.Name
			if _, variadic := p.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	text := fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
	if f.Recv != nil {
		text = f.Recv.List[0].Names[0].Name + "." + text
	}
	if f.Type.Results != nil {
		return "return " + text
	}
	return text + "\n\t\treturn"
}

package interact

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
)

// Builds are the releases that stand for the six raft builds of Kafka 4.x.
func Builds() []string { return []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"} }

// File is a golden conversation: a script, and what happens.
type File struct {
	Path   string
	Builds []string // that it claims
	Rules  []string // of compat.Rules that it shows
	blocks []block
}

// block is a command with what is written around it.
type block struct {
	before  []string // comments and empty lines
	command string   // empty: the end of the file
	output  []string
}

const (
	prompt = "> "
	label  = "-- "
)

// Read reads a golden conversation. Lines that begin with "> " are commands, those with "#" comments; what follows a command is its
// output. In the opening comment "builds:" names the releases that it claims, "rule:" the rules that it shows.
func Read(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Builds: Builds()}
	var b block
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, prompt):
			if b.command != "" {
				f.blocks = append(f.blocks, b)
				b = block{}
			}
			b.command = strings.TrimPrefix(line, prompt)
		case line == "" || strings.HasPrefix(line, "#"):
			if b.command != "" {
				f.blocks = append(f.blocks, b)
				b = block{}
			}
			b.before = append(b.before, line)
			f.header(line)
		default:
			b.output = append(b.output, line)
		}
	}
	f.blocks = append(f.blocks, b)
	for _, build := range f.Builds {
		if _, err := compat.ByRelease(build); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return f, nil
}

func (f *File) header(line string) {
	if list, ok := strings.CutPrefix(line, "# builds:"); ok {
		f.Builds = strings.Fields(list)
	}
	if list, ok := strings.CutPrefix(line, "# rule:"); ok {
		f.Rules = append(f.Rules, strings.Fields(list)...)
	}
}

// Comment is what the file opens with.
func (f *File) Comment() string {
	if len(f.blocks) == 0 {
		return ""
	}
	return strings.Join(f.blocks[0].before, "\n")
}

// Play runs the script on a build and returns the output of each command.
func (f *File) Play(build string, players NewPlayer) ([][]string, error) {
	p, err := compat.ByRelease(build)
	if err != nil {
		return nil, err
	}
	return f.PlayWith(p, players)
}

// PlayWith runs the script with the rules of a profile.
func (f *File) PlayWith(p compat.Profile, players NewPlayer) ([][]string, error) {
	w := newWorld(p, players)
	var all [][]string
	for _, b := range f.blocks {
		w.out = nil
		if b.command != "" {
			if err := w.command(b.command); err != nil {
				return nil, fmt.Errorf("%s, Kafka %s: %s: %w", f.Path, p.Build, b.command, err)
			}
		}
		all = append(all, w.out)
	}
	return all, nil
}

// Render is the file with the outputs of all its builds. Where they differ the lines between a label and the next one belong to the
// builds that it names.
func (f *File) Render(outputs map[string][][]string) string {
	var text strings.Builder
	line := func(s string) { text.WriteString(s + "\n") }
	for i, b := range f.blocks {
		for _, s := range b.before {
			line(s)
		}
		if b.command == "" {
			continue
		}
		line(prompt + b.command)
		var of [][]string
		for _, build := range f.Builds {
			of = append(of, outputs[build][i])
		}
		for _, s := range merge(f.Builds, of) {
			line(s)
		}
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

// Commands are the lines of the script.
func (f *File) Commands() []string {
	var all []string
	for _, b := range f.blocks {
		all = append(all, b.command)
	}
	return all
}

// Expected is the output of each command that the file has for a build.
func (f *File) Expected(build string) [][]string {
	var all [][]string
	for _, b := range f.blocks {
		var lines []string
		mine := true
		for _, s := range b.output {
			if builds, ok := strings.CutPrefix(s, label); ok {
				mine = builds == "all" || slices.Contains(strings.Fields(builds), build)
				continue
			}
			if mine {
				lines = append(lines, s)
			}
		}
		all = append(all, lines)
	}
	return all
}

// merge writes the outputs of all builds as one: what they have in common at the beginning and at the end, and the groups of
// builds that agree in between.
func merge(builds []string, outputs [][]string) []string {
	first := 0
	for same(outputs, func(o []string) (string, bool) { return at(o, first) }) {
		first++
	}
	last := 0
	for same(outputs, func(o []string) (string, bool) {
		if len(o)-1-last < first {
			return "", false
		}
		return at(o, len(o)-1-last)
	}) {
		last++
	}
	merged := slices.Clone(outputs[0][:first])
	var groups [][]string
	var names []string
	for i, o := range outputs {
		middle := o[first : len(o)-last]
		g := slices.IndexFunc(groups, func(other []string) bool { return slices.Equal(other, middle) })
		if g < 0 {
			groups, names = append(groups, middle), append(names, builds[i])
		} else {
			names[g] += " " + builds[i]
		}
	}
	if len(groups) == 1 {
		return append(merged, outputs[0][first:]...)
	}
	for g := range groups {
		merged = append(append(merged, label+names[g]), groups[g]...)
	}
	if last > 0 {
		merged = append(merged, label+"all")
	}
	return append(merged, outputs[0][len(outputs[0])-last:]...)
}

func at(list []string, i int) (string, bool) {
	if i < 0 || i >= len(list) {
		return "", false
	}
	return list[i], true
}

func same(outputs [][]string, pick func([]string) (string, bool)) bool {
	want, ok := pick(outputs[0])
	for _, o := range outputs {
		if got, has := pick(o); !has || !ok || got != want {
			return false
		}
	}
	return ok
}

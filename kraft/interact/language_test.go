package interact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/interact"
)

func script(t *testing.T, text string) *interact.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := interact.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestScript_BadLinesAreErrorsThatNameThem(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"no command", "hello", "no command"},
		{"no such node", "append n7 1", "names no node"},
		{"no number", "append n1 x", "invalid syntax"},
		{"too few arguments", "append n1", "takes 1 arguments"},
		{"unknown field", "append n1 1 colour=red", "colour"},
		{"unknown option", "start n1 colour=red", "colour"},
		{"unknown flag", "start n1 colour", "unknown"},
		{"api of an option", "start n1 peers-know-Nothing=1", "unknown"},
		{"bad voters", "start n1 voters=a", "no node id"},
		{"bad batches", "start n1 log=5", "no batch"},
		{"overlapping batches", "start n1 log=0..5@1,3@1", "the log ends at 6"},
		{"bad quorum-state", "start n1 stored=1,leader:x", "invalid syntax"},
		{"unknown part of quorum-state", "start n1 stored=1,colour:2", "unknown"},
		{"bad vote in quorum-state", "start n1 stored=1,voted:x", "no replica"},
		{"bad draws", "start n1 draws=a", "invalid syntax"},
		{"not in a quorum", "quorum one", "no node"},
		{"advance what", "advance", "how many"},
		{"advance badly", "advance x", "invalid syntax"},
		{"run badly", "run x", "invalid syntax"},
		{"pump badly", "pump x", "invalid syntax"},
		{"elect nobody", "elect", "whom"},
		{"elect in vain", "elect n1", "does not lead"},
		{"fail nothing", "fail n1", "how"},
		{"fail somehow", "fail n1 n2 somehow", "no way"},
		{"cut nobody", "cut", "which"},
		{"hold everything", "hold n1 n2", "which api"},
		{"request of nobody", "request Vote", "which node"},
		{"request of nothing", "request n1 Hello", "no api"},
		{"request ApiVersions", "request n1 ApiVersions", "cannot be made up"},
		{"bad key", "request n1 Vote from=x", "no replica"},
		{"bad position", "request n1 Vote log=x", "no position"},
		{"bad field", "request n1 Vote epoch=x", "epoch"},
		{"unknown field of a request", "request n1 Vote colour=red", "colour"},
		{"unasked", "respond n1 n2 Vote", "has not asked"},
		{"bad error", "respond n1 n2 Fetch error=SORRY", "no error"},
		{"bad records", "respond n1 n2 Fetch records=x", "no batch"},
		{"show what", "show n1 colour", "unknown"},
		{"set what", "set colour", "unknown"},
		{"draw what", "draw n1 colour=1", "colour"},
		{"snapshot of what", "snapshot n1 x", "no position"},
		{"snapshot of what is not committed", "snapshot n1 5@1", "high watermark"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := script(t, "> quorum n1 n2 bootstrap=2\n> start n1 election-timeout=60000\n> turn n1\n> "+tt.line+"\n")
			_, err := f.Play("4.4.0", interact.Machines(nil))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.line) {
				t.Errorf("%q: error %v, want one about %q", tt.line, err, tt.want)
			}
		})
	}
}

func TestScript_NodesThatDoNotRun(t *testing.T) {
	f := script(t, `> quorum n1 n2 bootstrap=2
> start n1
> shutdown n1 ms=0
> show n1
n1 does not run
> turn n1
`)
	out, err := f.Play("4.4.0", interact.Machines(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(out[3], "\n"); got != "n1 does not run" {
		t.Errorf("show says %q", got)
	}
	for _, line := range []string{"append n1 1", "request n1 Vote"} {
		f := script(t, "> quorum n1 n2\n> start n1\n> shutdown n1 ms=0\n> "+line+"\n")
		if _, err := f.Play("4.4.0", interact.Machines(nil)); err == nil || !strings.Contains(err.Error(), "does not run") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestFile_BuildsThatDifferAreTold(t *testing.T) {
	f := script(t, `# builds: 4.1.2 4.2.1 4.3.1
> one
old
> two
> three
`)
	text := f.Render(map[string][][]string{
		"4.1.2": {{"first", "old", "last"}, {"same"}, {"only here"}, nil},
		"4.2.1": {{"first", "new", "last"}, {"same"}, nil, nil},
		"4.3.1": {{"first", "new", "last"}, {"same"}, nil, nil},
	})
	want := `# builds: 4.1.2 4.2.1 4.3.1
> one
first
-- 4.1.2
old
-- 4.2.1 4.3.1
new
-- all
last
> two
same
> three
-- 4.1.2
only here
-- 4.2.1 4.3.1
`
	if text != want {
		t.Fatalf("rendered:\n%s", text)
	}
	again := script(t, text)
	if got := strings.Join(again.Expected("4.2.1")[0], " "); got != "first new last" {
		t.Errorf("expected of 4.2.1: %s", got)
	}
	if got := again.Expected("4.3.1")[2]; len(got) != 0 {
		t.Errorf("expected of 4.3.1: %q", got)
	}
}

func TestFile_UnknownBuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(path, []byte("# builds: 9.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := interact.Read(path); err == nil || !strings.Contains(err.Error(), "9.9") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if _, err := interact.Read(path + ".missing"); err == nil {
		t.Error("a missing file is read")
	}
	if _, err := script(t, "> quorum n1\n").Play("9.9", interact.Machines(nil)); err == nil {
		t.Error("a conversation is held with 9.9")
	}
}

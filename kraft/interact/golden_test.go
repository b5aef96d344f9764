package interact_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/interact"
)

var rewrite = flag.Bool("rewrite", false, "write the conversations anew")

func files(t *testing.T) []*interact.File {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []*interact.File
	for _, path := range paths {
		f, err := interact.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestGolden_ConversationsAreAsWritten(t *testing.T) {
	for _, f := range files(t) {
		t.Run(filepath.Base(f.Path), func(t *testing.T) {
			outputs := map[string][][]string{}
			for _, build := range f.Builds {
				out, err := f.Play(build, interact.Machines(nil))
				if err != nil {
					t.Fatal(err)
				}
				outputs[build] = out
			}
			got := f.Render(outputs)
			if *rewrite {
				if err := os.WriteFile(f.Path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is not what happens; go test ./kraft/interact -rewrite writes it anew:\n%s", f.Path, got)
			}
		})
	}
}

package interact_test

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
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

// playing is a conversation on every build that it claims.
type playing struct {
	*interact.File
	outputs map[string][][]string
	err     error
}

var plays struct {
	once    sync.Once
	list    []playing
	covered interact.Coverage
}

// played plays all conversations once, for all tests that look at them, and counts what they reach.
func played(t *testing.T) ([]playing, interact.Coverage) {
	t.Helper()
	plays.once.Do(func() {
		plays.covered = interact.Coverage{}
		for _, f := range files(t) {
			p := playing{File: f, outputs: map[string][][]string{}}
			for i := 0; p.err == nil && i < len(f.Builds); i++ {
				p.outputs[f.Builds[i]], p.err = f.Play(f.Builds[i], interact.Machines(&plays.covered))
			}
			plays.list = append(plays.list, p)
		}
	})
	if len(plays.list) == 0 {
		t.Fatal("there are no conversations")
	}
	return plays.list, plays.covered
}

func TestGolden_ConversationsAreAsWritten(t *testing.T) {
	list, _ := played(t)
	for _, f := range list {
		t.Run(filepath.Base(f.Path), func(t *testing.T) {
			if f.err != nil {
				t.Fatal(f.err)
			}
			got := f.Render(f.outputs)
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

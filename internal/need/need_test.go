package need

import (
	"errors"
	"strings"
	"testing"
)

func TestLook_MissingToolNamesTheCommandThatInstallsIt(t *testing.T) {
	_, err := Look("no-such-tool-of-understudy")
	var missing *Missing
	if !errors.As(err, &missing) {
		t.Fatalf("got %v, want a *Missing", err)
	}
	if want := "apt-get install -y --no-install-recommends no-such-tool-of-understudy"; !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
}

func TestLook_FindsWhatIsThere(t *testing.T) {
	path, err := Look("sh")
	if err != nil || path == "" {
		t.Errorf("sh: %q, %v", path, err)
	}
}

type recorder struct{ failed string }

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, _ ...any) {
	r.failed = format
	panic(r)
}

func TestFor_FailsTheTestAndDoesNotSkip(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := &recorder{}
	defer func() {
		if recover() != r || r.failed == "" {
			t.Error("a missing tool did not fail the test")
		}
	}()
	For(r, "no-such-tool-of-understudy")
}

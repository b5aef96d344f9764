package mixed

import (
	"slices"
	"testing"
)

// A record whose name begins with that of another one does not stand for it.
func TestTold_NamesAreWhole(t *testing.T) {
	for _, c := range []struct {
		ours, theirs string
		want         []string
	}{
		{"\x09load-1-1\x1cx\x0bmore-2-0-3\x1c", "\x0bmore-2-0-3\x1c\x09load-1-1\x1c", nil},
		{"\x09load-1-1\x1c", "\x0aload-1-10\x1c", []string{"load-1-1"}},
		{"\x09load-1-1\x1c\x0cmissed-4-0-1\x1c", "\x0cmissed-4-0-1\x1c\x0aload-1-11\x1c", []string{"load-1-1"}},
		{"\x09load-1-1\x1c", "", []string{"load-1-1"}},
	} {
		if got := missing(loadNames([]byte(c.ours)), loadNames([]byte(c.theirs))); !slices.Equal(got, c.want) {
			t.Errorf("%q of %q: missing are %q, want %q", c.theirs, c.ours, got, c.want)
		}
	}
}

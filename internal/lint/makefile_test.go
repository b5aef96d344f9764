package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var target = regexp.MustCompile(`(?m)^([a-z-]+):`)

// makefileErrors names the targets that a Makefile has twice, of which make keeps the last one, and those that .PHONY does not list.
func makefileErrors(text string) (found []string) {
	_, phony, _ := strings.Cut(text, ".PHONY:")
	phony, _, _ = strings.Cut(phony, "\n")
	seen := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(text, -1) {
		if seen[m[1]] {
			found = append(found, m[1]+" is there twice")
		}
		if seen[m[1]] = true; !slices.Contains(strings.Fields(phony), m[1]) {
			found = append(found, m[1]+" is not in .PHONY")
		}
	}
	return found
}

func TestMakefile_HasEachTargetOnce(t *testing.T) {
	for _, e := range makefileErrors(read(t, "Makefile")) {
		t.Errorf("Makefile: %s", e)
	}
}

func TestMakefile_BrokenTwinIsSeen(t *testing.T) {
	for text, want := range map[string]string{
		".PHONY: a b\na: b ## c\nb:\n\tc\n": "",
		".PHONY: a\na:\na: ## again\n":      "a is there twice",
		".PHONY: a\na:\nb:\n":               "b is not in .PHONY",
	} {
		if got := strings.Join(makefileErrors(text), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package replay

import (
	"bytes"
	"strings"
	"testing"
)

// TestReport_ManyExplainedDifferencesHideNothing has more differences by a rule than are listed.
func TestReport_ManyExplainedDifferencesHideNothing(t *testing.T) {
	const rule = "fetch-high-watermark"
	r := &Report{Compared: 1}
	for range maxDifferences + 500 {
		r.differ(Difference{Rule: rule})
	}
	if got := r.Outcome(); got != Explained {
		t.Errorf("differences by one rule alone are %s, want %s", got, Explained)
	}
	if got := r.Rules()[rule]; got != maxDifferences+500 {
		t.Errorf("the rule explains %d differences, want %d", got, maxDifferences+500)
	}
	r.differ(Difference{Message: "answer to Vote v2"})
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if r.Outcome() != Differs || !strings.Contains(text.String(), "DIFFERS  frame 0, answer to Vote v2") {
		t.Errorf("one that nothing explains is hidden behind them: %s\n%s", r.Outcome(), text.String())
	}
	for range maxDifferences {
		r.differ(Difference{})
	}
	if r.Outcome() != Differs || r.Dropped != 501 || len(r.Differences) != 2*maxDifferences {
		t.Errorf("%s with %d listed and %d dropped", r.Outcome(), len(r.Differences), r.Dropped)
	}
}

// TestElements_OfOneNameAreToldApart also in a list so long that a name which grows with each would never come to an end.
func TestElements_OfOneNameAreToldApart(t *testing.T) {
	list := []any{map[string]any{"name": "a'1"}}
	for range 100_000 {
		list = append(list, map[string]any{"name": "a"})
	}
	if got := len(elements(list)); got != len(list) {
		t.Errorf("%d elements have %d names", len(list), got)
	}
}

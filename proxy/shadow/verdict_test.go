package shadow

import (
	"encoding/json"
	"testing"
)

func TestVerdict_IsReadBackAsWritten(t *testing.T) {
	for _, want := range []Verdict{Conforms, Inconclusive, Diverges} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := Verdict(99)
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
	for _, wrong := range []string{`"FINE"`, `1`, `null`, `""`} {
		got := Verdict(99)
		if err := json.Unmarshal([]byte(wrong), &got); err == nil && got != Verdict(99) {
			t.Errorf("%s is read as %v", wrong, got)
		}
	}
}

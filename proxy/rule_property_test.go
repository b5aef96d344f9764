package proxy

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Which frames a rule takes is what its words say of their list.
func TestRule_TakesEqualsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		word := rapid.SampledFrom([]string{"nth", "every", "first", ""}).Draw(t, "word")
		text := "drop Vote"
		if word != "" {
			text += fmt.Sprintf(" %s %d", word, n)
		}
		r, err := ParseRule(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		frames := make([]bool, 41) // counted from 1
		for i := range frames {
			switch word {
			case "nth":
				frames[n] = true
			case "first":
				frames[i] = i <= n
			case "":
				frames[i] = true
			}
		}
		for i := n; word == "every" && i < len(frames); i += n {
			frames[i] = true
		}
		for i := 1; i < len(frames); i++ {
			if r.takes(uint64(i)) != frames[i] {
				t.Fatalf("%q takes frame %d: %t", text, i, !frames[i])
			}
		}
	})
}

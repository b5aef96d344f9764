package proxy

import (
	"fmt"
	"slices"
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
		after := rapid.IntRange(0, 9).Draw(t, "after")
		if after > 0 {
			r.After = uint64(after)
		}
		frames := make([]bool, 41) // counted from 1, behind those left alone
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
		for i := 1; i <= after; i++ {
			if r.takes(uint64(i)) {
				t.Fatalf("%q takes frame %d, of the first %d", text, i, after)
			}
		}
		for i := 1; i < len(frames); i++ {
			if r.takes(uint64(i+after)) != frames[i] {
				t.Fatalf("%q takes frame %d: %t", text, i, !frames[i])
			}
		}
	})
}

// A probability takes about its share, the same ones with the same seed and others with another.
func TestRule_ProbabilityIsDecidedByTheSeed(t *testing.T) {
	taken := func(seed uint64) (list []uint64) {
		r := Rule{Probability: 0.25, Seed: seed}
		for n := uint64(1); n <= 10_000; n++ {
			if r.takes(n) {
				list = append(list, n)
			}
		}
		return list
	}
	one, again, other := taken(7), taken(7), taken(8)
	if !slices.Equal(one, again) || slices.Equal(one, other) || len(one) < 2300 || len(one) > 2700 {
		t.Errorf("%d, %d and %d of 10,000 frames", len(one), len(again), len(other))
	}
}

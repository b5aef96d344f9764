package main

import (
	"slices"
	"testing"
)

// TestLeftovers_OfOthersStay: an engine that runs has containers of other people's tests.
func TestLeftovers_OfOthersStay(t *testing.T) {
	got := below("/tmp/run", "a /tmp/run/_artifacts/1\nb /tmp/run-2/_artifacts/1\nc \n\nd /tmp/run\ne /tmp/run/x y\n")
	if want := []string{"a", "e"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

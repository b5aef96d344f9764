package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// TestShrink_GivesPagesOfTheProgramBack: fewer are resident afterwards, and what is needed of them is there.
func TestShrink_GivesPagesOfTheProgramBack(t *testing.T) {
	resident := func() int {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no RssFile in %s", text)
		}
		kb, _ := strconv.Atoi(string(m[1]))
		return kb
	}
	before := resident()
	shrink()
	after := resident()
	t.Logf("%d kB of files were resident, %d are", before, after)
	if after >= before {
		t.Error("nothing was given back")
	}
	if _, err := properties.Read("testdata/no-such-file"); err == nil || !strings.Contains(err.Error(), "no-such-file") {
		t.Errorf("after it: %v", err)
	}
}

package main

import (
	"os"
	"regexp"
	"slices"
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

// TestShrink_KeepsWhatTheLinkerHasWritten: relocated data of a position-independent program is read-only, and not what the file has.
func TestShrink_KeepsWhatTheLinkerHasWritten(t *testing.T) {
	const smaps = `1000-2000 r--p 00000000 fe:00 7 /bin/understudy
Rss:                   4 kB
Private_Dirty:         0 kB
Anonymous:             0 kB
2000-6000 r-xp 00001000 fe:00 7 /bin/understudy
Private_Dirty:        16 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd
6000-7000 r--p 00005000 fe:00 7 /bin/understudy
Private_Dirty:         4 kB
Anonymous:             4 kB
7000-8000 rw-p 00006000 fe:00 7 /bin/understudy
Private_Dirty:         0 kB
8000-9000 rw-p 00000000 00:00 0
Private_Dirty:         8 kB
9000-a000 r--p 00000000 fe:00 9 /lib/libc.so.6
Private_Dirty:         0 kB
`
	want := []pages{{0x1000, 0x2000}, {0x2000, 0x6000}}
	if got := cleanPages(smaps, "/bin/understudy"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

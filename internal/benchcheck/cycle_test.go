package main

import (
	"errors"
	"io"
	"testing"

	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

const capture = "../../recordings/testdata/captures/440-dynamic-start-kill/capture.pcap.zst"

// TestCycles_AreOneQuorumsTraffic: what is measured must be judged like the real thing, from both kinds of file.
func TestCycles_AreOneQuorumsTraffic(t *testing.T) {
	c, err := load(capture)
	if err != nil {
		t.Fatal(err)
	}
	files, made, err := c.files(t.TempDir(), 3*c.frames, 2*c.frames)
	if err != nil {
		t.Fatal(err)
	}
	for kind, cycles := range map[string]int{"recording": 3, "pcap": 3, "part": 2} {
		in, err := recordings.OpenAny(nil, files[kind])
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		checker := shadow.New(shadow.Options{})
		var o recordings.Observation
		for {
			err := in.Next(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			checker.Observe(&o)
		}
		r := checker.Finish()
		if r.Verdict != shadow.Conforms || r.Counts.Frames != uint64(cycles*c.frames) || r.Judged != r.Decisions || len(r.Quorum.Elections) < 3*cycles {
			t.Errorf("%s: %s, %d frames of %d, judged %d of %d, %d elections, %v", kind, r.Verdict, r.Counts.Frames, cycles*c.frames, r.Judged, r.Decisions, len(r.Quorum.Elections), r.Findings)
		}
	}
	if made.frames != 3*c.frames || made.part != 2*c.frames || made.cycles != 3 {
		t.Errorf("%+v", made)
	}
}

func TestLoad_MissingCapture(t *testing.T) {
	if _, err := load("absent"); err == nil {
		t.Error("no error")
	}
}

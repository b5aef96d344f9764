package shadow

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

var captures = []string{"412-static-follower-restart", "440-dynamic-start-kill"}

// capture reads all observations of a capture of a real quorum, and calls visit for each.
func capture(t testing.TB, name string, visit func(*recordings.Observation)) {
	t.Helper()
	in, err := recordings.OpenAny(nil, captureFile(name, "capture.pcap.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(&o)
	}
}

func captureFile(name, file string) string {
	return filepath.Join("..", "..", "recordings", "testdata", "captures", name, file)
}

func TestCaptures_RealQuorumsConform(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			capture(t, name, c.Observe)
			r := c.Finish()
			if r.Verdict != Conforms || r.Judged*100 < r.Decisions*enough || r.Decisions == 0 {
				t.Errorf("%s, judged %d of %d: %v %v", r.Verdict, r.Judged, r.Decisions, r.Reasons, r.Findings)
			}
		})
	}
}

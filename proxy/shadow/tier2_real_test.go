package shadow

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

// TestTier2_ExplainsRecordingsThatItOnceDidNot reads recordings of real controllers that were blamed for something once.
func TestTier2_ExplainsRecordingsThatItOnceDidNot(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "real", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := recordings.OpenAny(nil, file)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			c := New(Options{Tier2: true})
			var o recordings.Observation
			for {
				err := in.Next(&o)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				c.Observe(&o)
			}
			r := c.Finish()
			if len(r.Findings) > 0 || r.Verdict != Conforms {
				t.Errorf("%v: %+v", r.Verdict, r.Findings)
			}
			for _, n := range r.Tier2 {
				if n.Messages == 0 || n.Judged*100 < n.Messages*95 {
					t.Errorf("node %v: %+v", n.Node, n)
				}
			}
		})
	}
}

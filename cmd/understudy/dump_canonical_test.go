package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// TestDump_SaysWhatKafkaWouldNotHaveWritten dumps a Vote answer of a real quorum, as it was and with a byte behind its end.
func TestDump_SaysWhatKafkaWouldNotHaveWritten(t *testing.T) {
	for _, tc := range []struct {
		name, tail string
		findings   int
	}{{"as recorded", "", 0}, {"trailing byte", "\x00", 1}} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := recordings.OpenAny(nil, dumpCapture)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			base := filepath.Join(t.TempDir(), "run")
			w, err := recordings.Create(base, recordings.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var o recordings.Observation
			for changed := false; !changed; {
				if err := in.Next(&o); err != nil {
					t.Fatal(err)
				}
				if o.Kind == recordings.KindFrame && o.Dir == wire.Request {
					h, _, err := wire.ParseRequestHeader(o.Frame.Bytes)
					if changed = err == nil && h.Key == wire.KeyVote; changed {
						o.Frame.Bytes = append(append([]byte(nil), o.Frame.Bytes...), tc.tail...)
						o.Frame.Size = len(o.Frame.Bytes)
					}
				}
				if err := w.Write(&o); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			code, out, errs := runDump(t, nil, "--canonical", "--key", "Vote", base)
			if code != exitFine || strings.Count(out, "not canonical: ") != tc.findings {
				t.Errorf("exit code %d, %s\n%s", code, errs, out)
			}
			code, out, errs = runDump(t, nil, "--canonical", "-o", "json", "--key", "Vote", base)
			if code != exitFine || strings.Count(out, `"kind":"trailing bytes"`) != tc.findings {
				t.Errorf("exit code %d, %s\n%s", code, errs, out)
			}
		})
	}
}

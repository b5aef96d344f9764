package shadow

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/proxy/shadow/belief"
	"github.com/understudy-kafka/understudy/recordings"
)

// TestTier2_ExplainsRecordingsThatItOnceDidNot reads recordings of real controllers that were blamed for something once, as they are and
// without what may hold secrets.
func TestTier2_ExplainsRecordingsThatItOnceDidNot(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute under the race detector; make test-sim runs it")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "real", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "redacted")
			w, err := recordings.Create(base, recordings.Options{})
			if err != nil {
				t.Fatal(err)
			}
			explained(t, file, func(o *recordings.Observation) {
				if err := w.Write(o); err != nil {
					t.Fatal(err)
				}
			})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			explained(t, base, func(*recordings.Observation) {})
		})
	}
}

// explained expects that tier 2 explains a recording to the end, and shows what is in it.
func explained(t *testing.T, file string, visit func(*recordings.Observation)) {
	t.Helper()
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
		visit(&o)
		c.Observe(&o)
	}
	r := c.Finish()
	if len(r.Findings) > 0 || r.Verdict != Conforms {
		t.Errorf("%s: %v: %+v", file, r.Verdict, r.Findings)
	}
	for _, n := range r.Tier2 {
		if n.Messages == 0 || n.Judged*100 < n.Messages*95 {
			t.Errorf("%s: node %v: %+v", file, n.Node, n)
		}
	}
}

// TestTier2_JudgesANodeThatWasInTheMiddleOfASnapshot reads a recording that begins while a follower fetches a snapshot that the leader
// keeps refusing: where it may ask the leader it asks for the snapshot, elsewhere for records.
func TestTier2_JudgesANodeThatWasInTheMiddleOfASnapshot(t *testing.T) {
	in, err := recordings.OpenAny(nil, filepath.Join("testdata", "attached", "440-in-the-middle-of-a-snapshot.pcapng.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := New(Options{Tier2: true})
	c.second.Checker = belief.New(belief.Options{Found: c.unexplained, Settle: 1}) // no request of before is waiting to leave
	var o recordings.Observation
	for err = in.Next(&o); err == nil; err = in.Next(&o) {
		c.Observe(&o)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	r := c.Finish()
	if len(r.Findings) > 0 || r.Verdict != Conforms {
		t.Errorf("%v: %+v", r.Verdict, r.Findings)
	}
	for _, n := range r.Tier2 {
		if n.Node == 2 && (n.Judged < 60 || n.Anchored > 2) {
			t.Errorf("%+v", n)
		}
	}
}

// TestTier2_BlamesNoLeaderThatWasAddedAgain reads a recording in which a voter is removed, is judged as it follows, is added again and leads:
// where it can be reached nobody has said before.
func TestTier2_BlamesNoLeaderThatWasAddedAgain(t *testing.T) {
	in, err := recordings.OpenAny(nil, filepath.Join("testdata", "attached", "440-a-leader-is-removed-and-comes-back.pcapng.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := New(Options{Tier2: true})
	var o recordings.Observation
	for err = in.Next(&o); err == nil; err = in.Next(&o) {
		c.Observe(&o)
	}
	r := c.Finish()
	if !errors.Is(err, io.EOF) || len(r.Findings) > 0 || r.Verdict != Conforms {
		t.Errorf("%v: %v: %+v", err, r.Verdict, r.Findings)
	}
	for _, n := range r.Tier2 {
		if n.Judged < 85 || n.Unjudged[belief.TooMany] > 0 {
			t.Errorf("%+v", n)
		}
	}
}

package shadow

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
)

// replay is a source of observations in memory.
type replay struct {
	list []recordings.Observation
	at   int
}

func (r *replay) Next(o *recordings.Observation) error {
	if r.at == len(r.list) {
		return io.EOF
	}
	*o = r.list[r.at]
	r.at++
	return nil
}

// cores judges a stream and reduces what is found.
func cores(t *testing.T, options Options, list []recordings.Observation) ([]Finding, []Core) {
	t.Helper()
	c := New(options)
	for i := range list {
		o := list[i]
		c.Observe(&o)
	}
	c.Finish()
	found, errs, err := Cores(options, c.Names(), c.Findings(), &replay{list: list})
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if err != nil {
			t.Errorf("%s: %v", c.Findings()[i].Text, err)
		}
	}
	return c.Findings(), found
}

// judgedAgain writes a core as a recording, reads that and judges it.
func judgedAgain(t *testing.T, options Options, core *Core) *Report {
	t.Helper()
	base := filepath.Join(t.TempDir(), "core")
	w, err := recordings.Create(base, recordings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range core.Observations {
		if err := w.Write(&core.Observations[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := recordings.OpenAny(nil, base)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := New(Options{FaultAsPeer: options.FaultAsPeer, Tier2: options.Tier2})
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return c.Finish()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Observe(&o)
	}
}

// TestCore_EveryRuleOfRealFrames: each finding on altered frames of real controllers has a core that says the same.
func TestCore_EveryRuleOfRealFrames(t *testing.T) {
	original := load(t, "440-dynamic-start-kill")
	var sizes []int
	for _, tt := range append(alteredFrames(), moreAlteredFrames()...) {
		t.Run(tt.name, func(t *testing.T) {
			mutated, _ := original.mutate(t, tt.change)
			options := Options{FaultAsPeer: true}
			findings, reduced := cores(t, options, mutated)
			if len(findings) == 0 {
				t.Fatal("nothing is found")
			}
			for i := range findings {
				f, core := &findings[i], &reduced[i]
				r := judgedAgain(t, options, core)
				same := func(g Finding) bool {
					return g.Rule == f.Rule && g.Node == f.Node && g.Epoch == f.Epoch && g.Text == f.Text
				}
				if r.Verdict != Diverges || !slices.ContainsFunc(r.Findings, same) {
					t.Errorf("want %s at node %s in epoch %d: %s %+v", f.Rule, f.Node, f.Epoch, r.Verdict, r.Findings)
				}
				t.Logf("%s: %d frames of %d: %s", f.Rule, core.Frames, len(mutated), f.Text)
				sizes = append(sizes, core.Frames)
			}
		})
	}
	slices.Sort(sizes)
	if median := sizes[len(sizes)/2]; median > 12 {
		t.Errorf("a core has %d frames in the median: %v", median, sizes)
	}
}

func TestCore_OfConversations(t *testing.T) {
	for _, tt := range []struct {
		rule string
		play func(s *stage)
	}{
		{"M1", func(s *stage) {
			s.meet(1, 2, 3)
			for range 50 {
				s.ask(1, 2, fetch(4, 9, 4)).answer(notLeader(4, -1))
			}
			s.ask(2, 1, stand(5)).answer(granted(5))
			for range 50 {
				s.ask(1, 2, fetch(5, 9, 4)).answer(notLeader(5, -1))
			}
			s.ask(3, 1, stand(5)).answer(granted(5))
		}},
		{"M10", func(s *stage) {
			led(s, 3)
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
			s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b")))
			s.ask(2, 1, fetch(5, 12, 5)).answer(served(5, 12))
		}},
		{"M13", func(s *stage) {
			settled(s)
			s.ask(3, 2, preVote(6)).answer(refused(6))
			s.ask(3, 1, preVote(6)).answer(refused(6))
		}},
		{"M15", func(s *stage) {
			s.meet(1, 2, 3)
			s.ask(1, 2, fetch(5, 20, 5)).answer(served(5, 9))
			s.ask(3, 1, standAt(6, kraft.LogEnd{LastEpoch: 5, LastOffset: 19}, false)).answer(granted(6))
		}},
		{"M16", func(s *stage) {
			s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, start(9, 5, 1, 1, 2, 3), votersAt(s, 10, 5, 1, 2, 3, 4, 5)))
		}},
		{"M20", func(s *stage) {
			ahead(s)
			s.ask(3, 1, fetch(5, 10, 5))
			s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := newStage(t)
			var list []recordings.Observation
			s.tape = &list
			tt.play(s)
			findings, reduced := cores(t, Options{}, list)
			if len(findings) != 1 || findings[0].Rule != tt.rule {
				t.Fatalf("%+v", findings)
			}
			r := judgedAgain(t, Options{}, &reduced[0])
			if len(r.Findings) != 1 || r.Findings[0].Rule != tt.rule || r.Findings[0].Node != findings[0].Node || r.Findings[0].Text != findings[0].Text {
				t.Errorf("%+v", r.Findings)
			}
			t.Logf("%d frames of %d", reduced[0].Frames, len(list))
		})
	}
}

// TestCore_OfTheSecondTier: the end of the node's own stream shows it, to an observer who came late.
func TestCore_OfTheSecondTier(t *testing.T) {
	original := load(t, "440-dynamic-start-kill")
	mutated, _ := original.mutate(t, func(_ kmsg.Request, resp kmsg.Response) bool {
		p := part(resp)
		if p == nil || p.HighWatermark < 20 || len(p.RecordBatches) > 0 {
			return false
		}
		p.HighWatermark++
		return true
	})
	options := Options{FaultAsPeer: true, Tier2: true}
	c := New(options)
	for i := range mutated {
		o := mutated[i]
		c.Observe(&o)
	}
	c.Finish()
	tried := 0
	for _, f := range c.Findings() {
		if f.Rule != Tier2 {
			continue
		}
		tried++
		cores, errs, err := Cores(options, c.Names(), []Finding{f}, &replay{list: mutated})
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		r := judgedAgain(t, options, &cores[0])
		if !slices.ContainsFunc(r.Findings, func(g Finding) bool { return g.Rule == Tier2 && g.Node == f.Node }) {
			t.Errorf("%s: %+v", f.Text, r.Findings)
		}
		t.Logf("%d frames: %s", cores[0].Frames, f.Text)
	}
	if tried == 0 {
		t.Errorf("the second tier finds nothing: %+v", c.Findings())
	}
}

// A finding that is nowhere in the stream has no core, and nobody invents one.
func TestCore_NoneOfAnotherStream(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	s.ask(1, 2, fetch(5, 9, 4)).answer(notLeader(5, -1))
	f := *s.diverges("M1", 1)
	f.order = 3
	f.Proof = slices.Clone(f.Proof)
	f.Proof[0].Number += 1000
	var list []recordings.Observation
	o := newStage(t)
	o.tape = &list
	o.ask(2, 1, stand(5)).answer(granted(5))
	o.ask(3, 1, stand(5)).answer(granted(5))
	_, errs, err := Cores(Options{}, nil, []Finding{f}, &replay{list: list})
	if err != nil || !errors.Is(errs[0], ErrNoCore) || !strings.Contains(errs[0].Error(), "small part") {
		t.Errorf("%v %v", errs, err)
	}
}

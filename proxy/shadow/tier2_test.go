package shadow

import (
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// What real controllers wrote is explained to the last message but those before a node is anchored.
func TestTier2_ExplainsTheCaptures(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Tier2: true})
			capture(t, name, c.Observe)
			r := c.Finish()
			if len(r.Findings) > 0 || r.Verdict != Conforms {
				t.Errorf("%v: %+v", r.Verdict, r.Findings)
			}
			if len(r.Tier2) != 3 {
				t.Errorf("%d nodes are judged", len(r.Tier2))
			}
			for _, n := range r.Tier2 {
				if n.Messages < 100 || n.Judged*100 < n.Messages*99 || n.Searches > 2 {
					t.Errorf("node %v: %+v", n.Node, n)
				}
			}
		})
	}
}

// From wherever in the stream judging begins, nobody is blamed.
func TestTier2_BlamesNobodyMidStream(t *testing.T) {
	for _, name := range captures {
		var all []recordings.Observation
		capture(t, name, func(o *recordings.Observation) {
			held := *o
			held.Frame.Bytes = slices.Clone(o.Frame.Bytes)
			held.Withheld = slices.Clone(o.Withheld)
			if o.Conn != nil {
				conn := *o.Conn
				conn.Midway = true
				held.Conn = &conn
			}
			all = append(all, held)
		})
		judged := uint64(0)
		for begin := 41; begin < len(all); begin += 123 {
			c := New(Options{Tier2: true})
			for i := begin; i < len(all); i++ {
				if all[i].Kind != recordings.KindOpen {
					c.Observe(&all[i])
				}
			}
			r := c.Finish()
			for i := range r.Findings {
				t.Fatalf("%s from %d: %s", name, begin, r.Findings[i].Text)
			}
			for _, n := range r.Tier2 {
				judged += n.Judged
			}
		}
		if judged == 0 {
			t.Errorf("%s: nobody is ever anchored", name)
		}
	}
}

// alteration changes one kind of response of a real capture.
type alteration struct {
	name   string
	key    int16
	skip   int                         // answers that are given before their node is judged
	change func(c *alteredAnswer) bool // false: not this one
}

type alteredAnswer struct {
	version int16
	body    []byte
	out     []byte
}

// A lie that a real controller might tell is found, and held against it.
func TestTier2_FindsAlteredAnswers(t *testing.T) {
	alterations := alterations
	if testing.Short() {
		alterations = alterations[:1]
	}
	for _, a := range alterations {
		t.Run(a.name, func(t *testing.T) {
			tried, found := 0, 0
			for nth := range 2 {
				changed, node, findings := playAltered(t, "412-static-follower-restart", &a, a.skip+nth*17)
				if !changed {
					continue
				}
				tried++
				if len(findings) > 0 {
					if findings[0].Node != node {
						t.Errorf("%d: node %v is blamed, %v lied: %s", nth, findings[0].Node, node, findings[0].Text)
					}
					found++
				}
			}
			if t.Logf("found %d of %d", found, tried); tried == 0 || found < tried {
				t.Errorf("found %d of %d", found, tried)
			}
		})
	}
}

// playAltered judges a capture in which the n-th answer of a kind was altered.
func playAltered(t *testing.T, name string, a *alteration, nth int) (changed bool, node kraft.NodeID, findings []Finding) {
	c := New(Options{Tier2: true, SeesAll: true}) // a lie about who answers makes its listener somebody else's
	seen := 0
	var liar *endpoint
	open := map[uint64]*wire.Pairer{}
	capture(t, name, func(o *recordings.Observation) {
		if o.Kind == recordings.KindFrame && len(o.Withheld) == 0 && !changed {
			p := open[o.Conn.ID]
			if p == nil {
				p = new(wire.Pairer)
				open[o.Conn.ID] = p
			}
			if o.Dir == wire.Request {
				if h, body, err := wire.ParseRequestHeader(o.Frame.Bytes); err == nil {
					p.Request(h, body, o.At, o.Seq)
				}
			} else if x, err := p.Response(o.Frame.Bytes, o.At); err == nil && x.Header.Key == a.key {
				answer := alteredAnswer{version: x.Header.Version, body: x.Response}
				if a.change(&answer) {
					if seen++; seen > nth {
						held := *o
						head := len(o.Frame.Bytes) - len(x.Response)
						held.Frame.Bytes = append(slices.Clone(o.Frame.Bytes[:head]), answer.out...)
						held.Frame.Size = len(held.Frame.Bytes)
						changed, node = true, o.Conn.Node
						liar = c.endpointOf(o.Conn)
						o = &held
					}
				}
			}
		}
		c.Observe(o)
	})
	report := c.Finish()
	if node < 0 && liar != nil && liar.node != nil { // whose listener it is was learnt later, perhaps
		node = liar.node.id
	}
	for _, f := range report.Findings {
		if f.Rule == tier2Rule.ID {
			findings = append(findings, f)
		}
	}
	if (report.Verdict == Diverges) != (len(report.Findings) > 0) {
		t.Errorf("%v with %d findings", report.Verdict, len(report.Findings))
	}
	return changed, node, findings
}

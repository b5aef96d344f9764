package shadow

import (
	"encoding/json"
	"fmt"
)

// Verdict is what is to be said of a node or of a whole run.
type Verdict uint8

// The verdicts. A worse one is greater.
const (
	Conforms Verdict = iota
	Inconclusive
	Diverges
)

func (v Verdict) String() string { return [...]string{"CONFORMS", "INCONCLUSIVE", "DIVERGES"}[v] }

// MarshalJSON writes the verdict's name.
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// UnmarshalJSON reads the verdict's name.
func (v *Verdict) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	for _, known := range []Verdict{Conforms, Inconclusive, Diverges} {
		if known.String() == name {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("verdict %q: want CONFORMS, INCONCLUSIVE or DIVERGES", name)
}

// Interval is a stretch of the run with one verdict.
type Interval struct {
	From      int64   `json:"from"` // nanoseconds since the Unix epoch
	To        int64   `json:"to"`
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason,omitempty"`
	Decisions uint64  `json:"decisions"`
	Judged    uint64  `json:"judged"`
}

// enough is the share of decisions, in percent, that must be judged for a verdict of CONFORMS.
const enough = 95

// overall reaches the verdict of the run from the nodes'.
func (r *Report) overall() {
	for i := range r.Nodes {
		if r.Nodes[i].Verdict == Diverges {
			r.Verdict = Diverges
			return
		}
	}
	if len(r.Findings) > 0 {
		r.Verdict = Diverges
		return
	}
	why := func(reason string) {
		r.Verdict = Inconclusive
		r.Reasons = append(r.Reasons, reason)
	}
	if r.Decisions == 0 {
		why("no decision of a controller was seen")
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Voter && !n.Seen {
			why("voter " + n.ID.String() + " was never seen")
		}
		if n.Judged*100 < n.Decisions*enough {
			why("less than " + percent(enough) + " of the decisions of node " + n.ID.String() + " were judged")
		}
	}
	if r.Judged*100 < r.Decisions*enough {
		why("less than " + percent(enough) + " of all decisions were judged")
	}
	r.tier2Gaps(why)
}

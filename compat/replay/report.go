package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Difference is one place where the live node did not do what the recorded one did.
type Difference struct {
	Frame    uint64 `json:"frame"`   // of the request in the recording
	Message  string `json:"message"` // "answer to Vote v2", "request Fetch v17 to node 2"
	Field    string `json:"field,omitempty"`
	Recorded string `json:"recorded"`
	Live     string `json:"live"`
	Rule     string `json:"rule,omitempty"` // why the two builds differ here; empty: nothing explains it
}

func (d *Difference) String() string {
	text := fmt.Sprintf("frame %d, %s", d.Frame, d.Message)
	if d.Field != "" {
		text += ", " + d.Field
	}
	return fmt.Sprintf("%s: recorded %s, live %s", text, d.Recorded, d.Live)
}

// Report says how a replay went.
type Report struct {
	Node     kraft.NodeID `json:"node"`
	Recorded string       `json:"recorded"` // builds, "" if not known
	Live     string       `json:"live"`

	Asked    int `json:"asked"`    // recorded requests to the node that were sent
	Compared int `json:"compared"` // of these, answers that were compared
	Equal    int `json:"equal"`    // of these, equal but for what is masked
	Heard    int `json:"heard"`    // recorded requests of the node itself that it made again
	Folded   int `json:"folded"`   // that repeat the one before or are chance, and were not waited for

	Differences []Difference   `json:"differences"`
	Dropped     int            `json:"differencesDropped,omitempty"` // beyond those listed, with and without a rule
	NotCompared map[string]int `json:"notCompared,omitempty"`        // by reason
	LeftOut     []string       `json:"leftOut,omitempty"`            // where the recording is cut, and so was not played
	NoFrames    []string       `json:"noFrames,omitempty"`           // where the recording has bytes that are no frame, which are not sent again
	Lost        string         `json:"lost,omitempty"`               // where the node went a way of its own, and the replay ended
	Took        time.Duration  `json:"-"`

	kept, dropped map[string]int // differences by rule
}

// maxDifferences is how many of one rule are listed, and how many that no rule explains: those that a rule explains may
// come with each request, and must not hide the others.
const maxDifferences = 1000

func (r *Report) differ(d Difference) {
	if r.kept == nil {
		r.kept, r.dropped = map[string]int{}, map[string]int{}
	}
	if r.kept[d.Rule] == maxDifferences {
		r.dropped[d.Rule]++
		r.Dropped++
		return
	}
	r.kept[d.Rule]++
	r.Differences = append(r.Differences, d)
}

func (r *Report) notCompared(why string) {
	if r.NotCompared == nil {
		r.NotCompared = map[string]int{}
	}
	r.NotCompared[why]++
}

// Outcome is what a replay amounts to.
type Outcome string

// The outcomes.
const (
	Same         Outcome = "SAME"         // no difference
	Explained    Outcome = "EXPLAINED"    // differences by named rules of the two releases alone
	Differs      Outcome = "DIFFERS"      // at least one that nothing explains
	Inconclusive Outcome = "INCONCLUSIVE" // nothing could be compared, or no difference shows in what a cut recording has
)

// Outcome sums up.
func (r *Report) Outcome() Outcome {
	switch {
	case slices.ContainsFunc(r.Differences, func(d Difference) bool { return d.Rule == "" }), r.Lost != "":
		return Differs
	case r.Compared+r.Heard == 0, len(r.LeftOut) > 0:
		return Inconclusive
	case len(r.Differences) > 0:
		return Explained
	}
	return Same
}

// Rules counts the differences that are explained, by rule.
func (r *Report) Rules() map[string]int {
	n := map[string]int{}
	for i := range r.Differences {
		if rule := r.Differences[i].Rule; rule != "" {
			n[rule]++
		}
	}
	for rule, more := range r.dropped {
		if rule != "" {
			n[rule] += more
		}
	}
	return n
}

// maxPrinted is how many differences of a kind the text shows.
const maxPrinted = 40

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	printed := 0
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Rule == "" && printed < maxPrinted {
			printed++
			if _, err := fmt.Fprintf(out, "DIFFERS  %s\n", d); err != nil {
				return err
			}
		}
	}
	rules := r.Rules()
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Fprintf(out, "rule     %s explains %d differences\n", rule, rules[rule])
		for i := range r.Differences {
			if d := &r.Differences[i]; d.Rule == rule {
				fmt.Fprintf(out, "           such as %s\n", d)
				break
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(r.NotCompared)) {
		fmt.Fprintf(out, "not compared: %d, %s\n", r.NotCompared[why], why)
	}
	for _, where := range r.LeftOut {
		fmt.Fprintf(out, "left out: what the recording lacks: %s\n", where)
	}
	for i, where := range r.NoFrames {
		if i == maxPrinted {
			fmt.Fprintf(out, "not sent: %d more that are no frames\n", len(r.NoFrames)-i)
			break
		}
		fmt.Fprintf(out, "not sent: bytes that are no frame: %s\n", where)
	}
	if r.Lost != "" {
		fmt.Fprintf(out, "The replay ended early: %s\n", r.Lost)
	}
	_, err := fmt.Fprintf(out, "%s: node %s, recorded as %s, live %s: %d requests asked, %d of %d answers equal; %d requests of its own made again, %d repetitions folded; %d differences; %.1f s\n",
		r.Outcome(), r.Node, orUnknown(r.Recorded), orUnknown(r.Live), r.Asked, r.Equal, r.Compared, r.Heard, r.Folded, len(r.Differences)+r.Dropped, r.Took.Seconds())
	return err
}

func orUnknown(build string) string {
	if build == "" {
		return "an unknown build"
	}
	return build
}

func requestTo(x *exchange) string {
	return fmt.Sprintf("request %s v%d to node %s", wire.Name(x.header.Key), x.header.Version, x.node)
}

func answerTo(x *exchange, version int16) string {
	if !x.readable {
		return "answer to what is no request"
	}
	return fmt.Sprintf("answer to %s v%d", wire.Name(x.header.Key), version)
}

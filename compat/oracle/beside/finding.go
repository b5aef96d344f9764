package beside

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/kraft"
)

// Finding is a decision in which Kafka and the machine differ.
type Finding struct {
	Decision   string
	Difference *twin.Difference
	Schedule   []oracle.Command // shrunk
	File       string           // where it is saved
	Options    string           // of the history
	Rules      []Explanation    // none: no known rule explains it
	Again      int              // histories that ended at the same decision
}

// Explanation is a rule which, taken from another release, makes the difference go away.
type Explanation struct {
	compat.Rule
	Release     string // that has this rule as Kafka decides
	Ours, Other string // its values
	changed     kraft.Rules
}

// found looks into the difference at the end of a history. It returns nil if the decision is known already.
func (w *Walks) found(i int, d *twin.Difference) (*Finding, error) {
	decision := d.Decision()
	for _, f := range w.Findings {
		if f.Decision == decision {
			f.Again++
			return nil, nil
		}
	}
	f := &Finding{Decision: decision, Options: w.histories[i].Options.String()}
	f.Schedule, f.Difference = w.Twin.Shrink(w.Twin.Schedule(), d)
	f.Rules = w.explain(f)
	w.Findings = append(w.Findings, f)
	if w.Save == "" {
		return f, nil
	}
	f.File = filepath.Join(w.Save, fmt.Sprintf("%s-seed%d-%d.jsonl", w.Twin.Version, w.Seed, len(w.Findings)))
	return f, twin.Save(f.File, f.Schedule, f.Difference)
}

// explain looks for the rules that make the difference go away when they are those of another release.
func (w *Walks) explain(f *Finding) []Explanation {
	own := w.Twin.Profile()
	defer w.Twin.SetProfile(own)
	agrees := func(rules kraft.Rules) bool {
		p := own
		p.Rules = rules
		w.Twin.SetProfile(p)
		return w.Twin.Replay(f.Schedule) == nil
	}
	var list []Explanation
	fields := reflect.TypeFor[kraft.Rules]()
	for k := range fields.NumField() {
		for _, other := range slices.Backward(compat.Profiles()) {
			changed := own.Rules
			mine, theirs := reflect.ValueOf(&changed).Elem().Field(k), reflect.ValueOf(other.Rules).Field(k)
			if reflect.DeepEqual(mine.Interface(), theirs.Interface()) {
				continue
			}
			if mine.Set(theirs); agrees(changed) {
				list = append(list, named(own.Rules, changed, other.Build))
				break
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, other := range slices.Backward(compat.Profiles()) { // several rules at once
		if other.Rules != own.Rules && agrees(other.Rules) {
			all := compat.Rule{Name: "several", Source: "between them", Says: strings.Join(compat.Differences(own, other), "; ")}
			return []Explanation{{all, other.Build, "the first values", "the second values", other.Rules}}
		}
	}
	return nil
}

// named is the rule that was changed.
func named(own, changed kraft.Rules, release string) Explanation {
	for _, r := range compat.Rules() {
		if x, y := r.Value(own), r.Value(changed); x != y {
			return Explanation{r, release, x, y, changed}
		}
	}
	return Explanation{compat.Rule{Name: "a rule without a name"}, release, "", "", changed}
}

// adopt goes on with the rule that explains the finding, so that what it hides is seen too.
func (w *Walks) adopt(f *Finding) {
	if len(f.Rules) == 0 {
		return
	}
	p := w.Twin.Profile()
	p.Rules = f.Rules[0].changed
	w.Twin.SetProfile(p)
}

// Print tells in words what the local build decides otherwise than the release.
func (f *Finding) Print(out io.Writer, release string) {
	kafka, ours := f.Difference.Sides()
	show := func(title string, lines []string) {
		if len(lines) == 0 {
			lines = []string{"nothing of the kind"}
		}
		fmt.Fprintf(out, "  %s\n    %s\n", title, strings.Join(lines, "\n    "))
	}
	fmt.Fprintf(out, "%s\n", f.Decision)
	for _, r := range f.Rules {
		fmt.Fprintf(out, "  rule %s (%s): %s.\n    Release %s: %s. This build decides as release %s does: %s\n", r.Name, r.Source, r.Says, release, r.Ours,
			r.Release, r.Other)
	}
	if len(f.Rules) == 0 {
		fmt.Fprintln(out, "  no rule in which the releases differ explains it")
	}
	if f.Difference.Event != "" {
		show("event", []string{f.Difference.Event})
	}
	show("release "+release+" decides", ours)
	show("this build decides", kafka)
	if f.File != "" {
		fmt.Fprintf(out, "  schedule (%d commands): %s\n", len(f.Schedule), f.File)
	}
	if f.Again > 0 {
		fmt.Fprintf(out, "  seen in %d more histories\n", f.Again)
	}
}

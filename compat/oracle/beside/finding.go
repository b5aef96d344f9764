package beside

import (
	"errors"
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
	Rules      []Explanation    // that explain it; none: no known rule does
	Together   bool             // all of them; else each of them alone
	Again      int              // histories that ended at the same decision
}

// Explanation is a rule which, taken from another release, makes the difference go away.
type Explanation struct {
	compat.Rule
	Release     string // that has this rule as Kafka decides
	Ours, Other string // its values
	changed     compat.Profile
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
	f := &Finding{Decision: decision, Options: w.histories[i].String()}
	f.Schedule, f.Difference = w.Twin.Shrink(w.Twin.Schedule(), d)
	f.Rules, f.Together = w.explain(f)
	w.Findings = append(w.Findings, f)
	if w.Save == "" {
		return f, nil
	}
	f.File = filepath.Join(w.Save, fmt.Sprintf("%s-seed%d-%d.jsonl", w.Twin.Version, w.Seed, len(w.Findings)))
	return f, twin.Save(f.File, f.Schedule, f.Difference)
}

// parts are what a profile is made of: the rules one by one, and the versions spoken.
func parts() []func(from, to *compat.Profile) bool {
	list := []func(from, to *compat.Profile) bool{func(from, to *compat.Profile) bool {
		same := reflect.DeepEqual(from.APIs, to.APIs)
		to.APIs = from.APIs
		return !same
	}}
	for k := range reflect.TypeFor[kraft.Rules]().NumField() {
		list = append(list, func(from, to *compat.Profile) bool {
			theirs, mine := reflect.ValueOf(from.Rules).Field(k), reflect.ValueOf(&to.Rules).Elem().Field(k)
			same := theirs.Equal(mine)
			mine.Set(theirs)
			return !same
		})
	}
	return list
}

// explain looks for the rules that make the difference go away when they are those of another release: each one that does so alone,
// else the fewest of one release that do so together.
func (w *Walks) explain(f *Finding) (rules []Explanation, together bool) {
	own := w.Twin.Profile()
	defer w.Twin.SetProfile(own)
	for _, take := range parts() {
		for _, other := range slices.Backward(compat.Profiles()) {
			changed := own
			if take(&other, &changed) && w.agrees(f, changed) {
				rules = append(rules, named(own, changed, other.Build)...)
				break
			}
		}
	}
	if len(rules) > 0 {
		return rules, false
	}
	for _, other := range slices.Backward(compat.Profiles()) {
		changed := other
		changed.Build, changed.Covers = own.Build, own.Covers
		if !w.agrees(f, changed) {
			continue
		}
		for _, take := range parts() {
			if fewer := changed; take(&own, &fewer) && w.agrees(f, fewer) {
				changed = fewer
			}
		}
		return named(own, changed, other.Build), true
	}
	return nil, false
}

// agrees reports whether the difference goes away with another profile, at least from the command that shows it.
func (w *Walks) agrees(f *Finding, p compat.Profile) bool {
	w.Twin.SetProfile(p)
	err := w.Twin.Replay(f.Schedule)
	var left *twin.Difference
	if err == nil || !errors.As(err, &left) {
		return err == nil
	}
	return len(w.Twin.Schedule()) == len(f.Schedule) && left.Resolves(f.Difference)
}

// named lists what was changed.
func named(own, changed compat.Profile, release string) []Explanation {
	var list []Explanation
	for _, r := range compat.Rules() {
		if x, y := r.Value(own.Rules), r.Value(changed.Rules); x != y {
			list = append(list, Explanation{r, release, x, y, changed})
		}
	}
	if !reflect.DeepEqual(own.APIs, changed.APIs) {
		r := compat.Rule{Name: "api-versions", Source: "message definitions", Says: "the versions of the requests"}
		list = append(list, Explanation{r, release, "its own", "that one's", changed})
	}
	return list
}

// adopt goes on with the rule that explains the finding, so that what it hides is seen too.
func (w *Walks) adopt(f *Finding) {
	if len(f.Rules) == 0 {
		return
	}
	w.Twin.SetProfile(f.Rules[0].changed)
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
	if f.Together && len(f.Rules) > 1 {
		fmt.Fprintln(out, "  these rules together:")
	}
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

package twin

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// Decision names what is decided otherwise, without its values: two differences with the same decision are most likely one.
func (d *Difference) Decision() string {
	kafka, ours := d.first()
	what := about(cmp.Or(kafka, ours))
	switch {
	case ours == "" || kafka != "" && about(kafka) != about(ours):
		what = "only Kafka: " + what
	case kafka == "":
		what = "only the rules: " + what
	default:
		if fields := fieldsThatDiffer(kafka, ours); len(fields) > 0 {
			what += ": " + strings.Join(fields, ", ")
		}
	}
	if event, _, _ := strings.Cut(d.Event, "("); event != "" {
		return "handling " + event + ": " + what
	}
	return "at " + d.Command.Cmd + ": " + what
}

// kind is what differs, more coarsely. Shrinking keeps to it, lest it ends at another difference.
func (d *Difference) kind() string {
	kafka, ours := d.first()
	return about(cmp.Or(kafka, ours))
}

// first are the first lines that only one side has.
func (d *Difference) first() (kafka, ours string) {
	for _, w := range d.Where {
		line, mark := w[2:], w[0]
		if mark == '<' && kafka == "" {
			kafka = line
		}
		if mark == '>' && ours == "" {
			ours = line
		}
	}
	return kafka, ours
}

// Resolves reports whether the first lines in which the earlier difference lies are no longer among those that differ.
func (d *Difference) Resolves(earlier *Difference) bool {
	kafka, ours := earlier.first()
	return (kafka == "" || !slices.Contains(d.Where, "< "+kafka)) && (ours == "" || !slices.Contains(d.Where, "> "+ours))
}

// about is what a line speaks of: its first words up to a number, or the message in it.
func about(line string) string {
	if m := named.FindStringSubmatch(line); m != nil {
		api, _ := strconv.Atoi(m[2])
		verb, _, _ := strings.Cut(line, " ")
		return verb + " " + kmsg.Key(api).Name()
	}
	var words []string
	for _, w := range strings.Fields(line) {
		if w = strings.TrimRight(w, ",:"); strings.ContainsAny(w, "0123456789{[\"") || len(words) == 3 {
			break
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// fieldsThatDiffer are the fields in which two messages differ, or the word before what differs in two lines.
func fieldsThatDiffer(a, b string) []string {
	ma, mb := decoded(a), decoded(b)
	if ma != nil && mb != nil {
		found := map[string]bool{}
		collectDifferences(found, "", ma, mb)
		return slices.Sorted(maps.Keys(found))
	}
	x, y := strings.Fields(a), strings.Fields(b)
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		if name, _, ok := strings.Cut(strings.TrimLeft(x[i], "{[&"), ":"); ok && !strings.ContainsAny(name, "0123456789") {
			return []string{name}
		}
		if i > 0 && !strings.ContainsAny(x[i-1], "0123456789") {
			return []string{strings.Trim(x[i-1], ",:")}
		}
		break
	}
	return nil
}

// decoded is the message in a line, nil if there is none.
func decoded(line string) any {
	m := named.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	api, _ := strconv.Atoi(m[2])
	version, _ := strconv.Atoi(m[3])
	raw, err := base64.StdEncoding.DecodeString(m[4])
	if err != nil {
		return nil
	}
	req, resp, err := oracle.Decode(oracle.Message{Response: m[1] == "response", API: int16(api), Version: int16(version), Body: raw})
	if err != nil {
		return nil
	}
	var text []byte
	if req != nil {
		text, err = json.Marshal(req)
	} else {
		text, err = json.Marshal(resp)
	}
	var v any
	if err != nil || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

func collectDifferences(found map[string]bool, name string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for k, v := range a {
				collectDifferences(found, k, v, b[k])
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) && len(a) > 0 {
			for i := range a {
				collectDifferences(found, name, a[i], b[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		found[name] = true
	}
}

// Sides are the lines that only one side has, readable.
func (d *Difference) Sides() (kafka, ours []string) {
	for _, w := range d.Where {
		if w[0] == '<' {
			kafka = append(kafka, readable(w[2:]))
		} else {
			ours = append(ours, readable(w[2:]))
		}
	}
	return kafka, ours
}

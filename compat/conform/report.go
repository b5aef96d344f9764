package conform

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Verdict is the run's outcome as a whole: Failed if a case failed, Inconclusive if nothing was judged or some case
// could not be, else Passed.
func (r *Report) Verdict() Outcome {
	switch {
	case r.Count(Failed) > 0:
		return Failed
	case r.Count(Inconclusive) > 0, r.Count(Passed)+r.Count(Known) == 0:
		return Inconclusive
	default:
		return Passed
	}
}

// Summary is the run on one line.
func (r *Report) Summary() string {
	known := ""
	if n := r.Count(Known); n > 0 {
		known = fmt.Sprintf("%d known to end it, ", n)
	}
	return fmt.Sprintf("%d cases: %d passed, %d failed, %s%d inconclusive, %d do not apply; %.1f s",
		len(r.Results), r.Count(Passed), r.Count(Failed), known, r.Count(Inconclusive), r.Count(Skipped), r.Took.Seconds())
}

// WriteText writes what a person reads: the target, each case that did not pass with what was said, why cases do not
// apply, and the summary. Verbose lists the cases that passed too.
func (r *Report) WriteText(w io.Writer, verbose bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n", r.Target, r.Target.Detected)
	why := map[string]int{}
	var order []string
	for i := range r.Results {
		x := &r.Results[i]
		switch {
		case x.Outcome == Skipped:
			if why[x.Why]++; why[x.Why] == 1 {
				order = append(order, x.Why)
			}
		case x.Outcome == Passed && verbose:
			fmt.Fprintf(&b, "pass  %s\n", x.Case)
			if x.Why != "" {
				fmt.Fprintf(&b, "      %s\n", x.Why)
			}
		case x.Outcome != Passed:
			x.writeText(&b)
		}
	}
	for _, reason := range order {
		fmt.Fprintf(&b, "%4d do not apply: %s\n", why[reason], reason)
	}
	fmt.Fprintf(&b, "%s\n", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "%s  %s\n      %s\n      rule: %s (%s)\n", strings.ToUpper(string(r.Outcome)), r.Case, r.Why, r.Case.Says, r.Case.Source)
	for i := range r.Talk {
		fmt.Fprintf(b, "      asked: %s\n", shorten(asked(&r.Talk[i])))
		switch {
		case r.Talk[i].Answer != nil:
			fmt.Fprintf(b, "      heard: %s\n", shorten(line(&r.Talk[i])))
		case r.Talk[i].NoFrame != nil:
			b.WriteString("      heard: what is no frame\n")
		case r.Talk[i].Closed:
			b.WriteString("      heard: the end of the connection\n")
		default:
			b.WriteString("      heard: nothing\n")
		}
	}
	b.WriteByte('\n')
}

func shorten(text string) string {
	if len(text) > 400 {
		return text[:400] + "…"
	}
	return text
}

// jsonResult is a case's result as JSON.
type jsonResult struct {
	ID      string  `json:"id"`
	Level   Level   `json:"level"`
	Rule    string  `json:"rule,omitempty"`
	Says    string  `json:"says"`
	Source  string  `json:"source"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
	Millis  float64 `json:"millis"`
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	results := make([]jsonResult, 0, len(r.Results))
	for i := range r.Results {
		x := &r.Results[i]
		results = append(results, jsonResult{
			ID: x.Case.ID, Level: x.Case.Level, Rule: x.Case.Rule, Says: x.Case.Says, Source: x.Case.Source,
			Outcome: x.Outcome, Why: x.Why, Millis: float64(x.Took.Microseconds()) / 1000,
		})
	}
	t := r.Target
	return json.NewEncoder(w).Encode(map[string]any{
		"target": map[string]any{
			"address": t.Address, "role": t.Role(), "epoch": t.Epoch, "leader": t.Leader, "kraftVersion": t.KRaftVersion,
			"profile": t.Profile.Build, "detected": t.Detected,
		},
		"verdict": r.Verdict(), "passed": r.Count(Passed), "failed": r.Count(Failed), "inconclusive": r.Count(Inconclusive),
		"known": r.Count(Known), "skipped": r.Count(Skipped), "seconds": r.Took.Seconds(), "cases": results,
	})
}

// The elements of a JUnit report, as CI servers read them.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		At       string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Error   *junitMessage `xml:"error,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML. An inconclusive case is an error there.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "understudy conform " + r.Target.Address, Tests: len(r.Results), Failures: r.Count(Failed), Errors: r.Count(Inconclusive),
		Skipped: r.Count(Skipped), Time: seconds(r.Took), At: r.Began.UTC().Format("2006-01-02T15:04:05"),
	}
	for i := range r.Results {
		x := &r.Results[i]
		c := junitCase{Class: "conform." + x.Case.group(), Name: x.Case.ID, Time: seconds(x.Took)}
		switch x.Outcome {
		case Failed, Inconclusive:
			var b strings.Builder
			x.writeText(&b)
			m := &junitMessage{Message: x.Why, Text: b.String()}
			if x.Outcome == Failed {
				c.Failure = m
			} else {
				c.Error = m
			}
		case Skipped:
			c.Skipped = &junitMessage{Message: x.Why}
		case Known:
			c.Out = "known: " + x.Why
		case Passed:
			c.Out = x.Why
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

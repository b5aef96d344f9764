package conform

import (
	"fmt"
	"strings"
	"time"
)

// Level says how binding a case is.
type Level string

// The levels of cases.
const (
	Must   Level = "MUST"   // every release does it, and other nodes rely on it
	Should Level = "SHOULD" // every release does it, yet a quorum works without
	Quirk  Level = "QUIRK"  // only some releases do it: Case.Rule says which
)

// Role says of which nodes a case can be asked.
type Role string

// The roles a case may need.
const (
	AnyRole  Role = ""
	Leader   Role = "leader"
	Follower Role = "follower"
)

// Case is one rule and the conversation that tells whether a node keeps it.
type Case struct {
	ID     string // GROUP/NAME, or GROUP/vN/NAME for a case that belongs to a version
	Says   string // the rule, as a sentence
	Does   string // of a scenario: what the suite does
	Source string // KIP and Kafka's class and method
	Level  Level
	Rule   string // of a QUIRK: the name of the difference
	Role   Role
	// Applies says why the case cannot be asked of the target; "" if it can. Nil: it always can.
	Applies func(*Target) string
	Steps   []Step
	Fresh   bool    // it is about this moment: the facts are learnt anew for it, and a failure is tried again
	kills   *killer // of which releases it ends a node; nil: of none
}

// Step is one request and what must come back on the same connection.
type Step struct {
	Key, Version int16
	Ask          string   // edits to the api's harmless request: "PATH=VALUE …"
	Want         []string // alternatives: the assertions of one of them must hold
	Closes       bool     // the node must close the connection instead of answering
	Frame        func([]byte) []byte
	Send         sending
	Tag          bool // with a tagged field that no version knows
	Header       header
	Check        *check // an assertion that no path can state
}

// check is an assertion in Go, with the alteration of a good answer that it must notice.
type check struct {
	says  string
	holds func(*Target, any) error
	spoil func(*Target, any)
}

// sending says how a request's bytes are written.
type sending int

const (
	whole    sending = iota
	inPieces         // byte by byte
	withNext         // in one write with the next step's request
)

// header is what a request's header says besides key and version.
type header struct {
	clientID    *string
	correlation int32 // 0: counts up
	tags        []byte
}

// group is the first part of the case's id.
func (c *Case) group() string {
	group, _, _ := strings.Cut(c.ID, "/")
	return group
}

// timed reports whether the case is about how long an answer takes. A busy machine may make one late, so it is tried again.
func (c *Case) timed() bool {
	for i := range c.Steps {
		for _, text := range c.Steps[i].Want {
			if strings.Contains(text, elapsed) {
				return true
			}
		}
	}
	return false
}

// String is the case on one line.
func (c *Case) String() string { return fmt.Sprintf("%-6s %s", c.Level, c.ID) }

// Explain says at length what the case asks and expects.
func (c *Case) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  rule    %s\n  level   %s", c.ID, c.Says, c.Level)
	if c.Rule != "" {
		fmt.Fprintf(&b, " (%s)", c.Rule)
	}
	fmt.Fprintf(&b, "\n  source  %s\n", c.Source)
	if c.Role != AnyRole {
		fmt.Fprintf(&b, "  asked   of a %s\n", c.Role)
	}
	if c.Does != "" {
		fmt.Fprintf(&b, "  does    %s\n", c.Does)
	}
	for i := range c.Steps {
		c.Steps[i].explain(&b)
	}
	return b.String()
}

func (s *Step) explain(b *strings.Builder) {
	fmt.Fprintf(b, "  ask     %s v%d", apiName(s.Key), s.Version)
	if s.Ask != "" {
		fmt.Fprintf(b, " with %s", s.Ask)
	}
	b.WriteByte('\n')
	if s.Closes {
		b.WriteString("  expect  the connection to be closed without an answer\n")
	}
	for i, alternative := range s.Want {
		word := "expect"
		if i > 0 {
			word = "or"
		}
		fmt.Fprintf(b, "  %-7s %s\n", word, strings.Join(strings.Fields(expand(alternative, s.Version)), "\n          "))
	}
	if s.Check != nil {
		fmt.Fprintf(b, "  expect  %s\n", s.Check.says)
	}
}

// Outcome is what became of a case.
type Outcome string

// The outcomes of a case.
const (
	Passed       Outcome = "pass"
	Known        Outcome = "known" // the target ended, as Kafka's own nodes of some releases do; Result.Why says which
	Failed       Outcome = "fail"
	Skipped      Outcome = "skip"         // it does not apply to the target; Result.Why says why
	Inconclusive Outcome = "inconclusive" // the target changed under it, or could not be reached
)

// Result is the outcome of one case.
type Result struct {
	Case    *Case
	Outcome Outcome
	Why     string // for all but Passed; for that, if it was asked otherwise than its case says
	Took    time.Duration
	Talk    []Spoken // what was said, oldest first
	Target  *Target  // what was known when it was asked
	judged  []judged // of a scenario: what was asserted
	ended   bool     // it was asked, and nobody answered afterwards
}

// Spoken is one request and its answer as they crossed the wire.
type Spoken struct {
	Key, Version int16
	Request      []byte // frame without its size
	Answer       []byte // nil: none came
	NoFrame      error  // what came is no frame, and why
	Closed       bool   // the node closed the connection instead of answering
	Elapsed      time.Duration
}

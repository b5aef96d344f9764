package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Options say what to run against which target.
type Options struct {
	Address   string
	Release   string         // of Kafka, whose rules the target should keep; "": found out
	ClusterID string         // "": asked for
	NodeID    kraft.NodeID   // NoNode: asked for
	Match     *regexp.Regexp // cases by id; nil: all
	Dial      Dialer         // nil: plain TCP
	Patience  time.Duration  // for an answer; 0: 10 s
	Progress  func(done, of int, r *Result)

	Hostility   Hostility                   // beyond what any client may ask
	Restart     func(context.Context) error // kills the target, if it lives, and starts it again on its data; Killers need it
	RestartName string                      // what Restart is, in reports: the command
	Dying       time.Duration               // how long a doomed node may go on answering; 0: 1.5 s

	ask    Dialer // of the conversations of cases; nil: Dial
	strike Dialer // of hostile connections; nil: Dial
	limit  int    // how many connections the target takes, as an attack has shown; 0: as many as there are
	most   int    // how many an attack makes at a time then
}

func (o *Options) dialer() Dialer {
	if o.Dial != nil {
		return o.Dial
	}
	return plain
}

func (o *Options) patience() time.Duration {
	if o.Patience != 0 {
		return o.Patience
	}
	return patience
}

// ErrNoCase says that no case was chosen.
var ErrNoCase = errors.New("no case has an id that matches")

// Report is the outcome of a run.
type Report struct {
	Target  *Target
	Began   time.Time
	Took    time.Duration
	Results []Result
}

// Count is how many cases had the outcome.
func (r *Report) Count(o Outcome) (n int) {
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// attempts is how often a case is asked when the quorum changes between the question and the answer.
const attempts = 4

// Run asks a node what changes nothing, case by case.
func Run(ctx context.Context, o Options) (*Report, error) {
	began := time.Now()
	target, err := discover(ctx, &o)
	if err != nil {
		return nil, err
	}
	cases := o.choose(Cases(target.Profile))
	attacks := slices.DeleteFunc(o.Hostility.choose(Attacks(target.Profile)), func(a Attack) bool { return !o.matches(a.ID) })
	if len(cases)+len(attacks) == 0 {
		return nil, ErrNoCase
	}
	report := &Report{Target: target, Began: began}
	kept := 0
	add := func(result Result) {
		result.forget(&kept)
		report.Results = append(report.Results, result)
		if o.Progress != nil {
			o.Progress(len(report.Results), len(cases)+len(attacks), &result)
		}
	}
	var gone error // why the rest cannot be asked
	for i := range cases {
		if gone != nil {
			add(Result{Case: &cases[i], Target: target, Outcome: Inconclusive, Why: gone.Error()})
			continue
		}
		result := o.runCase(ctx, &cases[i], &target)
		if result.Outcome == Inconclusive && ctx.Err() == nil { // it may be starting again
			gone = o.askAgain(ctx, &result, &target)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		add(result)
	}
	if gone != nil {
		attacks = nil
	}
	report.Target = target
	if err := o.attack(ctx, attacks, target, add); err != nil {
		return nil, err
	}
	report.Took = time.Since(began)
	return report, nil
}

// maxKept is how many bytes of answers a report keeps. A target has some 500 cases, and may answer each with maxAnswer.
const maxKept = 64 << 20

// forget leaves out what was said if the answers of the run are too many bytes together.
func (r *Result) forget(kept *int) {
	size := 0
	for i := range r.Talk {
		size += len(r.Talk[i].Answer)
	}
	if *kept+size <= maxKept {
		*kept += size
		return
	}
	if r.Talk = nil; r.Why != "" {
		r.Why += "; "
	}
	r.Why += fmt.Sprintf("what was said is left out, with %d bytes of answers", size)
}

func (o *Options) choose(all []Case) (chosen []Case) {
	for _, c := range all {
		if o.matches(c.ID) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

func (o *Options) matches(id string) bool { return o.Match == nil || o.Match.MatchString(id) }

// runCase asks a case, and again where an accident may explain a failure. An answer that is wrong counts if the quorum was the same before
// and after it. A quorum that is another one after each try has been changed by the case: an election that came by itself comes once.
func (o *Options) runCase(ctx context.Context, c *Case, target **Target) (r Result) {
	begin := time.Now()
	defer func() { r.Took = time.Since(begin) }()
	var changes []string // of the quorum, one a try
	for range attempts {
		if c.Fresh {
			if now, err := discover(ctx, o); err == nil {
				*target = now
			}
		}
		r = o.askCase(ctx, c, *target)
		if r.Outcome == Skipped && len(changes) > 0 { // its role went with the change
			r.Outcome, r.Why = Inconclusive, fmt.Sprintf("%s; the quorum changed when it was asked before: %s", r.Why, strings.Join(changes, "; "))
			return r
		}
		if r.Outcome == Passed {
			if err := o.listens(ctx); err != nil {
				r.Outcome, r.ended, r.Why = Inconclusive, true, fmt.Sprintf("it is answered well, and afterwards %v", err)
			}
		}
		if r.Outcome == Passed || r.Outcome == Skipped || r.ended {
			return r
		}
		now, err := discover(ctx, o)
		if err != nil {
			r.Outcome, r.Why = Inconclusive, fmt.Sprintf("%s; afterwards %v", r.Why, err)
			if r.ended = len(r.Talk) > 0 && nobodyAnswers(err); r.ended {
				return r
			}
			continue
		}
		change := (*target).change(now)
		*target = now
		if change == "" && r.Outcome == Failed {
			if c.Fresh || c.timed() {
				continue
			}
			return r
		}
		if change != "" && r.Outcome == Failed {
			changes = append(changes, change)
		}
		r.Outcome = Inconclusive
	}
	if len(changes) == attempts {
		o.blame(ctx, &r, changes, time.Since(begin), target)
	}
	return r
}

// askAgain brings the target back and asks a case again that could not be judged. A case that has ended the target has failed if that does not
// come back, or ends again: an end that comes by itself comes once. The error says why no more can be asked.
func (o *Options) askAgain(ctx context.Context, r *Result, target **Target) error {
	now, err := o.bringBack(ctx)
	if err != nil {
		if r.ended {
			r.endsIt(fmt.Sprintf("the target has ended, and has not come back: %s", r.Why))
		}
		return fmt.Errorf("the target has not come back since %s: %w", r.Case.ID, err)
	}
	*target = now
	again := o.runCase(ctx, r.Case, target)
	switch {
	case again.Outcome == Skipped: // a role that it has lost says nothing of the case
		return nil
	case again.ended && r.ended:
		again.endsIt(fmt.Sprintf("the target has ended, twice in a row: %s", again.Why))
	}
	ended := again.ended
	if *r = again; !ended {
		return nil
	}
	if now, err = o.bringBack(ctx); err != nil {
		return fmt.Errorf("the target has not come back since %s: %w", r.Case.ID, err)
	}
	*target = now
	return nil
}

// endsIt makes the result that of a case which ends the target.
func (r *Result) endsIt(how string) {
	r.Outcome, r.Why = r.Case.kills.ended(r.Target.Profile, errors.New(how))
}

// nobodyAnswers reports whether an error says that nobody listens at an address, or that who does ends the connection.
func nobodyAnswers(err error) bool {
	for _, e := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// listens is an error if nobody listens at the target's address any more. Other errors are no sign of that.
func (o *Options) listens(ctx context.Context) error {
	c, err := dial(ctx, o, o.Address)
	if err == nil {
		c.close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return nil
}

// blame makes a failure of a case after each try of which the quorum was another one, if it is one that stays as it is when for as long
// nothing is asked. It may need to come to rest first.
func (o *Options) blame(ctx context.Context, r *Result, changes []string, took time.Duration, target **Target) {
	var restless string
	for range 2 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(took, settleFor)):
		}
		now, err := discover(ctx, o)
		if err != nil {
			r.Why = fmt.Sprintf("%s; afterwards %v", r.Why, err)
			return
		}
		restless = (*target).change(now)
		*target = now
		if restless == "" {
			r.Outcome = Failed
			r.Why = fmt.Sprintf("it changes the quorum each time, %d times in a row: %s; the last answer: %s", len(changes), strings.Join(changes, "; "), r.Why)
			return
		}
	}
	r.Why = fmt.Sprintf("the quorum changes by itself: %s; %s", restless, r.Why)
}

// askCase asks a case once.
func (o *Options) askCase(ctx context.Context, c *Case, t *Target) (r Result) {
	r.Case, r.Target = c, t
	if why := notFor(c, t); why != "" {
		r.Outcome, r.Why = Skipped, why
		return r
	}
	talk, err := converse(ctx, o, c, t.facts)
	r.Talk, r.Outcome = talk, Passed
	if err != nil && len(talk) == 0 {
		r.Outcome = Inconclusive
	} else if err = judge(c, t, talk); err != nil {
		r.Outcome = Failed
	}
	if err != nil {
		r.Why = err.Error()
	}
	return r
}

// notFor says why a case cannot be asked of the target.
func notFor(c *Case, t *Target) string {
	if c.Role != AnyRole && c.Role != t.Role() {
		return fmt.Sprintf("the target is a %s", t.Role())
	}
	if c.Applies != nil {
		if why := c.Applies(t); why != "" {
			return why
		}
	}
	for i := range c.Steps {
		if err := t.facts.unaskable(&c.Steps[i]); err != nil {
			return err.Error()
		}
	}
	return ""
}

// line is an answer on one line.
func line(s *Spoken) string {
	_, body, err := wire.ParseResponseHeader(s.Answer, s.Key, s.Version)
	if err != nil {
		return err.Error()
	}
	var d wire.Decoder
	return string(d.AppendResponseLine(nil, s.Key, s.Version, body))
}

// asked is a request on one line.
func asked(s *Spoken) string {
	h, body, err := wire.ParseRequestHeader(s.Request)
	if err != nil || h.Key != s.Key || len(s.Request) < 8 {
		return fmt.Sprintf("%d bytes as %s v%d", len(s.Request), apiName(s.Key), s.Version)
	}
	var d wire.Decoder
	return fmt.Sprintf("#%d %s", int32(binary.BigEndian.Uint32(s.Request[4:])), d.AppendRequestLine(nil, h, body))
}

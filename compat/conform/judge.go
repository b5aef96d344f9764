package conform

import (
	"errors"
	"fmt"
	"strings"
)

// judge compares what was said with what the case expects; nil if the node keeps the rule. It is a function of its
// arguments only.
func judge(c *Case, t *Target, talk []Spoken) error {
	for i := range c.Steps {
		step := &c.Steps[i]
		if i >= len(talk) {
			return fmt.Errorf("request %d of %d could not be sent: the connection was closed before", i+1, len(c.Steps))
		}
		if err := judgeStep(step, t, &talk[i]); err != nil {
			if len(c.Steps) > 1 {
				return fmt.Errorf("answer %d of %d: %w", i+1, len(c.Steps), err)
			}
			return err
		}
	}
	return nil
}

func judgeStep(step *Step, t *Target, said *Spoken) error {
	if said.NoFrame != nil {
		return fmt.Errorf("what it sends is no frame: %w", said.NoFrame)
	}
	if step.Closes {
		if said.Answer != nil {
			return fmt.Errorf("it is answered, want the connection to be closed: %s", line(said))
		}
		if !said.Closed {
			return errors.New("neither an answer nor the end of the connection, want the end")
		}
		return nil
	}
	if said.Answer == nil {
		if said.Closed {
			return errors.New("the connection was closed without an answer")
		}
		return fmt.Errorf("no answer within %v", said.Elapsed)
	}
	answer, err := hear(said)
	if err != nil {
		return err
	}
	if err := anyHolds(step, t, answer, said); err != nil {
		return err
	}
	if step.Check != nil {
		return step.Check.holds(t, answer.message)
	}
	return nil
}

// anyHolds checks the alternatives; if none holds it tells what is wrong with the first.
func anyHolds(step *Step, t *Target, answer heard, said *Spoken) error {
	var first error
	for _, text := range step.Want {
		if t.facts.missing(expand(text, step.Version)) != nil {
			continue
		}
		wants, err := parseWants(text, step.Version)
		if err != nil {
			return err
		}
		var wrong []string
		for _, w := range wants {
			if err := w.holds(t.facts, answer.message, said.Elapsed); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
		if len(wrong) == 0 {
			return nil
		}
		if first == nil {
			first = errors.New(strings.Join(wrong, "; "))
		}
	}
	return first
}

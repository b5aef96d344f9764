// Package beside plays random histories of package walk with machines beside the real clients, fast: commands are sent
// ahead, and only a history with an answer that was not foreseen is played again in lock step.
package beside

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
)

// Walks is a run of histories that one seed stands for.
type Walks struct {
	Twin   *twin.Twin
	Oracle *oracle.Oracle // the twin's
	Seed   uint64
	Steps  int // that are wished

	Most int    // distinct findings after which the run ends; 0: one
	Save string // directory for the schedules of findings; empty: they are not saved

	Findings   []*Finding
	Commands   int64  // that both sides have carried out and that were equal
	Unforeseen int    // histories that were played again in lock step and were equal
	Why        string // the last answer that was not foreseen

	histories   []history
	ahead       *twin.Ahead
	differences int // histories that ended at one
}

type history struct {
	walk.Options
	steps    int
	commands int64
}

// inStepEvery is how often a history is played in lock step from the beginning. Only there half of the nodes hear
// Kafka's own bytes.
const inStepEvery = 64

// Run plays the histories. Differences between the machine and Kafka are in Findings; an error is something else.
func (w *Walks) Run() (err error) {
	for o, n := range walk.Histories(w.Twin.Version, w.Seed, w.Steps) {
		w.histories = append(w.histories, history{Options: o, steps: n})
	}
	w.ahead = twin.NewAhead(w.Twin, w.Oracle)
	defer func() {
		for i := range w.histories {
			w.Commands += w.histories[i].commands
		}
	}()
	for i := 0; i < len(w.histories) && len(w.Findings) < max(1, w.Most); {
		next, err := w.play(i)
		if err != nil {
			return errors.Join(err, w.ahead.Close())
		}
		i = next
	}
	return w.ahead.Close()
}

// play plays a history and returns the one to play next, which is an earlier one if that was not as foreseen.
func (w *Walks) play(i int) (next int, err error) {
	if i%inStepEvery == 0 {
		if next, err := w.settle(); next >= 0 || err != nil {
			return next, err
		}
		return i + 1, w.inStep(i, func(node string) bool { return (node[len(node)-1]-'0')%2 == 0 })
	}
	if err := w.ahead.Begin(i); err != nil {
		return 0, err
	}
	before := w.Twin.Steps
	played := walk.Play(w.ahead, w.histories[i].Options, w.histories[i].steps)
	w.histories[i].commands = w.Twin.Steps - before
	if played == nil && w.ahead.Failed() < 0 && i+1 < len(w.histories) {
		return i + 1, nil
	}
	if next, err := w.settle(); next >= 0 || err != nil || played == nil {
		return cmp.Or(max(0, next), i+1), err
	}
	return i + 1, w.again(i) // our side alone has stumbled
}

// settle waits for all answers. If one was not foreseen, its history is played in lock step, and the next to play is the one
// behind it, else -1.
func (w *Walks) settle() (next int, err error) {
	if err := w.ahead.Drain(); err != nil {
		return -1, err
	}
	failed := w.ahead.Failed()
	if failed < 0 {
		return -1, nil
	}
	return failed + 1, w.again(failed)
}

// again plays a history that was not as foreseen.
func (w *Walks) again(i int) error {
	why, known := w.ahead.Forgive(), w.differences
	err := w.inStep(i, func(string) bool { return true })
	if err == nil && w.differences == known {
		w.Unforeseen++
		w.Why = cmp.Or(why, "our side")
	}
	return err
}

// inStep plays a history in lock step.
func (w *Walks) inStep(i int, sendsOurs func(node string) bool) error {
	t := w.Twin
	before, every, ours := t.Steps, t.StateEvery, t.SendsOurs
	t.StateEvery, t.SendsOurs = 1, sendsOurs
	defer func() { t.StateEvery, t.SendsOurs = every, ours }()
	if err := t.Reset(); err != nil {
		return err
	}
	err := walk.Play(t, w.histories[i].Options, w.histories[i].steps)
	w.histories[i].commands = t.Steps - before
	var d *twin.Difference
	if !errors.As(err, &d) {
		return err
	}
	w.differences++
	f, err := w.found(i, d)
	if f != nil && w.Most > 1 {
		w.adopt(f)
	}
	return err
}

// JVM are the options of the virtual machine for a run of that many steps: the second compiler pays only in long ones.
func JVM(steps int) []string {
	if steps < longRun {
		return nil
	}
	return []string{"-XX:TieredStopAtLevel=4"}
}

const longRun = 2_000_000

// Summary is the run on a line.
func (w *Walks) Summary(took time.Duration) string {
	text := fmt.Sprintf("%d equal steps, %.0f a second", w.Commands, float64(w.Commands)/took.Seconds())
	if w.differences > 0 {
		text += fmt.Sprintf(", %d histories with differences", w.differences)
	}
	if w.Unforeseen > 0 {
		text += fmt.Sprintf(", %d histories again in lock step (%s)", w.Unforeseen, w.Why)
	}
	return text
}

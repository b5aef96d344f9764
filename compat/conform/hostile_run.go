package conform

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// back is how many times its patience the suite waits for a target to come back.
const back = 3

// attack makes the attacks one by one, after the cases of a run.
func (o *Options) attack(ctx context.Context, attacks []Attack, target *Target, report func(Result)) error {
	var gone error // why the rest cannot be tried
	for i := range attacks {
		begin := time.Now()
		a := &attacks[i]
		r := Result{Case: &a.Case, Target: target}
		switch why := notFor(&a.Case, target); {
		case why != "":
			r.Outcome, r.Why = Skipped, why
		case gone != nil:
			r.Outcome, r.Why = Inconclusive, gone.Error()
		default:
			r.Outcome, r.Why = o.attackOnce(ctx, a, target)
			if r.Outcome == Passed {
				break
			}
			if now, err := o.bringBack(ctx); err != nil {
				gone = fmt.Errorf("the target has not come back since %s: %w", a.ID, err)
			} else {
				target = now
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Took = time.Since(begin)
		report(r)
	}
	return nil
}

// attackOnce makes an attack, again if the quorum changed meanwhile: an election may have come by itself.
func (o *Options) attackOnce(ctx context.Context, a *Attack, target *Target) (Outcome, string) {
	for try := 1; ; try++ {
		if o.limit > 0 {
			o.freed(ctx) // of the attack before
		}
		w, err := newWitness(ctx, o, target)
		if err != nil {
			return Inconclusive, "before the attack: " + err.Error()
		}
		s := newStriker(ctx, o, target, a.ID)
		err = o.survives(ctx, a, s, w)
		switch {
		case err == nil:
			return Passed, o.fewer(s)
		case !errors.Is(err, errChanged) || try == attempts:
			if again, why := o.limited(ctx, a, s, w, err); why != "" {
				return Inconclusive, why
			} else if again {
				break
			}
			var wrong *wrongReaction
			if errors.As(err, &wrong) {
				return Failed, err.Error()
			}
			return a.kills.ended(target.Profile, err)
		}
		now, err := discover(ctx, o)
		if err != nil {
			return Inconclusive, err.Error()
		}
		target = now
	}
}

// wrongReaction is that of a target that lives.
type wrongReaction struct{ error }

func (w *wrongReaction) Unwrap() error { return w.error }

// survives makes an attack once and looks after the target.
func (o *Options) survives(ctx context.Context, a *Attack, s *striker, w *witness) error {
	defer w.client.close()
	defer s.close()
	wrong := a.strike(s)
	if a.kills != nil {
		w.lingers(o.dying())
	}
	if err := w.check(ctx, o); err != nil {
		return err
	}
	if wrong != nil && a.kills == nil {
		return &wrongReaction{wrong}
	}
	return nil
}

// lingers waits for the end of the target, which takes a moment: its process ends in order.
func (w *witness) lingers(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end) && w.speaks() == nil; {
		time.Sleep(20 * time.Millisecond)
	}
}

// dying is how long a node may go on answering once it is doomed.
func (o *Options) dying() time.Duration {
	if o.Dying != 0 {
		return o.Dying
	}
	return 1500 * time.Millisecond
}

// bringBack has a target that ended started again, or waits until somebody else does, until its quorum has a leader.
func (o *Options) bringBack(ctx context.Context) (*Target, error) {
	target, err := discover(ctx, o)
	if err == nil {
		return target, nil
	}
	if o.Restart != nil {
		if err := o.Restart(ctx); err != nil {
			return nil, err
		}
	}
	for end := time.Now().Add(back * o.patience()); ; time.Sleep(100 * time.Millisecond) {
		target, err := discover(ctx, o)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return target, err
		}
	}
}

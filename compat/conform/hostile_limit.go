package conform

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A controller may be configured to serve few connections: max.connections.per.ip closes those of an address above it, max.connections
// and max.connection.creation.rate leave them waiting, connections.max.idle.ms and connections.max.reauth.ms end old ones (KIP-402,
// KIP-612, KIP-368; Kafka: SocketServer.ConnectionQuotas). An attack that meets such a limit says nothing about what it is an attack with.

var (
	// errNobodyNew says that the target serves whom it had, and nobody else.
	errNobodyNew = errors.New("the target answers nobody new")
	// errNoConnection says that a hostile connection was not taken.
	errNoConnection = errors.New("a connection is not taken")
	// errDropped says that the target ended a connection from before the attack, and goes on.
	errDropped = errors.New("the target closed a connection that did nothing wrong")
)

// fewest are the connections that an attack with several and the suite itself need.
const fewest = 6

// few finds what a target that takes nobody new was configured with, now that the hostile connections are closed. 0: it has no limit that
// the attack has met, so the attack is to blame.
func (o *Options) few(ctx context.Context, opened int) (limit int) {
	if !o.freed(ctx) {
		return 0
	}
	limit = o.count(ctx, opened+fewest)
	if !o.freed(ctx) {
		return 0
	}
	return limit
}

// freed waits until the target answers somebody new, now that connections were closed.
func (o *Options) freed(ctx context.Context) bool {
	for end := time.Now().Add(back * o.patience()); ; time.Sleep(100 * time.Millisecond) {
		if _, err := discoverOnce(ctx, o); err == nil {
			return true
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
	}
}

// count opens connections until the target does not serve one, or the suite's patience ends; 0: it has served all.
func (o *Options) count(ctx context.Context, all int) int {
	begin := time.Now()
	for n := range all {
		c, err := dial(ctx, o, o.Address)
		if err != nil {
			return n
		}
		defer c.close()
		w := &witness{client: c}
		if w.speaks() != nil || time.Since(begin) > o.patience() {
			return n
		}
	}
	return 0
}

// outlives reports whether a connection that is silent for the time is served afterwards.
func (o *Options) outlives(ctx context.Context, silence time.Duration) bool {
	c, err := dial(ctx, o, o.Address)
	if err != nil {
		return true
	}
	defer c.close()
	w := &witness{client: c}
	if w.speaks() != nil {
		return true
	}
	select {
	case <-time.After(silence):
	case <-ctx.Done():
	}
	return w.speaks() == nil
}

// limited looks whether an attack that has failed met a limit of the target's configuration instead. What it says is why the outcome is
// no failure; again says that the attack may be made with fewer connections.
func (o *Options) limited(ctx context.Context, a *Attack, s *striker, w *witness, wrong error) (again bool, why string) {
	switch {
	case a.kills != nil && a.kills.dies(s.t.Profile):
	case errors.Is(wrong, errDropped):
		age := time.Since(w.since)
		if !o.outlives(ctx, age) {
			return false, fmt.Sprintf("the target closes a connection that is %v old and has done nothing at all (connections.max.idle.ms, connections.max.reauth.ms): %v", age.Round(time.Millisecond), wrong)
		}
	case s.opened < 2 || !errors.Is(wrong, errNobodyNew) && !errors.Is(wrong, errNoConnection):
	case o.most > 0:
		return false, fmt.Sprintf("with %d connections, of a target that takes %d at once: %v", s.opened, o.limit, wrong)
	default:
		limit := o.few(ctx, s.opened)
		if limit == 0 {
			return false, ""
		}
		o.limit = limit
		if limit < fewest {
			return false, fmt.Sprintf("the target takes %d connections at once of the suite's address (%s): too few for this", limit, limits)
		}
		o.most = limit / 2 // the suite has some itself, and those that are closed count for a while
		return true, ""
	}
	return false, ""
}

// limits are the properties that bound connections.
const limits = "max.connections.per.ip, max.connections, max.connection.creation.rate"

// fewer says that an attack was made with fewer connections than it has.
func (o *Options) fewer(s *striker) string {
	if !s.spared {
		return ""
	}
	return fmt.Sprintf("with %d connections at a time, since the target takes %d at once (%s)", o.most, o.limit, limits)
}

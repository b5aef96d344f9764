package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Status is what a node knows of the quorum and of itself. It is a copy.
type Status struct {
	Role          kraft.RoleKind
	Epoch         kraft.Epoch
	Leader        kraft.NodeID // NoNode: unknown
	HighWatermark kraft.Offset // as the log has it
	LogStart      kraft.Offset
	LogEnd        kraft.Offset
	Snapshot      kraft.SnapshotID // the latest; (0, 0) with none
	KRaftVersion  int16
	Voters        kraft.VoterSet
	Known         kraft.Offset    // the high watermark that the role knows; -1: none yet
	Replicas      []kraft.Replica // of a leader: what it knows of the voters
	Running       bool
}

func (s *Status) String() string {
	return fmt.Sprintf("%v of epoch %d, leader %v, log [%d, %d), high watermark %d", s.Role, s.Epoch, s.Leader, s.LogStart, s.LogEnd, s.HighWatermark)
}

// CaughtUp reports whether the node follows, or is, a leader whose high watermark it has reached.
func (s *Status) CaughtUp() bool {
	return s.Running && (s.Role == kraft.LeaderRole || s.Role == kraft.FollowerRole) && s.Known > 0 && s.LogEnd >= s.Known
}

// statusBoard shows the status to other goroutines.
type statusBoard struct {
	mu      sync.Mutex
	status  Status
	changed chan struct{} // closed when there is another status
}

// Status is the node's status after its last turn.
func (c *Controller) Status() Status {
	c.status.mu.Lock()
	defer c.status.mu.Unlock()
	return c.status.status
}

// Wait returns the first status, from now on, that is wanted. It fails when the node or ctx ends.
func (c *Controller) Wait(ctx context.Context, wanted func(*Status) bool) (Status, error) {
	for {
		c.status.mu.Lock()
		s, changed := c.status.status, c.status.changed
		c.status.mu.Unlock()
		if wanted(&s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-c.done:
			return s, fmt.Errorf("node %v: %v: %w", c.id, &s, ErrStopped)
		case <-ctx.Done():
			return s, fmt.Errorf("node %v: %v: %w", c.id, &s, context.Cause(ctx))
		}
	}
}

// publish shows what has changed in a turn.
func (l *loop) publish() {
	state := l.m.QuorumState()
	s := Status{
		Role: l.m.Role().Kind(), Epoch: state.Epoch, Leader: state.Leader,
		HighWatermark: l.log.HighWatermark, LogStart: l.log.Start, LogEnd: l.log.End, Known: -1, Running: !l.ended,
	}
	s.Snapshot, _ = l.log.LatestSnapshot()
	switch r := l.m.Role().(type) {
	case *kraft.Leader:
		s.Known = r.HighWatermark
	case *kraft.Follower:
		s.Known = r.HighWatermark
	}
	b := &l.status
	if old := &b.status; same(&s, old) { // only this goroutine writes it
		return
	}
	l.meter.observe(&b.status, &s, time.Since(l.born))
	if !l.caughtUp && s.CaughtUp() {
		l.caughtUp = true
		l.cfg.Log.Info().Msgf("The loader finished catching up to the current high water mark of %d", s.Known) // as Kafka says it
	}
	inside := l.m.Inspect()
	s.Voters, s.KRaftVersion = inside.Voters, inside.KRaftVersion
	if r, ok := l.m.Role().(*kraft.Leader); ok {
		s.Replicas = append(s.Replicas, r.Voters...)
	}
	b.mu.Lock()
	b.status = s
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
}

func same(a, b *Status) bool {
	return a.Role == b.Role && a.Epoch == b.Epoch && a.Leader == b.Leader && a.HighWatermark == b.HighWatermark && a.LogStart == b.LogStart &&
		a.LogEnd == b.LogEnd && a.Snapshot == b.Snapshot && a.Known == b.Known && a.Running == b.Running
}

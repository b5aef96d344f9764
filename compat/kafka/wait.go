package kafka

import (
	"context"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// WaitLeader waits until a running controller is leader of the newest epoch that any node has entered.
func (q *Quorum) WaitLeader(ctx context.Context) (Elected, error) {
	return q.WaitEpochAbove(ctx, -1)
}

// WaitEpochAbove is WaitLeader for an epoch greater than the given one: after a kill, wait for an epoch above
// that of the leader that was.
func (q *Quorum) WaitEpochAbove(ctx context.Context, epoch kraft.Epoch) (Elected, error) {
	var leader Elected
	err := q.wait(ctx, fmt.Sprintf("a leader in an epoch above %d", epoch), func() (bool, error) {
		if err := q.surprise(); err != nil {
			return false, err
		}
		var ok bool
		leader, ok = q.leader()
		return ok && leader.Epoch > epoch, nil
	})
	return leader, err
}

// leader finds the leader that no running node has left behind. The mutex is held.
func (q *Quorum) leader() (Elected, bool) {
	var found *member
	var newest kraft.Epoch
	for _, m := range q.members {
		if !m.running() || m.paused {
			continue
		}
		newest = max(newest, m.log.epoch)
		if m.log.role == Leader && (found == nil || m.log.epoch > found.log.epoch) {
			found = m
		}
	}
	if found == nil || found.log.epoch < newest {
		return Elected{}, false
	}
	last := found.log.truth.Transitions[len(found.log.truth.Transitions)-1]
	return Elected{found.ID, last.Epoch, last.At}, true
}

// WaitReady waits until nodes (none given: all that run) know the leader and have caught up with the high
// watermark; brokers must have started as well.
func (q *Quorum) WaitReady(ctx context.Context, ids ...kraft.NodeID) error {
	if len(ids) == 0 {
		ids = q.ids(func(n Node) bool { return q.Running(n.ID) })
	}
	return q.wait(ctx, describe(ids)+" to be ready", func() (bool, error) {
		if err := q.surprise(); err != nil {
			return false, err
		}
		for _, id := range ids {
			m := q.member(id)
			if !m.running() {
				return false, fmt.Errorf("node %s is not running", id)
			}
			if !m.log.ready(m.Broker) {
				return false, nil
			}
		}
		return true, nil
	})
}

// Wait waits until cond is true of what the logs say. It is called at each change, one call at a time, and must
// not call methods of the quorum.
func (q *Quorum) Wait(ctx context.Context, what string, cond func(Truth) bool) error {
	return q.wait(ctx, what, func() (bool, error) { return cond(q.truth()), q.surprise() })
}

// surprise is an error if a node has ended that nobody ended: Kafka exits on faults of the raft layer. The mutex is held.
func (q *Quorum) surprise() error {
	for _, m := range q.members {
		if m.proc == nil || m.asked || !m.proc.Ended() {
			continue
		}
		fatal := ""
		for _, f := range m.log.truth.Fatals {
			fatal += "\n  " + f.Text
		}
		return fmt.Errorf("node %s ended by itself (%s)%s; the last lines of its log:\n%s", m.ID, m.proc.Exit(), fatal, lastLines(m.LogFile, 12))
	}
	return nil
}

// Err is an error if a node ended by itself.
func (q *Quorum) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.surprise()
}

// Truth is what the nodes' logs say so far, merged.
func (q *Quorum) Truth() Truth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.truth()
}

func (q *Quorum) truth() Truth {
	logs := make([]Truth, len(q.members))
	for i, m := range q.members {
		logs[i] = m.log.truth
	}
	return Merge(logs...)
}

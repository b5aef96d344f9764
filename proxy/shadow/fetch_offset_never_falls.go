package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// fetchOffsetNeverFalls is M12. A leader that answers a Fetch of its epoch without error, divergence or snapshot has
// found the replica's log to be a prefix of its own, and in that epoch its own log only grows: nothing can make the
// replica truncate below that offset before the epoch ends. So no other wire need be watched; it is enough that the
// later Fetch came on the same connection, from the same process. A replica that got an altered answer may truncate
// by what that says.
type fetchOffsetNeverFalls struct{}

var fetchOffsetNeverFallsRule = Rule{
	ID: "M12", Name: "fetch-offset-never-falls",
	Says:   "a replica whose log the leader found in step does not fetch from an earlier offset in that epoch",
	Source: "KIP-595; Kafka LeaderState.updateReplicaState (which only warns), RaftLog.truncateToEndOffset",
	Why:    "it has dropped records that it acknowledged, and that count for the high watermark",
}

func (fetchOffsetNeverFalls) rule() *Rule { return &fetchOffsetNeverFallsRule }
func (fetchOffsetNeverFalls) hears() []Kind {
	return []Kind{KindFetchRequest, KindFetchResponse}
}

// fetchMemory holds the last Fetch of a connection that was found in step.
type fetchMemory struct {
	any    bool
	epoch  kraft.Epoch
	offset kraft.Offset
	ref    ref
}

func (fetchOffsetNeverFalls) observe(c *Checker, m *message) {
	if m.conn.raft == nil {
		return // not a replica's
	}
	f := &m.conn.raft.fetches
	if m.kind == KindFetchRequest {
		if f.any && f.ref.order > m.sender.misled && m.fetch.Epoch == f.epoch && m.fetch.Offset < f.offset {
			text := fmt.Sprintf("node %s fetches from offset %d in epoch %d after its log was found in step up to %d",
				m.sender.id, m.fetch.Offset, f.epoch, f.offset)
			now := c.proof(m)
			c.report(c.found(&fetchOffsetNeverFallsRule, m.sender.id, m.epoch, "", text,
				c.evidence(&f.ref, fmt.Sprintf("fetch offset %d, in step", f.offset)), c.evidence(&now, "")))
			f.any = false
		}
		return
	}
	valid := m.leads && m.epoch == m.fetch.Epoch && m.fetched.DivergingEpoch < 0 && m.fetched.SnapshotEpoch < 0 && m.fetched.SnapshotEnd < 0
	if !valid || f.any && f.epoch == m.epoch && m.fetch.Offset <= f.offset {
		return
	}
	*f = fetchMemory{true, m.epoch, m.fetch.Offset, m.askedRef}
}

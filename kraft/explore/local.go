package explore

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// local is one node: its machine, its disk, and what has been seen of it that a crash must not undo. The explorer keeps each different
// one once and never changes it.
type local struct {
	node    int
	wipes   uint8
	machine *kraft.QuorumStateMachine
	log     *memlog.Log
	stored  kraft.QuorumState
	has     bool // there is a quorum-state file
	down    bool // the process has ended

	// What others may have been told: the highest epoch, and the candidate that got this replica's vote in it.
	told  kraft.Epoch
	voted kraft.ReplicaKey

	// Derived when it is first seen.
	kind      kraft.RoleKind
	epoch     kraft.Epoch
	awaiting  uint16 // slots of the requests in flight
	backing   uint16 // slots of the connections that back off
	waiting   []kraft.RequestID
	logID     uint32
	violation *safety.Violation
	moves     []move // what may happen to it by itself
}

func (l *local) clone() *local {
	c := &local{node: l.node, wipes: l.wipes, log: l.log.Clone(), stored: l.stored, has: l.has, down: l.down, told: l.told, voted: l.voted}
	c.machine = l.machine.Clone()
	return c
}

func (l *local) id() kraft.NodeID { return nodeID(l.node) }

func (l *local) key() kraft.ReplicaKey {
	return kraft.ReplicaKey{ID: l.id(), DirectoryID: directory(l.node, l.wipes)}
}

// encode writes all that decides what the node does.
func (l *local) encode(e *encoder) {
	e.id(l.id())
	e.num(int64(l.wipes))
	e.flag(l.down)
	if !l.down {
		print := l.machine.FingerprintAs(e.names)
		e.buf = append(e.buf, print[:]...)
	}
	encodeLog(e, l.log)
	e.num(int64(l.log.Flushed()))
	e.num(int64(len(l.log.Epochs)))
	for _, s := range l.log.Epochs {
		e.num(int64(s.Epoch))
		e.num(int64(s.Start))
	}
	e.flag(l.has)
	e.num(int64(l.stored.Epoch))
	e.id(l.stored.Leader)
	e.key(l.stored.Voted)
	e.num(int64(l.told))
	e.key(l.voted)
}

// encodeLog writes what a log holds.
func encodeLog(e *encoder, log *memlog.Log) {
	e.num(int64(log.Start))
	e.num(int64(log.End))
	e.num(int64(log.HighWatermark))
	e.batches(log.Batches(log.Start, log.End, 1<<30))
	e.num(int64(len(log.Snapshots)))
	for _, s := range log.Snapshots {
		e.position(s.ID)
		c, _ := log.Contents(s.ID)
		e.contents(&c)
	}
}

// observe notes what the node promises with an action, and returns what it breaks.
func (l *local) observe(a kraft.Action, ev kraft.Event) *safety.Violation {
	switch v := a.(type) {
	case *kraft.PersistQuorumState:
		return l.reach(v.State.Epoch)
	case *kraft.TransitionedTo:
		if broken := l.reach(v.Epoch); broken != nil {
			return broken
		}
		if v.Role == kraft.CandidateRole {
			return l.vote(v.Epoch, l.key())
		}
	case *kraft.SendVoteRequest:
		if !v.PreVote {
			return l.vote(v.Epoch, v.Candidate)
		}
	case *kraft.ReplyVote:
		request, ok := ev.(*kraft.ReceiveVoteRequest)
		if ok && v.VoteGranted && !request.PreVote {
			return l.vote(request.CandidateEpoch, kraft.ReplicaKey{ID: request.Candidate, DirectoryID: request.CandidateDirectoryID})
		}
	case *kraft.AppendControl:
		return l.changeOfVoters(&v.Batch)
	case *kraft.TruncateTo:
		if v.Offset < l.log.HighWatermark {
			return violation(safety.TruncationBound, l.id(), "truncates to %d, the high watermark is %d", v.Offset, l.log.HighWatermark)
		}
	}
	return nil
}

func violation(i safety.Invariant, node kraft.NodeID, format string, args ...any) *safety.Violation {
	return &safety.Violation{Invariant: i, Node: node, Detail: fmt.Sprintf(format, args...)}
}

func (l *local) reach(epoch kraft.Epoch) *safety.Violation {
	if epoch < l.told {
		return violation(safety.MonotoneEpoch, l.id(), "goes to epoch %d after %d", epoch, l.told)
	}
	if epoch > l.told {
		l.told, l.voted = epoch, kraft.NoReplica
	}
	return nil
}

func (l *local) vote(epoch kraft.Epoch, candidate kraft.ReplicaKey) *safety.Violation {
	if broken := l.reach(epoch); broken != nil {
		return broken
	}
	if l.voted != kraft.NoReplica && l.voted.ID != candidate.ID {
		return violation(safety.OneVote, l.id(), "votes for %v in epoch %d after %v", candidate.ID, epoch, l.voted.ID)
	}
	l.voted = candidate
	return nil
}

// changeOfVoters: when a leader writes a voter set, the one before it is committed.
func (l *local) changeOfVoters(b *kraft.Batch) *safety.Violation {
	if len(b.Control) == 0 || b.Control[0].Type != kraft.VotersRecord {
		return nil
	}
	leader, ok := l.machine.Role().(*kraft.Leader)
	if !ok {
		return nil
	}
	for _, old := range l.log.Batches(l.log.Start, b.Base, 1<<30) {
		for i, r := range old.Control {
			if at := old.Base + kraft.Offset(i); r.Type == kraft.VotersRecord && at < b.Base && at >= leader.HighWatermark {
				return violation(safety.OneVoterChange, l.id(), "writes a voter set at %d while that at %d is not committed", b.Base, at)
			}
		}
	}
	return nil
}

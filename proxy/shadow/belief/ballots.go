package belief

import (
	"github.com/understudy-kafka/understudy/kraft"
)

// A node that judging began with in the middle of an epoch may have voted in it. That matters once it follows nobody any more, or
// starts anew: until then nothing depends on it.

// ballots are what the node may have voted.
func (j *judge) ballots(h *hypothesis, emit func(kraft.ReplicaKey)) {
	if h.unvoted == 0 || h.unvoted != h.stored.Epoch || h.stored.Voted != kraft.NoReplica {
		return
	}
	for i := range j.c.world.voters.Len() {
		emit(j.c.world.voters.At(i).Key)
	}
}

// recalls is a node that has voted.
func (j *judge) recalls(h *hypothesis, emit func(*hypothesis)) {
	if kind := h.m.Role().Kind(); kind != kraft.FollowerRole && kind != kraft.UnattachedRole {
		return
	}
	j.ballots(h, func(voted kraft.ReplicaKey) {
		next := j.clone(h)
		next.unvoted, next.stored.Voted = 0, voted
		switch r := next.m.Role().(type) {
		case *kraft.Follower:
			r.Voted = voted
		case *kraft.Unattached:
			r.Voted = voted
		}
		emit(next)
	})
}

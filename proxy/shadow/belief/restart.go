package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// revive is what may have become of the node while all its connections were closed: it may have lived on, or have died and been
// started anew from what its disk held. Any message on its way may have been taken before.
func (j *judge) revive(set []*hypothesis) []*hypothesis {
	j.seen, j.accepted = emptied(j.seen), emptied(j.accepted)
	j.queue, j.fresh, j.sole = j.queue[:0], j.fresh[:0], nil
	for _, h := range set {
		j.enqueue(h)
	}
	alive := len(j.queue)
	var next []*hypothesis
	for at := 0; at < len(j.queue); at++ {
		h := j.queue[at]
		if at >= maxStates {
			j.lossy()
			continue
		}
		next = j.rebirths(next, h)
		if at < alive && !h.dead {
			next = j.keep(next, j.clone(h))
		}
		j.mayCrash = true
		j.expand(h, effort{}, j.enqueue)
		j.mayCrash = false
		for _, c := range j.crashed {
			next = j.rebirths(next, c)
			j.free(c)
		}
		j.crashed = j.crashed[:0]
		j.done(h)
	}
	j.release()
	return next
}

// rebirths adds what the node is if it starts from the disk of a hypothesis.
func (j *judge) rebirths(next []*hypothesis, h *hypothesis) []*hypothesis {
	j.ballots(h, func(voted kraft.ReplicaKey) {
		had := j.clone(h)
		had.unvoted, had.stored.Voted = 0, voted
		next = j.rebirths(next, had)
		j.free(had)
	})
	for _, blank := range []bool{false, true} {
		if !blank || j.c.world.dynamic {
			j.wiped(h, blank, func(born *hypothesis) { next = j.keep(next, born) })
		}
	}
	for _, flushed := range []bool{true, false} {
		if flushed || h.flushed < h.view.End {
			j.reborn(h, flushed, func(born *hypothesis) { next = j.keep(next, born) })
		}
	}
	return next
}

// wiped is the node as it starts with a new disk. The first tier says what that means for the quorum.
func (j *judge) wiped(h *hypothesis, blank bool, emit func(*hypothesis)) {
	n := new(hypothesis)
	if n.blank = blank; j.c.world.dynamic && !blank {
		n.view.AddSnapshot(kraft.Snapshot{ID: kraft.BootstrapSnapshot})
	}
	for i := range h.asked {
		if s := &h.asked[i]; !s.closed && !s.taken {
			n.asked = append(n.asked, askedSlot{x: s.x})
		}
	}
	j.boot(n, emit)
}

// reborn is the node as it starts from the disk that the hypothesis has left: what was flushed, or all that was written.
func (j *judge) reborn(h *hypothesis, onlyFlushed bool, emit func(*hypothesis)) {
	n := j.clone(h)
	n.asked = slices.DeleteFunc(n.asked, func(s askedSlot) bool { return s.closed || s.taken })
	for i := range n.asked { // on a connection of the new life
		n.asked[i] = askedSlot{x: n.asked[i].x}
	}
	n.sent, n.open, n.soon, n.dead = n.sent[:0], n.open[:0], n.soon[:0], false
	n.openTail = h.openTail || h.m.Role().Kind() == kraft.LeaderRole // it wrote more, and may have kept it
	n.view.HighWatermark, n.unheard = n.view.Start, false
	if onlyFlushed {
		n.truncate(max(n.flushed, n.view.Start))
	}
	n.truncate(n.view.End) // an epoch that was assigned at the end is forgotten
	n.flushed = n.view.End
	j.boot(n, emit)
	j.free(n)
}

// boot makes the machine of a hypothesis from its durable state, and lets it begin.
func (j *judge) boot(h *hypothesis, emit func(*hypothesis)) {
	cfg := j.config
	cfg.History = append(append([]kraft.HistoryEntry(nil), j.before(h)...), h.history...)
	cfg.Stored, cfg.HasStored = h.stored, h.stored != kraft.QuorumState{}
	m, err := kraft.New(cfg)
	if err != nil {
		return
	}
	h.m = m
	j.event(h, &kraft.Start{}, idle)
	j.acts(h, idle, func(begun *hypothesis) {
		if !begun.dead {
			emit(begun)
		}
	})
}

// before are the control records that the log began with: those of the bootstrap checkpoint, or of the part that was not seen.
func (j *judge) before(h *hypothesis) []kraft.HistoryEntry {
	if h.blank || len(h.history) > 0 && h.history[0].Offset < h.view.Start {
		return nil
	}
	return j.config.History
}

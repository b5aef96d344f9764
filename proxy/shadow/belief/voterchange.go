package belief

import (
	"cmp"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// A leader that is to add a voter asks the new node what it supports (ApiVersions). Neither that nor the answer is seen here: the
// answer is a hidden step.

// probes are the answers that the new node may give.
func (j *judge) probes(h *hypothesis, i int, emit func(*hypothesis)) {
	s := h.open[i]
	about := kraft.Response{From: s.record, CorrelationID: s.correlation}
	failed := j.clone(h)
	failed.open = slices.Delete(failed.open, i, i+1)
	j.event(failed, &kraft.RequestFailed{Response: kraft.Response{From: s.record, CorrelationID: s.correlation, Error: kraft.BrokerNotAvailable}, API: kraft.APIVersionsAPI}, idle)
	emit(failed)
	for _, caughtUp := range []bool{true, false} {
		for _, supports := range []bool{true, false} {
			next := j.clone(h)
			next.open = slices.Delete(next.open, i, i+1)
			next.catchUp(caughtUp, j.now)
			j.event(next, &kraft.ReceiveAPIVersionsResponse{Response: about, HasKRaftVersion: supports, KRaftVersions: kraft.VersionRange{Max: 1}}, idle)
			emit(next)
		}
	}
}

// catchUp decides whether the node that is to become a voter has reached the end of the log lately. When it did nobody sees: the log
// may have grown unnoticed.
func (h *hypothesis) catchUp(yes bool, now kraft.Instant) {
	l, leads := h.m.Role().(*kraft.Leader)
	if !leads {
		return
	}
	for i := range l.Observers {
		r := &l.Observers[i]
		if r.Key != l.Change.Voter {
			continue
		}
		if r.LastCaughtUp = -1; yes {
			r.LastCaughtUp, r.LastFetch = max(now, 1), max(now, 1)
		}
	}
}

// joins reports whether a request is from the node that the leader is about to add: then it matters when it is taken.
func joins(l *kraft.Leader, f *kraft.ReceiveFetch) bool {
	return l.Change.Kind == kraft.AddChange && l.Change.Voter == f.Replica
}

// meets notes the nodes that a message names as voters: there may be connections to them.
func (w *world) meets(x *crossing) {
	if e, ok := x.event.(*kraft.ReceiveAddRaftVoter); ok {
		w.meet(e.Voter.ID)
	}
}

func (w *world) meet(id kraft.NodeID) {
	if id >= 0 && len(w.ids) < maxNodes && !slices.Contains(w.ids, id) {
		w.ids = append(w.ids, id)
	}
}

// upgrades lets the leader raise kraft.version, as an operator has it do by a request that is not of the raft layer.
func (j *judge) upgrades(h *hypothesis, b *kraft.Batch) bool {
	for _, r := range b.Control {
		if r.Type == kraft.KRaftVersionRecord && r.KRaftVersion > 0 {
			j.event(h, &kraft.UpgradeKRaftVersion{Epoch: b.Epoch, Version: r.KRaftVersion}, idle)
			j.act(h, lingerDue)
			return h.view.End == b.Last+1
		}
	}
	return false
}

// appends is an append by the leader before it takes what makes it write voters: of the next batch that the message shows, or one that
// is still to come, if voters stand behind it. Elsewhere it does not matter when the log grows.
func (j *judge) appends(h *hypothesis, x *crossing, emit func(*hypothesis)) {
	if _, leads := h.leads(); !leads {
		return
	}
	ahead := x.said.batches
	if j.window.replaying {
		ahead = j.window.ahead
	}
	at := -1
	for i := range ahead {
		switch b := &ahead[i]; {
		case b.Epoch != h.m.QuorumState().Epoch:
		case b.Base == h.view.End:
			at = i
		case b.Base > h.view.End && len(b.Control) > 0 && at >= 0:
			next := j.clone(h)
			if j.appendServed(next, &ahead[at]) {
				emit(next)
			} else {
				j.free(next)
			}
			return
		}
	}
}

// foresee lists the batches that the steps of the window show, by their offsets.
func (w *window) foresee() {
	w.ahead = w.ahead[:0]
	for i := range w.steps {
		if x := w.steps[i].x; w.steps[i].kind == stepSeen && x.reply {
			w.ahead = append(w.ahead, x.said.batches...)
		}
	}
	slices.SortFunc(w.ahead, func(a, b kraft.Batch) int {
		return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(a.Epoch, b.Epoch))
	})
	w.ahead = slices.CompactFunc(w.ahead, func(a, b kraft.Batch) bool { return a.Base == b.Base && a.Epoch == b.Epoch })
}

// hidden reports whether the node has something on its way that is never seen.
func (s *openSlot) hidden() bool { return s.key == wire.KeyAPIVersions }

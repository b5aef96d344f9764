package safety_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// chain is a log of one-record batches with these epochs; content tells logs with equal epochs apart.
func chain(h *safety.History, content uint64, epochs ...kraft.Epoch) (*safety.Chain, *safety.Violation) {
	c := &safety.Chain{}
	c.Reset()
	var v *safety.Violation
	for i, e := range epochs {
		b := data(kraft.Offset(i), e, 9)
		if w := h.Appended(1, c.Append(&b, content)); v == nil {
			v = w
		}
	}
	return c, v
}

func state(epoch kraft.Epoch, leader, voted kraft.NodeID) *kraft.QuorumState {
	return &kraft.QuorumState{Epoch: epoch, Leader: leader, Voted: kraft.ReplicaKey{ID: voted}}
}

func TestHistory_EachBrokenInvariantIsNamed(t *testing.T) {
	tests := []struct {
		name string
		do   func(h *safety.History) *safety.Violation
		want safety.Invariant
		fine bool
	}{
		{"two leaders of an epoch", func(h *safety.History) *safety.Violation {
			h.Named(1, 1, 3)
			return h.Named(2, 2, 3)
		}, safety.ElectionSafety, false},
		{"a leader of the epoch after", func(h *safety.History) *safety.Violation {
			h.Named(1, 1, 3)
			return h.Named(2, 2, 4)
		}, 0, true},
		{"other records before the same batch", func(h *safety.History) *safety.Violation {
			chain(h, 1, 1, 1)
			_, v := chain(h, 2, 1, 1)
			return v
		}, safety.LogMatching, false},
		{"other epochs", func(h *safety.History) *safety.Violation {
			chain(h, 1, 1, 1)
			_, v := chain(h, 2, 2, 2)
			return v
		}, 0, true},
		{"a leader without a committed record", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 1)
			h.Watermark(0, 1, 2, true, 1, a)
			b, _ := chain(h, 1, 1)
			return h.Elected(2, 2, b)
		}, safety.LeaderCompleteness, false},
		{"a late leader of the epoch before", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 3)
			h.Watermark(0, 1, 2, true, 3, a)
			b, _ := chain(h, 1, 1)
			return h.Elected(2, 2, b)
		}, 0, true},
		{"other records committed", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1)
			h.Watermark(0, 1, 1, true, 1, a)
			b, _ := chain(h, 2, 2)
			return h.Watermark(1, 2, 1, false, 2, b)
		}, safety.StateMachineSafety, false},
		{"a follower commits first", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1)
			return h.Watermark(0, 1, 1, false, 1, a)
		}, safety.StateMachineSafety, false},
		{"the high watermark falls", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 1)
			h.Watermark(0, 1, 2, true, 1, a)
			return h.Watermark(0, 1, 1, true, 1, a)
		}, safety.MonotoneWatermark, false},
		{"it begins anew with the process", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 1)
			h.Watermark(0, 1, 2, true, 1, a)
			h.Started(0)
			return h.Watermark(0, 1, 1, false, 1, a)
		}, 0, true},
		{"an acknowledged record is replaced", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1)
			h.Acknowledged(a.Last())
			b, _ := chain(h, 2, 2)
			h.Watermark(0, 1, 1, true, 2, b)
			return h.Kept(1)
		}, safety.AcknowledgedKept, false},
		{"a committed record is cut off", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 1)
			h.Watermark(0, 1, 2, true, 1, a)
			return h.Truncates(1, 2, 1, a)
		}, safety.TruncationBound, false},
		{"a record is cut off that a later epoch has committed", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1, 3)
			h.Watermark(0, 1, 2, true, 3, a)
			return h.Truncates(1, 2, 1, a)
		}, 0, true},
		{"a snapshot beyond what is committed", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1)
			return h.Snapshot(1, 1, a.Last())
		}, safety.SnapshotIsPrefix, false},
		{"a snapshot of other records", func(h *safety.History) *safety.Violation {
			a, _ := chain(h, 1, 1)
			h.Watermark(0, 1, 1, true, 1, a)
			b, _ := chain(h, 2, 2)
			return h.Snapshot(1, 1, b.Last())
		}, safety.SnapshotIsPrefix, false},
		{"two votes in an epoch", func(h *safety.History) *safety.Violation {
			h.Voted(0, 1, 2, 5, state(5, -1, 2))
			return h.Voted(0, 1, 3, 5, state(5, -1, 3))
		}, safety.OneVote, false},
		{"a vote of an earlier epoch", func(h *safety.History) *safety.Violation {
			h.Voted(0, 1, 2, 5, state(5, -1, 2))
			return h.Voted(0, 1, 2, 4, state(4, -1, 2))
		}, safety.OneVote, false},
		{"the same vote again", func(h *safety.History) *safety.Violation {
			h.Voted(0, 1, 2, 5, state(5, -1, 2))
			return h.Voted(0, 1, 2, 5, state(5, -1, 2))
		}, 0, true},
		{"a vote that is not durable", func(h *safety.History) *safety.Violation {
			return h.Voted(0, 1, 2, 5, state(5, -1, -1))
		}, safety.PersistBeforeSend, false},
		{"an epoch that is not durable", func(h *safety.History) *safety.Violation {
			return h.Told(0, 1, 5, -1, state(4, -1, -1))
		}, safety.PersistBeforeSend, false},
		{"an epoch falls", func(h *safety.History) *safety.Violation {
			h.Persisted(0, 1, *state(5, -1, -1))
			return h.Persisted(0, 1, *state(4, -1, -1))
		}, safety.MonotoneEpoch, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &safety.History{}
			h.Reset()
			v := tt.do(h)
			switch {
			case tt.fine && v != nil:
				t.Errorf("%v", v)
			case !tt.fine && (v == nil || v.Invariant != tt.want):
				t.Errorf("%v, want %v", v, tt.want)
			}
		})
	}
}

func TestChain_FollowsALog(t *testing.T) {
	h := &safety.History{}
	c, _ := chain(h, 1, 1, 1, 2, 2)
	whole := c.Last()
	c.TruncateTo(2)
	if l, ok := c.Before(2); !ok || l != c.Last() || l.Last != 1 {
		t.Errorf("%v %t", l, ok)
	}
	for i := kraft.Offset(2); i < 4; i++ {
		b := data(i, 2, 9)
		c.Append(&b, 1)
	}
	if c.Last() != whole {
		t.Errorf("the same log has the links %v and %v", c.Last(), whole)
	}
	c.MoveStart(2)
	if _, ok := c.Before(2); !ok {
		t.Error("what lies before the log start is forgotten")
	}
	if _, ok := c.Before(1); ok {
		t.Error("something is known of a dropped batch")
	}
	if l, ok := c.Holding(3); !ok || l != whole || len(c.From(2)) != 2 {
		t.Errorf("%v %t", l, ok)
	}
	c.Begin(whole)
	if c.Last() != whole || len(c.From(0)) != 0 {
		t.Error("a snapshot does not replace the log")
	}
}

func TestInvariants_HaveNames(t *testing.T) {
	for _, i := range safety.Invariants() {
		if i.String() == "" {
			t.Errorf("%d", i)
		}
	}
}

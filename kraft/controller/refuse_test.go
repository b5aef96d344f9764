package controller

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// What an answer of a peer says ends a node only if it contradicts what the node holds and is said again and again; what this node finds wrong
// in itself ends it at once.
func TestRefuse_NoSingleAnswerEndsANode(t *testing.T) {
	const never = 0
	after := map[kraft.FatalReason]int{}
	for _, r := range []kraft.FatalReason{
		kraft.FatalInconsistentLeader, kraft.FatalInvalidTransition, kraft.FatalUnknownEndpoints, kraft.FatalInvalidRequest, kraft.FatalNotAuthorized,
		kraft.FatalUnexpectedRole, kraft.FatalUnexpectedSnapshot, kraft.FatalContradictoryVote, kraft.FatalNotAVoter, kraft.FatalResponseInRole,
	} {
		after[r] = never
	}
	for _, r := range []kraft.FatalReason{
		kraft.FatalTruncationBelowHW, kraft.FatalHighWatermarkFell, kraft.FatalUnexpectedOffset, kraft.FatalCorruptRecords, kraft.FatalOffsetsNotIncreasing,
		kraft.FatalEpochRefused, kraft.FatalSnapshotNotNewer, kraft.FatalControlRecord,
	} {
		after[r] = maxDoubts
	}
	n := lone(t, nil)
	fatal := func(l *loop, r kraft.FatalReason) bool { return !refused(l, &kraft.Fatal{Reason: r}) }
	n.inLoop(t, func(l *loop) {
		for _, r := range kraft.FatalReasons() {
			l.doubts = 0
			want, listed := after[r]
			if !listed {
				want = 1
			}
			got := never
			for i := 1; i <= 3*maxDoubts && got == never; i++ {
				if fatal(l, r) {
					got = i
				}
			}
			if got != want {
				t.Errorf("%v ends the node with answer %d, want %d (0: never)", r, got, want)
			}
		}
		l.doubts = 0
		for range 3 {
			for range maxDoubts - 1 {
				if fatal(l, kraft.FatalHighWatermarkFell) {
					t.Error("it ended although good answers came between")
				}
			}
			if refused(l, &kraft.ResetTimer{}) {
				t.Error("a good answer is refused")
			}
		}
		l.doubts = 0
	})
}

// refused has the loop look at what the machine makes of a Fetch response.
func refused(l *loop, last kraft.Action) bool {
	l.m.CopyInto(l.before)
	l.hand = &message{event: &kraft.ReceiveFetchResponse{}, instead: kraft.RequestFailed{
		Response: kraft.Response{From: 9, CorrelationID: -7, Error: kraft.BrokerNotAvailable}, API: kraft.FetchAPI,
	}}
	defer func() { l.hand = nil }()
	return l.refuse([]kraft.Action{last})
}

// inLoop runs f as the owner of the machine.
func (n *testNode) inLoop(t *testing.T, f func(*loop)) {
	t.Helper()
	done := make(chan struct{})
	must(t, n.ask(t.Context(), func(l *loop) {
		defer close(done)
		f(l)
	}))
	<-done
}

package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestSteadyPaths_AllocateNothing: with storage for the actions that is used again, what a quorum without trouble does all the time
// leaves no garbage. Each path is taken once before it is measured, and what it does is looked at.
func TestSteadyPaths_AllocateNothing(t *testing.T) {
	tests := []struct {
		name string
		path func(t *testing.T) func()
	}{
		{"leader: a Fetch without news is answered", fetchWithoutNews},
		{"leader: a Fetch of an observer is answered", observerFetch},
		{"leader: a Fetch is parked and its time runs out", parkedFetch},
		{"leader: records are appended, fetched and acknowledged", commitCycle},
		{"leader: the leadership is announced and confirmed", announcement},
		{"leader: nothing is to be done", idleLeader},
		{"follower: a record is fetched and appended", followedRecord},
		{"follower: an answer without records", emptyAnswers},
		{"follower: the leadership is announced again", repeatedAnnouncement},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path(t)
			if n := testing.AllocsPerRun(100, path); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// count fails the test if an event has not the given action.
func count[T any, P interface {
	*T
	kraft.Action
}](t *testing.T, actions []kraft.Action) {
	for _, a := range actions {
		if _, ok := a.(P); ok {
			return
		}
	}
	t.Errorf("no %T in %v", *new(T), actions)
}

func fetchWithoutNews(t *testing.T) func() {
	s := leaderStage(3)
	ev := s.fetch(2, s.log.End, 0)
	return func() { count[kraft.ReplyFetch](t, s.at(ev, kraft.Clock{Now: s.now})) }
}

func observerFetch(t *testing.T) func() {
	s := leaderStage(3)
	ev := s.fetch(9, s.log.End, 0)
	return func() { count[kraft.ReplyFetch](t, s.at(ev, kraft.Clock{Now: s.now})) }
}

func parkedFetch(t *testing.T) func() {
	s := leaderStage(3)
	ev := s.fetch(2, s.log.End, 500)
	expired := &kraft.ParkedExpired{Request: ev.ID}
	return func() {
		count[kraft.Park](t, s.at(ev, kraft.Clock{Now: s.now}))
		count[kraft.ReplyFetch](t, s.at(expired, kraft.Clock{Now: s.now}))
	}
}

// viewed hands events to the machine with a view of a log that grows without storage: memlog keeps every batch.
func viewed(s *stage) (view *kraft.LogView, on func(kraft.Event, kraft.Clock) []kraft.Action) {
	v := *s.log.View()
	v.BatchBase = nil
	return &v, func(ev kraft.Event, clock kraft.Clock) []kraft.Action {
		list := s.machine.OnEvent(ev, &v, clock, &s.actions)
		after := s.machine.View()
		v.End, v.HighWatermark, v.Epochs = after.End, after.HighWatermark, after.Epochs
		return list
	}
}

func commitCycle(t *testing.T) func() {
	s := leaderStage(3)
	view, on := viewed(s)
	requested := &kraft.AppendRequested{Epoch: 1, Records: 1, Size: 100, Schedule: true}
	role, ev := &kraft.RoleAction{}, s.fetch(2, 0, 500)
	now := kraft.Clock{Now: s.now}
	lingered := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.Timer{Kind: kraft.LingerTimer})}
	return func() {
		ev.FetchOffset, ev.HighWatermark = view.End, view.HighWatermark
		count[kraft.Park](t, on(ev, now))
		count[kraft.Accepted](t, on(requested, now))
		count[kraft.ReplyFetch](t, on(role, lingered))
		ev.FetchOffset = view.End
		count[kraft.AdvanceHighWatermark](t, on(ev, now))
	}
}

func announcement(t *testing.T) func() {
	s := leaderStage(3)
	role, answer := &kraft.RoleAction{}, &kraft.ReceiveBeginQuorumEpochResponse{
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
	}
	due := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.Timer{Kind: kraft.BeginQuorumEpochTimer},
		kraft.Timer{Kind: kraft.SilenceTimer, Peer: kraft.ReplicaKey{ID: 2}},
		kraft.Timer{Kind: kraft.SilenceTimer, Peer: kraft.ReplicaKey{ID: 3}})}
	return func() {
		list := s.at(role, due)
		count[kraft.SendBeginQuorumEpoch](t, list)
		var sent [2]kraft.Destination
		n := 0
		for _, a := range list {
			if begin, ok := a.(*kraft.SendBeginQuorumEpoch); ok {
				sent[n] = begin.Destination
				n++
			}
		}
		for _, to := range sent[:n] {
			answer.From, answer.CorrelationID = to.Record, to.CorrelationID
			s.at(answer, kraft.Clock{Now: s.now})
		}
		if len(sent) != n {
			t.Errorf("%d voters were told", n)
		}
	}
}

func idleLeader(*testing.T) func() {
	s := leaderStage(3)
	role := &kraft.RoleAction{}
	return func() { s.at(role, kraft.Clock{Now: s.now}) }
}

var idle kraft.RoleAction

// answered is a follower that sends a Fetch, and its answer.
func answered(t *testing.T, on func(kraft.Event, kraft.Clock) []kraft.Action, ev *kraft.ReceiveFetchResponse) {
	clock := kraft.Clock{Now: 1000}
	for _, a := range on(&idle, clock) {
		if fetch, ok := a.(*kraft.SendFetch); ok {
			ev.CorrelationID = fetch.CorrelationID
		}
	}
	count[kraft.ResetTimer](t, on(ev, clock))
}

func fetchResponse() *kraft.ReceiveFetchResponse {
	return &kraft.ReceiveFetchResponse{
		Response:        kraft.Response{From: 2, CorrelationID: -1},
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: 1},
		Diverging:       kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: -1, Epoch: -1},
	}
}

func followedRecord(t *testing.T) func() {
	view, on := viewed(followerStage())
	ev := fetchResponse()
	ev.RecordsSize, ev.Batches = 80, []kraft.Batch{{Epoch: 1, Size: 80}}
	return func() {
		before := view.End
		ev.Batches[0].Base, ev.Batches[0].Last, ev.HighWatermark = view.End, view.End, view.End
		answered(t, on, ev)
		if view.End != before+1 {
			t.Errorf("the log ends at %d, want %d", view.End, before+1)
		}
	}
}

func emptyAnswers(t *testing.T) func() {
	_, on := viewed(followerStage())
	ev := fetchResponse()
	return func() { answered(t, on, ev) }
}

func repeatedAnnouncement(t *testing.T) func() {
	s := followerStage()
	ev := &kraft.ReceiveBeginQuorumEpoch{
		Request: request(1, 1), VoterID: kraft.NoNode, LeaderID: 2, LeaderEpoch: 1, LeaderEndpoints: endpoints(2),
	}
	return func() { count[kraft.ReplyBeginQuorumEpoch](t, s.at(ev, kraft.Clock{Now: s.now})) }
}

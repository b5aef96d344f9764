package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func appendRequest(epoch kraft.Epoch, records, size int32, schedule bool) *kraft.AppendRequested {
	return &kraft.AppendRequested{Epoch: epoch, Records: records, Size: size, Schedule: schedule}
}

func TestAppend_RefusedByReason(t *testing.T) {
	full := func() *stage {
		s := leaderStage(3)
		for range 11 {
			s.on(appendRequest(1, 1, 8<<20, false))
		}
		return s
	}
	tests := []struct {
		name  string
		stage func() *stage
		event *kraft.AppendRequested
		want  string
	}{
		{"not the leader", followerStage, appendRequest(1, 1, 1, true), "Refused(not-leader)"},
		{"nothing", func() *stage { return leaderStage(3) }, appendRequest(1, 0, 0, true), "Refused(no-records)"},
		{"old epoch", func() *stage { return leaderStage(3) }, appendRequest(0, 1, 1, true), "Refused(not-leader)"},
		{"newer epoch", func() *stage { return leaderStage(3) }, appendRequest(2, 1, 1, true), "Refused(epoch-too-new)"},
		{"too large", func() *stage { return leaderStage(3) }, appendRequest(1, 1, 8<<20+1, true), "Refused(records-too-large)"},
		{"too many batches", full, appendRequest(1, 1, 1, true), "Refused(too-many-batches)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { expect(t, tt.stage().on(tt.event), tt.want) })
	}
	expect(t, followerStage().on(&kraft.ScheduleAppend{}), "Refused(not-leader)")
}

// Records wait for ScheduleAppend, and then for the linger timer or a full batch.
func TestAppend_LingersUntilItIsDue(t *testing.T) {
	s := leaderStage(3)
	first := s.on(appendRequest(1, 2, 10, false))
	expect(t, first, "Accepted(last=2)")
	if r, ok := timer(first, kraft.LingerTimer); !ok || r.Deadline != s.now+25 {
		t.Errorf("linger timer %v", &r)
	}
	second := s.on(appendRequest(1, 1, 10, false))
	expect(t, second, "Accepted(last=3)")
	if _, ok := timer(second, kraft.LingerTimer); ok {
		t.Error("the second append starts the timer anew")
	}
	expect(t, s.act(kraft.LingerTimer), "FlushLog") // held
	s.on(&kraft.ScheduleAppend{})
	if atMost, _ := s.machine.Wait(); atMost != 0 {
		t.Errorf("waits %d ms for records that are due", atMost)
	}
	expect(t, s.act(), "AppendRecords([1..3]@1)", "FlushLog")
	expect(t, s.act())
}

// A full batch is written at once and the rest waits.
func TestAppend_SplitsBySize(t *testing.T) {
	s := leaderStage(3)
	s.on(appendRequest(1, 1, 5<<20, true))
	s.on(appendRequest(1, 1, 5<<20, true))
	expect(t, s.act(), "AppendRecords([1..1]@1)", "AppendRecords([2..2]@1)", "FlushLog")
}

// A control batch closes the batch before it. Records prepared after it stay out of its drain, and wait for their own linger timer.
func TestAppend_ControlBatchForcesADrain(t *testing.T) {
	s := dynamicLeader(3)
	s.on(appendRequest(1, 1, 10, true))
	s.on(updateVoter(2))
	s.on(appendRequest(1, 1, 10, true))
	list := s.act()
	if got := lines(list); len(got) != 3 || got[0] != "AppendRecords([3..3]@1)" || got[2] != "FlushLog" {
		t.Errorf("did %v", got)
	}
	if _, timers := s.machine.Wait(); !timers.Has(kraft.Timer{Kind: kraft.LingerTimer}) {
		t.Error("does not wait for the linger timer")
	}
	expect(t, s.act())
	expect(t, s.act(kraft.LingerTimer), "AppendRecords([5..5]@1)", "FlushLog")
}

// An only voter commits what it appends, right away.
func TestAppend_OnlyVoterCommitsAtOnce(t *testing.T) {
	s := newStage(staticConfig(1))
	expect(t, s.act(),
		"AppendLeaderChange([0..0]@1[LeaderChange(1 voters=[1] granting=[1])])", "AdvanceHighWatermark(1)", "FlushLog")
	expect(t, s.append(t, 2), "AppendRecords([1..2]@1)", "AdvanceHighWatermark(3)", "FlushLog")
}

// Nothing is committed before a record of the own epoch is.
func TestHighWatermark_NeedsARecordOfTheEpoch(t *testing.T) {
	s := newStage(staticConfig(3)).toLeader()
	expect(t, s.on(s.fetch(2, 0, 0)), "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=-1 start=0 records=[0..1))")
	expect(t, s.on(s.fetch(2, 1, 0)), "AdvanceHighWatermark(1)", "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)")
	// It never falls within a leadership, even if replicas lose what they held.
	s.append(t, 1)
	s.on(s.fetch(2, 2, 0))
	s.on(s.fetch(2, 0, 0))
	if got := s.machine.Role().(*kraft.Leader).HighWatermark; got != 2 {
		t.Errorf("high watermark %d", got)
	}
}

func TestWait_NamesWhatEndsIt(t *testing.T) {
	fixed := func(kinds ...kraft.TimerKind) []kraft.Timer {
		var list []kraft.Timer
		for _, k := range kinds {
			list = append(list, kraft.Timer{Kind: k})
		}
		return list
	}
	request := func(ids ...kraft.NodeID) []kraft.Timer {
		var list []kraft.Timer
		for _, id := range ids {
			list = append(list, kraft.PeerTimer(kraft.RequestTimer, id))
		}
		return list
	}
	const forever = 1<<63 - 1
	tests := []struct {
		name   string
		stage  func() *stage
		due    []kraft.TimerKind
		atMost int64
		want   []kraft.Timer
	}{
		{"Unattached", func() *stage { return stageIn(kraft.UnattachedRole) }, nil, forever, append(request(1), fixed(kraft.ElectionTimer)...)},
		{"Unattached to Prospective", func() *stage { return stageIn(kraft.UnattachedRole) }, []kraft.TimerKind{kraft.ElectionTimer}, 0, nil},
		{"Prospective", func() *stage { return stageIn(kraft.ProspectiveRole) }, nil, forever, append(request(2, 3), fixed(kraft.ElectionTimer)...)},
		{"Candidate", func() *stage { return stageIn(kraft.CandidateRole) }, nil, forever, append(request(2, 3), fixed(kraft.ElectionTimer)...)},
		{"Leader", func() *stage { return stageIn(kraft.LeaderRole) }, nil, forever, fixed(kraft.CheckQuorumTimer, kraft.BeginQuorumEpochTimer)},
		{
			"Leader that resigns", func() *stage { return stageIn(kraft.LeaderRole) },
			[]kraft.TimerKind{kraft.CheckQuorumTimer},
			0,
			fixed(kraft.CheckQuorumTimer),
		},
		{"Follower", followerStage, nil, forever, append(request(2), fixed(kraft.FetchTimer)...)},
		{"Follower of 4.1", func() *stage {
			cfg := staticConfig(3)
			cfg.Rules.UpdateVoterWakes = true
			return newStage(cfg).follow(2, 1)
		}, nil, forever, append(request(2), fixed(kraft.FetchTimer, kraft.UpdateVoterTimer)...)},
		{"Resigned", resignedStage, nil, forever, append(request(2, 3), fixed(kraft.ElectionTimer)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.stage()
			s.act(tt.due...)
			atMost, timers := s.machine.Wait()
			if want := kraft.Timers(tt.want...); atMost != tt.atMost || timers.String() != want.String() {
				t.Errorf("at most %d, %v; want %d, %v", atMost, timers, tt.atMost, want)
			}
		})
	}
}

// While every bootstrap server backs off, the retry backoff bounds the wait; if one is ready, the next turn comes at once.
func TestWait_ForABootstrapServer(t *testing.T) {
	cfg := staticConfig(3)
	cfg.BootstrapServers = []kraft.Address{address(2)}
	s := newStage(cfg)
	s.act()
	s.on(&kraft.RequestFailed{Response: kraft.Response{From: -2, Error: kraft.BrokerNotAvailable}, API: kraft.FetchAPI})
	s.act()
	atMost, timers := s.machine.Wait()
	if atMost != 20 || !timers.Has(kraft.PeerTimer(kraft.BackoffTimer, -2)) {
		t.Errorf("at most %d, %v", atMost, timers)
	}
	f := followerStage()
	f.on(vote(1, longLog)) // nothing
	f.act()
	if f.act(); f.machine.Inspect().Connections[0].ID != 2 {
		t.Error("no request in flight")
	}
	if atMost, timers := f.machine.Wait(); atMost != 1<<63-1 || !timers.Has(kraft.PeerTimer(kraft.RequestTimer, 2)) {
		t.Errorf("at most %d, %v", atMost, timers)
	}
}

func TestTimerConstructors_HaveOneTimerDue(t *testing.T) {
	for kind, open := range map[kraft.TimerKind]func(kraft.Instant) (*kraft.RoleAction, kraft.Clock){
		kraft.ElectionTimer: kraft.ElectionTimeout, kraft.FetchTimer: kraft.FetchTimeout, kraft.CheckQuorumTimer: kraft.CheckQuorumTimeout,
	} {
		_, clock := open(7)
		if clock.Now != 7 || !clock.Due.Has(kraft.Timer{Kind: kind}) {
			t.Errorf("%v: %v", kind, clock)
		}
		clock.Due.Remove(kraft.Timer{Kind: kind})
		if !clock.Due.Empty() {
			t.Errorf("%v: %v", kind, clock)
		}
	}
}

func TestTimerSet_AddsAndRemoves(t *testing.T) {
	a, b := kraft.PeerTimer(kraft.RequestTimer, 1), kraft.PeerTimer(kraft.BackoffTimer, 1)
	s := kraft.Timers(a, b, a, kraft.Timer{Kind: kraft.FetchTimer})
	if s.String() != "{backoff(1) fetch request(1)}" {
		t.Errorf("%v", s)
	}
	s.Remove(a)
	if s.Has(a) || !s.Has(b) || s.Empty() {
		t.Errorf("%v", s)
	}
	if s.Clear(); !s.Empty() {
		t.Errorf("%v", s)
	}
}

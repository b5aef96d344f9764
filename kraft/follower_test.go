package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func (s *stage) actDue(timers ...kraft.Timer) []kraft.Action {
	return s.at(&kraft.RoleAction{Choice: 2}, kraft.Clock{Now: s.now, Due: kraft.Timers(timers...)})
}

// The leader, or while its connection has timed out or backs off any bootstrap server (KAFKA-17030).
func TestFollower_FetchesFromTheBestNode(t *testing.T) {
	s := followerStage()
	first := s.act()
	expect(t, first, "SendFetch(to=2@node2:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
	expect(t, s.act()) // one Fetch at a time
	expect(t, s.actDue(kraft.PeerTimer(kraft.RequestTimer, 2)),
		"SendFetch(to=3@node3:9093 corr=1 epoch=1 offset=0 last=0 hw=-1)")
	s.on(&kraft.RequestFailed{Response: kraft.Response{From: 3, CorrelationID: 1, Error: kraft.BrokerNotAvailable}, API: kraft.FetchAPI})
	again := s.act()
	expect(t, again, "SendFetch(to=2@node2:9093 corr=2 epoch=1 offset=0 last=0 hw=-1)")
	s.on(&kraft.RequestFailed{Response: kraft.Response{From: 2, CorrelationID: 2, Error: kraft.BrokerNotAvailable}, API: kraft.FetchAPI})
	expect(t, s.actDue(kraft.PeerTimer(kraft.BackoffTimer, 3)),
		"SendFetch(to=3@node3:9093 corr=3 epoch=1 offset=0 last=0 hw=-1)")
}

// A static voter is among its own bootstrap servers: it may ask itself.
func TestFollower_MayAskItself(t *testing.T) {
	s := newStage(staticConfig(3))
	expect(t, s.on(&kraft.RoleAction{Choice: 0}), "SendFetch(to=1@node1:9093 corr=0 epoch=0 offset=0 last=0 hw=-1)")
}

// A late answer counts for as long as nothing has looked at its record.
func TestFollower_LateAnswersCount(t *testing.T) {
	s := followerStage()
	r := s.fetched(t, batch(0, 0, 1))
	s.now = 99_000
	late := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.PeerTimer(kraft.RequestTimer, 2))}
	expect(t, s.at(r, late), "AppendFetched(1 batches [0..0])", "FlushLog")
}

func TestFollower_UpdatesItsVoterEntryByRelease(t *testing.T) {
	tests := []struct {
		name      string
		rules     func(*kraft.Rules)
		want      string
		restarted bool
	}{
		{"4.1 and later tell the leader once", func(*kraft.Rules) {}, "SendUpdateVoter", true},
		{"4.0 does not at kraft.version 0", func(r *kraft.Rules) {
			r.UpgradeKRaftVersion, r.UpdateVoterRestartIfSent = false, false
		}, "SendFetch", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := staticConfig(3)
			tt.rules(&cfg.Rules)
			s := newStage(cfg).follow(2, 1)
			list := s.act(kraft.UpdateVoterTimer)
			if got := lines(list); len(got) != 1 || got[0][:len(tt.want)] != tt.want {
				t.Errorf("did %v", got)
			}
			if _, ok := timer(list, kraft.UpdateVoterTimer); ok != tt.restarted {
				t.Errorf("restarted %t", ok)
			}
		})
	}
}

// While the leader's connection is busy, an update is not sent; since 4.1 it is tried again in the next turn.
func TestFollower_UpdateWaitsForTheConnection(t *testing.T) {
	for _, restart := range []bool{true, false} {
		cfg := staticConfig(3)
		cfg.Rules.UpdateVoterRestartIfSent = restart
		s := newStage(cfg).follow(2, 1)
		s.act()
		list := s.act(kraft.UpdateVoterTimer)
		expect(t, list)
		if _, ok := timer(list, kraft.UpdateVoterTimer); ok == restart {
			t.Errorf("rule %t: the timer starts anew: %t", restart, ok)
		}
	}
}

func TestFollower_UpdateAnswered(t *testing.T) {
	open := func(change func(*kraft.Rules)) (*stage, *kraft.ReceiveUpdateRaftVoterResponse) {
		cfg := staticConfig(3)
		change(&cfg.Rules)
		s := newStage(cfg).follow(2, 1)
		u := sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer))[0]
		return s, &kraft.ReceiveUpdateRaftVoterResponse{
			Response: response(u.Destination), LeaderID: 2, LeaderEpoch: 1, LeaderEndpoint: address(2),
		}
	}
	same := func(*kraft.Rules) {}
	updated := func(s *stage) bool { return s.machine.Role().(*kraft.Follower).UpdatedLeader }

	for _, err := range []kraft.ErrorCode{kraft.None, kraft.UnsupportedVersion} {
		s, r := open(same)
		r.Error = err
		s.on(r)
		if !updated(s) || !s.machine.Role().(*kraft.Follower).FetchedFromLeader {
			t.Errorf("%v: not taken down", err)
		}
	}
	s, r := open(same)
	r.Error = kraft.VoterNotFound
	s.on(r)
	checkBackingOff(t, s, 2)

	// A request that failed counts as stale: no backoff.
	s, r = open(same)
	r.Error = kraft.BrokerNotAvailable
	s.on(&kraft.RequestFailed{Response: r.Response, API: kraft.UpdateRaftVoterAPI})
	if got := s.machine.Inspect().Connections; len(got) != 0 || updated(s) {
		t.Errorf("connections %v", got)
	}

	s, r = open(same)
	r.Error, r.LeaderID, r.LeaderEpoch, r.LeaderEndpoint = kraft.NotLeaderOrFollower, 8, 2, address(8)
	s.on(r)
	if f := s.machine.Role().(*kraft.Follower); f.Leader != 8 || !f.LeaderEndpoints.Equal(endpoints(8)) {
		t.Errorf("follows %v", f)
	}
	// Before 4.1 the endpoint was taken only where there is none.
	s, r = open(func(r *kraft.Rules) { r.UpdateVoterEndpoint = false })
	r.Error, r.LeaderID, r.LeaderEpoch, r.LeaderEndpoint = kraft.NotLeaderOrFollower, 8, 2, address(8)
	if got := fatal(s.on(r)); got != "unknown-endpoints" {
		t.Errorf("fatal %q", got)
	}
}

// Before 4.1 an answer that says nothing about the leader has no effect.
func TestFollower_UpdateAnsweredBefore41(t *testing.T) {
	s := dynamicStage(3)
	s.config.Rules.UpgradeKRaftVersion, s.config.KRaftVersions.Max = false, 2
	s = newStageOn(s.config, s.log).follow(2, 1)
	u := sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer))[0]
	s.on(&kraft.ReceiveUpdateRaftVoterResponse{Response: response(u.Destination), LeaderID: 2, LeaderEpoch: 1})
	if f := s.machine.Role().(*kraft.Follower); f.UpdatedLeader || f.FetchedFromLeader {
		t.Errorf("%v", f)
	}
}

// An answer that comes to another role than Follower ends the process.
func TestUpdateVoterResponse_OnlyForFollowers(t *testing.T) {
	var s *stage
	for _, api := range []kraft.APIKey{kraft.AddRaftVoterAPI, kraft.RemoveRaftVoterAPI} {
		s = newStage(staticConfig(3))
		to := sent[kraft.SendFetch](s.act())[0]
		r := response(to.Destination)
		var got string
		if api == kraft.AddRaftVoterAPI {
			got = fatal(s.on(&kraft.ReceiveAddRaftVoterResponse{Response: r}))
		} else {
			got = fatal(s.on(&kraft.ReceiveRemoveRaftVoterResponse{Response: r}))
		}
		if got != "response-in-role" {
			t.Errorf("%v: fatal %q", api, got)
		}
	}
	s = newStage(staticConfig(3))
	to := sent[kraft.SendFetch](s.act())[0]
	if got := fatal(s.on(&kraft.ReceiveUpdateRaftVoterResponse{Response: response(to.Destination), LeaderID: -1})); got != "unexpected-role" {
		t.Errorf("fatal %q", got)
	}
}

// joining is an observer that wants to become a voter.
func joining(id kraft.NodeID, dir kraft.DirectoryID) *stage {
	s := dynamicStage(3)
	cfg := s.config
	cfg.ID, cfg.DirectoryID, cfg.AutoJoin, cfg.Endpoints = id, dir, true, endpoints(id)
	return newStageOn(cfg, s.log).follow(2, 1)
}

func TestAutoJoin_AddsItselfOrRemovesItsFormerSelf(t *testing.T) {
	s := joining(9, directory(9))
	add := s.act(kraft.UpdateVoterTimer)
	expect(t, add, "SendAddRaftVoter(to=2@node2:9093 corr=0 voter=9/AAAAAAAAAAAAAAAAAAAACg at=[CONTROLLER=node9:9093])")
	expect(t, s.act(kraft.UpdateVoterTimer)) // the connection is busy
	for _, tt := range []struct {
		err     kraft.ErrorCode
		success bool
	}{{kraft.None, true}, {kraft.RequestTimedOut, true}, {kraft.DuplicateVoter, true}, {kraft.VoterNotFound, false}} {
		s := joining(9, directory(9))
		r := response(sent[kraft.SendAddRaftVoter](s.act(kraft.UpdateVoterTimer))[0].Destination)
		r.Error = tt.err
		if _, ok := timer(s.on(&kraft.ReceiveAddRaftVoterResponse{Response: r}), kraft.UpdateVoterTimer); ok != tt.success {
			t.Errorf("%v: success %t", tt.err, ok)
		}
	}
	s = joining(3, directory(9))
	remove := s.act(kraft.UpdateVoterTimer)
	expect(t, remove, "SendRemoveRaftVoter(to=2@node2:9093 corr=0 voter=3/AAAAAAAAAAAAAAAAAAAABA)")
	r := response(sent[kraft.SendRemoveRaftVoter](remove)[0].Destination)
	r.Error = kraft.VoterNotFound
	if _, ok := timer(s.on(&kraft.ReceiveRemoveRaftVoterResponse{Response: r}), kraft.UpdateVoterTimer); !ok {
		t.Error("VOTER_NOT_FOUND is no success")
	}
}

// A leader that knows only version 0 of AddRaftVoter cannot be told not to wait: a failure.
func TestAutoJoin_FailsWithAnOldLeader(t *testing.T) {
	for id, api := range map[kraft.NodeID]kraft.APIKey{9: kraft.AddRaftVoterAPI, 3: kraft.RemoveRaftVoterAPI} {
		s := joining(id, directory(99))
		s.act(kraft.UpdateVoterTimer)
		s.on(&kraft.RequestFailed{Response: kraft.Response{From: 2, Error: kraft.UnsupportedVersion}, API: api})
		checkBackingOff(t, s, 2)
	}
}

func TestObserver_AfterAFetchTimeoutByRelease(t *testing.T) {
	open := func(keeps bool) *stage {
		cfg := staticConfig(3)
		cfg.ID, cfg.DirectoryID, cfg.Rules.ObserverKeepsLeader = 9, directory(9), keeps
		return newStage(cfg).follow(2, 1)
	}
	expect(t, open(true).act(kraft.FetchTimer), "SendFetch(to=2@node2:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
	expect(t, open(false).act(), "SendFetch(to=2@node2:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
	expect(t, open(false).act(kraft.FetchTimer), "SendFetch(to=1@node1:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
	s := open(true)
	s.on(&kraft.Shutdown{TimeoutMs: 100})
	expect(t, s.act(), "ShutdownDone(ok=true)")
}

func TestFollower_LeaderWithoutChannelListenerEndsTheProcess(t *testing.T) {
	for _, due := range [][]kraft.TimerKind{nil, {kraft.UpdateVoterTimer}} {
		s := newStage(staticConfig(3))
		e := begin(2, 1)
		e.LeaderEndpoints = kraft.NewEndpoints(kraft.Endpoint{Name: "OTHER", Address: address(2)})
		s.on(e)
		if got := fatal(s.act(due...)); got != "no-endpoint" {
			t.Errorf("due %v: fatal %q", due, got)
		}
	}
}

func TestSendFetch_ByRelease(t *testing.T) {
	cfg := staticConfig(3)
	cfg.Rules.FetchHighWatermark, cfg.Rules.ConfiguredFetchBytes = false, false
	s := newStage(cfg).follow(2, 1)
	f := sent[kraft.SendFetch](s.act())[0]
	if f.MaxBytes != 8<<20 || f.HighWatermark != 1<<63-1 {
		t.Errorf("%v with %d bytes", &f, f.MaxBytes)
	}
	r := &kraft.ReceiveFetchResponse{
		Response: response(f.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: 1},
		Diverging: kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: 9, Epoch: 1},
	}
	s.on(r)
	if f := sent[kraft.SendFetchSnapshot](s.act())[0]; f.MaxBytes != 8<<20 {
		t.Errorf("%v with %d bytes", &f, f.MaxBytes)
	}
	if f := sent[kraft.SendFetch](followerStage().act())[0]; f.MaxBytes != 1<<20 || f.HighWatermark != -1 || f.MaxWaitMs != 500 {
		t.Errorf("%v with %d bytes", &f, f.MaxBytes)
	}
}

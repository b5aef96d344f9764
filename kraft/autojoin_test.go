package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// Who joins by itself: a controller that may, at kraft.version 1, when its timer has run out. All others only fetch (Kafka:
// pollFollowerAsObserver, shouldSendAddOrRemoveVoterRequest).
func TestAutoJoin_OnlyWhoMay(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.Config)
		due    []kraft.TimerKind
		joins  bool
	}{
		{"a controller", func(*kraft.Config) {}, []kraft.TimerKind{kraft.UpdateVoterTimer}, true},
		{"before its time", func(*kraft.Config) {}, nil, false},
		{"a broker", func(c *kraft.Config) { c.CanBecomeVoter = false }, []kraft.TimerKind{kraft.UpdateVoterTimer}, false},
		{"not configured", func(c *kraft.Config) { c.AutoJoin = false }, []kraft.TimerKind{kraft.UpdateVoterTimer}, false},
		{"an older release", func(c *kraft.Config) { c.Rules.AutoJoin = false }, []kraft.TimerKind{kraft.UpdateVoterTimer}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := joining(9, directory(9))
			cfg := s.config
			tt.change(&cfg)
			s = newStageOn(cfg, s.log).follow(2, 1)
			list := s.act(tt.due...)
			if adds, fetches := len(sent[kraft.SendAddRaftVoter](list)), len(sent[kraft.SendFetch](list)); adds+fetches != 1 || (adds == 1) != tt.joins {
				t.Errorf("did %v", lines(list))
			}
		})
	}
	cfg := staticConfig(3)
	cfg.ID, cfg.DirectoryID, cfg.AutoJoin = 9, directory(9), true
	expect(t, newStage(cfg).follow(2, 1).act(kraft.UpdateVoterTimer), "SendFetch(to=2@node2:9093 corr=0 epoch=1 offset=0 last=0 hw=-1)")
}

// It asks again a period later for as long as the voter set has not changed, and removes its former self before it adds itself.
func TestAutoJoin_UntilTheVoterSetSaysSo(t *testing.T) {
	s := joining(3, directory(9))
	voters := func(keys ...kraft.Voter) {
		b := batch(s.log.End, s.log.End, 1)
		b.Control = []kraft.ControlRecord{{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(keys...)}}
		s.on(s.fetched(t, b))
	}
	remove := func() {
		t.Helper()
		list := sent[kraft.SendRemoveRaftVoter](s.act(kraft.UpdateVoterTimer))
		if len(list) != 1 || list[0].Voter != dynamicVoter(3).Key {
			t.Fatalf("removes %v", list)
		}
		s.on(&kraft.ReceiveRemoveRaftVoterResponse{Response: response(list[0].Destination)})
	}
	add := func() {
		t.Helper()
		list := sent[kraft.SendAddRaftVoter](s.act(kraft.UpdateVoterTimer))
		if len(list) != 1 || list[0].Voter != (kraft.ReplicaKey{ID: 3, DirectoryID: directory(9)}) {
			t.Fatalf("adds %v", list)
		}
		s.on(&kraft.ReceiveAddRaftVoterResponse{Response: response(list[0].Destination)})
	}
	remove()
	remove()
	voters(dynamicVoter(1), dynamicVoter(2))
	add()
	add()
	self := dynamicVoter(3)
	self.Key.DirectoryID = directory(9)
	voters(dynamicVoter(1), dynamicVoter(2), self)
	list := s.act(kraft.UpdateVoterTimer)
	if len(sent[kraft.SendFetch](list)) != 1 {
		t.Errorf("a voter did %v", lines(list))
	}
}

// At kraft.version 0 a voter tells each leader once. At version 1 it tells only what differs from its entry, and starts its timer
// anew if there is nothing to tell.
func TestFollower_TellsWhatTheLeaderDoesNotKnow(t *testing.T) {
	answer := func(s *stage, u kraft.SendUpdateVoter, err kraft.ErrorCode) {
		r := response(u.Destination)
		r.Error = err
		s.on(&kraft.ReceiveUpdateRaftVoterResponse{Response: r, LeaderID: 2, LeaderEpoch: s.epoch(), LeaderEndpoint: address(2)})
	}
	for _, err := range []kraft.ErrorCode{kraft.None, kraft.UnsupportedVersion} {
		s := followerStage()
		answer(s, sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer))[0], err)
		for range 3 {
			if got := sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer)); len(got) != 0 {
				t.Errorf("after %v it is told again", err)
			}
			s.act()
		}
		s.follow(2, 2) // the same node, but another leadership
		if got := sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer)); len(got) != 1 || got[0].Epoch != 2 {
			t.Errorf("after %v the next leadership is told %v", err, got)
		}
	}
	s := dynamicStage(3).follow(2, 1)
	list := s.act(kraft.UpdateVoterTimer)
	if _, ok := timer(list, kraft.UpdateVoterTimer); !ok || len(sent[kraft.SendFetch](list)) != 1 || len(lines(list)) != 1 {
		t.Errorf("an entry that is right: %v", lines(list))
	}
	cfg := s.config
	cfg.Endpoints = kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: address(1)}, kraft.Endpoint{Name: "SECOND"})
	s = newStageOn(cfg, s.log).follow(2, 1)
	u := sent[kraft.SendUpdateVoter](s.act(kraft.UpdateVoterTimer))
	if len(u) != 1 || !u[0].Voter.Endpoints.Equal(cfg.Endpoints) {
		t.Fatalf("an entry that is wrong: %v", u)
	}
	answer(s, u[0], kraft.None)
	expect(t, s.act(), "SendFetch(to=2@node2:9093 corr=1 epoch=1 offset=0 last=0 hw=-1)")
}

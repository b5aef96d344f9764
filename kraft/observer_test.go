package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// Observers never run for office, whatever timer has run out; they ask on.
func TestObserver_NeverRuns(t *testing.T) {
	cfg := staticConfig(3)
	cfg.ID, cfg.DirectoryID = 9, directory(9)
	s := newStage(cfg)
	for range 2 {
		if got := s.on(&kraft.RoleAction{Choice: 1}, kraft.ElectionTimer); len(sent[kraft.SendFetch](got)) != 1 || s.kind() != kraft.UnattachedRole {
			t.Errorf("%v did %v", s.kind(), lines(got))
		}
		e := vote(s.epoch()+1, longLog)
		e.VoterID = kraft.NoNode
		if got := sent[kraft.ReplyVote](s.on(e)); !got[0].VoteGranted {
			t.Errorf("refuses its vote: %v", got)
		}
	}
	s.follow(2, 9)
	if s.act(kraft.FetchTimer, kraft.ElectionTimer); s.kind() != kraft.FollowerRole {
		t.Errorf("becomes %v", s.kind())
	}
}

// A node without an id is an observer that finds its leader, and takes what it has (tools do so). It can vote for nobody, and does not resign.
func TestAnonymous_FollowsAndFetches(t *testing.T) {
	cfg := staticConfig(2)
	cfg.ID, cfg.BootstrapServers = kraft.NoNode, []kraft.Address{address(2), address(1)}
	s := newStage(cfg)
	r := s.fetched(t)
	r.PartitionAnswer = kraft.PartitionAnswer{
		Error: kraft.FencedLeaderEpoch, LeaderID: 2, LeaderEpoch: 5, HasEndpoint: true, LeaderEndpoint: address(2),
	}
	s.on(r)
	f := s.fetched(t, batch(0, 2, 3))
	expect(t, s.on(f), "AppendFetched(1 batches [0..2])", "FlushLog")
	expect(t, s.on(&kraft.Resign{Epoch: 5}), "Refused(not-leader)")
	list := sent[kraft.SendFetch](s.act())
	if len(list) != 1 || list[0].Replica.ID != kraft.NoNode || list[0].FetchOffset != 3 || list[0].LastFetchedEpoch != 3 {
		t.Errorf("asks %v", list)
	}
}

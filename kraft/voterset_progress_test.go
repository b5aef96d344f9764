package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// expectHighWatermark compares what the leader knows to be committed.
func (s *stage) expectHighWatermark(t *testing.T, when string, want kraft.Offset) {
	t.Helper()
	if got := s.machine.Role().(*kraft.Leader).HighWatermark; got != want {
		t.Errorf("%s: high watermark %d, want %d", when, got, want)
	}
}

// grown is a leader with a log of single records that ends at 13.
func grown(t *testing.T, voters int) *stage {
	t.Helper()
	s := dynamicLeader(voters) // 0..2 begin the epoch
	for range 10 {
		s.append(t, 1)
	}
	return s
}

// add makes node 4, which has caught up, a voter: its record is in the log, and not committed.
func (s *stage) add(t *testing.T) {
	t.Helper()
	probe := sent[kraft.SendAPIVersions](s.on(addVoter(4)))
	if len(probe) != 1 {
		t.Fatal("node 4 is not asked")
	}
	s.on(supports(probe[0], 1))
	s.act()
}

// A new voter brings its progress along, so that the high watermark may rise with the voter set alone (Kafka:
// LeaderState.updateLocalState, updateVoterAndObserverStates).
func TestHighWatermark_RisesWithANewVoter(t *testing.T) {
	s := grown(t, 2)
	s.on(s.fetch(2, 8, 0))
	s.expectHighWatermark(t, "two voters, one of them at 8", 8)
	s.on(s.fetch(4, 13, 0))
	s.expectHighWatermark(t, "an observer at 13", 8)
	s.add(t)
	s.expectHighWatermark(t, "it is a voter", 13)
	s.on(s.fetch(4, 14, 0))
	s.expectHighWatermark(t, "and has the record that made it one", 14)
}

func TestHighWatermark_DoesNotFallWithANewVoter(t *testing.T) {
	s := grown(t, 3)
	s.on(s.fetch(4, 13, 0)) // it has caught up once
	s.on(s.fetch(2, 13, 0))
	s.on(s.fetch(3, 5, 0))
	s.on(s.fetch(4, 5, 0))
	s.expectHighWatermark(t, "two of three at 13", 13)
	s.add(t)
	s.expectHighWatermark(t, "two of four at 13", 13)
	s.on(s.fetch(3, 9, 0))
	s.on(s.fetch(4, 9, 0))
	s.expectHighWatermark(t, "a majority only at 9", 13)
	s.on(s.fetch(2, 14, 0))
	s.expectHighWatermark(t, "two of four at 14", 13)
	s.on(s.fetch(4, 14, 0))
	s.expectHighWatermark(t, "three of four at 14", 14)
}

func TestHighWatermark_DoesNotFallWithoutAVoter(t *testing.T) {
	for _, removed := range []kraft.NodeID{1, 2} {
		s := grown(t, 3)
		s.on(s.fetch(2, 13, 0))
		s.on(s.fetch(3, 5, 0))
		s.on(removeVoter(removed))
		s.act()
		s.expectHighWatermark(t, "of the two that are left one is at 5", 13)
		s.on(s.fetch(2, 14, 0))
		s.on(s.fetch(3, 12, 0))
		s.expectHighWatermark(t, "a majority only at 12", 13)
		s.on(s.fetch(3, 14, 0))
		s.expectHighWatermark(t, "both at 14", 14)
	}
}

// The majority that keeps a leader in office is that of the voters in force; a leader that is no voter does not count itself (Kafka:
// LeaderState.updateCheckQuorumForFollowingVoter).
func TestCheckQuorum_FollowsTheVoterSet(t *testing.T) {
	s := grown(t, 3)
	s.on(s.fetch(4, 13, 0))
	fetched := func(from kraft.NodeID) bool {
		_, ok := timer(s.on(s.fetch(from, s.log.End, 0)), kraft.CheckQuorumTimer)
		return ok
	}
	check := func(when string, from kraft.NodeID, want bool) {
		t.Helper()
		if got := fetched(from); got != want {
			t.Errorf("%s, a Fetch of node %v: starts anew %t", when, from, got)
		}
	}
	check("three voters", 2, true)
	s.add(t)
	check("four voters", 2, false)
	check("four voters", 3, true)
	fetched(2)
	fetched(3) // the addition is committed
	s.on(removeVoter(1))
	s.act()
	for _, r := range s.machine.Role().(*kraft.Leader).Voters {
		if r.Key.ID == 1 {
			t.Fatal("node 1 is still a voter")
		}
	}
	check("three voters without the leader", 4, false)
	check("three voters without the leader", 2, true)
}

// At kraft.version 0 a voter is known by its id, with the upgrade it gets the directory id that it told, and keeps its progress.
func TestUpgrade_KeepsTheProgressOfTheVoters(t *testing.T) {
	s := leaderStage(3)
	s.append(t, 1)
	s.append(t, 1)
	s.on(s.fetch(2, 3, 0))
	s.expectHighWatermark(t, "two of three at 3", 3)
	s.on(updateVoter(2))
	expect(t, s.on(&kraft.UpgradeKRaftVersion{Epoch: 1, Version: 1}), "Refused(invalid-upgrade)") // node 3 has not told
	s.on(updateVoter(3))
	s.on(&kraft.UpgradeKRaftVersion{Epoch: 1, Version: 1})
	s.act()
	l := s.machine.Role().(*kraft.Leader)
	if len(l.Observers) != 0 || len(l.Voters) != 3 || l.Voters[1].End != 3 || l.Voters[1].Key != dynamicVoter(2).Key {
		t.Fatalf("voters %v, observers %v", l.Voters, l.Observers)
	}
	s.on(s.fetch(3, 5, 0))
	s.expectHighWatermark(t, "two of three at 5", 5)
	// The version in force now allows an update of the recorded entry.
	e := updateVoter(2)
	e.Endpoints = kraft.NewEndpoints(
		kraft.Endpoint{Name: "CONTROLLER", Address: address(2)}, kraft.Endpoint{Name: "SECOND", Address: address(2)})
	s.on(e)
	if got := sent[kraft.AppendControl](s.act()); len(got) != 1 || got[0].Control[0].Type != kraft.VotersRecord {
		t.Errorf("appended %v", got)
	}
}

package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func addVoter(id kraft.NodeID) *kraft.ReceiveAddRaftVoter {
	return &kraft.ReceiveAddRaftVoter{
		Request: request(7, 1), Voter: dynamicVoter(id).Key, Endpoints: endpoints(id), AckWhenCommitted: true,
	}
}

func removeVoter(id kraft.NodeID) *kraft.ReceiveRemoveRaftVoter {
	return &kraft.ReceiveRemoveRaftVoter{Request: request(7, 0), Voter: dynamicVoter(id).Key}
}

func updateVoter(id kraft.NodeID) *kraft.ReceiveUpdateRaftVoter {
	return &kraft.ReceiveUpdateRaftVoter{
		Request: request(7, 0), FetchEpoch: 1, Voter: dynamicVoter(id).Key, Endpoints: endpoints(id), Versions: kraft.VersionRange{Max: 1},
	}
}

// uncommitted is a leader of this epoch that does not know the high watermark yet.
func uncommitted() *stage { return dynamicStage(3).toLeader() }

func TestAddVoter_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		stage  func() *stage
		change func(*kraft.ReceiveAddRaftVoter)
		want   kraft.ErrorCode
		text   kraft.Message
	}{
		{
			"another cluster", followerStage, func(e *kraft.ReceiveAddRaftVoter) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			kraft.InconsistentClusterID, kraft.TextMessage,
		},
		{"not the leader", followerStage, nil, kraft.NotLeaderOrFollower, kraft.EmptyMessage},
		{"no voter", dyn3, func(e *kraft.ReceiveAddRaftVoter) { e.Voter.ID = -1 }, kraft.InvalidRequest, kraft.TextMessage},
		{
			"no directory id", dyn3, func(e *kraft.ReceiveAddRaftVoter) { e.Voter.DirectoryID = kraft.DirectoryID{} },
			kraft.InvalidRequest, kraft.TextMessage,
		},
		{"no endpoint for the channel listener", dyn3, func(e *kraft.ReceiveAddRaftVoter) {
			e.Endpoints = kraft.NewEndpoints(kraft.Endpoint{Name: "OTHER"})
		}, kraft.InvalidRequest, kraft.TextMessage},
		{"high watermark unknown", uncommitted, nil, kraft.RequestTimedOut, kraft.TextMessage},
		{"kraft.version 0", func() *stage { return leaderStage(3) }, nil, kraft.UnsupportedVersion, kraft.TextMessage},
		{"a voter already", dyn3, func(e *kraft.ReceiveAddRaftVoter) { e.Voter.ID = 2 }, kraft.DuplicateVoter, kraft.TextMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := addVoter(4)
			if tt.change != nil {
				tt.change(e)
			}
			got := sent[kraft.ReplyAddRaftVoter](tt.stage().on(e))
			if len(got) != 1 || got[0].Error != tt.want || got[0].Message != tt.text {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func dyn3() *stage { return dynamicLeader(3) }

// probed is a leader that has asked node 4 what it supports.
func probed(t *testing.T, change func(*kraft.Rules)) (*stage, kraft.SendAPIVersions) {
	t.Helper()
	s := dynamicLeader(3)
	if change != nil {
		cfg := s.config
		change(&cfg.Rules)
		s = newStageOn(cfg, dynamicStage(3).log).toLeader()
		for i := kraft.NodeID(2); i <= 3; i++ {
			s.on(s.fetch(i, s.log.End, 0))
		}
	}
	s.on(s.fetch(4, s.log.End, 0)) // it has caught up
	list := s.on(addVoter(4))
	probes := sent[kraft.SendAPIVersions](list)
	if len(probes) != 1 || len(lines(list)) != 1 {
		t.Fatalf("did %v", lines(list))
	}
	return s, probes[0]
}

func supports(to kraft.SendAPIVersions, most int16) *kraft.ReceiveAPIVersionsResponse {
	return &kraft.ReceiveAPIVersionsResponse{
		Response: response(to.Destination), HasKRaftVersion: true, KRaftVersions: kraft.VersionRange{Max: most},
	}
}

func TestAddVoter_IsAnsweredWhenCommitted(t *testing.T) {
	s, probe := probed(t, nil)
	expect(t, s.on(supports(probe, 1)))
	if got := s.act(); len(lines(got)) != 2 {
		t.Errorf("did %v", lines(got))
	}
	if got := s.machine.Inspect(); got.Voters.Len() != 4 || got.VotersOffset != 3 {
		t.Fatalf("voters %v at %d", got.Voters, got.VotersOffset)
	}
	if l := s.machine.Role().(*kraft.Leader); len(l.Voters) != 4 || l.Voters[3].End != 3 || len(l.Observers) != 0 {
		t.Errorf("the new voter keeps its progress: %v", l)
	}
	// A second change while the first is pending.
	if got := sent[kraft.ReplyAddRaftVoter](s.on(addVoter(5))); got[0].Error != kraft.RequestTimedOut {
		t.Errorf("while pending: %v", got)
	}
	s.on(s.fetch(2, 4, 0))
	expect(t, s.on(s.fetch(4, 4, 0)), // a majority of the new set
		"AdvanceHighWatermark(4)", "ReplyAddRaftVoter(#7)", "ReplyFetch(#4 leader=1 epoch=1 at=node1:9093 hw=4 start=0)")
}

func TestAddVoter_IsAnsweredWhenQueuedIfAskedTo(t *testing.T) {
	s := dynamicLeader(3)
	s.on(s.fetch(4, s.log.End, 0))
	e := addVoter(4)
	e.AckWhenCommitted = false
	probe := sent[kraft.SendAPIVersions](s.on(e))[0]
	expect(t, s.on(supports(probe, 1)), "ReplyAddRaftVoter(#7)")
	s.act()
	s.on(s.fetch(2, 4, 0))
	if got := s.on(s.fetch(3, 4, 0)); len(sent[kraft.ReplyAddRaftVoter](got)) != 0 {
		t.Error("answered twice")
	}
	if got := s.machine.Role().(*kraft.Leader).Change.Kind; got != kraft.NoChange {
		t.Errorf("still pending: %v", got)
	}
}

func TestAddVoter_EndsWithoutAVoter(t *testing.T) {
	tests := []struct {
		name   string
		on     func(*stage, kraft.SendAPIVersions) []kraft.Action
		want   kraft.ErrorCode
		text   kraft.Message
		rules  func(*kraft.Rules)
		silent bool
	}{
		{name: "it cannot be asked", on: func(s *stage, to kraft.SendAPIVersions) []kraft.Action {
			r := response(to.Destination)
			r.Error = kraft.BrokerNotAvailable
			return s.on(&kraft.RequestFailed{Response: r, API: kraft.APIVersionsAPI})
		}, want: kraft.RequestTimedOut, text: kraft.TextMessage},
		{name: "it does not know kraft.version", on: func(s *stage, to kraft.SendAPIVersions) []kraft.Action {
			return s.on(&kraft.ReceiveAPIVersionsResponse{Response: response(to.Destination)})
		}, want: kraft.InvalidRequest, text: kraft.TextMessage},
		{name: "it supports only version 0", on: func(s *stage, to kraft.SendAPIVersions) []kraft.Action {
			return s.on(supports(to, 0))
		}, want: kraft.InvalidRequest, text: kraft.TextMessage},
		{name: "it has not fetched for an hour", on: func(s *stage, to kraft.SendAPIVersions) []kraft.Action {
			due := kraft.Timer{Kind: kraft.CaughtUpTimer, Peer: dynamicVoter(4).Key}
			return s.at(supports(to, 1), kraft.Clock{Now: s.now, Due: kraft.Timers(due)})
		}, want: kraft.RequestTimedOut, text: kraft.TextMessage},
		{name: "time is over", on: func(s *stage, _ kraft.SendAPIVersions) []kraft.Action {
			return s.act(kraft.VoterChangeTimer)
		}, want: kraft.RequestTimedOut, text: kraft.DefaultMessage},
		{name: "leadership is lost", on: func(s *stage, _ kraft.SendAPIVersions) []kraft.Action {
			return s.on(begin(2, 9))
		}, want: kraft.NotLeaderOrFollower, text: kraft.DefaultMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, probe := probed(t, tt.rules)
			got := sent[kraft.ReplyAddRaftVoter](tt.on(s, probe))
			if len(got) != 1 || got[0].Error != tt.want || got[0].Message != tt.text {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Before KIP-1186 every addition waits for its commit; before KAFKA-18061 success had a text.
func TestAddVoter_RulesOfReleases(t *testing.T) {
	s, probe := probed(t, func(r *kraft.Rules) { r.NullSuccessMessage, r.AckWhenCommitted = false, false })
	s.on(supports(probe, 1))
	s.act()
	s.on(s.fetch(2, 4, 0))
	got := sent[kraft.ReplyAddRaftVoter](s.on(s.fetch(3, 4, 0)))
	if len(got) != 1 || got[0].Message != kraft.DefaultMessage {
		t.Errorf("got %v", got)
	}
}

func TestAddVoter_NeedsAReadyConnection(t *testing.T) {
	s, probe := probed(t, nil)
	r := response(probe.Destination)
	r.Error = kraft.BrokerNotAvailable
	s.on(&kraft.RequestFailed{Response: r, API: kraft.APIVersionsAPI})
	if got := sent[kraft.ReplyAddRaftVoter](s.on(addVoter(4))); len(got) != 1 || got[0].Error != kraft.RequestTimedOut {
		t.Errorf("while its connection backs off: %v", got)
	}
	// An answer that comes when nothing is pending any more changes nothing.
	s, probe = probed(t, nil)
	s.act(kraft.VoterChangeTimer)
	expect(t, s.on(supports(probe, 1)))
	s, probe = probed(t, nil)
	s.machine.Role().(*kraft.Leader).Change.LastOffset = 3
	expect(t, s.on(supports(probe, 1)))
}

func TestRemoveVoter_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		stage  func() *stage
		change func(*kraft.ReceiveRemoveRaftVoter)
		want   kraft.ErrorCode
		text   kraft.Message
	}{
		{
			"another cluster", dyn3, func(e *kraft.ReceiveRemoveRaftVoter) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			kraft.InconsistentClusterID, kraft.TextMessage,
		},
		{"not the leader", followerStage, nil, kraft.NotLeaderOrFollower, kraft.EmptyMessage},
		{"no voter", dyn3, func(e *kraft.ReceiveRemoveRaftVoter) { e.Voter.ID = -1 }, kraft.InvalidRequest, kraft.TextMessage},
		{
			"no directory id", dyn3, func(e *kraft.ReceiveRemoveRaftVoter) { e.Voter.DirectoryID = kraft.DirectoryID{} },
			kraft.InvalidRequest, kraft.TextMessage,
		},
		{"high watermark unknown", uncommitted, nil, kraft.RequestTimedOut, kraft.TextMessage},
		{"kraft.version 0", func() *stage { return leaderStage(3) }, nil, kraft.UnsupportedVersion, kraft.TextMessage},
		{
			"another directory", dyn3, func(e *kraft.ReceiveRemoveRaftVoter) { e.Voter.DirectoryID = directory(9) },
			kraft.VoterNotFound, kraft.TextMessage,
		},
		{"no such voter", dyn3, func(e *kraft.ReceiveRemoveRaftVoter) { e.Voter.ID = 9 }, kraft.VoterNotFound, kraft.TextMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := removeVoter(3)
			if tt.change != nil {
				tt.change(e)
			}
			got := sent[kraft.ReplyRemoveRaftVoter](tt.stage().on(e))
			if len(got) != 1 || got[0].Error != tt.want || got[0].Message != tt.text {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	s := dynamicLeader(1)
	s.act()
	if got := sent[kraft.ReplyRemoveRaftVoter](s.on(removeVoter(1))); got[0].Error != kraft.VoterNotFound {
		t.Errorf("the last voter: %v", got)
	}
}

// A leader that removes itself stays in office without a vote until that is committed.
func TestRemoveVoter_LeaderRemovesItself(t *testing.T) {
	s := dynamicLeader(3)
	expect(t, s.on(removeVoter(1)))
	s.act()
	l := s.machine.Role().(*kraft.Leader)
	if len(l.Voters) != 2 || len(l.Observers) != 1 || l.Observers[0].Key.ID != 1 {
		t.Fatalf("voters %v, observers %v", l.Voters, l.Observers)
	}
	s.on(s.fetch(2, 4, 0))
	expect(t, s.on(s.fetch(3, 4, 0)),
		"AdvanceHighWatermark(4)", "ReplyRemoveRaftVoter(#7)", "ReplyFetch(#3 leader=1 epoch=1 at=node1:9093 hw=4 start=0)")
	expect(t, s.act(), "TransitionedTo(Resigned epoch=1 leader=1)")
	if got := s.machine.Role().(*kraft.Resigned); len(got.Unacked) != 2 || len(got.Successors) != 2 {
		t.Errorf("resigned %v", got)
	}
	s.act(kraft.ElectionTimer)
	s.act(kraft.ElectionTimer)
	if s.kind() != kraft.UnattachedRole {
		t.Errorf("a removed leader becomes %v", s.kind())
	}
}

func TestRemoveVoter_TimesOutButStaysInTheLog(t *testing.T) {
	s := dynamicLeader(3)
	s.on(removeVoter(3))
	s.act()
	got := sent[kraft.ReplyRemoveRaftVoter](s.act(kraft.VoterChangeTimer))
	if len(got) != 1 || got[0].Error != kraft.RequestTimedOut || s.machine.Inspect().Voters.Len() != 2 {
		t.Errorf("got %v, voters %v", got, s.machine.Inspect().Voters)
	}
	// The uncommitted record blocks the next change.
	if got := sent[kraft.ReplyRemoveRaftVoter](s.on(removeVoter(2))); got[0].Error != kraft.RequestTimedOut {
		t.Errorf("next change: %v", got)
	}
}

func TestUpdateVoter_ChecksInOrder(t *testing.T) {
	static := func() *stage { return leaderStage(3) }
	tests := []struct {
		name   string
		stage  func() *stage
		change func(*kraft.ReceiveUpdateRaftVoter)
		want   kraft.ErrorCode
	}{
		{
			"another cluster", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			kraft.InconsistentClusterID,
		},
		{"old epoch", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.FetchEpoch = 0 }, kraft.FencedLeaderEpoch},
		{"newer epoch", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.FetchEpoch = 2 }, kraft.UnknownLeaderEpoch},
		{"not the leader", followerStage, nil, kraft.NotLeaderOrFollower},
		{"no voter", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.ID = -1 }, kraft.InvalidRequest},
		{"no directory id", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.DirectoryID = kraft.DirectoryID{} }, kraft.InvalidRequest},
		{"no endpoint", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Endpoints = kraft.Endpoints{} }, kraft.InvalidRequest},
		{"negative version", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Versions.Min = -1 }, kraft.InvalidRequest},
		{"empty range", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Versions = kraft.VersionRange{Min: 2, Max: 1} }, kraft.InvalidRequest},
		{"high watermark unknown", uncommitted, nil, kraft.RequestTimedOut},
		{"version in force not supported", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Versions = kraft.VersionRange{} }, kraft.InvalidRequest},
		{"no such voter", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.ID = 9 }, kraft.VoterNotFound},
		{"another directory", dyn3, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.DirectoryID = directory(9) }, kraft.VoterNotFound},
		{"fine", dyn3, nil, kraft.None},
		{"fine at version 0", static, nil, kraft.None},
		{"another directory at version 0", static, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.DirectoryID = directory(9) }, kraft.None},
		{"no such voter at version 0", static, func(e *kraft.ReceiveUpdateRaftVoter) { e.Voter.ID = 9 }, kraft.VoterNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := updateVoter(2)
			if tt.change != nil {
				tt.change(e)
			}
			got := sent[kraft.ReplyUpdateRaftVoter](tt.stage().on(e))
			if len(got) != 1 || got[0].Error != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := fatal(dyn3().on(updateVoter(1))); got != "fetch-from-leader" {
		t.Errorf("the leader itself: fatal %q", got)
	}
}

// NONE comes before the record is written; it blocks the next change.
func TestUpdateVoter_IsAnsweredAtOnce(t *testing.T) {
	s := dynamicLeader(3)
	expect(t, s.on(updateVoter(2)), "ReplyUpdateRaftVoter(#7 leader=1 epoch=1 at=node1:9093)")
	s.act()
	if got := sent[kraft.ReplyUpdateRaftVoter](s.on(updateVoter(3))); got[0].Error != kraft.RequestTimedOut {
		t.Errorf("next: %v", got)
	}
	cfg := staticConfig(3)
	cfg.Rules.UpgradeKRaftVersion = false
	old := newStage(cfg).toLeader()
	old.on(old.fetch(2, 1, 0))
	if got := sent[kraft.ReplyUpdateRaftVoter](old.on(updateVoter(2))); got[0].Error != kraft.UnsupportedVersion {
		t.Errorf("4.0 at version 0: %v", got)
	}
}

func TestUpgrade_ChecksInOrder(t *testing.T) {
	told := func() *stage {
		s := leaderStage(3)
		s.on(updateVoter(2))
		s.on(updateVoter(3))
		return s
	}
	upgrade := func(epoch kraft.Epoch, version int16) *kraft.UpgradeKRaftVersion {
		return &kraft.UpgradeKRaftVersion{Epoch: epoch, Version: version}
	}
	tests := []struct {
		name  string
		stage func() *stage
		event *kraft.UpgradeKRaftVersion
		want  string
	}{
		{"not the leader", followerStage, upgrade(1, 1), "Refused(not-leader)"},
		{"old epoch", told, upgrade(0, 1), "Refused(not-leader)"},
		{"newer epoch", told, upgrade(2, 1), "Refused(epoch-too-new)"},
		{"the version in force", told, upgrade(1, 0), "Accepted(last=0)"},
		{"a downgrade", dyn3, upgrade(1, 0), "Refused(invalid-upgrade)"},
		{"beyond what is known", dyn3, upgrade(1, 2), "Refused(invalid-upgrade)"},
		{"voters that have not told what they support", func() *stage { return leaderStage(3) }, upgrade(1, 1), "Refused(invalid-upgrade)"},
		{"fine", told, upgrade(1, 1), "Accepted(last=2)"},
		{"only to see", told, &kraft.UpgradeKRaftVersion{Epoch: 1, Version: 1, ValidateOnly: true}, "Accepted(last=0)"},
		{"no version at all", told, upgrade(1, 0), "Accepted(last=0)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { expect(t, tt.stage().on(tt.event), tt.want) })
	}
	s := told()
	s.on(upgrade(1, 1))
	expect(t, s.on(upgrade(1, 1)), "Accepted(last=2)")
	expect(t, s.on(upgrade(1, 2)), "Refused(invalid-upgrade)")
	if got := sent[kraft.ReplyUpdateRaftVoter](s.on(updateVoter(2))); got[0].Error != kraft.RequestTimedOut {
		t.Errorf("an update during the upgrade: %v", got)
	}
	s.act()
	if got := s.machine.Inspect(); got.KRaftVersion != 1 || got.VotersOffset != 2 {
		t.Errorf("version %d, voters at %d", got.KRaftVersion, got.VotersOffset)
	}
	cfg := staticConfig(3)
	cfg.Rules.UpgradeKRaftVersion = false
	expect(t, newStage(cfg).toLeader().on(upgrade(1, 1)), "Refused(upgrade-not-supported)")
}

// A voter whose directory id is not known cannot be written down.
func TestUpgrade_NeedsEveryDirectory(t *testing.T) {
	cfg := staticConfig(2)
	v := staticVoter(2)
	v.Versions.Max = 1
	cfg.StaticVoters = kraft.NewVoterSet(staticVoter(1), v)
	s := newStage(cfg).toLeader()
	expect(t, s.on(&kraft.UpgradeKRaftVersion{Epoch: 1, Version: 1}), "Refused(upgrade-inconsistent)")
}

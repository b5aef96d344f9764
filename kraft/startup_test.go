package kraft_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

func TestStart_FirstMatch(t *testing.T) {
	self, other := kraft.ReplicaKey{ID: 1, DirectoryID: directory(1)}, kraft.ReplicaKey{ID: 2, DirectoryID: directory(2)}
	tests := []struct {
		name   string
		stored *kraft.QuorumState
		change func(*kraft.Config)
		want   []string
	}{
		{
			"nothing stored", nil, nil,
			[]string{"PersistQuorumState(epoch=0 leader=-1 voted=-1)", "TransitionedTo(Unattached epoch=0 leader=-1)"},
		},
		{
			"a vote without an id", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: other},
			func(c *kraft.Config) { c.ID = kraft.NoNode },
			[]string{"Fatal(no-node-id)"},
		},
		{
			"the log is ahead", &kraft.QuorumState{Epoch: 2, Leader: 2, Voted: other}, nil,
			[]string{"PersistQuorumState(epoch=3 leader=-1 voted=-1)", "TransitionedTo(Unattached epoch=3 leader=-1)"},
		},
		{
			"it was the leader", &kraft.QuorumState{Epoch: 5, Leader: 1, Voted: self}, nil,
			[]string{"PersistQuorumState(epoch=5 leader=1 voted=-1)", "TransitionedTo(Resigned epoch=5 leader=1)"},
		},
		{"it voted for itself", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: self}, nil, []string{
			"PersistQuorumState(epoch=5 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=5 leader=-1)",
		}},
		{"it voted for itself, lost, and followed another one", &kraft.QuorumState{Epoch: 5, Leader: 2, Voted: self}, nil, []string{
			"PersistQuorumState(epoch=5 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=5 leader=-1)",
		}},
		{"the directory id of its vote was not kept", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: kraft.ReplicaKey{ID: 1}}, nil, []string{
			"PersistQuorumState(epoch=5 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=5 leader=-1)",
		}},
		{
			"it voted for itself on another disk", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: kraft.ReplicaKey{ID: 1, DirectoryID: directory(9)}},
			nil,
			[]string{
				"PersistQuorumState(epoch=5 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAACg)", "TransitionedTo(Unattached epoch=5 leader=-1)",
			},
		},
		{
			"it voted for itself but is no voter", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: self},
			func(c *kraft.Config) { c.StaticVoters = kraft.NewVoterSet(staticVoter(2), staticVoter(3)) },
			[]string{"Fatal(not-a-voter)"},
		},
		{"it followed a voter", &kraft.QuorumState{Epoch: 5, Leader: 2, Voted: other}, nil, []string{
			"PersistQuorumState(epoch=5 leader=2 voted=2/AAAAAAAAAAAAAAAAAAAAAw)", "TransitionedTo(Follower epoch=5 leader=2)",
		}},
		{
			"it followed a node that is no voter", &kraft.QuorumState{Epoch: 5, Leader: 8, Voted: kraft.NoReplica}, nil,
			[]string{"PersistQuorumState(epoch=5 leader=8 voted=-1)", "TransitionedTo(Unattached epoch=5 leader=8)"},
		},
		{"it has voted", &kraft.QuorumState{Epoch: 5, Leader: -1, Voted: other}, nil, []string{
			"PersistQuorumState(epoch=5 leader=-1 voted=2/AAAAAAAAAAAAAAAAAAAAAw)", "TransitionedTo(Unattached epoch=5 leader=-1)",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := staticConfig(3)
			log := memlog.New()
			if tt.stored != nil {
				cfg.Stored, cfg.HasStored = *tt.stored, true
				if err := log.Append(batch(0, 0, 3)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.change != nil {
				tt.change(&cfg)
			}
			expect(t, start(t, cfg, log), tt.want...)
		})
	}
}

// start makes a machine and returns what it does first.
func start(t *testing.T, cfg kraft.Config, log *memlog.Log) []kraft.Action {
	t.Helper()
	cfg.History = log.History()
	m, err := kraft.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m.OnEvent(&kraft.Start{}, log.View(), kraft.Clock{Now: 1000}, &kraft.Actions{})
}

func TestStart_TheOnlyVoterLeadsAtOnce(t *testing.T) {
	self := kraft.ReplicaKey{ID: 1, DirectoryID: directory(1)}
	tests := []struct {
		name   string
		stored kraft.QuorumState
		want   []string
		draws  int
	}{
		{"from nothing", kraft.QuorumState{Leader: -1, Voted: kraft.NoReplica}, []string{
			"PersistQuorumState(epoch=0 leader=-1 voted=-1)", "TransitionedTo(Unattached epoch=0 leader=-1)",
			"TransitionedTo(Prospective epoch=0 leader=-1)",
			"PersistQuorumState(epoch=1 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=1 leader=-1)",
			"PersistQuorumState(epoch=1 leader=1 voted=-1)", "TransitionedTo(Leader epoch=1 leader=1)", "AssignEpoch(1 from 0)",
		}, 3},
		{"as the leader it was", kraft.QuorumState{Epoch: 5, Leader: 1, Voted: kraft.NoReplica}, []string{
			"PersistQuorumState(epoch=5 leader=1 voted=-1)", "TransitionedTo(Resigned epoch=5 leader=1)",
			"TransitionedTo(Prospective epoch=5 leader=1)",
			"PersistQuorumState(epoch=6 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=6 leader=-1)",
			"PersistQuorumState(epoch=6 leader=1 voted=-1)", "TransitionedTo(Leader epoch=6 leader=1)", "AssignEpoch(6 from 0)",
		}, 3},
		{"as a follower of a node that is no voter", kraft.QuorumState{Epoch: 5, Leader: 2, Voted: kraft.NoReplica}, []string{
			"PersistQuorumState(epoch=5 leader=2 voted=-1)", "TransitionedTo(Unattached epoch=5 leader=2)",
			"TransitionedTo(Prospective epoch=5 leader=2)",
			"PersistQuorumState(epoch=6 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=6 leader=-1)",
			"PersistQuorumState(epoch=6 leader=1 voted=-1)", "TransitionedTo(Leader epoch=6 leader=1)", "AssignEpoch(6 from 0)",
		}, 3},
		{"as a candidate, in the same epoch", kraft.QuorumState{Epoch: 5, Leader: -1, Voted: self}, []string{
			"PersistQuorumState(epoch=5 leader=-1 voted=1/AAAAAAAAAAAAAAAAAAAAAg)", "TransitionedTo(Candidate epoch=5 leader=-1)",
			"PersistQuorumState(epoch=5 leader=1 voted=-1)", "TransitionedTo(Leader epoch=5 leader=1)", "AssignEpoch(5 from 0)",
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := staticConfig(1)
			cfg.Stored, cfg.HasStored = tt.stored, true
			list := start(t, cfg, memlog.New())
			expect(t, list, tt.want...)
			draws := 0
			for _, r := range sent[kraft.ResetTimer](list) {
				if r.Window > 0 {
					draws++
				}
			}
			if draws != tt.draws {
				t.Errorf("%d draws, want %d", draws, tt.draws)
			}
		})
	}
}

// With kraft.version 1 the first batch of an epoch carries the voters where they are those of the checkpoint, or out of date.
func TestStart_FirstBatchOfAnEpoch(t *testing.T) {
	s := dynamicStage(1)
	expect(t, s.act()[:1], "AppendLeaderChange([0..2]@1[LeaderChange(1 voters=[1] granting=[1]) KRaftVersion(1) "+
		"Voters{1/AAAAAAAAAAAAAAAAAAAAAg[CONTROLLER=node1:9093] v0-1}])")
	restart := func(change func(*kraft.Config)) *stage {
		cfg := s.config
		cfg.Stored, cfg.HasStored = s.machine.QuorumState(), true
		change(&cfg)
		s.log.Crash(false)
		return newStageOn(cfg, s.log)
	}
	s = restart(func(*kraft.Config) {})
	expect(t, s.act()[:1], "AppendLeaderChange([3..3]@2[LeaderChange(1 voters=[1] granting=[1])])")
	s = restart(func(c *kraft.Config) { c.KRaftVersions.Max = 2 })
	if got := sent[kraft.AppendLeaderChange](s.act())[0]; len(got.Control) != 3 || got.Control[2].Voters.At(0).Versions.Max != 2 {
		t.Errorf("got %v", &got)
	}
}

// kraft.version 1 without any recorded voter set ends the process of the leader.
func TestStart_VersionOneWithoutVoters(t *testing.T) {
	cfg := staticConfig(1)
	log := memlog.New()
	b := batch(0, 0, 0)
	b.Control = []kraft.ControlRecord{{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}}
	if err := log.Append(b); err != nil {
		t.Fatal(err)
	}
	if got := fatal(start(t, cfg, log)); got != "no-voter-set" {
		t.Errorf("fatal %q", got)
	}
}

func TestStart_SnapshotThatDoesNotMatchTheLog(t *testing.T) {
	log := memlog.New()
	log.AddSnapshot(kraft.SnapshotID{Offset: 5, Epoch: 1}, 10, kraft.SnapshotContents{})
	if got := fatal(start(t, staticConfig(3), log)); got != "last-epoch" {
		t.Errorf("fatal %q", got)
	}
}

func TestNew_RefusesABadConfiguration(t *testing.T) {
	tests := []struct {
		change func(*kraft.Config)
		says   string
	}{
		{func(c *kraft.Config) { c.DirectoryID = kraft.DirectoryID{} }, "directory id"},
		{func(c *kraft.Config) { c.StaticVoters = kraft.VoterSet{} }, "bootstrap.servers"},
		{func(c *kraft.Config) { c.Listener = "" }, "listener"},
		{func(c *kraft.Config) { c.Timeouts.FetchMs = -1 }, "negative"},
		{func(c *kraft.Config) {
			c.History = []kraft.HistoryEntry{{Offset: 3, Record: kraft.ControlRecord{Type: kraft.VotersRecord}}, {Offset: 3, Record: kraft.ControlRecord{Type: kraft.VotersRecord}}}
		}, "offset 3"},
	}
	for _, tt := range tests {
		cfg := staticConfig(3)
		tt.change(&cfg)
		if _, err := kraft.New(cfg); !errors.Is(err, kraft.ErrConfig) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("error %v, want one about %q", err, tt.says)
		}
	}
}

func TestStoppedMachine_DoesNothing(t *testing.T) {
	s := followerStage()
	s.on(begin(3, 1)) // fatal
	for _, ev := range []kraft.Event{&kraft.RoleAction{}, vote(9, longLog), begin(2, 9)} {
		if got := s.on(ev); len(got) != 0 {
			t.Errorf("%v: %v", ev, lines(got))
		}
	}
}

package kraft_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// stage is one machine without a cluster: its log is kept, everything else that it does is only looked at.
type stage struct {
	machine *kraft.QuorumStateMachine
	log     *memlog.Log
	actions kraft.Actions
	now     kraft.Instant
	config  kraft.Config
}

func (s *stage) on(ev kraft.Event, due ...kraft.TimerKind) []kraft.Action {
	clock := kraft.Clock{Now: s.now}
	for _, k := range due {
		clock.Due.Add(kraft.Timer{Kind: k})
	}
	return s.at(ev, clock)
}

func (s *stage) at(ev kraft.Event, clock kraft.Clock) []kraft.Action {
	list := s.machine.OnEvent(ev, s.log.View(), clock, &s.actions)
	for _, a := range list {
		if _, err := s.log.Execute(a, ev); err != nil {
			panic(err)
		}
	}
	return list
}

// act is a role action with the given timers due.
func (s *stage) act(due ...kraft.TimerKind) []kraft.Action { return s.on(&kraft.RoleAction{}, due...) }

func newStage(cfg kraft.Config) *stage { return newStageOn(cfg, memlog.New()) }

func newStageOn(cfg kraft.Config, log *memlog.Log) *stage {
	cfg.History = log.History()
	m, err := kraft.New(cfg)
	if err != nil {
		panic(err)
	}
	s := &stage{machine: m, log: log, now: 1000, config: cfg}
	s.on(&kraft.Start{})
	return s
}

// staticConfig is node 1 of static voters 1..n.
func staticConfig(n int) kraft.Config {
	cfg := config(1)
	var voters []kraft.Voter
	for i := range n {
		voters = append(voters, staticVoter(kraft.NodeID(i+1)))
	}
	cfg.StaticVoters = kraft.NewVoterSet(voters...)
	return cfg
}

// dynamicStage is node 1 of voters 1..n that were formatted with kraft.version 1.
func dynamicStage(n int) *stage {
	cfg := config(1)
	var voters []kraft.Voter
	for i := range n {
		voters = append(voters, dynamicVoter(kraft.NodeID(i+1)))
	}
	cfg.BootstrapServers = []kraft.Address{address(2), address(3)}
	log := memlog.New()
	log.AddSnapshot(kraft.BootstrapSnapshot, 100, kraft.SnapshotContents{
		KRaftVersion: 1, HasKRaftVersion: true, Voters: kraft.NewVoterSet(voters...), HasVoters: true,
	})
	return newStageOn(cfg, log)
}

// toProspective, toCandidate and toLeader take an Unattached machine to those roles in epoch 1.
func (s *stage) toProspective() *stage {
	s.act(kraft.ElectionTimer)
	return s
}

func (s *stage) toCandidate() *stage {
	s.toProspective()
	s.grantMajority()
	return s
}

func (s *stage) toLeader() *stage {
	s.toCandidate()
	s.grantMajority()
	s.act()
	return s
}

// grantMajority lets voters grant what they are asked for until the role changes.
func (s *stage) grantMajority() {
	kind := s.kind()
	for _, v := range sent[kraft.SendVoteRequest](s.act()) {
		if s.kind() == kind {
			s.on(&kraft.ReceiveVoteResponse{Response: response(v.Destination), VoteGranted: true, PartitionAnswer: s.nobody()})
		}
	}
}

// nobody is an answer from this epoch that names no leader.
func (s *stage) nobody() kraft.PartitionAnswer {
	return kraft.PartitionAnswer{LeaderID: kraft.NoNode, LeaderEpoch: s.epoch()}
}

func (s *stage) kind() kraft.RoleKind { return s.machine.Role().Kind() }
func (s *stage) epoch() kraft.Epoch   { return s.machine.QuorumState().Epoch }

// sent picks the actions of one kind, as copies.
func sent[T any, P interface {
	*T
	kraft.Action
}](actions []kraft.Action) []T {
	var list []T
	for _, a := range actions {
		if p, ok := a.(P); ok {
			list = append(list, *p)
		}
	}
	return list
}

// leaderStage is a leader of n static voters that has committed its first record.
func leaderStage(n int) *stage {
	s := newStage(staticConfig(n)).toLeader()
	for i := 2; i <= n; i++ {
		s.on(s.fetch(kraft.NodeID(i), s.log.End, 0))
	}
	return s
}

// dynamicLeader is the same with kraft.version 1.
func dynamicLeader(n int) *stage {
	s := dynamicStage(n).toLeader()
	for i := 2; i <= n; i++ {
		s.on(s.fetch(kraft.NodeID(i), s.log.End, 0))
	}
	return s
}

// fetch is a Fetch from a voter at an offset.
func (s *stage) fetch(from kraft.NodeID, offset kraft.Offset, wait int32) *kraft.ReceiveFetch {
	last, _ := s.log.LastEpoch()
	return &kraft.ReceiveFetch{
		Request: request(kraft.RequestID(from), 17), Replica: kraft.ReplicaKey{ID: from, DirectoryID: directory(from)},
		FetchEpoch: s.epoch(), FetchOffset: offset, LastFetchedEpoch: last, HighWatermark: s.log.HighWatermark,
		MaxWaitMs: wait, MaxBytes: 1 << 20,
	}
}

// request is the head of a request on the controller listener.
func request(id kraft.RequestID, version int16) kraft.Request {
	return kraft.Request{ID: id, Version: version, Listener: "CONTROLLER"}
}

// followerStage is a follower of node 2 in epoch 1, one of three static voters.
func followerStage() *stage { return newStage(staticConfig(3)).follow(2, 1) }

func (s *stage) follow(leader kraft.NodeID, epoch kraft.Epoch) *stage {
	s.on(&kraft.ReceiveBeginQuorumEpoch{
		Request: request(1, 1), VoterID: kraft.NoNode, LeaderID: leader, LeaderEpoch: epoch, LeaderEndpoints: endpoints(leader),
	})
	return s
}

// resignedStage is a leader of three static voters that has resigned.
func resignedStage() *stage {
	s := leaderStage(3)
	s.on(&kraft.Resign{Epoch: s.epoch()})
	s.act()
	return s
}

// stageIn is node 1 of three static voters in a role; in epoch 1, but 0 where nobody has been elected yet.
func stageIn(role kraft.RoleKind) *stage {
	switch role {
	case kraft.UnattachedRole:
		return newStage(staticConfig(3))
	case kraft.ProspectiveRole:
		return newStage(staticConfig(3)).toProspective()
	case kraft.CandidateRole:
		return newStage(staticConfig(3)).toCandidate()
	case kraft.LeaderRole:
		return leaderStage(3)
	case kraft.FollowerRole:
		return followerStage()
	case kraft.ResignedRole:
	}
	return resignedStage()
}

var roles = []kraft.RoleKind{
	kraft.UnattachedRole, kraft.ProspectiveRole, kraft.CandidateRole, kraft.LeaderRole, kraft.FollowerRole, kraft.ResignedRole,
}

// fetched answers the Fetch that a role action sent.
func (s *stage) fetched(t *testing.T, batches ...kraft.Batch) *kraft.ReceiveFetchResponse {
	t.Helper()
	list := sent[kraft.SendFetch](s.act())
	if len(list) != 1 {
		t.Fatalf("%d Fetches were sent", len(list))
	}
	return &kraft.ReceiveFetchResponse{
		Response:        response(list[0].Destination),
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: s.epoch()},
		Diverging:       kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: -1, Epoch: -1},
		HighWatermark: -1, RecordsSize: int32(len(batches)), Batches: batches,
	}
}

// lines are the actions as text. Timers and choices are left out: most tests are not about them.
func lines(actions []kraft.Action) []string {
	var list []string
	for _, a := range actions {
		switch a.(type) {
		case *kraft.ResetTimer, *kraft.CancelTimer, *kraft.ChooseBootstrap:
		default:
			list = append(list, a.String())
		}
	}
	return list
}

// expect compares the actions, timers apart, with their text.
func expect(t *testing.T, actions []kraft.Action, want ...string) {
	t.Helper()
	if got := lines(actions); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// fatal is the reason for which the actions end the process, or "".
func fatal(actions []kraft.Action) string {
	for _, f := range sent[kraft.Fatal](actions) {
		return f.Reason.String()
	}
	return ""
}

// timer finds the last reset of a timer.
func timer(actions []kraft.Action, kind kraft.TimerKind) (kraft.ResetTimer, bool) {
	var found kraft.ResetTimer
	ok := false
	for _, r := range sent[kraft.ResetTimer](actions) {
		if r.Kind == kind {
			found, ok = r, true
		}
	}
	return found, ok
}

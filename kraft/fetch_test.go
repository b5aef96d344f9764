package kraft_test

import (
	"math"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestFetch_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.ReceiveFetch)
		want   string
	}{
		{
			"another cluster", func(e *kraft.ReceiveFetch) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			"ReplyFetch(#2 INCONSISTENT_CLUSTER_ID leader=0 epoch=0 hw=0 start=0 diverging=0@0)",
		},
		{
			"wrong partition", func(e *kraft.ReceiveFetch) { e.WrongPartition = true },
			"ReplyFetch(#2 INVALID_REQUEST leader=0 epoch=0 hw=0 start=0 diverging=0@0)",
		},
		{
			"negative wait", func(e *kraft.ReceiveFetch) { e.MaxWaitMs = -1 },
			"ReplyFetch(#2 INVALID_REQUEST leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"negative offset", func(e *kraft.ReceiveFetch) { e.FetchOffset = -1 },
			"ReplyFetch(#2 INVALID_REQUEST leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"negative last epoch", func(e *kraft.ReceiveFetch) { e.LastFetchedEpoch = -1 },
			"ReplyFetch(#2 INVALID_REQUEST leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"last epoch above the epoch", func(e *kraft.ReceiveFetch) { e.LastFetchedEpoch = 2 },
			"ReplyFetch(#2 INVALID_REQUEST leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"old epoch", func(e *kraft.ReceiveFetch) { e.FetchEpoch, e.LastFetchedEpoch = 0, 0 },
			"ReplyFetch(#2 FENCED_LEADER_EPOCH leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"newer epoch, which is not taken over", func(e *kraft.ReceiveFetch) { e.FetchEpoch = 2 },
			"ReplyFetch(#2 UNKNOWN_LEADER_EPOCH leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"endpoints since version 17", func(e *kraft.ReceiveFetch) { e.Version, e.FetchEpoch = 16, 2 },
			"ReplyFetch(#2 UNKNOWN_LEADER_EPOCH leader=1 epoch=1 hw=-1 start=0)",
		},
		{
			"the leader's own id", func(e *kraft.ReceiveFetch) { e.Replica.ID = 1 },
			"ReplyFetch(#2 UNKNOWN_SERVER_ERROR leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"records", func(e *kraft.ReceiveFetch) { e.FetchOffset, e.LastFetchedEpoch = 0, 0 },
			"ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0 records=[0..1))",
		},
		{
			"records, but no size", func(e *kraft.ReceiveFetch) { e.FetchOffset, e.LastFetchedEpoch, e.MaxBytes = 0, 0, -1 },
			"ReplyFetch(#2 UNKNOWN_SERVER_ERROR leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		},
		{
			"behind the log end", func(e *kraft.ReceiveFetch) { e.FetchOffset = 5 },
			"ReplyDivergingEpoch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0 diverging=1@1)",
		},
		{
			"at the log end, without waiting", func(*kraft.ReceiveFetch) {},
			"ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)",
		},
		{"at the log end, waiting", func(e *kraft.ReceiveFetch) { e.MaxWaitMs = 500 }, "Park(#2 offset=1 until=1500)"},
		{"waiting, but without the high watermark (KIP-1166)", func(e *kraft.ReceiveFetch) {
			e.MaxWaitMs, e.HighWatermark = 500, 0
		}, "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)"},
		{"waiting, of a version without high watermark", func(e *kraft.ReceiveFetch) {
			e.MaxWaitMs, e.HighWatermark = 500, math.MaxInt64
		}, "Park(#2 offset=1 until=1500)"},
		{
			"anonymous", func(e *kraft.ReceiveFetch) { e.Replica.ID = -1 },
			"ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := leaderStage(3)
			e := s.fetch(2, s.log.End, 0)
			tt.change(e)
			expect(t, s.on(e), tt.want)
		})
	}
}

func TestFetch_OnlyTheLeaderAnswers(t *testing.T) {
	for _, role := range roles {
		s := stageIn(role)
		got := sent[kraft.ReplyFetch](s.on(s.fetch(2, s.log.End, 0)))[0]
		want := kraft.NotLeaderOrFollower
		if role == kraft.LeaderRole {
			want = kraft.None
		}
		if got.PartitionError != want {
			t.Errorf("%v: %v", role, &got)
		}
	}
	s := leaderStage(3)
	s.on(&kraft.Shutdown{TimeoutMs: 5000})
	if got := sent[kraft.ReplyFetch](s.on(s.fetch(2, 1, 0)))[0]; got.PartitionError != kraft.BrokerNotAvailable {
		t.Errorf("shutting down: %v", &got)
	}
}

// A leader with a snapshot sends those to it that begin at 0, whatever its log still holds (KIP-630); the bootstrap checkpoint is
// never offered.
func TestFetch_OffersTheSnapshot(t *testing.T) {
	s := leaderStage(3)
	id := kraft.SnapshotID{Offset: 1, Epoch: 1}
	s.log.AddSnapshot(id, 10, kraft.SnapshotContents{})
	e := s.fetch(2, 0, 0)
	e.LastFetchedEpoch = 0
	before := s.machine.Fingerprint()
	expect(t, s.on(e), "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0 snapshot=1@1)")
	if s.machine.Fingerprint() != before {
		t.Error("an answer with a snapshot counts as progress")
	}
	d := dynamicLeader(3)
	e = d.fetch(2, 0, 0)
	e.LastFetchedEpoch = 0
	expect(t, d.on(e), "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=3 start=0 records=[0..3))")
}

// Progress is the base of the batch that is asked for.
func TestFetch_ProgressIsTheBatchBase(t *testing.T) {
	s := leaderStage(3)
	s.append(t, 5)
	s.on(s.fetch(2, 4, 0))
	if got := s.machine.Role().(*kraft.Leader).Voters[1].End; got != 1 {
		t.Errorf("progress %d, want 1, the base of [1..5]", got)
	}
}

// append writes records of the state machine.
func (s *stage) append(t *testing.T, records int32) []kraft.Action {
	t.Helper()
	if got := sent[kraft.Accepted](s.on(&kraft.AppendRequested{Epoch: s.epoch(), Records: records, Size: 10, Schedule: true})); len(got) != 1 {
		t.Fatal("the append is refused")
	}
	return s.act(kraft.LingerTimer)
}

// A Fetch that raises the high watermark answers all parked ones first, then itself, in order of (offset, arrival).
func TestParking_AnswersInOrder(t *testing.T) {
	s := leaderStage(5)
	park := func(id kraft.RequestID, from kraft.NodeID) {
		e := s.fetch(from, s.log.End, 500)
		e.ID = id
		s.on(e)
	}
	park(30, 4)
	park(31, 3)
	expect(t, s.append(t, 1),
		"AppendRecords([1..1]@1)",
		"ReplyFetch(#30 leader=1 epoch=1 at=node1:9093 hw=1 start=0 records=[1..2))",
		"ReplyFetch(#31 leader=1 epoch=1 at=node1:9093 hw=1 start=0 records=[1..2))",
		"FlushLog")
	park(32, 2)
	park(33, 9)
	expect(t, s.on(s.fetch(3, 2, 500)),
		"AdvanceHighWatermark(2)",
		"ReplyFetch(#32 leader=1 epoch=1 at=node1:9093 hw=2 start=0)",
		"ReplyFetch(#33 leader=1 epoch=1 at=node1:9093 hw=2 start=0)",
		"ReplyFetch(#3 leader=1 epoch=1 at=node1:9093 hw=2 start=0)")
}

// Before KIP-1166 a new high watermark answers nobody.
func TestParking_WaitsThroughANewHighWatermark(t *testing.T) {
	cfg := staticConfig(3)
	cfg.Rules.FetchHighWatermark = false
	s := newStage(cfg).toLeader()
	s.on(s.fetch(2, 1, 500))
	expect(t, s.on(s.fetch(3, 1, 500)), "Park(#3 offset=1 until=1500)")
	if got := len(s.machine.Inspect().Parked); got != 2 {
		t.Errorf("%d parked", got)
	}
}

// A parked Fetch that expires is sent the answer that was right when it came.
func TestParking_ExpiresWithTheAnswerOfItsArrival(t *testing.T) {
	s := leaderStage(3)
	s.on(s.fetch(2, 1, 500))
	s.on(s.fetch(3, 1, 500))
	s.on(vote(5, kraft.LogEnd{LastEpoch: 1, LastOffset: 9}))
	if got := len(s.machine.Inspect().Parked); got != 2 {
		t.Fatalf("%d parked after the fall to Unattached", got)
	}
	expect(t, s.on(&kraft.ParkedExpired{Request: 2}), "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)")
	expect(t, s.on(&kraft.ParkedExpired{Request: 2}))
	expect(t, s.on(begin(3, 5)),
		"PersistQuorumState(epoch=5 leader=3 voted=2/AAAAAAAAAAAAAAAAAAAAAw)", "TransitionedTo(Follower epoch=5 leader=3)",
		"ReplyFetch(#3 NOT_LEADER_OR_FOLLOWER leader=3 epoch=5 at=node3:9093 hw=-1 start=0)",
		"ReplyBeginQuorumEpoch(#7 leader=3 epoch=5 at=node3:9093)")
}

func TestParking_FailsWhenTheLeaderResigns(t *testing.T) {
	s := leaderStage(3)
	s.on(s.fetch(2, 1, 500))
	s.on(&kraft.Resign{Epoch: 1})
	expect(t, s.act(),
		"ReplyFetch(#2 NOT_LEADER_OR_FOLLOWER leader=1 epoch=1 at=node1:9093 hw=-1 start=0)",
		"TransitionedTo(Resigned epoch=1 leader=1)")
}

// A drain that finds nothing to write, because the records are still held, answers all the same.
func TestParking_EmptyDrainAnswers(t *testing.T) {
	s := leaderStage(3)
	s.on(s.fetch(2, 1, 500))
	s.on(&kraft.AppendRequested{Epoch: 1, Records: 1, Size: 10})
	expect(t, s.act(kraft.LingerTimer), "ReplyFetch(#2 leader=1 epoch=1 at=node1:9093 hw=1 start=0)", "FlushLog")
}

// Three fifths of one and a half: check-quorum starts anew when a majority has fetched, and runs out otherwise.
func TestCheckQuorum_NeedsAMajorityOfVoters(t *testing.T) {
	s := leaderStage(5)
	reset := func(e *kraft.ReceiveFetch) bool {
		_, ok := timer(s.on(e), kraft.CheckQuorumTimer)
		return ok
	}
	steps := []struct {
		from kraft.NodeID
		want bool
	}{{2, false}, {2, false}, {9, false}, {3, true}, {4, false}, {5, true}}
	for i, step := range steps {
		if got := reset(s.fetch(step.from, 1, 0)); got != step.want {
			t.Errorf("step %d: a Fetch of %v starts the timer anew: %t", i, step.from, got)
		}
	}
	if s.act(kraft.CheckQuorumTimer); s.kind() != kraft.ResignedRole {
		t.Errorf("role %v", s.kind())
	}
	single := newStage(staticConfig(1))
	single.act()
	if single.act(kraft.CheckQuorumTimer); single.kind() != kraft.LeaderRole {
		t.Error("the only voter resigns")
	}
}

// With known directory ids, a Fetch with another one, or with none, is an observer's.
func TestReplicas_AnotherDirectoryIsAnObserver(t *testing.T) {
	s := dynamicLeader(3)
	l := s.machine.Role().(*kraft.Leader)
	before := l.Voters[1]
	e := s.fetch(2, 1, 0)
	e.Replica.DirectoryID = kraft.DirectoryID{}
	s.on(e)
	e = s.fetch(2, 1, 0)
	e.Replica.DirectoryID = directory(77)
	s.on(e)
	if len(l.Observers) != 2 || l.Voters[1].End != before.End {
		t.Errorf("observers %v, voter %v", l.Observers, l.Voters[1])
	}
}

func TestReplicas_CaughtUp(t *testing.T) {
	s := leaderStage(3)
	l := s.machine.Role().(*kraft.Leader)
	s.append(t, 1)
	s.now = 2000
	s.on(s.fetch(2, 1, 0)) // behind the end, but at the end of the last Fetch
	if got := l.Voters[1].LastCaughtUp; got != 1000 {
		t.Errorf("caught up at %d, want 1000, the time of the Fetch before", got)
	}
	s.now = 3000
	s.on(s.fetch(2, 2, 0))
	if got := l.Voters[1].LastCaughtUp; got != 3000 {
		t.Errorf("caught up at %d", got)
	}
}

func TestDescribe_ByRoleAndVersion(t *testing.T) {
	ask := func(s *stage, version int16, wrong bool) kraft.ReplyDescribeQuorum {
		e := &kraft.ReceiveDescribeQuorum{Request: request(7, version)}
		e.WrongPartition = wrong
		return sent[kraft.ReplyDescribeQuorum](s.on(e))[0]
	}
	if got := ask(followerStage(), 2, true); !got.UnknownPartition || got.Error != kraft.None {
		t.Errorf("wrong partition: %v", &got)
	}
	if got := ask(followerStage(), 2, false); got.PartitionError != kraft.NotLeaderOrFollower || got.LeaderID != 0 {
		t.Errorf("follower: %v", &got)
	}
	s := leaderStage(3)
	s.now = 5000
	got := ask(s, 2, false)
	if len(got.Nodes) != 3 || got.Voters[0].LastFetch != 5000 || got.Voters[1].LastFetch != 1000 || got.HighWatermark != 1 {
		t.Errorf("leader: %v", &got)
	}
	if got := ask(dynamicLeader(3), 1, false); len(got.Nodes) != 0 || !got.Voters[1].Key.DirectoryID.IsZero() {
		t.Errorf("version 1: %v", &got)
	}
}

package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func batch(base, last kraft.Offset, epoch kraft.Epoch) kraft.Batch {
	return kraft.Batch{Base: base, Last: last, Epoch: epoch, Size: 10}
}

func TestFetchResponse_AppendsFlushesThenCommits(t *testing.T) {
	s := followerStage()
	r := s.fetched(t, batch(0, 0, 1), batch(1, 3, 1))
	r.HighWatermark = 9
	list := s.on(r)
	expect(t, list, "AppendFetched(2 batches [0..3])", "FlushLog", "AdvanceHighWatermark(4)")
	if fetch, ok := timer(list, kraft.FetchTimer); !ok || fetch.Deadline != s.now+2000 {
		t.Error("the fetch timer does not start anew")
	}
	r = s.fetched(t)
	r.HighWatermark = 4
	expect(t, s.on(r))
}

// A process that can never be a voter does not flush.
func TestFetchResponse_BrokersDoNotFlush(t *testing.T) {
	cfg := staticConfig(3)
	cfg.ID, cfg.DirectoryID, cfg.CanBecomeVoter = 9, directory(9), false
	s := newStage(cfg).follow(2, 1)
	expect(t, s.on(s.fetched(t, batch(0, 0, 1))), "AppendFetched(1 batches [0..0])")
}

func TestFetchResponse_BadRecords(t *testing.T) {
	tests := []struct {
		name     string
		batches  []kraft.Batch
		fault    kraft.RecordsFault // the corrupt batch states epoch faulty
		faulty   kraft.Epoch
		want     []string // since KAFKA-18723
		want4000 []string // 4.0.0
	}{
		{
			"a newer epoch",
			[]kraft.Batch{batch(0, 0, 1), batch(1, 1, 2), batch(2, 2, 1)},
			kraft.RecordsFine, 0,
			[]string{"AppendFetched(1 batches [0..0])", "FlushLog"},
			[]string{"AppendFetched(3 batches [0..2])", "FlushLog"},
		},
		{"only a newer epoch", []kraft.Batch{batch(0, 0, 2)}, kraft.RecordsFine, 0, []string{"FlushLog"}, []string{"AppendFetched(1 batches [0..0])", "FlushLog"}},
		{"corrupt behind a whole batch", []kraft.Batch{batch(0, 0, 1)}, kraft.BatchCorrupt, 1, []string{"FlushLog"}, []string{"Fatal(corrupt-records)"}},
		{
			"the corrupt batch is of a newer epoch",
			[]kraft.Batch{batch(0, 0, 1)},
			kraft.BatchCorrupt, 2,
			[]string{"AppendFetched(1 batches [0..0])", "FlushLog"},
			[]string{"Fatal(corrupt-records)"},
		},
		{"no batches any more behind a newer epoch", []kraft.Batch{batch(0, 0, 1), batch(1, 1, 2)}, kraft.RecordsCorrupt, 0, []string{"FlushLog"}, []string{"Fatal(corrupt-records)"}},
		{
			"corrupt behind a newer epoch",
			[]kraft.Batch{batch(0, 0, 1), batch(1, 1, 2)},
			kraft.BatchCorrupt, 1,
			[]string{"AppendFetched(1 batches [0..0])", "FlushLog"},
			[]string{"Fatal(corrupt-records)"},
		},
		{"no whole batch", nil, kraft.RecordsFine, 0, []string{"FlushLog"}, []string{"Fatal(corrupt-records)"}},
		{"before the log end", []kraft.Batch{batch(-1, 0, 1)}, kraft.RecordsFine, 0, []string{"Fatal(unexpected-offset)"}, []string{"Fatal(unexpected-offset)"}},
		{
			"not increasing",
			[]kraft.Batch{batch(0, 3, 1), batch(1, 3, 1)},
			kraft.RecordsFine, 0,
			[]string{"Fatal(offsets-not-increasing)"},
			[]string{"Fatal(offsets-not-increasing)"},
		},
		{"a gap", []kraft.Batch{batch(5, 5, 1)}, kraft.RecordsFine, 0, []string{"AppendFetched(1 batches [5..5])", "FlushLog"}, []string{"AppendFetched(1 batches [5..5])", "FlushLog"}},
	}
	for _, tt := range tests {
		for _, drop := range []bool{true, false} {
			cfg := staticConfig(3)
			cfg.Rules.DropNewerEpochBatches = drop
			s := newStage(cfg).follow(2, 1)
			r := s.fetched(t, tt.batches...)
			r.RecordsSize = 100
			r.Fault, r.FaultEpoch = tt.fault, tt.faulty
			t.Run(tt.name, func(t *testing.T) {
				if drop {
					expect(t, s.on(r), tt.want...)
				} else {
					expect(t, s.on(r), tt.want4000...)
				}
			})
		}
	}
}

func TestFetchResponse_Diverges(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t, batch(0, 0, 0), batch(1, 4, 1), batch(5, 5, 1)))
	r := s.fetched(t)
	r.Diverging = kraft.OffsetAndEpoch{Offset: 3, Epoch: 1}
	expect(t, s.on(r), "TruncateTo(3)")
	if s.log.End != 3 {
		t.Errorf("the log ends at %d, want exactly the target, inside a batch", s.log.End)
	}
	r = s.fetched(t)
	r.Diverging = kraft.OffsetAndEpoch{Offset: 1, Epoch: 0}
	expect(t, s.on(r), "TruncateTo(1)")
	if got, _ := s.log.LastEpoch(); got != 0 {
		t.Errorf("last epoch %d", got)
	}
}

func TestFetchResponse_EndsTheProcess(t *testing.T) {
	follower := func() *stage {
		s := followerStage()
		r := s.fetched(t, batch(0, 4, 1))
		r.HighWatermark = 3
		s.on(r)
		return s
	}
	tests := []struct {
		name   string
		change func(*kraft.ReceiveFetchResponse)
		want   string
	}{
		{"truncation below the high watermark", func(r *kraft.ReceiveFetchResponse) {
			r.Diverging = kraft.OffsetAndEpoch{Offset: 2, Epoch: 1}
		}, "truncation-below-high-watermark"},
		{"truncation of an unknown epoch below it", func(r *kraft.ReceiveFetchResponse) {
			r.Diverging = kraft.OffsetAndEpoch{Offset: 4, Epoch: 0}
			r.Diverging.Offset = 3
		}, ""},
		{"the high watermark falls", func(r *kraft.ReceiveFetchResponse) { r.HighWatermark = 2 }, "high-watermark-fell"},
	}
	for _, tt := range tests {
		s := follower()
		r := s.fetched(t)
		tt.change(r)
		if got := fatal(s.on(r)); got != tt.want {
			t.Errorf("%s: fatal %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A truncation does not move back what has been read: control records that are appended below that are never read
// (KRaftControlRecordStateMachine.nextOffset).
func TestFetchResponse_ControlRecordsBelowWhatWasReadAreNotRead(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t, batch(0, 9, 1)))
	r := s.fetched(t)
	r.Diverging = kraft.OffsetAndEpoch{Offset: 4, Epoch: 1}
	s.on(r)
	b := batch(4, 4, 1)
	b.Control = []kraft.ControlRecord{{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}}
	s.on(s.fetched(t, b))
	if got := s.machine.Inspect(); got.KRaftVersion != 0 || got.NextRead != 10 {
		t.Errorf("version %d, read up to %d", got.KRaftVersion, got.NextRead)
	}
	b = batch(5, 12, 1)
	b.Control = []kraft.ControlRecord{{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}}
	s.on(s.fetched(t, b))
	if got := s.machine.Inspect(); got.KRaftVersion != 1 || got.NextRead != 13 {
		t.Errorf("version %d, read up to %d", got.KRaftVersion, got.NextRead)
	}
}

// A truncation brings the voter set before back.
func TestFetchResponse_TruncatedVotersAreForgotten(t *testing.T) {
	s := dynamicStage(3).follow(2, 1)
	three := s.machine.Inspect().Voters
	b := batch(0, 0, 1)
	four, _ := three.Add(dynamicVoter(4))
	b.Control = []kraft.ControlRecord{{Type: kraft.VotersRecord, Voters: four}}
	s.on(s.fetched(t, b))
	if got := s.machine.Inspect().Voters; !got.Equal(four) {
		t.Fatalf("voters %v", got)
	}
	r := s.fetched(t)
	r.Diverging = kraft.OffsetAndEpoch{Offset: 0, Epoch: 0}
	s.on(r)
	if got := s.machine.Inspect(); !got.Voters.Equal(three) || got.VotersOffset != -1 {
		t.Errorf("voters %v at %d", got.Voters, got.VotersOffset)
	}
}

func TestFetchResponse_UnknownKRaftVersionEndsTheProcess(t *testing.T) {
	s := followerStage()
	b := batch(0, 0, 1)
	b.Control = []kraft.ControlRecord{{Type: kraft.KRaftVersionRecord, KRaftVersion: 7}}
	if got := fatal(s.on(s.fetched(t, b))); got != "control-record" {
		t.Errorf("fatal %q", got)
	}
}

// offered makes a follower fetch a snapshot and returns the request.
func (s *stage) offered(t *testing.T, id kraft.SnapshotID) kraft.SendFetchSnapshot {
	t.Helper()
	r := s.fetched(t)
	r.Snapshot = id
	expect(t, s.on(r), "BeginSnapshotFetch("+id.String()+")")
	return sent[kraft.SendFetchSnapshot](s.act())[0]
}

func chunk(to kraft.SendFetchSnapshot, size int64, bytes int32) *kraft.ReceiveFetchSnapshotResponse {
	return &kraft.ReceiveFetchSnapshotResponse{
		Response: response(to.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: to.Epoch},
		SnapshotID: to.ID, Size: size, Position: to.Position, Bytes: bytes,
	}
}

func TestSnapshot_IsFetchedInPiecesAndInstalled(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t, batch(0, 3, 1)))
	id := kraft.SnapshotID{Offset: 20, Epoch: 1}
	first := s.offered(t, id)
	expect(t, s.on(chunk(first, 30, 20)), "AppendSnapshot(20@1 position=0 bytes=20)")
	second := sent[kraft.SendFetchSnapshot](s.act())[0]
	last := chunk(second, 30, 10)
	last.Contents = kraft.SnapshotContents{KRaftVersion: 1, HasKRaftVersion: true, Voters: kraft.NewVoterSet(dynamicVoter(1), dynamicVoter(2)), HasVoters: true}
	expect(t, s.on(last), "AppendSnapshot(20@1 position=20 bytes=10)", "InstallSnapshot(20@1 size=30)", "AdvanceHighWatermark(20)")
	if s.log.Start != 20 || s.log.End != 20 || !s.log.Equal(s.machine.View()) {
		t.Errorf("%v, the machine sees %v", s.log, s.machine.View())
	}
	if got := s.machine.Inspect(); got.KRaftVersion != 1 || got.VotersOffset != 19 || got.NextRead != 20 {
		t.Errorf("version %d, voters at %d, read up to %d", got.KRaftVersion, got.VotersOffset, got.NextRead)
	}
	expect(t, s.act(), "SendFetch(to=2@node2:9093 corr=4 epoch=1 offset=20 last=1 hw=20)")
}

func TestSnapshot_IsGivenUp(t *testing.T) {
	id := kraft.SnapshotID{Offset: 20, Epoch: 1}
	tests := []struct {
		name   string
		change func(*kraft.ReceiveFetchSnapshotResponse)
		want   []string
	}{
		{
			"SNAPSHOT_NOT_FOUND", func(r *kraft.ReceiveFetchSnapshotResponse) { r.PartitionAnswer.Error = kraft.SnapshotNotFound },
			[]string{"AbandonSnapshotFetch(20@1)"},
		},
		{"negative id", func(r *kraft.ReceiveFetchSnapshotResponse) { r.SnapshotID.Epoch = -1 }, []string{"AbandonSnapshotFetch(20@1)"}},
		{"another error", func(r *kraft.ReceiveFetchSnapshotResponse) { r.PartitionAnswer.Error = kraft.UnknownServerError }, nil},
		{"another id", func(r *kraft.ReceiveFetchSnapshotResponse) { r.SnapshotID.Offset = 21 }, []string{"Fatal(unexpected-snapshot)"}},
		{"another position", func(r *kraft.ReceiveFetchSnapshotResponse) { r.Position = 1 }, []string{"Fatal(unexpected-snapshot)"}},
		{"extra partition", func(r *kraft.ReceiveFetchSnapshotResponse) { r.Shape = kraft.ShapeExtra }, nil},
		{"not among them", func(r *kraft.ReceiveFetchSnapshotResponse) { r.WrongPartition = true }, nil},
		{"top-level error", func(r *kraft.ReceiveFetchSnapshotResponse) { r.Response.Error = kraft.UnknownServerError }, nil},
		{"a new leader", func(r *kraft.ReceiveFetchSnapshotResponse) { r.LeaderEpoch, r.LeaderID = 2, 3 }, []string{
			"PersistQuorumState(epoch=2 leader=3 voted=-1)", "AbandonSnapshotFetch(20@1)", "TransitionedTo(Follower epoch=2 leader=3)",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := followerStage()
			r := chunk(s.offered(t, id), 30, 20)
			tt.change(r)
			expect(t, s.on(r), tt.want...)
		})
	}
}

func TestSnapshot_RulesOfReleases(t *testing.T) {
	id := kraft.SnapshotID{Offset: 20, Epoch: 1}
	open := func(change func(*kraft.Rules)) (*stage, *kraft.ReceiveFetchSnapshotResponse) {
		cfg := staticConfig(3)
		change(&cfg.Rules)
		s := newStage(cfg).follow(2, 1)
		return s, chunk(s.offered(t, id), 30, 20)
	}
	s, r := open(func(rules *kraft.Rules) { rules.FetchSnapshotErrors = false })
	r.PartitionAnswer.Error = kraft.UnknownServerError
	expect(t, s.on(r), "AppendSnapshot(20@1 position=0 bytes=20)")
	loose := func(rules *kraft.Rules) { rules.FetchSnapshotStrictShape = false }
	for shape, want := range map[kraft.SnapshotShape][]string{
		kraft.ShapeExtra:   {"AppendSnapshot(20@1 position=0 bytes=20)"},
		kraft.ShapeWrong:   nil,
		kraft.ShapeNoTopic: {"Fatal(snapshot-request)"},
	} {
		s, r := open(loose)
		r.Shape = shape
		expect(t, s.on(r), want...)
	}
}

// An offer of a snapshot that is held already is nothing to fetch; half an id is a failure.
func TestSnapshot_OffersThatLeadNowhere(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t, batch(0, 3, 1)))
	id := kraft.SnapshotID{Offset: 2, Epoch: 1}
	s.log.AddSnapshot(id, 10, kraft.SnapshotContents{})
	r := s.fetched(t)
	r.Snapshot = id
	expect(t, s.on(r))
	r = s.fetched(t)
	r.Snapshot = kraft.SnapshotID{Offset: -1, Epoch: 3}
	expect(t, s.on(r))
	checkBackingOff(t, s, 2)
}

func TestSnapshot_OlderThanTheLogEndsTheProcess(t *testing.T) {
	s := followerStage()
	s.on(s.fetched(t, batch(0, 30, 1)))
	to := s.offered(t, kraft.SnapshotID{Offset: 20, Epoch: 1})
	list := s.machine.OnEvent(chunk(to, 30, 30), s.log.View(), kraft.Clock{Now: s.now}, &s.actions)
	if got := fatal(list); got != "snapshot-not-newer" {
		t.Errorf("fatal %q", got)
	}
}

func TestFetchSnapshot_ChecksInOrder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kraft.ReceiveFetchSnapshot)
		want   string
	}{
		{
			"another cluster", func(e *kraft.ReceiveFetchSnapshot) { e.ClusterID = kraft.ClusterID{Value: "x", Present: true} },
			"ReplyFetchSnapshot(#7 INCONSISTENT_CLUSTER_ID leader=0 epoch=0 id=0@0 position=0 size=0)",
		},
		{
			"two partitions", func(e *kraft.ReceiveFetchSnapshot) { e.Shape = kraft.ShapeExtra },
			"ReplyFetchSnapshot(#7 INVALID_REQUEST leader=0 epoch=0 id=0@0 position=0 size=0)",
		},
		{
			"another partition", func(e *kraft.ReceiveFetchSnapshot) { e.WrongPartition = true },
			"ReplyFetchSnapshot(#7 UNKNOWN_TOPIC_OR_PARTITION leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"old epoch", func(e *kraft.ReceiveFetchSnapshot) { e.FetchEpoch = 0 },
			"ReplyFetchSnapshot(#7 FENCED_LEADER_EPOCH leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"unknown snapshot", func(e *kraft.ReceiveFetchSnapshot) { e.SnapshotID.Offset = 9 },
			"ReplyFetchSnapshot(#7 SNAPSHOT_NOT_FOUND leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"the bootstrap checkpoint", func(e *kraft.ReceiveFetchSnapshot) { e.SnapshotID = kraft.BootstrapSnapshot },
			"ReplyFetchSnapshot(#7 SNAPSHOT_NOT_FOUND leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"before the beginning", func(e *kraft.ReceiveFetchSnapshot) { e.Position = -1 },
			"ReplyFetchSnapshot(#7 POSITION_OUT_OF_RANGE leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"at the end", func(e *kraft.ReceiveFetchSnapshot) { e.Position = 8 << 30 },
			"ReplyFetchSnapshot(#7 POSITION_OUT_OF_RANGE leader=1 epoch=1 at=node1:9093 id=0@0 position=0 size=0)",
		},
		{
			"fine", func(*kraft.ReceiveFetchSnapshot) {},
			"ReplyFetchSnapshot(#7 leader=1 epoch=1 at=node1:9093 id=1@1 position=100 size=8589934592)",
		},
		{"beyond an int", func(e *kraft.ReceiveFetchSnapshot) { e.Position = 3 << 30 }, "Fatal(snapshot-request)"},
		{"negative size", func(e *kraft.ReceiveFetchSnapshot) { e.MaxBytes = -1 }, "Fatal(snapshot-request)"},
		{"the leader itself", func(e *kraft.ReceiveFetchSnapshot) { e.Replica.ID = 1 }, "Fatal(fetch-from-leader)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := dynamicLeader(3)
			s.log.AddSnapshot(kraft.SnapshotID{Offset: 1, Epoch: 1}, 8<<30, kraft.SnapshotContents{})
			e := &kraft.ReceiveFetchSnapshot{
				Request: request(7, 1), Replica: kraft.ReplicaKey{ID: 2, DirectoryID: directory(2)}, FetchEpoch: 1,
				SnapshotID: kraft.SnapshotID{Offset: 1, Epoch: 1}, Position: 100, MaxBytes: 50,
			}
			tt.change(e)
			expect(t, s.on(e), tt.want)
		})
	}
	cfg := staticConfig(3)
	cfg.Rules.FetchSnapshotStrictShape = false
	e := &kraft.ReceiveFetchSnapshot{Request: request(7, 1), Shape: kraft.ShapeNoPartition}
	e.WrongPartition = true
	if got := fatal(newStage(cfg).on(e)); got != "snapshot-request" {
		t.Errorf("no partition: fatal %q", got)
	}
}

func TestShapeOf_CountsAsKafkaDoes(t *testing.T) {
	tests := []struct {
		topics, first int
		want          kraft.SnapshotShape
	}{
		{0, 0, kraft.ShapeNoTopic},
		{1, 0, kraft.ShapeNoPartition},
		{1, 1, kraft.ShapeFine},
		{1, 2, kraft.ShapeExtra},
		{2, 1, kraft.ShapeExtra},
		{2, 0, kraft.ShapeWrong},
		{2, 2, kraft.ShapeWrong},
	}
	for _, tt := range tests {
		if got := kraft.ShapeOf(tt.topics, tt.first); got != tt.want {
			t.Errorf("%d topics, %d partitions: %d", tt.topics, tt.first, got)
		}
	}
}

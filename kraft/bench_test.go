package kraft_test

import (
	"testing"
	"unsafe"

	"github.com/understudy-kafka/understudy/kraft"
)

// A leader of three appends a record, and a voter acknowledges it: the watermark moves.
func BenchmarkLeader_AcknowledgementMovesWatermark(b *testing.B) {
	s := leaderStage(3)
	ev := s.fetch(2, 0, 0)
	view := *s.log.View()
	view.BatchBase = nil
	clock := kraft.Clock{Now: s.now}
	leader := s.machine.Role().(*kraft.Leader)
	b.ReportAllocs()
	for b.Loop() {
		// What an append does, without its cost: the log and the leader's own progress are one record further.
		view.End++
		leader.Voters[0].End++
		leader.Accumulator.NextOffset++
		ev.FetchOffset, ev.HighWatermark = view.End, view.HighWatermark
		s.machine.OnEvent(ev, &view, clock, &s.actions)
		view.HighWatermark = view.End
	}
	if s.machine.Inspect().Stopped {
		b.Fatal("the machine has stopped")
	}
}

// The whole cycle: append, drain, both voters' parked Fetches, their acknowledgements.
func BenchmarkLeader_CommitCycle(b *testing.B) {
	s := leaderStage(3)
	append1 := &kraft.AppendRequested{Epoch: 1, Records: 1, Size: 100, Schedule: true}
	role := &kraft.RoleAction{}
	first, second := s.fetch(2, s.log.End, 500), s.fetch(3, s.log.End, 500)
	view := *s.log.View()
	view.BatchBase = nil
	linger := kraft.Clock{Now: s.now, Due: kraft.Timers(kraft.Timer{Kind: kraft.LingerTimer})}
	clock := kraft.Clock{Now: s.now}
	b.ReportAllocs()
	for b.Loop() {
		first.FetchOffset, second.FetchOffset = view.End, view.End
		first.HighWatermark, second.HighWatermark = view.HighWatermark, view.HighWatermark
		s.machine.OnEvent(first, &view, clock, &s.actions)
		s.machine.OnEvent(second, &view, clock, &s.actions)
		s.machine.OnEvent(append1, &view, clock, &s.actions)
		s.machine.OnEvent(role, &view, linger, &s.actions)
		view.End++
		first.FetchOffset = view.End
		s.machine.OnEvent(first, &view, clock, &s.actions)
		view.HighWatermark = view.End
	}
}

// A voter asks for what it has already and waits; then its time is over.
func BenchmarkLeader_FetchWithoutNews(b *testing.B) {
	s := leaderStage(3)
	ev := s.fetch(2, s.log.End, 0)
	view := *s.log.View()
	clock := kraft.Clock{Now: s.now}
	b.ReportAllocs()
	for b.Loop() {
		s.machine.OnEvent(ev, &view, clock, &s.actions)
	}
}

func BenchmarkLeader_IdleRoleAction(b *testing.B) {
	s := leaderStage(3)
	role := &kraft.RoleAction{}
	clock := kraft.Clock{Now: s.now}
	view := s.log.View()
	b.ReportAllocs()
	for b.Loop() {
		s.machine.OnEvent(role, view, clock, &s.actions)
	}
}

// A follower sends a Fetch and appends the one record that it gets.
func BenchmarkFollower_FetchAndAppend(b *testing.B) {
	s := followerStage()
	view := *s.log.View()
	clock := kraft.Clock{Now: s.now}
	role := &kraft.RoleAction{}
	batches := []kraft.Batch{{Epoch: 1, Size: 80}}
	ev := &kraft.ReceiveFetchResponse{
		Response:        kraft.Response{From: 2},
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: 1},
		Diverging:       kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: -1, Epoch: -1},
		RecordsSize: 80, Batches: batches,
	}
	b.ReportAllocs()
	for b.Loop() {
		ev.CorrelationID = -1
		for _, a := range s.machine.OnEvent(role, &view, clock, &s.actions) {
			if f, ok := a.(*kraft.SendFetch); ok {
				ev.CorrelationID = f.CorrelationID
			}
		}
		batches[0].Base, batches[0].Last = view.End, view.End
		ev.HighWatermark = view.End
		s.machine.OnEvent(ev, &view, clock, &s.actions)
		view.End, view.HighWatermark = view.End+1, view.End
		view.Epochs = s.machine.View().Epochs
	}
	if s.machine.Inspect().Stopped {
		b.Fatal("the machine has stopped")
	}
}

// bigLeader leads 5 voters, with 3 observers and 4 parked Fetches.
func bigLeader() *stage {
	s := leaderStage(5)
	for i := kraft.NodeID(6); i < 9; i++ {
		s.on(s.fetch(i, s.log.End, 0))
	}
	for i := kraft.NodeID(2); i < 6; i++ {
		s.on(s.fetch(i, s.log.End, 500))
	}
	return s
}

// size is about what a copy has to move.
func (s *stage) size() int {
	l := s.machine.Role().(*kraft.Leader)
	return int(unsafe.Sizeof(*s.machine)) + (len(l.Voters)+len(l.Observers))*int(unsafe.Sizeof(kraft.Replica{})) +
		len(s.machine.Inspect().Parked)*160
}

func BenchmarkMemcpy(b *testing.B) {
	s := bigLeader()
	from, to := make([]byte, s.size()), make([]byte, s.size())
	b.SetBytes(int64(len(from)))
	for b.Loop() {
		copy(to, from)
	}
}

func BenchmarkMemcpy_Fresh(b *testing.B) {
	s := bigLeader()
	from := make([]byte, s.size())
	for b.Loop() {
		sink = append([]byte(nil), from...)
	}
}

var sink []byte

func BenchmarkClone_Reused(b *testing.B) {
	s := bigLeader()
	dst := s.machine.Clone()
	b.ReportAllocs()
	for b.Loop() {
		s.machine.CopyInto(dst)
	}
}

func BenchmarkClone_Fresh(b *testing.B) {
	s := bigLeader()
	b.ReportAllocs()
	for b.Loop() {
		cloneSink = s.machine.Clone()
	}
}

var cloneSink *kraft.QuorumStateMachine

func BenchmarkFingerprint(b *testing.B) {
	s := bigLeader()
	b.ReportAllocs()
	for b.Loop() {
		fingerprintSink = s.machine.Fingerprint()
	}
}

var fingerprintSink [16]byte

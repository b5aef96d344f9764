package kraft_test

import (
	"math"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// source reads the choices of a fuzz input; when it is used up every choice is 0.
type source struct{ bytes []byte }

func (s *source) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

func pick[T any](s *source, list ...T) T { return list[s.next(len(list))] }

func (s *source) yes() bool { return s.next(2) == 1 }

func (s *source) id() kraft.NodeID {
	return pick[kraft.NodeID](s, 1, 2, 3, 4, -1, -2, 9, math.MaxInt32)
}

func (s *source) epoch() kraft.Epoch {
	return pick[kraft.Epoch](s, 1, 0, 2, 3, 7, -1, math.MaxInt32, math.MinInt32)
}

func (s *source) offset() kraft.Offset {
	return pick[kraft.Offset](s, 0, 1, 2, 3, 5, -1, 1<<40, math.MaxInt64)
}

func (s *source) key() kraft.ReplicaKey {
	return kraft.ReplicaKey{ID: s.id(), DirectoryID: pick(s, kraft.DirectoryID{}, directory(1), directory(2), directory(9))}
}

func (s *source) position() kraft.OffsetAndEpoch {
	return pick(s, kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, kraft.OffsetAndEpoch{Offset: s.offset(), Epoch: s.epoch()})
}

func (s *source) code() kraft.ErrorCode {
	return pick(s, kraft.None, kraft.FencedLeaderEpoch, kraft.NotLeaderOrFollower, kraft.BrokerNotAvailable, kraft.UnsupportedVersion,
		kraft.SnapshotNotFound, kraft.InvalidVoterKey, kraft.UnknownServerError)
}

func (s *source) ends() kraft.Endpoints {
	return pick(s, endpoints(2), kraft.Endpoints{}, endpoints(9))
}

func (s *source) request() kraft.Request {
	return kraft.Request{ID: kraft.RequestID(s.next(9)), Version: int16(s.next(19)), Listener: pick(s, "CONTROLLER", "OTHER"), WrongPartition: s.next(20) == 19}
}

// response answers one of the requests in flight, most of the time.
func (s *source) response(m *kraft.QuorumStateMachine) kraft.Response {
	r := kraft.Response{From: s.id(), WrongPartition: s.next(20) == 19}
	if c := m.Inspect().Connections; len(c) > 0 {
		chosen := c[s.next(len(c))]
		r.From, r.CorrelationID = chosen.ID, chosen.CorrelationID
	}
	if s.next(8) == 7 {
		r.Error = s.code()
	}
	return r
}

func (s *source) partition(m *kraft.QuorumStateMachine) kraft.PartitionAnswer {
	a := kraft.PartitionAnswer{LeaderID: s.id(), LeaderEpoch: m.QuorumState().Epoch, HasEndpoint: s.yes(), LeaderEndpoint: address(2)}
	if s.next(4) == 3 {
		a.LeaderEpoch, a.Error = s.epoch(), s.code()
	}
	return a
}

func (s *source) batches(from kraft.Offset) []kraft.Batch {
	var list []kraft.Batch
	for range s.next(4) {
		b := kraft.Batch{Base: from, Last: from + kraft.Offset(s.next(3)), Epoch: kraft.Epoch(s.next(4))}
		if s.next(10) == 9 {
			b.Base = s.offset() % (1 << 50)
			b.Last = max(b.Base, s.offset()%(1<<50))
		}
		if s.yes() {
			b.Control = append(b.Control, kraft.ControlRecord{Type: kraft.ControlRecordType(s.next(4)), KRaftVersion: int16(s.next(3)), Voters: pick(s, kraft.NewVoterSet(dynamicVoter(1), dynamicVoter(2)), kraft.NewVoterSet(dynamicVoter(3)), kraft.VoterSet{})})
		}
		list, from = append(list, b), b.Last+1
	}
	return list
}

func (s *source) event(m *kraft.QuorumStateMachine, log *memlog.Log) kraft.Event {
	switch s.next(24) {
	case 0, 1, 2, 3:
		return &kraft.RoleAction{Choice: s.next(9) - 4}
	case 4:
		return &kraft.ReceiveVoteRequest{Request: s.request(), VoterID: s.id(), CandidateEpoch: s.epoch(), Candidate: s.id(), CandidateLogEnd: s.position().LogEnd(), PreVote: s.yes()}
	case 5:
		return &kraft.ReceiveBeginQuorumEpoch{Request: s.request(), VoterID: s.id(), LeaderID: s.id(), LeaderEpoch: s.epoch(), LeaderEndpoints: s.ends()}
	case 6:
		return &kraft.ReceiveEndQuorumEpoch{Request: s.request(), LeaderID: s.id(), LeaderEpoch: s.epoch(), Successors: make([]kraft.ReplicaKey, s.next(40))}
	case 7, 8:
		return &kraft.ReceiveFetch{Request: s.request(), Replica: s.key(), FetchEpoch: s.epoch(), FetchOffset: s.offset(), LastFetchedEpoch: s.epoch(), HighWatermark: s.offset(), MaxWaitMs: int32(s.next(3) * 250), MaxBytes: int32(s.next(3) - 1)}
	case 9:
		return &kraft.ReceiveFetchSnapshot{Request: s.request(), Shape: kraft.SnapshotShape(s.next(5)), Replica: s.key(), FetchEpoch: s.epoch(), SnapshotID: s.position(), Position: int64(s.offset()), MaxBytes: int32(s.next(3) - 1)}
	case 10:
		return &kraft.ReceiveAddRaftVoter{Request: s.request(), Voter: s.key(), Endpoints: s.ends(), AckWhenCommitted: s.yes()}
	case 11:
		return &kraft.ReceiveRemoveRaftVoter{Request: s.request(), Voter: s.key()}
	case 12:
		return &kraft.ReceiveUpdateRaftVoter{Request: s.request(), FetchEpoch: s.epoch(), Voter: s.key(), Endpoints: s.ends(), Versions: kraft.VersionRange{Max: 1}}
	case 13:
		return pick[kraft.Event](s, &kraft.ReceiveDescribeQuorum{Request: s.request()}, &kraft.Shutdown{TimeoutMs: 100}, &kraft.ScheduleAppend{}, &kraft.ParkedExpired{Request: kraft.RequestID(s.next(9))})
	case 14:
		return pick[kraft.Event](s, &kraft.Resign{Epoch: s.epoch()}, &kraft.UpgradeKRaftVersion{Epoch: s.epoch(), Version: int16(s.next(3))}, &kraft.SnapshotCreated{ID: s.position()})
	case 15:
		return &kraft.AppendRequested{Epoch: m.QuorumState().Epoch, Records: int32(s.next(4)), Size: int32(s.next(3) << 22), Schedule: s.yes()}
	case 16, 17:
		return &kraft.ReceiveVoteResponse{Response: s.response(m), PartitionAnswer: s.partition(m), VoteGranted: s.next(4) > 0}
	case 18, 19:
		return &kraft.ReceiveFetchResponse{Response: s.response(m), PartitionAnswer: s.partition(m), HighWatermark: s.offset(), Diverging: s.position(), Snapshot: s.position(), RecordsSize: int32(s.next(2)), Batches: s.batches(log.End), Fault: kraft.RecordsFault(s.next(2))}
	case 20:
		return &kraft.ReceiveFetchSnapshotResponse{Response: s.response(m), PartitionAnswer: s.partition(m), SnapshotID: s.position(), Size: int64(s.next(3)), Position: int64(s.next(2)), Bytes: int32(s.next(3))}
	case 21:
		return pick[kraft.Event](s, &kraft.ReceiveBeginQuorumEpochResponse{Response: s.response(m), PartitionAnswer: s.partition(m)}, &kraft.ReceiveEndQuorumEpochResponse{Response: s.response(m), PartitionAnswer: s.partition(m)})
	case 22:
		return pick[kraft.Event](s, &kraft.ReceiveAPIVersionsResponse{Response: s.response(m), HasKRaftVersion: s.yes(), KRaftVersions: kraft.VersionRange{Max: 1}}, &kraft.ReceiveUpdateRaftVoterResponse{Response: s.response(m), LeaderID: s.id(), LeaderEpoch: s.epoch()}, &kraft.ReceiveAddRaftVoterResponse{Response: s.response(m)}, &kraft.ReceiveRemoveRaftVoterResponse{Response: s.response(m)})
	}
	return &kraft.RequestFailed{Response: s.response(m), API: pick(s, kraft.VoteAPI, kraft.FetchAPI, kraft.APIVersionsAPI, kraft.UpdateRaftVoterAPI)}
}

// runEvents feeds a machine of a role with whatever the input says. Nothing may panic; the machine and its log must agree, and a copy
// must go the same way.
func runEvents(t *testing.T, input []byte) {
	s := &source{input}
	st := stageIn(roles[s.next(len(roles))])
	if s.next(3) == 2 {
		st = dynamicLeader(3)
	}
	for events := 1; len(s.bytes) > 0 && !st.machine.Inspect().Stopped; events++ {
		epoch := st.machine.QuorumState().Epoch
		ev := s.event(st.machine, st.log)
		clock := kraft.Clock{Now: st.now}
		for range s.next(4) {
			kind := kraft.TimerKind(1 + s.next(14))
			clock.Due.Add(kraft.Timer{Kind: kind})
			clock.Due.Add(kraft.Timer{Kind: kind, Peer: s.key()})
		}
		twin := st.machine.Clone()
		list := st.machine.OnEvent(ev, st.log.View(), clock, &st.actions)
		if again := twin.OnEvent(ev, st.log.View(), clock, &kraft.Actions{}); len(again) != len(list) || twin.Fingerprint() != st.machine.Fingerprint() {
			t.Fatalf("%v: a copy does %v, the original %v", ev, again, list)
		}
		ended := false
		for _, a := range list {
			if _, err := st.log.Execute(a, ev); err != nil {
				t.Fatalf("%v: %v", ev, err)
			}
			switch a.(type) {
			case *kraft.Fatal, *kraft.ShutdownDone:
				ended = true
			}
		}
		if seen := st.machine.Inspect(); seen.Stopped != ended {
			t.Fatalf("%v: the machine has stopped by itself: an invariant of its state is broken", ev)
		} else if len(seen.Connections) > 12 || len(seen.Parked) > events {
			t.Fatalf("%v: %d connections and %d parked Fetches after %d events", ev, len(seen.Connections), len(seen.Parked), events)
		}
		if now := st.machine.QuorumState().Epoch; now < epoch && epoch != math.MaxInt32 {
			t.Fatalf("%v: epoch %d after %d", ev, now, epoch)
		}
		if !st.machine.Inspect().Stopped && len(list) > 0 && !st.log.Equal(st.machine.View()) {
			t.Fatalf("%v: the log is %v, the machine sees %v", ev, st.log, st.machine.View())
		}
		st.now += kraft.Instant(s.next(100))
	}
}

func FuzzOnEvent(f *testing.F) {
	for role := range byte(6) {
		f.Add([]byte{role, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 16, 1, 1, 1, 18, 2, 2, 2, 2, 2, 2})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 4096 {
			runEvents(t, input)
		}
	})
}

// TestOnEvent_TakesAnyInput plays random inputs of the fuzz target.
func TestOnEvent_TakesAnyInput(t *testing.T) {
	for _, seed := range seeds(600) {
		input := make([]byte, 1500)
		x := seed*0x9e3779b97f4a7c15 + 1
		for i := range input {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			input[i] = byte(x >> 32)
		}
		t.Run("", func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("seed %d: %v", seed, r)
				}
			}()
			runEvents(t, input)
		})
	}
}

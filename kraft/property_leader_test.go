package kraft

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawVoters draws what a leader knows of its voters.
func drawVoters(t *rapid.T) []Replica {
	voters := make([]Replica, rapid.IntRange(1, 7).Draw(t, "voters"))
	for i := range voters {
		voters[i] = Replica{
			Key: ReplicaKey{ID: NodeID(i), DirectoryID: DirectoryID{rapid.Byte().Draw(t, "directory")}},
			End: Offset(rapid.IntRange(-1, 5).Draw(t, "end")),
		}
	}
	return voters
}

// The high watermark is the highest offset that a majority holds.
func TestHighWatermark_IsTheHighestHeldByAMajority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		voters := drawVoters(t)
		want := Offset(-1)
		for offset := Offset(-1); offset <= 6; offset++ {
			holders := 0
			for i := range voters {
				if voters[i].End >= offset {
					holders++
				}
			}
			if 2*holders > len(voters) {
				want = offset
			}
		}
		if got := committable(voters); got != want {
			t.Fatalf("%v: %d, want %d", voters, got, want)
		}
	})
}

// It never falls, and moves only beyond the start of the epoch (Raft, section 5.4.2).
func TestHighWatermark_CommitsOnlyTheOwnEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &QuorumStateMachine{}
		m.leader = Leader{EpochStart: Offset(rapid.IntRange(0, 5).Draw(t, "start")), HighWatermark: -1, Voters: drawVoters(t)}
		for range rapid.IntRange(1, 8).Draw(t, "fetches") {
			before := m.leader.HighWatermark
			i := rapid.IntRange(0, len(m.leader.Voters)-1).Draw(t, "voter")
			m.leader.Voters[i].End = Offset(rapid.IntRange(-1, 9).Draw(t, "end"))
			raised := m.raiseHighWatermark()
			after := m.leader.HighWatermark
			want := max(before, committable(m.leader.Voters))
			if want <= m.leader.EpochStart {
				want = before
			}
			if after != want || raised != (after > before) {
				t.Fatalf("%d after %d, want %d: %v", after, before, want, m.leader.Voters)
			}
		}
	})
}

func TestTally_EqualsCountingHeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "voters")
		var voters []Voter
		for i := range n {
			voters = append(voters, Voter{Key: ReplicaKey{ID: NodeID(i)}})
		}
		tally, ok := Tally(nil).reset(NewVoterSet(voters...), 0)
		if !ok {
			t.Fatal("self is not counted")
		}
		said := make([]VoteState, n)
		said[0] = Granted
		for range rapid.IntRange(0, 12).Draw(t, "answers") {
			id, state := rapid.IntRange(0, n).Draw(t, "id"), rapid.SampledFrom([]VoteState{Granted, Rejected}).Draw(t, "state")
			if tally.record(NodeID(id), state) != (id < n) {
				t.Fatalf("a vote of %d among %d", id, n)
			}
			if id < n {
				said[id] = state
			}
			granted, open := 0, 0
			for _, s := range said {
				if s == Granted {
					granted++
				}
				if s == Unrecorded {
					open++
				}
			}
			if tally.IsGranted() != (2*granted > n) || tally.IsRejected() != (2*(granted+open) <= n) {
				t.Fatalf("%v", tally)
			}
		}
	})
}

// Successors: take the one that holds the most, of several the one with the smallest key, and begin again.
func TestSuccessors_EqualPickingTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Leader{Voters: drawVoters(t)}
		self := l.Voters[rapid.IntRange(0, len(l.Voters)-1).Draw(t, "self")].Key
		left := slices.Clone(l.Voters)
		var want []ReplicaKey
		for len(left) > 0 {
			best := 0
			for i := range left {
				if left[i].End > left[best].End {
					best = i
				}
			}
			if left[best].Key != self {
				want = append(want, left[best].Key)
			}
			left = slices.Delete(left, best, best+1)
		}
		if got := l.successors(self); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The backoff of a successor: none for the first, then it doubles with each place, up to that of one who is not listed.
func TestSuccessorRank_BackoffDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "successors")
		most := rapid.Int32Range(0, 1<<20).Draw(t, "max")
		want := most
		for range n - 1 {
			want /= 2
		}
		for position := range n + 1 {
			got := SuccessorRank{position, n}.electionBackoffMs(most)
			switch {
			case position == 0 && got != 0, position == n && got != most:
				t.Fatalf("place %d of %d: %d", position, n, got)
			case position > 0 && position < n:
				if got != want {
					t.Fatalf("place %d of %d: %d, want %d", position, n, got, want)
				}
				want *= 2
			}
		}
	})
}

// Check-quorum is satisfied when a majority has fetched since it last was; the leader counts itself if it is a voter.
func TestCheckQuorum_EqualsASetOfVoters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &QuorumStateMachine{cfg: &Config{ID: NodeID(rapid.IntRange(0, 8).Draw(t, "self"))}}
		m.turn.out = &Actions{}
		m.leader.Voters = drawVoters(t)
		n := len(m.leader.Voters)
		needed := n/2 + 1
		if int(m.cfg.ID) < n {
			needed--
		}
		heard := map[NodeID]bool{}
		for range rapid.IntRange(0, 15).Draw(t, "fetches") {
			id := NodeID(rapid.IntRange(0, n).Draw(t, "from"))
			m.turn.out.reset()
			m.countForCheckQuorum(id, int(id) < n)
			if int(id) < n {
				heard[id] = true
			}
			satisfied := len(heard) >= needed
			if got := len(m.turn.out.list) > 0; got != satisfied {
				t.Fatalf("%d of %d heard, self %v: timer reset %t", len(heard), n, m.cfg.ID, got)
			}
			if satisfied {
				clear(heard)
			}
		}
	})
}

// The accumulator hands out offsets without a gap, keeps the order, and writes each record once.
func TestAccumulator_EqualsAQueueOfRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &QuorumStateMachine{cfg: &Config{}, kind: LeaderRole, epoch: 3}
		m.turn.out = &Actions{}
		m.leader.Accumulator = Accumulator{HoldFrom: noOffset}
		var twin []bool // per record that waits: is it a control record
		var written Offset
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			m.turn.out.reset()
			acc := &m.leader.Accumulator
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				n := rapid.Int32Range(1, 3).Draw(t, "records")
				m.onAppendRequested(&AppendRequested{Epoch: 3, Records: n, Size: rapid.Int32Range(1, maxBatchBytes).Draw(t, "size"), Schedule: true})
				if _, refused := m.turn.out.list[len(m.turn.out.list)-1].(*Refused); !refused {
					twin = append(twin, slices.Repeat([]bool{false}, int(n))...)
				}
			case 1:
				last := m.queueControl([]ControlRecord{{Type: VotersRecord}}, false)
				twin = append(twin, true)
				if last != written+Offset(len(twin))-1 {
					t.Fatalf("the control record gets %d, want %d", last, written+Offset(len(twin))-1)
				}
			case 2:
				acc.complete()
				m.stopLinger()
				m.turn.log.End = written
				m.turn.out.reset()
				m.appendDrained()
				for _, a := range m.turn.out.list {
					b, control := drained(a)
					for at := b.Base; at <= b.Last; at++ {
						if at != written || twin[0] != control {
							t.Fatalf("%v is written, want offset %d, control %t", a, written, twin[0])
						}
						written, twin = written+1, twin[1:]
					}
				}
			}
			if acc.NextOffset != written+Offset(len(twin)) {
				t.Fatalf("next is %d, want %d and %d that wait", acc.NextOffset, written, len(twin))
			}
		}
	})
}

func drained(a Action) (Batch, bool) {
	switch a := a.(type) {
	case *AppendRecords:
		return a.Batch, false
	case *AppendControl:
		return a.Batch, true
	}
	return Batch{Base: 1}, false // no record
}

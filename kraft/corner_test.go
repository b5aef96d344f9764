package kraft_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// What a peer must never send and no other test does: each ends the process, as in Kafka.
func TestCorners_EndTheProcess(t *testing.T) {
	tests := []struct {
		name string
		on   func() []kraft.Action
		want string
	}{
		{"an EndQuorumEpoch answer from a node that is no voter", func() []kraft.Action {
			s := resignedStage()
			e := sent[kraft.SendEndQuorumEpoch](s.act())[0]
			s.machine.Role().(*kraft.Resigned).Voters = []kraft.NodeID{1}
			return s.on(&kraft.ReceiveEndQuorumEpochResponse{
				Response: response(e.Destination), PartitionAnswer: kraft.PartitionAnswer{LeaderID: 1, LeaderEpoch: 1},
			})
		}, "not-a-voter"},
		{"a fetched batch of a negative epoch", func() []kraft.Action {
			s := followerStage()
			return s.on(s.fetched(t, batch(0, 0, -1)))
		}, "epoch-refused"},
		{"a candidate votes a voter twice, differently", func() []kraft.Action {
			s := newStage(staticConfig(5)).toCandidate()
			v := sent[kraft.SendVoteRequest](s.act())[0]
			s.machine.Role().(*kraft.Candidate).Tally[1].State = kraft.Rejected
			return s.voted(v, true)
		}, "contradictory-vote"},
		{"a vote of a node that is no voter", func() []kraft.Action {
			s := newStage(staticConfig(5)).toCandidate()
			v := sent[kraft.SendVoteRequest](s.act())[0]
			s.machine.Role().(*kraft.Candidate).Tally[1].Voter.ID = 77
			return s.voted(v, true)
		}, "not-a-voter"},
		{"a pre-vote of a node that is no voter", func() []kraft.Action {
			s := newStage(staticConfig(5)).toProspective()
			v := sent[kraft.SendVoteRequest](s.act())[0]
			s.machine.Role().(*kraft.Prospective).Tally[1].Voter.ID = 77
			return s.voted(v, true)
		}, "not-a-voter"},
		{"the leader's own log end falls", func() []kraft.Action {
			s := leaderStage(3)
			s.machine.Role().(*kraft.Leader).Voters[0].End = 50
			return s.append(t, 1)
		}, "local-end-offset"},
		{"a prepared batch that begins before the log end", func() []kraft.Action {
			s := leaderStage(3)
			s.on(appendRequest(1, 1, 10, true))
			s.machine.Role().(*kraft.Leader).Accumulator.Current.Base = 0
			return s.machine.OnEvent(&kraft.RoleAction{}, s.log.View(),
				kraft.Clock{Due: kraft.Timers(kraft.Timer{Kind: kraft.LingerTimer})}, &s.actions)
		}, "unexpected-offset"},
		{"a resigned leader without an endpoint of a voter", func() []kraft.Action {
			s := resignedStage()
			s.machine.Role().(*kraft.Resigned).Unacked = []kraft.NodeID{77}
			return s.act()
		}, "no-endpoint"},
		{"truncation below what the log knows to be committed", func() []kraft.Action {
			s := followerStage()
			s.on(s.fetched(t, batch(0, 4, 1)))
			s.log.HighWatermark = 4
			r := s.fetched(t)
			r.Diverging = kraft.OffsetAndEpoch{Offset: 2, Epoch: 1}
			return s.machine.OnEvent(r, s.log.View(), kraft.Clock{}, &s.actions)
		}, "truncation-below-high-watermark"},
		{"a diverging epoch for a log that has no last epoch", func() []kraft.Action {
			s := followerStage()
			s.on(s.fetched(t, batch(0, 4, 1)))
			r := s.fetched(t)
			s.log.AddSnapshot(kraft.SnapshotID{Offset: 3, Epoch: 1}, 10, kraft.SnapshotContents{})
			s.log.Epochs = nil
			r.Diverging = kraft.OffsetAndEpoch{Offset: 2, Epoch: 1}
			return s.machine.OnEvent(r, s.log.View(), kraft.Clock{}, &s.actions)
		}, "last-epoch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fatal(tt.on()); got != tt.want {
				t.Errorf("fatal %q, want %q", got, tt.want)
			}
		})
	}
}

// The highest epoch there is: Java's int wraps around, a resigned leader fails and a candidate goes on below zero.
func TestCorners_EpochBeyondAnInt(t *testing.T) {
	const highest = 1<<31 - 1
	cfg := staticConfig(3)
	cfg.HasStored, cfg.Stored = true, kraft.QuorumState{Epoch: highest, Leader: 1, Voted: kraft.NoReplica}
	if got := fatal(newStage(cfg).act(kraft.ElectionTimer)); got != "invalid-transition" {
		t.Errorf("resigned: fatal %q", got)
	}
	cfg = staticConfig(1)
	cfg.HasStored, cfg.Stored = true, kraft.QuorumState{Epoch: highest, Leader: -1, Voted: kraft.NoReplica}
	if got := newStage(cfg).machine.Inspect(); !got.Stopped {
		t.Error("an only voter leads a negative epoch")
	}
}

func TestErrorCode_PrintsUnknownOnes(t *testing.T) {
	if kraft.ErrorCode(999).String() != "error 999" || kraft.RebootstrapRequired.String() != "REBOOTSTRAP_REQUIRED" {
		t.Error("printed otherwise")
	}
}

func TestNewEndpoints_OfNothing(t *testing.T) {
	if kraft.NewEndpoints().Len() != 0 {
		t.Error("there is an endpoint")
	}
}

package controller

import (
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// noteSoftware remembers of a leader's voters which are controllers of Kafka: their client says so in ApiVersions.
func (l *loop) noteSoftware(m *message) {
	e, ok := m.event.(*kraft.ReceiveFetch)
	if !ok || m.request.software == "" {
		return
	}
	if leader, leads := l.m.Role().(*kraft.Leader); leads && slices.ContainsFunc(leader.Voters, func(v kraft.Replica) bool { return v.Key.ID == e.Replica.ID }) {
		l.java[e.Replica.ID] = strings.HasPrefix(m.request.software, "apache-kafka-java ")
	}
}

// handOver asks the machine to resign once a controller of Kafka has all that this leader has, and a majority holds the start of the
// epoch: so the successor needs nothing that this node alone has.
func (l *loop) handOver() {
	if l.cfg.Leadership == Stay || l.ended {
		return
	}
	leader, ok := l.m.Role().(*kraft.Leader)
	epoch := l.m.QuorumState().Epoch
	if !ok || l.resigned == epoch || leader.HighWatermark <= leader.EpochStart {
		return
	}
	for i := range leader.Voters {
		v := &leader.Voters[i]
		if v.Key.ID == l.id || !l.java[v.Key.ID] || v.End < l.log.End {
			continue
		}
		l.resigned = epoch
		l.cfg.Log.Info().Int32("epoch", int32(epoch)).Stringer("successor", v.Key).Msg("hands the leadership over")
		l.on(&kraft.Resign{Epoch: epoch})
		return
	}
}

// handicap delays a node that would hand the leadership over again: when a leader resigns and names it as a successor, the others go
// first. A delay beyond what Kafka draws is one that a slow node has, too.
func (l *loop) handicap(a *kraft.ResetTimer) kraft.Instant {
	if l.hand == nil || l.cfg.Leadership == Stay || a.Kind != kraft.ElectionTimer && a.Kind != kraft.FetchTimer {
		return 0
	}
	if _, ok := l.hand.event.(*kraft.ReceiveEndQuorumEpoch); !ok {
		return 0
	}
	return kraft.Instant(l.cfg.Timeouts.ElectionMs)
}

// keepBack answers the requests for votes of a node that never campaigns as if each voter had refused, and sends none. A voter that gets a
// PreVote would lose nothing by it, but one that knows none is taken for a reason to stand for election without it (KIP-996), and a
// granted one that is not followed by an election is what no controller of Kafka does. The role goes on as after a PreVote that was lost:
// the node follows again and waits for the next leader to announce itself, and grants the PreVotes of the others.
func (l *loop) keepBack(action kraft.Action) bool {
	vote, ok := action.(*kraft.SendVoteRequest)
	if !ok || l.cfg.Leadership != NeverCampaign {
		return false
	}
	l.refusals = append(l.refusals, &kraft.ReceiveVoteResponse{
		Response:        kraft.Response{From: vote.Record, CorrelationID: vote.CorrelationID},
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: kraft.NoNode, LeaderEpoch: l.m.QuorumState().Epoch},
	})
	return true
}

func (l *loop) nextRefusal() (kraft.Event, bool) {
	if len(l.refusals) == 0 {
		return nil, false
	}
	ev := l.refusals[0]
	l.refusals = l.refusals[:copy(l.refusals, l.refusals[1:])]
	return ev, true
}

// isStranger: this node leads, and does not have that replica among its voters.
func (l *loop) isStranger(id kraft.NodeID) bool {
	leader, ok := l.m.Role().(*kraft.Leader)
	return ok && !slices.ContainsFunc(leader.Voters, func(v kraft.Replica) bool { return v.Key.ID == id })
}

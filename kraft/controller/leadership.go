package controller

import (
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// noteSoftware remembers which replicas are controllers of Kafka: their client says so in ApiVersions.
func (l *loop) noteSoftware(m *message) {
	if e, ok := m.event.(*kraft.ReceiveFetch); ok && m.request.software != "" {
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

package controller

import (
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestMetrics_SayWhatEachNodeIs(t *testing.T) {
	q := newQuorum(t, 4, 3, func(id kraft.NodeID, c *Config) { c.Observer = id == 4 })
	q.start(1, 2, 3, 4)
	committed := q.write(10)
	for id := range q.nodes {
		q.kept(id, committed)
	}
	states := map[string]int{}
	for id, n := range q.nodes {
		m, err := n.Metrics(t.Context())
		must(t, err)
		states[m.CurrentState]++
		if m.NumberOfVoters != 3 || m.CurrentLeader < 1 || m.CurrentEpoch < 1 || m.LogEndOffset < 10 || m.LogEndEpoch < 1 {
			t.Errorf("node %v: %+v", id, m)
		}
		if m.PollIdleRatioAvg <= 0 || m.PollIdleRatioAvg > 1 {
			t.Errorf("node %v is idle for %v of its time", id, m.PollIdleRatioAvg)
		}
		switch {
		case m.Leads != (m.CurrentState == "leader"):
			t.Errorf("node %v: %+v", id, m)
		case m.Leads && (m.AppendRecordsRate <= 0 || m.CommitLatencyMax <= 0 || m.CurrentVote.ID != id || m.ElectionLatencyMax <= 0):
			t.Errorf("the leader: %+v", m)
		case !m.Leads && m.FetchRecordsRate <= 0:
			t.Errorf("node %v has fetched nothing: %+v", id, m)
		}
	}
	if states["leader"] != 1 || states["follower"] != 2 || states["observer"] != 1 {
		t.Errorf("states %v", states)
	}
}

func TestMetrics_OfANodeThatHasEnded(t *testing.T) {
	q := newQuorum(t, 1, 1, nil)
	q.start(1)
	q.write(1)
	ended := q.nodes[1].Controller
	q.kill(1)
	if _, err := ended.Metrics(t.Context()); err == nil {
		t.Error("a node that has ended has metrics")
	}
}

func TestSamples_AreThoseOfTheLastMinute(t *testing.T) {
	var s samples
	for at := range 120 {
		s.add(float64(at), time.Duration(at)*time.Second)
	}
	now := 119 * time.Second
	if _, highest := s.latency(now); highest != 119 {
		t.Errorf("the highest is %d", highest)
	}
	if rate := s.rate(now); rate < 85 || rate > 92 { // 60 to 119 in 59 seconds
		t.Errorf("the rate is %v", rate)
	}
	if avg, highest := s.latency(time.Hour); avg != 0 || highest != 0 {
		t.Errorf("an hour later: %v, %v", avg, highest)
	}
}

func TestMeter_CommitLatencyRunsFromTheWriteToTheWatermark(t *testing.T) {
	var m meter
	leader := func(end, known kraft.Offset) Status {
		return Status{Role: kraft.LeaderRole, Epoch: 1, LogEnd: end, Known: known, Running: true}
	}
	steps := []Status{leader(1, -1), leader(5, 1), leader(9, 1), leader(9, 5), leader(9, 9)}
	for i := 1; i < len(steps); i++ {
		m.observe(&steps[i-1], &steps[i], time.Duration(i)*10*time.Millisecond)
	}
	if avg, highest := m.commits.latency(time.Second); avg != 20*time.Millisecond || highest != 20*time.Millisecond {
		t.Errorf("average %v, highest %v", avg, highest)
	}
	lost := Status{Role: kraft.FollowerRole, Epoch: 2, LogEnd: 9, Running: true}
	m.observe(&steps[2], &lost, time.Second)
	if len(m.written) != 0 {
		t.Error("a follower waits for its own records")
	}
}

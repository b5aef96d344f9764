package controller

import (
	"context"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Metrics are those that Kafka has under kafka.server:type=raft-metrics, by the same names.
type Metrics struct {
	CurrentState           string // leader, candidate, follower, observer, unattached, unattached-voted, prospective, prospective-voted
	CurrentLeader          kraft.NodeID
	CurrentVote            kraft.ReplicaKey
	CurrentEpoch           kraft.Epoch
	HighWatermark          kraft.Offset // -1: unknown
	LogEndOffset           kraft.Offset
	LogEndEpoch            kraft.Epoch
	NumberOfVoters         int
	Leads                  bool // the next two are a leader's
	NumberOfObservers      int
	UncommittedVoterChange bool

	CommitLatencyAvg, CommitLatencyMax     time.Duration // of what was appended as leader; 0: nothing lately
	ElectionLatencyAvg, ElectionLatencyMax time.Duration // from the first campaign until a leader is known
	FetchRecordsRate, AppendRecordsRate    float64       // records a second, as follower and as leader
	PollIdleRatioAvg                       float64       // share of the time in which the owner of the machine has nothing to do
}

// Metrics are those of now.
func (c *Controller) Metrics(ctx context.Context) (Metrics, error) {
	result := make(chan Metrics, 1)
	if err := c.ask(ctx, func(l *loop) { result <- l.metrics() }); err != nil {
		return Metrics{}, err
	}
	select {
	case m := <-result:
		return m, nil
	case <-c.done:
		return Metrics{}, ErrStopped
	case <-ctx.Done():
		return Metrics{}, context.Cause(ctx)
	}
}

func (l *loop) metrics() Metrics {
	now := time.Since(l.born)
	state, inside := l.m.QuorumState(), l.m.Inspect()
	m := Metrics{
		CurrentLeader: state.Leader, CurrentVote: state.Voted, CurrentEpoch: state.Epoch, HighWatermark: -1,
		LogEndOffset: l.log.End, NumberOfVoters: inside.Voters.Len(),
	}
	m.LogEndEpoch, _ = l.log.LastEpoch()
	self := kraft.ReplicaKey{ID: l.id, DirectoryID: l.cfg.Directory.DirectoryID}
	voted := state.Voted.ID >= 0
	switch r := l.m.Role().(type) {
	case *kraft.Leader:
		m.CurrentState, m.HighWatermark, m.CurrentVote, m.Leads = "leader", r.HighWatermark, self, true
		m.NumberOfObservers = len(r.Observers)
		m.UncommittedVoterChange = inside.VotersOffset >= 0 && inside.VotersOffset >= r.HighWatermark
	case *kraft.Candidate:
		m.CurrentState, m.HighWatermark, m.CurrentVote = "candidate", r.HighWatermark, self
	case *kraft.Follower:
		m.CurrentState, m.HighWatermark = "follower", r.HighWatermark
		if v := inside.Voters.Find(l.id); v == nil || !v.Key.DirectoryID.IsZero() && v.Key.DirectoryID != self.DirectoryID || l.cfg.Observer {
			m.CurrentState = "observer"
		}
	case *kraft.Prospective:
		m.CurrentState, m.HighWatermark = withVote("prospective", voted), r.HighWatermark
	case *kraft.Unattached:
		m.CurrentState, m.HighWatermark = withVote("unattached", voted), r.HighWatermark
	default: // Kafka has no word of its own for a resigned leader
		m.CurrentState = "unattached"
	}
	m.CommitLatencyAvg, m.CommitLatencyMax = l.meter.commits.latency(now)
	m.ElectionLatencyAvg, m.ElectionLatencyMax = l.meter.elections.latency(now)
	m.FetchRecordsRate, m.AppendRecordsRate = l.meter.fetched.rate(now), l.meter.appended.rate(now)
	m.PollIdleRatioAvg = min(1, l.meter.idle.rate(now)/float64(time.Second))
	return m
}

func withVote(state string, voted bool) string {
	if voted {
		return state + "-voted"
	}
	return state
}

// meter watches the loop. Its times are since the node was born.
type meter struct {
	commits, elections, fetched, appended, idle samples

	written  []written     // by this leader and not committed yet, in the order of their ends
	campaign time.Duration // when it began
	running  bool
	sleeping time.Duration
}

type written struct {
	end kraft.Offset
	at  time.Duration
}

// maxWritten bounds what is kept of a leader whose followers are gone.
const maxWritten = 4096

// observe is told of each change of the status.
func (m *meter) observe(old, s *Status, now time.Duration) {
	campaigns := s.Role == kraft.ProspectiveRole || s.Role == kraft.CandidateRole
	switch {
	case campaigns && !m.running:
		m.running, m.campaign = true, now
	case !campaigns && m.running:
		m.running = false
		if s.Role == kraft.LeaderRole || s.Role == kraft.FollowerRole {
			m.elections.add(float64(now-m.campaign), now)
		}
	}
	grown := s.LogEnd - old.LogEnd
	switch {
	case s.Role != kraft.LeaderRole:
		m.written = m.written[:0]
		if s.Role == kraft.FollowerRole && grown > 0 && old.Running && s.LogStart == old.LogStart {
			m.fetched.add(float64(grown), now)
		}
		return
	case grown > 0 && old.Role == kraft.LeaderRole && old.Epoch == s.Epoch:
		m.appended.add(float64(grown), now)
		if len(m.written) < maxWritten {
			m.written = append(m.written, written{s.LogEnd, now})
		}
	}
	n := 0
	for ; n < len(m.written) && m.written[n].end <= s.Known; n++ {
		m.commits.add(float64(now-m.written[n].at), now)
	}
	m.written = m.written[:copy(m.written, m.written[n:])]
}

// sleeps and wakes bound the time in which the loop waits.
func (m *meter) sleeps(now time.Duration) { m.sleeping = now }

func (m *meter) wakes(now time.Duration) { m.idle.add(float64(now-m.sleeping), now) }

// sampleTime and its double are the window of Kafka's metrics (metrics.sample.window.ms, metrics.num.samples).
const sampleTime = 30 * time.Second

// samples are the values of the window: those of the running sample and of the one before it (Kafka: SampledStat).
type samples struct{ current, last sample }

type sample struct {
	began    time.Duration
	n        int
	sum, max float64
}

func (s *samples) add(value float64, now time.Duration) {
	s.turn(now)
	c := &s.current
	c.n++
	c.sum += value
	c.max = max(c.max, value)
}

// turn begins a new sample when the running one is full.
func (s *samples) turn(now time.Duration) {
	switch age := now - s.current.began; {
	case age < sampleTime:
	case age < 2*sampleTime:
		s.last, s.current = s.current, sample{began: s.current.began + sampleTime}
	default:
		s.last, s.current = sample{began: now - sampleTime}, sample{began: now}
	}
}

func (s *samples) latency(now time.Duration) (avg, highest time.Duration) {
	s.turn(now)
	if n := s.current.n + s.last.n; n > 0 {
		avg = time.Duration((s.current.sum + s.last.sum) / float64(n))
	}
	return avg, time.Duration(max(s.current.max, s.last.max))
}

// rate is what came in a second of the window, which is shorter while the node is young.
func (s *samples) rate(now time.Duration) float64 {
	s.turn(now)
	window := max(now-s.current.began+min(sampleTime, s.current.began), time.Second)
	return (s.current.sum + s.last.sum) / window.Seconds()
}

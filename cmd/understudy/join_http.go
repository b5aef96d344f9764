package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/understudy-kafka/understudy/internal/build"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
)

// raftMetrics are asked of the node at each scrape.
type raftMetrics interface {
	Metrics(ctx context.Context) (controller.Metrics, error)
}

// raftCollector shows Kafka's kafka.server:type=raft-metrics under the names that Prometheus's JMX exporter gives them.
type raftCollector struct{ node raftMetrics }

func raftMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kafka_server_raft_metrics_"+name, help, labels, nil)
}

// raftStates are the values of current-state.
var raftStates = []string{"leader", "candidate", "follower", "observer", "unattached", "unattached-voted", "prospective", "prospective-voted"}

var (
	descState       = raftMetric("current_state", "1 for the state that this member is in.", "state")
	descLeader      = raftMetric("current_leader", "The id of the quorum's leader; -1 if it is unknown.")
	descVote        = raftMetric("current_vote", "Whom this member has voted for in the epoch; -1 for nobody.", "directory_id")
	descEpoch       = raftMetric("current_epoch", "The quorum's epoch.")
	descWatermark   = raftMetric("high_watermark", "The high watermark that this member knows; -1 if it knows none.")
	descEnd         = raftMetric("log_end_offset", "The end offset of the log.")
	descEndEpoch    = raftMetric("log_end_epoch", "The epoch of the last record of the log.")
	descVoters      = raftMetric("number_of_voters", "Voters of the quorum.")
	descObservers   = raftMetric("number_of_observers", "Observers that this leader knows.")
	descChange      = raftMetric("uncommitted_voter_change", "1 while a change of the voters is not committed.")
	descUnknown     = raftMetric("number_unknown_voter_connections", "Voters whose address is unknown; Kafka keeps it at 0.")
	descCommitAvg   = raftMetric("commit_latency_avg", "Milliseconds from an append of this leader until it is committed, average.")
	descCommitMax   = raftMetric("commit_latency_max", "Milliseconds from an append of this leader until it is committed, at most.")
	descElectionAvg = raftMetric("election_latency_avg", "Milliseconds that an election takes, average.")
	descElectionMax = raftMetric("election_latency_max", "Milliseconds that an election takes, at most.")
	descFetched     = raftMetric("fetch_records_rate", "Records a second that are fetched from the leader.")
	descAppended    = raftMetric("append_records_rate", "Records a second that are appended as the leader.")
	descIdle        = raftMetric("poll_idle_ratio_avg", "Share of the time in which the raft loop waits.")
)

// Describe implements prometheus.Collector.
func (c raftCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c raftCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	m, err := c.node.Metrics(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descState, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, state := range raftStates {
		gauge(descState, boolean(m.CurrentState == state), state)
	}
	gauge(descLeader, float64(m.CurrentLeader))
	gauge(descVote, float64(max(m.CurrentVote.ID, kraft.NoNode)), m.CurrentVote.DirectoryID.String())
	gauge(descEpoch, float64(m.CurrentEpoch))
	gauge(descWatermark, float64(m.HighWatermark))
	gauge(descEnd, float64(m.LogEndOffset))
	gauge(descEndEpoch, float64(m.LogEndEpoch))
	gauge(descVoters, float64(m.NumberOfVoters))
	gauge(descUnknown, 0)
	if m.Leads {
		gauge(descObservers, float64(m.NumberOfObservers))
		gauge(descChange, boolean(m.UncommittedVoterChange))
	}
	gauge(descCommitAvg, milliseconds(m.CommitLatencyAvg))
	gauge(descCommitMax, milliseconds(m.CommitLatencyMax))
	gauge(descElectionAvg, milliseconds(m.ElectionLatencyAvg))
	gauge(descElectionMax, milliseconds(m.ElectionLatencyMax))
	gauge(descFetched, m.FetchRecordsRate)
	gauge(descAppended, m.AppendRecordsRate)
	gauge(descIdle, m.PollIdleRatioAvg)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// nodeHealth tells whether the node's loop answers. That it knows no leader is told, and makes it no worse: restarting it would not help.
func nodeHealth(node raftMetrics) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		m, err := node.Metrics(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"status": "ok", "version": build.Version, "state": m.CurrentState, "leader": m.CurrentLeader, "epoch": m.CurrentEpoch, "highWatermark": m.HighWatermark,
		})
	}
}

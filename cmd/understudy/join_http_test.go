package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
)

// metricsOf answers for a node.
type metricsOf func() (controller.Metrics, error)

func (f metricsOf) Metrics(context.Context) (controller.Metrics, error) { return f() }

func fetchPage(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(body)
}

func TestJoinHTTP_ShowsKafkasRaftMetrics(t *testing.T) {
	m := controller.Metrics{
		CurrentState: "leader", CurrentLeader: 3, CurrentVote: kraft.ReplicaKey{ID: 3}, CurrentEpoch: 7, HighWatermark: 41, LogEndOffset: 42, LogEndEpoch: 7,
		NumberOfVoters: 3, Leads: true, NumberOfObservers: 2, UncommittedVoterChange: true, CommitLatencyAvg: 1500 * time.Microsecond,
	}
	var err error
	node := metricsOf(func() (controller.Metrics, error) { return m, err })
	shut, at, failed := serveHTTP("127.0.0.1:0", raftCollector{node}, nodeHealth(node), zerolog.Nop())
	if failed != nil {
		t.Fatal(failed)
	}
	defer shut()
	_, text := fetchPage(t, "http://"+at+"/metrics")
	for _, want := range []string{
		`kafka_server_raft_metrics_current_state{state="leader"} 1`, `kafka_server_raft_metrics_current_state{state="follower"} 0`,
		`kafka_server_raft_metrics_current_leader 3`, `kafka_server_raft_metrics_current_vote{directory_id="AAAAAAAAAAAAAAAAAAAAAA"} 3`,
		`kafka_server_raft_metrics_current_epoch 7`, `kafka_server_raft_metrics_high_watermark 41`, `kafka_server_raft_metrics_log_end_offset 42`,
		`kafka_server_raft_metrics_number_of_observers 2`, `kafka_server_raft_metrics_uncommitted_voter_change 1`, `kafka_server_raft_metrics_commit_latency_avg 1.5`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if code, text := fetchPage(t, "http://"+at+"/healthz"); code != http.StatusOK || !strings.Contains(text, `"state":"leader"`) {
		t.Errorf("health %d: %s", code, text)
	}
	m.Leads = false
	if _, text := fetchPage(t, "http://"+at+"/metrics"); strings.Contains(text, "number_of_observers") {
		t.Error("a node that does not lead counts observers")
	}
	err = errors.New("it has stopped")
	if code, _ := fetchPage(t, "http://"+at+"/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("health of a node that has stopped: %d", code)
	}
}

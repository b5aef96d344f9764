package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/internal/need"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

func needKafka(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
	need.For(t, "java")
	need.For(t, "mvn")
}

// processesIn lists the processes whose command line names the directory.
func processesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("no processes to be seen: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), dir) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// Real controllers, a broker, topics, SIGKILL of the leader: what understudy saw is what Kafka's logs say.
func TestKafka_DemoSeesWhatTheLogsSay(t *testing.T) {
	needKafka(t)
	dir := t.TempDir()
	code, out, errs := command(t, "demo", "--kafka", "4.4.0", "--dir", dir, "--keep", "-o", "json")
	if code != exitFine {
		t.Fatalf("exit code %d\n%s\n%s", code, errs, out)
	}
	var got demoSummary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	act := got.Acts[0]
	if !got.OK || got.Kafka != "4.4.0" || act.Verdict != "CONFORMS" || act.Judged*100 < act.Decisions*95 {
		t.Errorf("summary %s", out)
	}
	if len(act.Leaders) < 2 || !reflect.DeepEqual(act.Leaders, act.Kafka) || act.Bypassed != 0 {
		t.Errorf("leaders %v, by the logs %v; %d connections around the proxy", act.Leaders, act.Kafka, act.Bypassed)
	}
	if logs, err := filepath.Glob(filepath.Join(dir, "kafka", "*")); err != nil || len(logs) < 4 {
		t.Errorf("--keep left only %v (%v)", logs, err)
	}
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestKafka_DemoInterruptedLeavesNothingBehind(t *testing.T) {
	needKafka(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := &cancelAt{text: "asks for votes", cancel: cancel} // in the middle of the first election
	var errs bytes.Buffer
	code := run(ctx, []string{"demo", "--kafka", "4.4.0", "--dir", dir}, bytes.NewReader(nil), out, &errs)
	if code != exitRuntime || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q\n%s", code, errs.String(), out.out.String())
	}
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "kafka")); !os.IsNotExist(err) {
		t.Errorf("the nodes' directory is left: %v", err)
	}
}

// The comparison with the logs must notice a difference, or it proves nothing.
func TestDemoAftermath_NoticesWhatTheLogsDoNotSay(t *testing.T) {
	dir := t.TempDir()
	if code, out, _ := command(t, "demo", "--speed", "0", "--dir", dir, "-o", "json"); code != exitFine {
		t.Fatal(out)
	}
	file := filepath.Join(dir, "quorum-000001.pcapng.zst")
	report, err := judge(file, false)
	if err != nil {
		t.Fatal(err)
	}
	truth := kafka.Truth{
		Transitions: []kafka.Transition{
			{Node: 1, Role: kafka.Leader, Epoch: 1, Leader: 1}, {Node: 2, Role: kafka.Leader, Epoch: 3, Leader: 2},
		},
		Votes: []kafka.Vote{
			{Voter: 2, Candidate: kraft.ReplicaKey{ID: 1}, Epoch: 0, PreVote: true, Granted: true},
			{Voter: 2, Candidate: kraft.ReplicaKey{ID: 1}, Epoch: 1, Granted: true},
			{Voter: 3, Candidate: kraft.ReplicaKey{ID: 1}, Epoch: 1, Granted: true},
			{Voter: 3, Candidate: kraft.ReplicaKey{ID: 2}, Epoch: 1, PreVote: true, Granted: true},
			{Voter: 2, Candidate: kraft.ReplicaKey{ID: 3}, Epoch: 1, PreVote: true, Granted: true},
			{Voter: 2, Candidate: kraft.ReplicaKey{ID: 3}, Epoch: 2},
			{Voter: 3, Candidate: kraft.ReplicaKey{ID: 2}, Epoch: 2},
			{Voter: 3, Candidate: kraft.ReplicaKey{ID: 2}, Epoch: 2, PreVote: true, Granted: true},
			{Voter: 3, Candidate: kraft.ReplicaKey{ID: 2}, Epoch: 3, Granted: true},
		},
	}
	for _, tc := range []struct {
		name  string
		spoil func(t *kafka.Truth, r *shadow.Report, b *kafka.Bypass)
		code  int
	}{
		{"all equal", func(*kafka.Truth, *shadow.Report, *kafka.Bypass) {}, exitFine},
		{"another leader", func(t *kafka.Truth, _ *shadow.Report, _ *kafka.Bypass) { t.Transitions[1].Node = 3 }, exitFinding},
		{"a leader that was not seen", func(t *kafka.Truth, _ *shadow.Report, _ *kafka.Bypass) {
			t.Transitions = append(t.Transitions, kafka.Transition{Node: 3, Role: kafka.Leader, Epoch: 4})
		}, exitFinding},
		{"another vote", func(t *kafka.Truth, _ *shadow.Report, _ *kafka.Bypass) { t.Votes[6].Granted = true }, exitFinding},
		{"a connection around the proxy", func(_ *kafka.Truth, _ *shadow.Report, b *kafka.Bypass) { b.Around = []string{"127.0.0.1:1"} }, exitFinding},
		{"inconclusive", func(_ *kafka.Truth, r *shadow.Report, _ *kafka.Bypass) { r.Verdict = shadow.Inconclusive }, exitInconclusive},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seen, said, around := *report, truth, kafka.Bypass{Proxied: 3}
			said.Transitions = append([]kafka.Transition(nil), truth.Transitions...)
			said.Votes = append([]kafka.Vote(nil), truth.Votes...)
			tc.spoil(&said, &seen, &around)
			var out bytes.Buffer
			s := &show{out: &out, style: demo.Style{}}
			act := s.act("kafka")
			act.Recording = file
			act.judged(&seen)
			code := exitFine
			var exit *exitError
			if errors.As(s.aftermath(act, said, around, nil), &exit) {
				code = exit.code
			}
			if code != tc.code || act.OK != (code == exitFine) {
				t.Errorf("exit code %d and ok %t, want code %d\n%s", code, act.OK, tc.code, out.String())
			}
		})
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/internal/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
)

// output is what a command prints, while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// await returns what a pattern finds in the output, as soon as it does.
func (o *output) await(t *testing.T, pattern string) []string {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(o.String()); found != nil {
			return found
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%q does not appear in\n%s", pattern, o)
		}
	}
}

// numbered gives the connections of a capture their nodes: node N listens on port 19090+N.
type numbered struct{ recordings.Source }

func (n numbered) Next(o *recordings.Observation) error {
	err := n.Source.Next(o)
	if err == nil {
		o.Conn.Node = kraft.NodeID(o.Conn.Server.Port() - 19090)
	}
	return err
}

// captured is a stage for a capture of a real quorum.
func captured(t *testing.T, name string) *replay.Stage {
	t.Helper()
	in, err := recordings.OpenAny(nil, filepath.Join("..", "..", "recordings", "testdata", "captures", name, "capture.pcap.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	script, err := replay.Load(numbered{in})
	if err != nil {
		t.Fatal(err)
	}
	stage, err := replay.NewStage(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stage.Close)
	return stage
}

// staged is a proxy or record command in front of a stage.
type staged struct {
	out, logs output
	dial      map[kraft.NodeID]string
	stop      context.CancelFunc
	code      chan int
}

func startStaged(t *testing.T, stage *replay.Stage, args ...string) *staged {
	t.Helper()
	s := &staged{dial: map[kraft.NodeID]string{}, code: make(chan int, 1)}
	nodes := []kraft.NodeID{1, 2, 3}
	for _, n := range nodes {
		args = append(args, "--upstream", n.String()+"="+stage.Addr(n)+"=127.0.0.1:0")
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() { s.code <- run(ctx, args, strings.NewReader(""), &s.out, &s.logs) }()
	for _, n := range nodes {
		s.dial[n] = s.out.await(t, `node `+n.String()+`\s+(\S+) -> `)[1]
	}
	s.out.await(t, `recording .*\n`)
	return s
}

// end stops the command and returns its exit code.
func (s *staged) end() int {
	s.stop()
	return <-s.code
}

// TestProxy_RelaysRecordsAndJudgesARealQuorum plays a captured quorum through the whole command, with its checker.
func TestProxy_RelaysRecordsAndJudgesARealQuorum(t *testing.T) {
	stage := captured(t, "440-dynamic-start-kill")
	base := filepath.Join(t.TempDir(), "sub", "quorum")
	s := startStaged(t, stage, "proxy", "--record", base, "--http", "127.0.0.1:0")
	at := s.out.await(t, `http://(\S+)/metrics`)[1]
	frames, err := stage.Play(t.Context(), s.dial, replay.Pace{})
	if err != nil {
		t.Fatal(err)
	}
	s.out.await(t, `(?s)node 1 leads epoch 1.*node 2 leads epoch 3`) // told while it runs
	metrics := get(t, "http://"+at+"/metrics")
	for _, want := range []string{
		`understudy_proxy_requests_total{key="Vote"}`, `understudy_proxy_sink_up{sink="checker"} 1`,
		"understudy_proxy_tap_gaps_total 0", "understudy_proxy_forward_seconds_count",
		`understudy_proxy_checker_events_total{event="leader"} 2`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s:\n%s", want, metrics)
		}
	}
	if health := get(t, "http://"+at+"/healthz"); !strings.Contains(health, `"status":"ok"`) {
		t.Errorf("health %s", health)
	}
	if got := s.end(); got != exitFine || !strings.Contains(s.out.String(), "CONFORMS: judged") {
		t.Errorf("exit code %d\n%s\n%s", got, &s.out, &s.logs)
	}
	if want := fmt.Sprintf("%d frames recorded", frames); !strings.Contains(s.out.String(), want) {
		t.Errorf("no %q in\n%s", want, &s.out)
	}
	var checked output
	if got := run(t.Context(), []string{"check", base}, strings.NewReader(""), &checked, io.Discard); got != exitFine {
		t.Errorf("check of the recording: exit code %d\n%s", got, &checked)
	}
}

// TestProxy_AnAlteredVoteIsFoundWhenItIsJudgedAsThePeers is the broken twin of the quorum above.
func TestProxy_AnAlteredVoteIsFoundWhenItIsJudgedAsThePeers(t *testing.T) {
	stage := captured(t, "440-dynamic-start-kill")
	s := startStaged(t, stage, "proxy", "--record", filepath.Join(t.TempDir(), "quorum"), "--fault-as-peer",
		"--fault", "mutate Vote response field VoteGranted=true from 3 to 2")
	if _, err := stage.Play(t.Context(), s.dial, replay.Pace{}); err != nil {
		t.Fatal(err)
	}
	if got := s.end(); got != exitFinding || !strings.Contains(s.out.String(), "DIVERGES") {
		t.Errorf("exit code %d\n%s\n%s", got, &s.out, &s.logs)
	}
}

// TestRecord_HasNoChecker and keeps everything when it is told to.
func TestRecord_HasNoChecker(t *testing.T) {
	stage := captured(t, "440-dynamic-start-kill")
	dir := t.TempDir() + "/"
	s := startStaged(t, stage, "record", "--record", dir, "--include-records", "--rotate-size", "20KB", "--durability", "interval")
	frames, err := stage.Play(t.Context(), s.dial, replay.Pace{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.end(); got != exitFine || strings.Contains(s.out.String(), "leads epoch") {
		t.Errorf("exit code %d\n%s\n%s", got, &s.out, &s.logs)
	}
	segments, _ := filepath.Glob(dir + "understudy-*.pcapng.zst")
	if len(segments) < 2 {
		t.Errorf("segments %q", segments)
	}
	in, err := recordings.OpenAny(nil, segments...)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	recorded := 0
	var o recordings.Observation
	for err = in.Next(&o); err == nil; err = in.Next(&o) {
		if o.Kind == recordings.KindFrame {
			recorded++
		}
		if len(o.Withheld) > 0 || o.Kind == recordings.KindGap {
			t.Errorf("withheld or missing: %+v", o)
		}
	}
	if recorded != frames || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames recorded of %d, %v", recorded, frames, err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(b)
}

func TestProxy_RefusesWrongUseWithItsReason(t *testing.T) {
	busy := captured(t, "440-dynamic-start-kill").Addr(1)
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const up = "--upstream=1=127.0.0.1:1=127.0.0.1:0"
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "no upstream"},
		{[]string{"--upstream", "1=nowhere"}, exitUsage, "1=nowhere"},
		{[]string{up, "--fault", "drop Vtoe"}, exitUsage, `"Vtoe"`},
		{[]string{up, "--config", filepath.Join(dir, "missing")}, exitUsage, "missing"},
		{[]string{up, "--durability", "always"}, exitUsage, "always"},
		{[]string{up, "--rotate-size", "big"}, exitUsage, "big"},
		{[]string{up, "--rotate-interval", "-1s"}, exitUsage, "-1s"},
		{[]string{up, "--tap-memory", "1KiB"}, exitUsage, "1KiB"},
		{[]string{up, "--dial-from", "here"}, exitUsage, "here"},
		{[]string{up, "surplus"}, exitUsage, "surplus"},
		{[]string{up, up}, exitUsage, "two upstreams"},
		{[]string{"--upstream", "1=127.0.0.1:1=" + busy, "--record", dir + "/x"}, exitRuntime, busy},
		{[]string{up, "--http", busy, "--record", dir + "/y"}, exitRuntime, busy},
		{[]string{up, "--record", file + "/x"}, exitRuntime, file},
		{[]string{up, "--record", dir + "/z", "--checker", "/nowhere/checker"}, exitRuntime, "/nowhere/checker"},
	} {
		var out, logs output
		got := run(t.Context(), append([]string{"proxy"}, test.args...), strings.NewReader(""), &out, &logs)
		if got != test.code || !strings.Contains(logs.String(), test.says) {
			t.Errorf("%q: exit code %d, want %d naming %q:\n%s", test.args, got, test.code, test.says, &logs)
		}
	}
}

func TestParseSize_ReadsUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "64MiB": 64 << 20, "1 GiB": 1 << 30, "2KB": 2000, "5B": 5} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "MiB", "1.5GiB", "9999999999TiB", "1Mib"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q = %d", text, got)
		}
	}
}

func TestProxyLog_HasNoColoursWhereNoTerminalIs(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var text bytes.Buffer
	for _, out := range []io.Writer{&text, file} {
		log := newLog(out)
		log.Warn().Str("upstream", "node 1").Msg("upstream does not answer")
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{text.String(), string(written)} {
		if strings.Contains(line, "\x1b") || !strings.Contains(line, "WRN upstream does not answer upstream=\"node 1\"") {
			t.Errorf("logged %q", line)
		}
	}
}

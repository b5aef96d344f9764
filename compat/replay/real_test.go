package replay_test

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/compat/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/recordings"
)

// timeouts let elections come soon, and yet leave time for a conversation in between.
var timeouts = kafka.Timeouts{ElectionMs: 400, FetchMs: 2000, RequestMs: 1000, BackoffMaxMs: 300, IdleIntervalMs: 60000}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// record runs a function while a proxy stands in front of the quorum, and returns what it recorded.
func record(t *testing.T, q *kafka.Quorum, during func()) []string {
	t.Helper()
	return recordBefore(t, q.Upstreams(), during)
}

func recordBefore(t *testing.T, upstreams []string, during func()) []string {
	t.Helper()
	cfg := proxy.Config{DialFrom: netip.MustParseAddr(kafka.DialFrom), Log: zerolog.Nop()}
	for _, text := range upstreams {
		u, err := proxy.ParseUpstream(text)
		must(t, err)
		cfg.Upstreams = append(cfg.Upstreams, u)
	}
	p, err := proxy.New(cfg)
	must(t, err)
	dir, err := os.MkdirTemp(t.ArtifactDir(), "recording-")
	must(t, err)
	base := filepath.Join(dir, "run")
	w, err := recordings.Create(base, proxy.InBackground(recordings.Options{IncludeRecords: true}))
	must(t, err)
	p.Attach(proxy.NewRecording(base, w, cfg.Log))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	during()
	return []string{base + "-000001.pcapng.zst"}
}

// recordOwn has the conformance suite play the peers of a node behind a proxy.
func recordOwn(ctx context.Context, t *testing.T, q *kafka.Quorum, release, match string) []string {
	t.Helper()
	files := record(t, q, func() {
		must(t, q.Start(ctx, 1))
		report, err := conform.RunOwn(ctx, conform.OwnOptions{
			Options: conform.Options{Address: q.Node(1).Advertised, NodeID: 1, ClusterID: q.ClusterID, Match: regexp.MustCompile(match), Release: release},
			Voters:  map[kraft.NodeID]string{2: q.Node(2).Advertised, 3: q.Node(3).Advertised},
			Listen:  map[kraft.NodeID]string{2: q.Node(2).Listener, 3: q.Node(3).Listener},
		})
		must(t, err)
		if report.Verdict() != conform.Passed {
			_ = report.WriteText(t.Output(), false)
			t.Fatal("the recorded node does not conform")
		}
		t.Logf("recorded: %s", report.Summary())
	})
	must(t, q.Kill(1))
	return files
}

func load(t *testing.T, files []string) *replay.Script {
	t.Helper()
	in, err := recordings.OpenAny(nil, files...)
	must(t, err)
	defer in.Close()
	s, err := replay.Load(in, 1)
	must(t, err)
	return s
}

func play(ctx context.Context, t *testing.T, s *replay.Script, address, release string) *replay.Report {
	t.Helper()
	peers, err := replay.ListenFor(s.Peers)
	must(t, err)
	defer func() { must(t, peers.Close()) }()
	report, err := replay.Run(ctx, s, replay.Options{Live: release, Peers: peers, Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}})
	must(t, err)
	var text bytes.Buffer
	must(t, report.WriteText(&text))
	t.Logf("%d asks, %d hears\n%s", s.Asks(), s.Hears(), &text)
	return report
}

// played are the scenarios of the recording. Not among those that go to other releases: corrupt records end 4.0.0 (rule
// drop-newer-epoch-batches).
const played = "^(unattached|candidate)/|^follower/[a-ce-z]"

// TestRealNode_ReplayToTheSameReleaseHasNoDifference is `make test-replay`: no part of the tiers, since elections come from a real node's
// timers and a machine that is busy otherwise can bring one where the recording has none. It records what the conformance suite and a node say to each other in the suite's own
// quorum, and plays it to the node again, on a directory as it was then; and then to a node of another release, where each
// difference must have the name of a rule.
func TestRealNode_ReplayToTheSameReleaseHasNoDifference(t *testing.T) {
	if os.Getenv("UNDERSTUDY_REPLAY") == "" {
		t.Skip("starts real Kafka and depends on its timers; make test-replay runs it")
	}
	ctx := kafkatest.Deadline(t, 8*time.Minute)
	const release = "4.4.0"
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: timeouts, RaftLog: kafka.Debug, Proxied: true})
	files := recordOwn(ctx, t, q, release, played)

	must(t, q.Wipe(1))
	must(t, q.Start(ctx, 1))
	if r := play(ctx, t, load(t, files), q.Node(1).Listener, release); r.Outcome() != replay.Same {
		t.Errorf("played to the same release again: %s", r.Outcome())
	}
	must(t, q.Kill(1))

	for _, other := range []struct {
		release string
		rules   []string // that this story can show
	}{
		{"4.0.0", []string{"api-versions", "configured-fetch-bytes", "upgrade-kraft-version"}},
		{"4.2.1", []string{"api-versions", "configured-fetch-bytes"}},
	} {
		r := playToOther(ctx, t, q, files, other.release)
		if r.Outcome() != replay.Explained {
			t.Errorf("played to %s: %s", other.release, r.Outcome())
		}
		for rule, n := range r.Rules() {
			if !slices.Contains(other.rules, rule) {
				t.Errorf("played to %s: %d differences by %s", other.release, n, rule)
			}
		}
	}
}

// TestMatrix_AVoterRepliesTheSame has the suite play the peers of a voter whose own timers do not run out meanwhile, so nothing but what it
// is asked decides what it does. The same voter on a fresh directory does the same.
func TestMatrix_AVoterRepliesTheSame(t *testing.T) {
	if os.Getenv("UNDERSTUDY_MATRIX") == "" {
		t.Skip("starts real Kafka; make test-matrix runs it")
	}
	ctx := kafkatest.Deadline(t, 5*time.Minute)
	const release = "4.4.0"
	patient := timeouts
	patient.ElectionMs, patient.FetchMs, patient.RequestMs = 600_000, 600_000, 60_000
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: patient, Proxied: true})
	files := recordOwn(ctx, t, q, release, untimed)
	must(t, q.Wipe(1))
	must(t, q.Start(ctx, 1))
	r := play(ctx, t, load(t, files), q.Node(1).Listener, release)
	if r.Outcome() != replay.Same || r.Compared < 100 {
		t.Errorf("%s, %d answers compared", r.Outcome(), r.Compared)
	}
	must(t, q.Kill(1))
}

// untimed are scenarios in which no timer of the node has a part.
const untimed = "^unattached/(a-new|directory|describes|follows|grants|invalid|learns|newer|other|prevote|refus|repeats|serves|votes)|" +
	"^follower/(appends|asks|believes|fetches|grants|leaves|refuses|serves|tells|truncates|uses)"

// playToOther starts a node of another release as the recorded node was: the same identity, addresses and timeouts.
func playToOther(ctx context.Context, t *testing.T, q *kafka.Quorum, files []string, release string) *replay.Report {
	t.Helper()
	other := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: timeouts, RaftLog: kafka.Debug, Proxied: true})
	was, is := q.Node(1), other.Node(1)
	must(t, q.Wipe(1))
	text, err := os.ReadFile(was.ConfigFile)
	must(t, err)
	must(t, os.WriteFile(is.ConfigFile, []byte(strings.ReplaceAll(string(text), was.DataDir, is.DataDir)), 0o644))
	must(t, os.RemoveAll(is.DataDir))
	must(t, os.CopyFS(is.DataDir, os.DirFS(was.DataDir)))
	must(t, other.Start(ctx, 1))
	report := play(ctx, t, load(t, files), was.Listener, release)
	must(t, other.Kill(1)) // it has the address of the next one
	return report
}

package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// These tests run real controllers behind the proxy through what happens to quorums, and hold the checker to two
// things: it says what Kafka's own logs say, and it finds nothing.

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// observed is a real quorum behind a proxy that records.
type observed struct {
	*kafka.Quorum
	t    *testing.T
	base string
	stop func() error
}

// observe prepares a quorum and puts a recording proxy in front of it.
func observe(t *testing.T, cfg kafka.Config) *observed {
	t.Helper()
	cfg.Proxied = true
	q := kafkatest.New(t, cfg)
	pc := proxy.Config{DialFrom: netip.MustParseAddr(kafka.DialFrom), Log: zerolog.Nop()}
	for _, text := range q.Upstreams() {
		u, err := proxy.ParseUpstream(text)
		must(t, err)
		pc.Upstreams = append(pc.Upstreams, u)
	}
	p, err := proxy.New(pc)
	must(t, err)
	o := &observed{Quorum: q, t: t, base: filepath.Join(t.ArtifactDir(), "run")}
	w, err := recordings.Create(o.base, recordings.Options{IncludeRecords: true, Background: true})
	must(t, err)
	p.Attach(proxy.NewRecording(o.base, w, zerolog.Nop()))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	ended := false
	o.stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := o.stop(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// judge ends the quorum, then the proxy, and checks what was recorded.
func (o *observed) judge() *shadow.Report {
	t := o.t
	t.Helper()
	must(t, o.CloseInOrder())
	must(t, o.stop())
	r := o.check(shadow.Options{})
	var text strings.Builder
	must(t, r.WriteText(&text))
	t.Logf("\n%s", text.String())
	if r.Verdict != shadow.Conforms || len(r.Findings) > 0 || r.Counts.Undecodable > 0 || r.Judged*100 < r.Decisions*95 {
		t.Errorf("%s, judged %d of %d, %d frames undecodable: %v", r.Verdict, r.Judged, r.Decisions, r.Counts.Undecodable, r.Reasons)
	}
	o.sameAsLogs(r)
	second := o.check(shadow.Options{Tier2: true})
	for _, n := range second.Tier2 {
		t.Logf("tier 2: %+v", n)
	}
	for i := range second.Findings {
		t.Errorf("tier 2 cannot explain: %s", second.Findings[i].Text)
	}
	o.judgeFromTheMiddle(r)
	return r
}

// judgeFromTheMiddle checks the second half of what was recorded, as a capture has it that begins while the quorum runs.
func (o *observed) judgeFromTheMiddle(whole *shadow.Report) {
	releases := map[kraft.NodeID]string{}
	for _, n := range whole.Nodes {
		if n.Release != "" {
			releases[n.ID] = n.Release
		}
	}
	r := o.checkFrom(whole.From+(whole.To-whole.From)/2, shadow.Options{Tier2: true, Releases: releases})
	for _, n := range r.Tier2 {
		o.t.Logf("tier 2, from the middle: %+v", n)
	}
	for i := range r.Findings {
		o.t.Errorf("from the middle, tier 2 cannot explain: %s", r.Findings[i].Text)
	}
}

// check reads what was recorded.
func (o *observed) check(options shadow.Options) *shadow.Report { return o.checkFrom(0, options) }

// checkFrom reads what was recorded from an instant on. What happened on connections that were open then is not known.
func (o *observed) checkFrom(from int64, options shadow.Options) *shadow.Report {
	in, err := recordings.OpenAny(nil, o.base)
	must(o.t, err)
	defer in.Close()
	c := shadow.New(options)
	var ob recordings.Observation
	opened := map[uint64]bool{}
	for {
		err := in.Next(&ob)
		if errors.Is(err, io.EOF) {
			return c.Finish()
		}
		must(o.t, err)
		switch {
		case from > 0 && ob.At.Seen < from:
			continue
		case ob.Conn != nil && ob.Kind == recordings.KindOpen:
			opened[ob.Conn.ID] = true
		case ob.Conn != nil && from > 0 && !opened[ob.Conn.ID]:
			conn := *ob.Conn
			conn.Midway = true
			ob.Conn = &conn
		}
		c.Observe(&ob)
	}
}

// sameAsLogs compares leaders and votes with what Kafka logged.
func (o *observed) sameAsLogs(r *shadow.Report) {
	truth := o.Truth()
	leaders := map[kraft.Epoch]kraft.NodeID{}
	for _, e := range r.Quorum.Elections {
		leaders[e.Epoch] = e.Leader
	}
	for _, l := range truth.Leaders() {
		if leaders[l.Epoch] != l.Node && len(o.Controllers()) > 1 {
			o.t.Errorf("epoch %d: leader %s, Kafka's logs say %s", l.Epoch, leaders[l.Epoch], l.Node)
		}
	}
	logged := map[string]int{}
	for _, v := range truth.Votes {
		logged[fmt.Sprintf("%s to %s in %d, pre-vote %t, granted %t", v.Voter, v.Candidate.ID, v.Epoch, v.PreVote, v.Granted)]++
	}
	seen := 0
	for _, e := range r.Quorum.Elections {
		for _, cand := range e.Candidates {
			epoch := e.Epoch
			if cand.PreVote {
				epoch--
			}
			for _, b := range cand.Ballots {
				what := fmt.Sprintf("%s to %s in %d, pre-vote %t, granted %t", b.Voter, cand.ID, epoch, cand.PreVote, b.Granted)
				seen += int(b.Count)
				if b.Error == kraft.None && logged[what] == 0 {
					o.t.Errorf("vote %s is not in Kafka's logs", what)
				}
			}
		}
	}
	if seen == 0 && len(truth.Votes) > 0 {
		o.t.Error("no vote was seen")
	}
}

func (o *observed) other(than ...kraft.NodeID) kraft.NodeID {
	for _, id := range o.Controllers() {
		if !slices.Contains(than, id) {
			return id
		}
	}
	o.t.Fatal("no other controller")
	return kraft.NoNode
}

type quorumCase struct {
	release string
	voters  kafka.Voters
}

var allBuilds = []quorumCase{
	{"4.0.0", kafka.Static}, {"4.0.2", kafka.Dynamic}, {"4.1.2", kafka.Static}, {"4.2.1", kafka.Dynamic}, {"4.3.1", kafka.Static}, {"4.4.0", kafka.Dynamic},
}

func onlyMatrix(t *testing.T) {
	t.Helper()
	if !kafkatest.Matrix() {
		t.Skip("long tier; make test-matrix runs it")
	}
}

// TestMatrix_KillsPausesAndRestartsConform: SIGKILL and SIGTERM of leaders, a leader paused until it is replaced,
// restarts, topics and brokers.
func TestMatrix_KillsPausesAndRestartsConform(t *testing.T) {
	onlyMatrix(t)
	for _, tc := range allBuilds {
		t.Run(tc.release+" "+tc.voters.String(), func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 5*time.Minute)
			o := observe(t, kafka.Config{Release: kafka.MustRelease(tc.release), Voters: tc.voters, Brokers: 1})
			leader, err := o.StartAll(ctx)
			must(t, err)
			must(t, o.CreateTopics(ctx, 3, "one", "two"))
			for _, do := range []func(kraft.NodeID) error{o.Kill, func(id kraft.NodeID) error { return o.Stop(ctx, id) }} {
				must(t, do(leader.Node))
				next, err := o.WaitEpochAbove(ctx, leader.Epoch)
				must(t, err)
				must(t, o.Restart(ctx, leader.Node))
				must(t, o.WaitReady(ctx))
				leader = next
			}
			must(t, o.Pause(leader.Node))
			next, err := o.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, o.CreateTopics(ctx, 3, "three"))
			must(t, o.Resume(leader.Node))
			must(t, o.WaitReady(ctx))
			follower := o.other(next.Node)
			must(t, o.Kill(follower))
			must(t, o.Restart(ctx, follower))
			must(t, o.WaitReady(ctx))
			o.judge()
		})
	}
}

// TestMatrix_WipedFollowersConform: a follower loses its disk and copies a snapshot, in a quorum that writes one often.
func TestMatrix_WipedFollowersConform(t *testing.T) {
	onlyMatrix(t)
	for _, tc := range []quorumCase{{"4.0.2", kafka.Static}, {"4.4.0", kafka.Dynamic}} {
		t.Run(tc.release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 5*time.Minute)
			release := kafka.MustRelease(tc.release)
			o := observe(t, kafka.Config{Release: release, Voters: tc.voters, Properties: release.SnapshotsSoon()})
			leader, err := o.StartAll(ctx)
			must(t, err)
			follower := o.other(leader.Node)
			must(t, o.Stop(ctx, follower))
			for i := range 8 {
				must(t, o.WriteMetadata(ctx, fmt.Sprint("batch-", i), 40))
			}
			checkpoints := filepath.Join(o.Node(leader.Node).DataDir, "__cluster_metadata-0", "*.checkpoint")
			must(t, o.Wait(ctx, "snapshots on the leader", func(kafka.Truth) bool {
				files, _ := filepath.Glob(checkpoints)
				return len(files) > 1
			}))
			must(t, o.Wipe(follower))
			must(t, o.Restart(ctx, follower))
			must(t, o.WaitReady(ctx))
			must(t, o.Kill(leader.Node))
			_, err = o.WaitEpochAbove(ctx, leader.Epoch)
			must(t, err)
			must(t, o.Restart(ctx, leader.Node))
			must(t, o.WaitReady(ctx))
			r := o.judge()
			if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "is forgotten") }) {
				t.Error("the report does not say that a replica lost its disk")
			}
		})
	}
}

// TestMatrix_VoterChangesConform: one voter grows to three, the leader is removed.
func TestMatrix_VoterChangesConform(t *testing.T) {
	onlyMatrix(t)
	ctx := kafkatest.Deadline(t, 5*time.Minute)
	o := observe(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Standalone})
	leader, err := o.StartAll(ctx)
	must(t, err)
	must(t, o.AddController(ctx, 2))
	must(t, o.AddController(ctx, 3))
	must(t, o.RemoveController(ctx, leader.Node))
	_, err = o.WaitEpochAbove(ctx, leader.Epoch)
	must(t, err)
	must(t, o.WaitReady(ctx))
	o.judge()
}

// TestMatrix_StaticQuorumBecomesDynamicAndConforms: kraft.version 0 to 1 (KIP-853).
func TestMatrix_StaticQuorumBecomesDynamicAndConforms(t *testing.T) {
	onlyMatrix(t)
	ctx := kafkatest.Deadline(t, 5*time.Minute)
	o := observe(t, kafka.Config{Release: kafka.MustRelease("4.3.1"), Voters: kafka.Static})
	leader, err := o.StartAll(ctx)
	must(t, err)
	err = o.UpgradeKRaftVersion(ctx)
	for err != nil && ctx.Err() == nil { // it needs every voter's word first
		err = o.UpgradeKRaftVersion(ctx)
	}
	must(t, err)
	must(t, o.Kill(leader.Node))
	_, err = o.WaitEpochAbove(ctx, leader.Epoch)
	must(t, err)
	must(t, o.Restart(ctx, leader.Node))
	must(t, o.WaitReady(ctx))
	o.judge()
}

// TestMatrix_MixedReleasesConform: one controller is of a release without pre-votes.
func TestMatrix_MixedReleasesConform(t *testing.T) {
	onlyMatrix(t)
	ctx := kafkatest.Deadline(t, 5*time.Minute)
	releases := map[kraft.NodeID]kafka.Release{1: kafka.MustRelease("3.9.2"), 2: kafka.MustRelease("4.1.2"), 3: kafka.MustRelease("4.4.0")}
	o := observe(t, kafka.Config{Release: releases[1], Releases: releases, Voters: kafka.Static})
	leader, err := o.StartAll(ctx)
	must(t, err)
	for range 3 {
		must(t, o.Kill(leader.Node))
		next, err := o.WaitEpochAbove(ctx, leader.Epoch)
		must(t, err)
		must(t, o.Restart(ctx, leader.Node))
		must(t, o.WaitReady(ctx))
		leader = next
	}
	o.judge()
}

// TestMatrix_FastElectionsConform: timeouts so short that elections fail, overlap and repeat.
func TestMatrix_FastElectionsConform(t *testing.T) {
	onlyMatrix(t)
	for _, release := range []string{"4.0.0", "4.4.0"} {
		t.Run(release, func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 5*time.Minute)
			o := observe(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Dynamic, Timeouts: kafka.FastTimeouts})
			leader, err := o.StartAll(ctx)
			must(t, err)
			for range 8 {
				must(t, o.Pause(leader.Node))
				next, err := o.WaitEpochAbove(ctx, leader.Epoch)
				must(t, err)
				must(t, o.Resume(leader.Node))
				leader = next
			}
			must(t, o.WaitReady(ctx))
			o.judge()
		})
	}
}

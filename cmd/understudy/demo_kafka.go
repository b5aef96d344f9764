package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy"
)

// What the demo creates.
var demoTopics = []string{"demo-1", "demo-2", "demo-3", "demo-4", "demo-5"}

const demoPartitions = 3

// How long the steps of a real quorum may take before the demo gives up.
const (
	startTimeout    = 5 * time.Minute
	electionTimeout = time.Minute
)

// real runs the demo with real controllers.
func (s *show) real(ctx context.Context) (err error) {
	q, release, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	s.summary.Kafka = release.String()
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, q.Close())
		}
	}()
	act := s.act("kafka")
	w, t, err := s.stand(q, act)
	if err != nil {
		return err
	}
	bypass := watchBypass(ctx, q)
	story := s.story(ctx, q, t)
	around, bypassErr := bypass()
	// The nodes end before the proxy does, or they would go on without it and elect unseen.
	closed = true
	story = errors.Join(story, q.Close())
	report, ended := w.end()
	t.end()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), s.clean())
	case story != nil: // the logs say more
		return &exitError{exitRuntime, fmt.Errorf("demo: %w\nThe nodes' logs are kept in %s", story, s.nodesDir())}
	case ended != nil:
		return &exitError{exitRuntime, ended}
	}
	act.judged(report)
	act.Frames = int(report.Counts.Frames)
	return errors.Join(s.aftermath(act, q.Truth(), around, bypassErr), s.leave(q))
}

// prepare finds Kafka and formats the nodes.
func (s *show) prepare(ctx context.Context) (*kafka.Quorum, kafka.Release, error) {
	begin := time.Now()
	progress := func(text string) {
		if !s.live.Load() { // from then on the timeline tells
			fmt.Fprintf(s.wait, "  %6.1fs  %s\n", time.Since(begin).Seconds(), text)
		}
	}
	cfg := kafka.Config{Release: s.release, Voters: kafka.Dynamic, Brokers: 1, Proxied: true, Progress: progress}
	s.title("Act 1  Real Kafka controllers run through the proxy")
	cfg.Source = kafka.DefaultSource(s.home, progress)
	if s.home != "" { // the download says which release it is, and must be the one asked for
		dist, err := cfg.Source(ctx, cfg.Release)
		if err != nil {
			return nil, cfg.Release, usageError("--kafka-home: %w", err)
		}
		cfg.Release = dist.Release()
	}
	if !cfg.Release.AtLeast(4, 0) {
		cfg.Voters = kafka.Static
	}
	cfg.Dir = s.nodesDir()
	if err := os.Mkdir(cfg.Dir, 0o750); err != nil {
		return nil, cfg.Release, &exitError{exitRuntime, fmt.Errorf("demo: directory for the nodes: %w", err)}
	}
	q, err := kafka.New(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, cfg.Release, errors.Join(ctx.Err(), s.clean())
		}
		return nil, cfg.Release, &exitError{exitRuntime, fmt.Errorf("demo: %w", errors.Join(err, s.clean()))}
	}
	progress(fmt.Sprintf("Kafka %s is ready to start: controllers 1 to 3 (%s quorum), broker %s", cfg.Release, cfg.Voters, kafka.FirstBroker))
	return q, cfg.Release, nil
}

// stand puts the proxy in front of the controllers.
func (s *show) stand(q *kafka.Quorum, act *demoAct) (*watched, *teller, error) {
	cfg := proxy.Config{DialFrom: netip.MustParseAddr(kafka.DialFrom)}
	for _, text := range q.Upstreams() {
		u, err := proxy.ParseUpstream(text)
		if err != nil {
			return nil, nil, &exitError{exitRuntime, err}
		}
		cfg.Upstreams = append(cfg.Upstreams, u)
		s.say("         controller %s listens at %s and advertises the proxy's %s", u.Node, u.Address, u.Listen)
	}
	s.live.Store(true)
	t := newTeller(s.out, s.style, true)
	w, err := s.watch(cfg, "quorum", nil, t.event)
	if err != nil {
		t.end()
		return nil, nil, &exitError{exitRuntime, err}
	}
	act.Recording = w.file()
	return w, t, nil
}

// story is what happens to the quorum.
func (s *show) story(ctx context.Context, q *kafka.Quorum, t *teller) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	t.did("start controllers 1, 2 and 3")
	if err := q.Start(starting); err != nil {
		return err
	}
	first, err := q.WaitLeader(starting)
	if err != nil {
		return err
	}
	broker := q.Brokers()[0]
	t.did("start broker %s", broker)
	if err := q.Start(starting, broker); err != nil {
		return err
	}
	if err := q.WaitReady(starting); err != nil {
		return err
	}
	if err := q.CreateTopics(starting, demoPartitions, demoTopics...); err != nil {
		return err
	}
	t.did("%d topics created", len(demoTopics))
	t.did("SIGKILL leader %s", first.Node)
	t.down(first.Node, true)
	if err := q.Kill(first.Node); err != nil {
		return err
	}
	electing, cancel := context.WithTimeout(ctx, electionTimeout)
	defer cancel()
	second, err := q.WaitEpochAbove(electing, first.Epoch)
	if err != nil {
		return err
	}
	t.down(first.Node, false)
	t.did("start controller %s again", first.Node)
	if err := q.Restart(electing, first.Node); err != nil {
		return err
	}
	if err := q.WaitReady(electing); err != nil {
		return err
	}
	return q.Wait(electing, "the first high watermark of the new leader", func(truth kafka.Truth) bool {
		for _, hw := range truth.FirstHW {
			if hw.Epoch >= second.Epoch {
				return true
			}
		}
		return false
	})
}

// watchBypass looks, until the returned function is called, for connections to controllers that go around the proxy.
func watchBypass(ctx context.Context, q *kafka.Quorum) func() (kafka.Bypass, error) {
	ctx, stop := context.WithCancel(ctx)
	type outcome struct {
		bypass kafka.Bypass
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		b, err := q.WatchBypass(ctx)
		done <- outcome{b, err}
	}()
	return func() (kafka.Bypass, error) {
		stop()
		o := <-done
		return o.bypass, o.err
	}
}

// aftermath shows frames and verdict and compares with what Kafka says about itself.
func (s *show) aftermath(act *demoAct, truth kafka.Truth, around kafka.Bypass, bypassErr error) error {
	s.title("Act 2  What was recorded")
	if err := s.inspect(act); err != nil {
		return err
	}
	s.title("Act 3  What Kafka's own logs say")
	act.OK = false
	for _, l := range truth.Leaders() {
		act.Kafka = append(act.Kafka, demo.Led{Epoch: l.Epoch, Leader: l.Node})
	}
	differ := demo.CompareLeaders(s.out, s.style, act.Leaders, act.Kafka)
	missing := s.compareVotes(act, truth)
	act.Bypassed = len(around.Around)
	if bypassErr == nil {
		s.say("Connections that went around the proxy: %d (%d went through it, by the kernel's socket table)", len(around.Around), around.Proxied)
	}
	switch {
	case differ > 0:
		return unexpected("in %d epochs Kafka's logs name another leader than understudy", differ)
	case missing > 0:
		return unexpected("%d vote answers are not in the voters' logs as they were seen", missing)
	case len(around.Around) > 0:
		return unexpected("%d connections went around the proxy: %v", len(around.Around), around.Around)
	}
	if err := s.conforms(act); err != nil {
		return err
	}
	s.title("All as it should be: understudy saw what Kafka's own logs say, and the quorum conforms.")
	return nil
}

// seenVote is a vote answer as both sides can tell it.
type seenVote struct {
	voter, candidate kraft.NodeID
	epoch            kraft.Epoch
	preVote, granted bool
}

// compareVotes looks up each vote answer that was seen in the log of its voter. The logs may know more: a voter that
// answered into a connection that was gone.
func (s *show) compareVotes(act *demoAct, truth kafka.Truth) (missing int) {
	logged := map[seenVote]bool{}
	for _, v := range truth.Votes {
		logged[seenVote{v.Voter, v.Candidate.ID, v.Epoch, v.PreVote, v.Granted}] = true
	}
	answers := 0
	for _, e := range act.report.Quorum.Elections {
		for _, c := range e.Candidates {
			epoch := e.Epoch
			if c.PreVote { // listed with the epoch that the candidate wants to reach
				epoch--
			}
			for _, b := range c.Ballots {
				if b.Error != kraft.None {
					continue
				}
				answers++
				if !logged[seenVote{b.Voter, c.ID, epoch, c.PreVote, b.Granted}] {
					missing++
				}
			}
		}
	}
	same := s.style.Good("each as the voter's log says")
	if missing > 0 {
		same = s.style.Bad(fmt.Sprintf("%d of them not in the voter's log", missing))
	}
	s.say("Vote answers seen: %d, %s", answers, same)
	return missing
}

// leave removes what the nodes left behind, or says where it is.
func (s *show) leave(q *kafka.Quorum) error {
	if !s.keep {
		return s.clean()
	}
	s.say("The nodes' data and logs:")
	for _, n := range q.Nodes() {
		s.say("  %s", n.Dir)
	}
	return nil
}

func (s *show) clean() error {
	if s.keep {
		return nil
	}
	return os.RemoveAll(s.nodesDir())
}

func (s *show) nodesDir() string { return filepath.Join(s.dir, "kafka") }

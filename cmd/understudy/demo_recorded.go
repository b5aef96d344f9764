package main

import (
	"context"
	"fmt"

	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/internal/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// demoAct is what came of an act.
type demoAct struct {
	Name      string         `json:"name"`
	OK        bool           `json:"ok"`
	Recording string         `json:"recording,omitempty"`
	Frames    int            `json:"frames,omitempty"`
	Verdict   string         `json:"verdict,omitempty"`
	Decisions uint64         `json:"decisions,omitempty"`
	Judged    uint64         `json:"judged,omitempty"`
	Leaders   []demo.Led     `json:"leaders,omitempty"`
	Kafka     []demo.Led     `json:"kafkaLeaders,omitempty"` // by the nodes' own logs
	Fault     string         `json:"fault,omitempty"`
	Finding   *demoFinding   `json:"finding,omitempty"`
	Bypassed  int            `json:"connectionsAroundTheProxy,omitempty"`
	report    *shadow.Report // of the live checker
}

// demoFinding is what the altered answer was found to be.
type demoFinding struct {
	Rule   string       `json:"rule"`
	Node   kraft.NodeID `json:"node"`
	Epoch  kraft.Epoch  `json:"epoch"`
	Text   string       `json:"text"`
	Frames []uint64     `json:"frames"` // the numbers of the packet blocks that prove it, as Wireshark counts
}

func (a *demoAct) judged(r *shadow.Report) {
	a.report = r
	a.Verdict, a.Decisions, a.Judged, a.Leaders = r.Verdict.String(), r.Decisions, r.Judged, demo.Leaders(r)
}

// unexpected is the error of a demo that came out otherwise than it should.
func unexpected(format string, args ...any) error {
	return &exitError{exitFinding, fmt.Errorf("demo: "+format, args...)}
}

// playRecorded plays the three acts with the recorded quorum.
func (s *show) playRecorded(ctx context.Context) error {
	quorum, err := demo.Load()
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	s.title("Act 1  A recorded Kafka 4.4.0 quorum plays again over real sockets, through the proxy")
	first := s.act("play")
	if err := s.play(ctx, quorum, first, "quorum", nil, nil); err != nil {
		return err
	}
	if err := s.conforms(first); err != nil {
		return err
	}
	s.title("Act 2  What was recorded")
	if err := s.inspect(first); err != nil {
		return err
	}
	s.title("Act 3  The same once more, with one vote answer altered on its way")
	if err := s.forged(ctx, quorum); err != nil {
		return err
	}
	s.title("All as it should be: the recorded quorum conforms, and the one altered vote was found.")
	return nil
}

// play plays the recorded quorum through a proxy.
func (s *show) play(ctx context.Context, q *demo.Recorded, act *demoAct, name string, rule *proxy.Rule, only func(*shadow.Event) bool) error {
	stage, err := replay.NewStage(q.Script)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	defer stage.Close()
	var cfg proxy.Config
	var checkFlags []string
	speed := s.speed
	if rule != nil {
		cfg.Faults = []*proxy.Rule{rule}
		checkFlags = []string{"--fault-as-peer"}
		speed *= 4 // the story is known
		act.Fault = rule.Text
	}
	for _, node := range q.Script.Nodes() {
		cfg.Upstreams = append(cfg.Upstreams, proxy.Upstream{Node: node, Address: stage.Addr(node), Listen: "127.0.0.1:0"})
	}
	t := newTeller(s.out, s.style, speed > 0)
	t.only = only
	w, err := s.watch(cfg, name, checkFlags, t.event)
	if err != nil {
		t.end()
		return &exitError{exitRuntime, err}
	}
	act.Recording = w.file()
	if rule == nil {
		for i, node := range q.Script.Nodes() {
			s.say("%-24s node %s at %s", [...]string{"The proxy's listeners:", ""}[min(i, 1)], node, w.proxy.Addr(node))
		}
		actions := q.Actions
		stage.Before = func(at int64) {
			for len(actions) > 0 && actions[0].At <= at {
				t.did("%s", actions[0].What)
				actions = actions[1:]
			}
		}
	}
	dial := map[kraft.NodeID]string{}
	for _, node := range q.Script.Nodes() {
		dial[node] = w.proxy.Addr(node)
	}
	act.Frames, err = stage.Play(ctx, dial, replay.Pace{Speed: speed})
	report, ended := w.end()
	t.end()
	switch {
	case err != nil:
		return err
	case ended != nil:
		return &exitError{exitRuntime, ended}
	case act.Frames != q.Script.Frames():
		return unexpected("%d of %d frames came through", act.Frames, q.Script.Frames())
	}
	act.judged(report)
	s.say("%d frames passed on, %d recorded, judged as they came by a checker in a process of its own.", act.Frames, report.Counts.Frames)
	return nil
}

// conforms expects of an act that everything was judged and nothing found.
func (s *show) conforms(act *demoAct) error {
	switch act.report.Verdict {
	case shadow.Diverges:
		demo.Finding(s.out, s.style, &act.report.Findings[0])
		return unexpected("%s: the quorum was found to diverge (%s); %s has the proof", act.Name, act.report.Findings[0].Text, act.Recording)
	case shadow.Inconclusive:
		return &exitError{exitInconclusive, fmt.Errorf("demo: %s: inconclusive: %v", act.Name, act.report.Reasons)}
	case shadow.Conforms:
	}
	act.OK = true
	return nil
}

// forged plays the quorum with a vote that was never given.
func (s *show) forged(ctx context.Context, q *demo.Recorded) error {
	source, err := demo.Open()
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	f, err := demo.FindForgery(source)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	rule, err := proxy.ParseRule(f.Rule)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	why := fmt.Sprintf("has voted for node %s", f.VotedFor)
	if f.VotedFor == f.Voter {
		why = "is a candidate itself"
	}
	s.say("In epoch %d node %s %s, so it refuses node %s its vote. A fault rule makes the refusal a", f.Epoch, f.Voter, why, f.Candidate)
	s.say("grant, and the checker takes it as if node %s had sent it (--fault-as-peer):", f.Voter)
	s.say("  --fault '%s'", f.Rule)
	act := s.act("altered vote")
	only := func(e *shadow.Event) bool { return e.Epoch == f.Epoch && !e.PreVote || e.Kind == shadow.EventFinding }
	if err := s.play(ctx, q, act, "altered-vote", rule, only); err != nil {
		return err
	}
	return s.caught(act, &f)
}

// caught expects that the altered vote was found, by both tiers, and nothing else.
func (s *show) caught(act *demoAct, f *demo.Forgery) error {
	if err := isForgery(act.report, f); err != nil {
		return err
	}
	asPeer, err := judge(act.Recording, true)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	if err := isForgery(asPeer, f); err != nil { // the file must say what the live checker said
		return err
	}
	found := &asPeer.Findings[0]
	act.Finding = &demoFinding{Rule: found.Rule, Node: found.Node, Epoch: found.Epoch, Text: found.Text}
	for _, p := range found.Proof {
		act.Finding.Frames = append(act.Finding.Frames, p.Number)
	}
	demo.Finding(s.out, s.style, found)
	asSent, err := judge(act.Recording, false)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	s.say("See for yourself:")
	s.say("  understudy check --fault-as-peer %s", act.Recording)
	s.say("Without --fault-as-peer it says %s: node %s did refuse, and the proxy's doing is not held against it.",
		s.style.Verdict(asSent.Verdict), f.Voter)
	if asSent.Verdict != shadow.Conforms {
		return unexpected("judged by what was sent, %s is %s, want CONFORMS", act.Recording, asSent.Verdict)
	}
	act.OK = true
	return nil
}

// isForgery expects that a report tells of the altered vote alone: under the rule that it breaks, and as one that no state of the node explains.
func isForgery(r *shadow.Report, f *demo.Forgery) error {
	want := []string{"M1", shadow.Tier2}
	if r.Verdict != shadow.Diverges || len(r.Findings) != len(want) {
		return unexpected("the altered vote of node %s in epoch %d: verdict %s with %d findings, want DIVERGES with one of each tier",
			f.Voter, f.Epoch, r.Verdict, len(r.Findings))
	}
	for i, rule := range want {
		if found := &r.Findings[i]; found.Rule != rule || found.Node != f.Voter || found.Epoch != f.Epoch {
			return unexpected("the altered vote was found as %s of node %s in epoch %d, want %s of node %s in epoch %d",
				found.Rule, found.Node, found.Epoch, rule, f.Voter, f.Epoch)
		}
	}
	return nil
}

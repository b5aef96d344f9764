package shadow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestFaults_SenderIsJudgedByWhatItSent(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).altered(refused(5), granted(5))
	s.conforms()
	s.remarks("altered in flight")
}

func TestFaults_AsPeerTheAlteredBytesCount(t *testing.T) {
	s := newStage(t, asPeer).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).altered(refused(5), granted(5))
	s.diverges("M1", 1)
}

func TestFaults_ReceiverIsJudgedByWhatItGot(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	// node 2 stands for epoch 5, node 1 reads 6 and grants that: right by what it got
	s.line(2, 1).altered(stand(5)(s, 2, 1), stand(6)(s, 2, 1)).answer(granted(6))
	// and had it read 5 it would be wrong
	s.conforms()
	s = newStage(t).meet(1, 2, 3)
	s.line(2, 1).altered(stand(6)(s, 2, 1), stand(5)(s, 2, 1)).answer(granted(6))
	s.diverges("M19", 1)
}

func TestFaults_DroppedAnswerWasGiven(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).dropped(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	s.diverges("M1", 1)
}

func TestFaults_AsPeerADroppedAnswerWasNot(t *testing.T) {
	s := newStage(t, asPeer).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).dropped(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	s.conforms()
}

func TestFaults_DroppedRequestWasNeverHandled(t *testing.T) {
	s := newStage(t).meet(1, 2)
	l := s.line(2, 1)
	l.correlation++
	l.observe(wire.Request, nil, &recordings.Fault{Rule: "drop", Sent: encodeRequest(stand(5)(s, 2, 1), l.correlation, "raft-client-2")})
	s.ask(2, 1, stand(5)).answer(granted(5))
	if n := s.conforms().Decisions; n != 1 {
		t.Errorf("%d decisions", n)
	}
}

func TestFaults_NothingSentIsAHole(t *testing.T) {
	s := newStage(t).meet(1, 2)
	a := s.ask(2, 1, stand(5))
	a.line.observe(wire.Response, nil, &recordings.Fault{Rule: "drop"})
	(&asked{a.line, a.request, 77}).answer(granted(5)) // after a hole an answer may belong to anything
	s.harmless()
}

func TestFaults_AcrossNodesNothingIsHeldAgainstThemAfterAnAlteration(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 3, stand(5)).altered(refused(5), granted(5)) // so node 2 takes itself for the leader
	s.ask(2, 1, begin(5)).answer(begun(kraft.None, 5, 2))
	s.ask(3, 1, fetch(5, 0, 0)).answer(notLeader(5, 2))
	s.ask(3, 2, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 2, nodes(1, 2, 3), nodes(2))))
	s.conforms()
	s.remarks("M4 majority-elected is not held against node 2")
}

func TestFaults_DelayedAnswerIsTheSame(t *testing.T) {
	s := newStage(t).meet(1, 2)
	a := s.ask(2, 1, stand(5))
	a.line.observe(wire.Response, encodeResponse(granted(5)(s, 1, a.request), a.correlation), &recordings.Fault{Rule: "delay", Delivered: true})
	s.conforms()
}

func TestGap_NodeIsNotJudgedUntilItDecidesAgain(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for range 30 {
		s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	}
	s.line(2, 1).gap(wire.Response)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	r := s.harmless()
	if r.Verdict != Conforms || r.Decisions != 32 || r.Judged != 31 {
		t.Errorf("%s, judged %d of %d", r.Verdict, r.Judged, r.Decisions)
	}
	iv := r.Nodes[0].Intervals
	if len(iv) != 3 || iv[1].Verdict != Inconclusive || !strings.Contains(iv[1].Reason, "tap overflow") || iv[2].Judged != 1 {
		t.Errorf("%+v", iv)
	}
}

func TestGap_TooMuchLost(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(2, 1, fetch(5, 0, 0))
	s.line(2, 1).gap(wire.Response)
	r := s.harmless()
	if r.Verdict != Inconclusive || len(r.Reasons) == 0 {
		t.Errorf("%s %v", r.Verdict, r.Reasons)
	}
}

// A node that is killed leaves a frame half written. Nobody got it, so no decision is missing.
func TestGap_ConnectionThatEndsWithinAFrame(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		s := newStage(t).meet(1, 2)
		s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
		l := s.line(2, 1)
		a := s.ask(2, 1, fetch(5, 0, 0))
		s.observe(&recordings.Observation{
			Kind: recordings.KindGap, Conn: l.conn, Dir: wire.Response, Gap: &recordings.Gap{Reason: "ended within a frame", Bytes: 9},
		})
		if goesOn {
			a.answer(notLeader(5, -1))
			if r := s.harmless(); r.Judged != 2 || r.Decisions != 3 || !strings.Contains(s.text(), "ended within a frame") {
				t.Error(s.text())
			}
			continue
		}
		l.close()
		s.conforms()
	}
}

func TestGap_FatalEndsAConnection(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	l := s.line(2, 1)
	s.observe(&recordings.Observation{
		Kind: recordings.KindGap, Conn: l.conn, Dir: wire.Response, Gap: &recordings.Gap{Reason: "undecodable", Bytes: -1, Frames: -1, Fatal: true},
	})
	l.send(stand(5)(s, 2, 1)).answer(granted(9)) // nobody looks
	if r := s.harmless(); r.Verdict != Inconclusive {
		t.Error(r.Verdict)
	}
}

func TestUndecodable_RaftFrames(t *testing.T) {
	s := newStage(t).meet(1, 2)
	l := s.line(2, 1)
	for range 3 {
		a := l.send(fetch(5, 0, 0)(s, 2, 1))
		frame := encodeResponse(notLeader(5, -1)(s, 1, a.request), a.correlation)
		l.observe(wire.Response, frame[:len(frame)-9], nil)
	}
	v := stand(5)(s, 2, 1).(*kmsg.VoteRequest)
	v.Version = 9 // a release to come
	a := l.send(v)
	l.observe(wire.Response, []byte{0, 0, 0, byte(a.correlation), 0, 1, 2, 3}, nil)
	a = l.send(fetch(5, 0, 0)(s, 2, 1))
	l.observe(wire.Response, []byte{0, 0}, nil)
	l.observe(wire.Request, []byte{0, 0}, nil)
	r := s.harmless()
	if r.Verdict != Inconclusive || r.Judged != 0 || r.Counts.Undecodable == 0 {
		t.Error(s.text())
	}
	if !strings.Contains(s.text(), "a version that is not known") || !strings.Contains(s.text(), "undecodable") {
		t.Error(s.text())
	}
	_ = a
}

func TestUndecodable_OversizedAnswer(t *testing.T) {
	s := newStage(t).meet(1, 2)
	a := s.ask(2, 1, fetch(5, 0, 0))
	frame := encodeResponse(notLeader(5, -1)(s, 1, a.request), a.correlation)
	s.observe(&recordings.Observation{
		Kind: recordings.KindFrame, Conn: a.line.conn, Dir: wire.Response, Frame: wire.Frame{Bytes: frame[:20], Size: 1 << 27, Cut: true},
	})
	s.harmless()
	if !strings.Contains(s.text(), "larger than what is kept") {
		t.Error(s.text())
	}
}

func TestUndecodable_OtherKeysNeverMatter(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	l := s.line(2, 1)
	l.correlation++
	l.observe(wire.Request, []byte{0, 63, 0, 2, 0, 0, 0, byte(l.correlation), 0, 1, '2', 0, 9, 9}, nil) // a BrokerHeartbeat of nonsense
	l.observe(wire.Response, []byte{0, 0, 0, byte(l.correlation), 0, 7, 7}, nil)
	s.conforms()
}

func TestUndecodable_SASLTokensOfTheOldKind(t *testing.T) {
	s := newStage(t).meet(1, 2)
	l := s.line(2, 1)
	l.correlation++
	l.observe(wire.Request, []byte{0, 17, 0, 0, 0, 0, 0, byte(l.correlation), 0, 1, '2', 0, 5, 'P', 'L', 'A', 'I', 'N'}, nil)
	l.observe(wire.Response, []byte("anything at all"), nil)
	l.observe(wire.Request, []byte("\x00user\x00secret"), nil)
	if r := s.harmless(); r.Counts.Undecodable != 0 {
		t.Error("bare tokens were taken for frames")
	}
}

func TestForeignFetches_AreNoDecisions(t *testing.T) { // consumers on a broker's listener
	s := newStage(t)
	s.unnamed = true
	l := s.dial(2, 1)
	r := kmsg.NewPtrFetchRequest()
	r.Version = 17
	for range 2 {
		topic := kmsg.NewFetchRequestTopic()
		topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition(), kmsg.NewFetchRequestTopicPartition())
		r.Topics = append(r.Topics, topic)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 17
	l.send(r).frame(resp)
	r.Topics = r.Topics[:1]
	r.Topics[0].Partitions = r.Topics[0].Partitions[:1]
	r.Topics[0].TopicID = [16]byte{9}
	l.send(r).frame(resp)
	if rep := s.harmless(); rep.Decisions != 0 {
		t.Errorf("%d decisions", rep.Decisions)
	}
}

func TestForeignCluster_IsNotJudged(t *testing.T) { // museum M23: a node of another cluster asks for ever
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.cluster = "another"
	for range 5 {
		s.ask(3, 1, fetch(9, 0, 0)).answer(fetchFailed(kraft.InconsistentClusterID))
		s.ask(3, 1, stand(1)).answer(voteFailed(kraft.InconsistentClusterID))
	}
	// a whole second quorum in the same capture, with the same node ids
	s.ask(2, 7, stand(5)).answer(granted(5))
	s.ask(2, 7, begin(5)).answer(begun(kraft.None, 5, 2))
	s.cluster = "TXF4XRjuRNetQb9gT4jDvg"
	s.ask(1, 2, begin(6)).answer(begun(kraft.None, 6, 1))
	s.harmless()
	s.remarks("serves cluster another")
}

func TestReport_VoterThatWasNeverSeen(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, leaderChange(0, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
	if r := s.harmless(); r.Verdict != Inconclusive || !strings.Contains(strings.Join(r.Reasons, ";"), "voter 3 was never seen") {
		t.Error(s.text())
	}
}

func TestReport_NothingSeen(t *testing.T) {
	s := newStage(t)
	if r := s.harmless(); r.Verdict != Inconclusive || len(r.Nodes) != 0 {
		t.Error(s.text())
	}
}

func TestReport_RepeatsAreFolded(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	for range 1000 {
		s.ask(3, 1, fetch(4, 0, 0)).answer(notLeader(4, -1))
	}
	f := s.diverges("M3", 1)
	if len(s.report.Findings) != 1 || f.Count != 1000 || !strings.Contains(s.text(), "(1000 times)") {
		t.Error(s.text())
	}
}

func TestReport_FindingsAreBounded(t *testing.T) {
	s := newStage(t).meet(1, 2)
	for e := range kraft.Epoch(maxFindings + 5) {
		s.ask(2, 1, fetch(e, 0, 0)).answer(served(e+1, -1))
	}
	if r := s.finish(); len(r.Findings) != maxFindings || r.Dropped == 0 || !strings.Contains(s.text(), "more") {
		t.Errorf("%d findings, %d dropped", len(s.report.Findings), s.report.Dropped)
	}
}

func TestReport_JSON(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.ask(3, 1, stand(5)).answer(granted(5))
	raw, err := json.Marshal(s.finish())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Verdict  string
		Findings []struct {
			Rule  string
			Node  int
			Proof []struct {
				Number uint64
				Line   string
			}
		}
		Rules []struct{ ID, Says, Source, Why string }
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != "DIVERGES" || got.Findings[0].Rule != "M1" || len(got.Findings[0].Proof) != 2 || got.Findings[0].Proof[1].Number == 0 {
		t.Errorf("%s", raw)
	}
	if len(got.Rules) != 20 {
		t.Errorf("%d rules", len(got.Rules))
	}
	for _, r := range got.Rules {
		if r.ID == "" || r.Says == "" || r.Source == "" || r.Why == "" {
			t.Errorf("incomplete rule %+v", r)
		}
	}
}

func TestReport_CutInput(t *testing.T) {
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, stand(5)).answer(granted(5))
	s.c.Cut("the file ends here")
	s.c.Damaged("at offset 7")
	s.conforms()
	if !strings.Contains(s.text(), "the file ends here") || !strings.Contains(s.text(), "at offset 7") {
		t.Error(s.text())
	}
}

func TestEvents_TellAnElection(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	s.ask(1, 2, preVote(4)).answer(granted(4))
	s.ask(1, 3, preVote(4)).answer(ballotAnswer(false, kraft.InvalidVoterKey, 4, -1))
	s.ask(1, 2, stand(5)).answer(granted(5))
	s.ask(1, 3, stand(5)).answer(refused(5))
	s.ask(1, 3, stand(5)).answer(refused(5)) // a repeat is no news
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, leaderChange(9, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10))
	s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
	s.stop(3)
	s.ask(3, 2, fetch(5, 9, 4)).answer(notLeader(5, 1))
	s.wipe(3)
	s.ask(3, 2, fetch(5, 0, 0)).answer(notLeader(5, 1))
	s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
	s.finish()
	var got []string
	for _, e := range s.events {
		if e.Kind != EventState {
			got = append(got, string(e.Kind)+": "+e.Text)
		}
	}
	want := []string{
		"candidate: node 1 asks for pre-votes in epoch 4, log end 1000@4",
		"vote: node 2 grants the pre-vote of node 1 in epoch 4",
		"vote: node 3 answers INVALID_VOTER_KEY to the pre-vote request of node 1 in epoch 4",
		"candidate: node 1 asks for votes in epoch 5, log end 1000@4",
		"vote: node 2 grants the vote of node 1 in epoch 5",
		"vote: node 3 refuses the vote of node 1 in epoch 5",
		"leader: node 1 leads epoch 5",
		"watermark: first high watermark of epoch 5 is 10",
		"resigned: node 1 gives up epoch 5",
		"restarted: node 3 is back: all its connections had ended",
		"restarted: node 3 is back: all its connections had ended",
		"directory: node 3 has directory id BAEAAAAAAAAAAAAAAAAABw, before BAAAAAAAAAAAAAAAAAAABw",
		"verdict: CONFORMS",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	q := s.report.Quorum
	if q.Leader != 1 || q.Epoch != 5 || q.Watermark != 10 || len(q.Voters) != 3 {
		t.Errorf("%+v", q)
	}
	roles := map[kraft.NodeID]Role{}
	for _, n := range q.Nodes {
		roles[n.ID] = n.Role
	}
	if roles[1] != RoleResigned || roles[2] != RoleFollower {
		t.Errorf("%v", roles)
	}
}

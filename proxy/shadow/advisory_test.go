package shadow

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// advises checks that the report has one advisory of a kind, about this node, and that it leaves the verdict alone.
func (s *stage) advises(kind string, node kraft.NodeID, says string) {
	s.t.Helper()
	r := s.finish()
	if len(r.Findings) > 0 || r.Verdict == Diverges {
		s.t.Errorf("an advisory is no finding:\n%s", s.text())
	}
	for i := range r.Advisories {
		if f := &r.Advisories[i]; f.Rule == kind && f.Node == node && strings.Contains(f.Text, says) {
			if !strings.Contains(s.text(), f.Text) || !strings.Contains(s.text(), "Advisories, no part of the verdict") {
				s.t.Errorf("the text lacks it:\n%s", s.text())
			}
			return
		}
	}
	s.t.Errorf("want %s about node %s saying %q:\n%s", kind, node, says, s.text())
}

// quiet checks that there is no advisory of a kind.
func (s *stage) quiet(kind string) {
	s.t.Helper()
	for _, f := range s.finish().Advisories {
		if f.Rule == kind {
			s.t.Errorf("want no %s:\n%s", kind, s.text())
		}
	}
}

const oneSecond = 1_000_000_000

// pass lets time go by.
func (s *stage) pass(d int64) { s.at += d }

// withKeys lets leader 1 serve a voter set with directory ids and endpoints; wrong is who is said to be elsewhere.
func withKeys(s *stage, wrong kraft.NodeID) {
	set := votersOf(s, 1, 2, 3)
	for i := range set.Voters {
		port := uint16(19091 + i)
		if set.Voters[i].Key.ID == wrong {
			port = 7
		}
		set.Voters[i].Endpoints = []wire.Endpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: port}}
	}
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, control(9, 5,
		wire.LeaderChange{Leader: 1, Voters: keysOf(nodes(1, 2, 3)), Granting: keysOf(nodes(1, 2))}, wire.KRaftVersion{Level: 1}, set)))
}

func TestAdvisory_TwoDirectoryIDs(t *testing.T) { // museum M4
	s := newStage(t).meet(1, 2, 3)
	withKeys(s, -1)
	s.ask(3, 1, fetch(5, 9, 4)).answer(served(5, -1))
	s.ask(1, 2, fetch(5, 9, 4)).answer(notLeader(5, 1))
	s.wipe(3)
	s.ask(3, 1, fetch(5, 0, 0)).answer(served(5, -1))
	s.advises("A1", 3, "2 of 3 voter keys are live, 0 more may fail")

	s = newStage(t).meet(1, 2, 3)
	withKeys(s, -1)
	s.ask(3, 1, fetch(5, 9, 4)).answer(served(5, -1))
	s.stop(3)
	s.ask(3, 1, fetch(5, 9, 4)).answer(served(5, -1)) // a restart
	s.quiet("A1")
}

func TestAdvisory_UnreachedEndpoint(t *testing.T) { // museum M3
	s := newStage(t).meet(1, 2, 3)
	withKeys(s, 3)
	s.advises("A2", 3, "127.0.0.1:7, where nobody connected to; 2 of 3 voters can be reached")

	s = newStage(t).meet(1, 2, 3)
	withKeys(s, -1)
	s.quiet("A2")

	s = newStage(t).meet(1, 2) // node 3 is not up: nobody can reach it, and it needs no remark
	withKeys(s, 3)
	s.quiet("A2")
}

func TestAdvisory_ElectionStorm(t *testing.T) { // museum M9
	storm := func(s *stage, epochs kraft.Epoch) {
		s.meet(1, 2, 3)
		for e := kraft.Epoch(5); e < 5+epochs; e++ {
			s.ask(1, 2, stand(e)).answer(refused(e))
			s.pass(oneSecond)
		}
		s.ask(1, 2, stand(5+epochs)).answer(granted(5 + epochs))
		s.ask(1, 2, begin(5+epochs)).answer(begun(kraft.None, 5+epochs, 1))
	}
	s := newStage(t)
	storm(s, 6)
	s.advises("A3", kraft.NoNode, "epochs 5 to 10, 6 in a row, have candidates and no leader; time between them: 1s, 1s, 1s, 1s, 1s")

	s = newStage(t)
	storm(s, 3)
	s.quiet("A3")
}

func TestAdvisory_WatermarkStandsStill(t *testing.T) { // museum M10
	s := newStage(t)
	led(s, 3)
	for range 12 {
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.pass(oneSecond)
	}
	s.advises("A4", 1, "stands at 10")

	s = newStage(t)
	led(s, 3)
	for range 12 { // nothing is written
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10))
		s.pass(oneSecond)
	}
	s.quiet("A4")
}

func TestAdvisory_DoesNotGoToTheLeader(t *testing.T) { // museum M5
	s := newStage(t).meet(1, 2, 9)
	for range 12 {
		s.ask(9, 2, fetch(5, 9, 5)).answer(notLeader(5, 1))
		s.pass(oneSecond)
	}
	s.advises("A5", 9, "node 1 leads epoch 5, and does not fetch there")

	s = newStage(t).meet(1, 2, 9)
	for i := range 12 {
		s.ask(9, 2, fetch(5, 9, 5)).answer(notLeader(5, 1))
		if i%4 == 3 {
			s.ask(9, 1, fetch(5, 9, 5)).answer(served(5, 9))
		}
		s.pass(oneSecond)
	}
	s.quiet("A5")

	s = newStage(t).meet(1, 2, 9)
	for range 50 { // quick, as during an election
		s.ask(9, 2, fetch(5, 9, 5)).answer(notLeader(5, 1))
	}
	s.quiet("A5")
}

func TestAdvisory_GoneAfterAMessage(t *testing.T) { // museum P
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.InvalidRequest, epoch: 5, hw: -1}.response())
	s.stop(2)
	s.pass(2 * oneSecond)
	s.ask(3, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.advises("A6", 2, "after it got INVALID_REQUEST of the partition from node 1")

	s = newStage(t).meet(1, 2, 3) // the observer ends, and all connections with it
	s.ask(2, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.InvalidRequest, epoch: 5, hw: -1}.response())
	s.stop(2)
	s.ask(3, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.stop(3)
	s.stop(1)
	s.quiet("A6")

	s = newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 9, 5)).answer(fetchFailed(kraft.InvalidRequest)) // at the top level it is only logged
	s.stop(2)
	s.quiet("A6")

	s = newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.InvalidRequest, epoch: 5, hw: -1}.response())
	s.pass(30 * oneSecond)
	s.stop(2)
	s.quiet("A6")
}

func TestAdvisory_Paused(t *testing.T) { // museum M40
	s := newStage(t).meet(1, 2)
	late := s.ask(2, 1, fetch(5, 9, 5))
	s.pass(8 * oneSecond)
	late.answer(served(5, 9))
	s.advises("A7", 1, "it answers 7.5")

	s = newStage(t).meet(1, 2)
	late = s.ask(2, 1, fetch(5, 9, 5))
	s.pass(oneSecond)
	late.answer(served(5, 9))
	s.quiet("A7")
}

func TestAdvisory_NoPreVote(t *testing.T) { // museum M20
	offers := func(s *stage, from, to kraft.NodeID, most int16) {
		r := versions().(*kmsg.ApiVersionsResponse)
		for i := range r.ApiKeys {
			if r.ApiKeys[i].ApiKey == wire.KeyVote {
				r.ApiKeys[i].MaxVersion = most
			}
		}
		v := kmsg.NewPtrApiVersionsRequest()
		v.Version = 4
		s.line(from, to).send(v).frame(r)
	}
	s := newStage(t).meet(1, 2, 3)
	offers(s, 1, 3, 1)
	s.ask(1, 2, stand(5)).answer(granted(5))
	s.ask(1, 3, ballot{epoch: 5, version: 1, end: longLog(5)}.request()).answer(granted(5))
	s.advises("A8", 3, "node 3 offers Vote up to v1")

	s = newStage(t).meet(1, 2, 3)
	s.ask(1, 2, stand(5)).answer(granted(5))
	s.ask(1, 3, stand(5)).answer(granted(5))
	s.quiet("A8")
}

func TestAdvisory_ForeignCluster(t *testing.T) { // museum M23
	foreign := func(s *stage, times int) {
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
		own := s.cluster
		for range times {
			s.cluster = "9AiLyPbODx8rFNxFCwo4iw"
			s.ask(7, 1, fetch(0, 0, 0)).answer(fetchFailed(kraft.InconsistentClusterID))
		}
		s.cluster = own
	}
	s := newStage(t)
	foreign(s, 5)
	s.advises("A9", 7, "node 7 of cluster 9AiLyPbODx8rFNxFCwo4iw, at 127.0.0.1:4000")

	s = newStage(t)
	foreign(s, 0)
	s.quiet("A9")
}

func TestAdvisory_TalksToItself(t *testing.T) { // museum M12
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.ask(1, 1, func(s *stage, _, _ kraft.NodeID) kmsg.Request { return begin(5)(s, 1, 2) }).answer(begun(kraft.InvalidVoterKey, 5, 1))
	s.advises("A10", 1, "node 1 sends a message for node 2 to itself")

	s = newStage(t).meet(1, 2)
	s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
	s.quiet("A10")
}

// Reports that are asked for on the way count nothing twice.
func TestAdvisory_ReportsCountOnce(t *testing.T) {
	s := newStage(t).meet(1, 2, 3)
	withKeys(s, 3)
	for range 3 {
		list := s.c.Report().Advisories
		if len(list) != 2 || list[0].Rule == list[1].Rule || list[0].Count != 1 || list[1].Count != 1 {
			t.Errorf("%+v", list)
		}
	}
}

// The captures of quorums that were killed and restarted, and nothing else, need no remark but one on a pause.
func TestAdvisory_CapturesAreQuiet(t *testing.T) {
	for _, name := range captures {
		r := load(t, name).check(Options{})
		for _, f := range r.Advisories {
			t.Errorf("%s: %s %s", name, f.Rule, f.Text)
		}
	}
}

package shadow

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func withoutCluster(r kmsg.Request) kmsg.Request {
	switch r := r.(type) {
	case *kmsg.FetchRequest:
		r.ClusterID = nil
	case *kmsg.VoteRequest:
		r.ClusterID = nil
	}
	return r
}

func TestWireDiscipline_AnswersOutOfOrder(t *testing.T) {
	s := newStage(t).meet(1, 2)
	first, second := s.ask(2, 1, fetch(5, 0, 0)), s.ask(2, 1, fetch(5, 0, 0))
	second.answer(notLeader(5, -1))
	first.answer(notLeader(5, -1))
	s.diverges("M19", 1)
}

func TestWireDiscipline_AnswersInOrder(t *testing.T) { // pipelined requests are answered one after the other
	s := newStage(t).meet(1, 2)
	first, second := s.ask(2, 1, fetch(5, 0, 0)), s.ask(2, 1, fetch(5, 0, 0))
	first.answer(notLeader(5, -1))
	second.answer(notLeader(5, -1))
	s.conforms()
}

func TestWireDiscipline_AnswerToNoRequest(t *testing.T) {
	s := newStage(t).meet(1, 2)
	a := s.ask(2, 1, fetch(5, 0, 0))
	a.answer(notLeader(5, -1))
	a.answer(notLeader(5, -1))
	s.diverges("M19", 1)
}

func TestWireDiscipline_AfterAGapOrMidwayOrderIsNotKnown(t *testing.T) {
	for _, midway := range []bool{false, true} {
		s := newStage(t)
		s.midway = midway
		s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
		lost := s.ask(2, 1, fetch(5, 0, 0))
		if !midway {
			s.line(2, 1).gap(wire.Response)
		}
		s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
		stray := &asked{s.line(2, 1), lost.request, 999}
		stray.answer(notLeader(5, -1))
		s.harmless()
		if strings.Contains(s.text(), "open already") != midway {
			t.Error(s.text())
		}
	}
}

func TestWireDiscipline_VersionThatWasNotOffered(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	k := s.c.conns[connKey{0, 1}]
	k.versions[wire.KeyFetch].max = 16 // as if the server had said so
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.diverges("M19", 2)
}

func TestWireDiscipline_Impostor(t *testing.T) {
	s := newStage(t).meet(1, 2)
	other := kraft.ReplicaKey{ID: 3}
	s.ask(2, 1, ballot{epoch: 5, version: 2, key: &other}.request()).answer(refused(5))
	s.diverges("M19", 2)
}

func TestWireDiscipline_AnswersFitTheirEpochs(t *testing.T) {
	at := kraft.LogEnd{LastEpoch: 4, LastOffset: 100}
	fenced := func(e kraft.Epoch) fetched {
		return fetched{code: kraft.FencedLeaderEpoch, epoch: e, leader: -1, hw: -1}
	}
	unknown := func(e kraft.Epoch) fetched {
		return fetched{code: kraft.UnknownLeaderEpoch, epoch: e, leader: -1, hw: -1}
	}
	tests := []struct {
		name  string
		ask   request
		reply response
		legal bool
	}{
		{"a vote granted in another epoch", stand(5), granted(6), false},
		{"a vote refused in another epoch", stand(5), refused(4), false},
		{"a vote refused in its epoch", stand(5), refused(5), true},
		{"a refused vote names the leader", stand(5), ballotAnswer(false, kraft.None, 5, 3), true},
		{"a pre-vote granted in another epoch", preVote(5), granted(6), false},
		{"a pre-vote granted by one that knows a leader", preVote(5), ballotAnswer(true, kraft.None, 5, 3), true},
		{"a vote granted together with an error", stand(5), ballotAnswer(true, kraft.InvalidVoterKey, 5, -1), false},
		{"a vote granted while it is fenced", stand(5), ballotAnswer(true, kraft.FencedLeaderEpoch, 6, -1), false},
		{"a vote fenced in a later epoch", stand(5), ballotAnswer(false, kraft.FencedLeaderEpoch, 6, -1), true},
		{"a vote fenced in its epoch", stand(5), ballotAnswer(false, kraft.FencedLeaderEpoch, 5, -1), false},
		{"a vote with another's voter key, after the bump", stand(5), ballotAnswer(false, kraft.InvalidVoterKey, 5, -1), true},
		{"a malformed vote", stand(5), ballotAnswer(false, kraft.InvalidRequest, 9, -1), true},
		{"a vote answered with a leader's error", stand(5), ballotAnswer(false, kraft.NotLeaderOrFollower, 5, -1), false},
		{"a voter of 3.7 does not know the voter", stand(5), ballotAnswer(false, kraft.InconsistentVoterSet, 5, -1), true},
		{"a vote for another cluster", stand(5), voteFailed(kraft.InconsistentClusterID), true},
		{"begin accepted", begin(5), begun(kraft.None, 5, 2), true},
		{"begin accepted, another leader named", begin(5), begun(kraft.None, 5, 3), false},
		{"begin accepted in another epoch", begin(5), begun(kraft.None, 6, 2), false},
		{"begin refused for its voter key, with leader and epoch", begin(5), begun(kraft.InvalidVoterKey, 5, 2), true},
		{"begin refused for its voter key, with no leader", begin(5), begun(kraft.InvalidVoterKey, 5, -1), true},
		{"begin refused for its voter key, with another leader", begin(5), begun(kraft.InvalidVoterKey, 5, 3), false},
		{"begin refused for its voter key in another epoch", begin(5), begun(kraft.InvalidVoterKey, 6, -1), false},
		{"begin fenced", begin(5), begun(kraft.FencedLeaderEpoch, 6, 3), true},
		{"end accepted", end(5, 1), ended(kraft.None, 5, 2), true},
		{"end accepted, no leader named", end(5), ended(kraft.None, 5, -1), false},
		{"end fenced", end(5), ended(kraft.FencedLeaderEpoch, 6, -1), true},
		{"a Fetch served in another epoch", fetch(5, 0, 0), served(6, -1), false},
		{"a Fetch served in its epoch", fetch(5, 0, 0), served(5, -1), true},
		{"a Fetch fenced", fetch(5, 0, 0), fenced(6).response(), true},
		{"a Fetch fenced in its epoch", fetch(5, 0, 0), fenced(5).response(), false},
		{"a Fetch of a later epoch", fetch(5, 0, 0), unknown(4).response(), true},
		{"a Fetch of a later epoch, known", fetch(5, 0, 0), unknown(5).response(), false},
		{"a parked Fetch when the leader resigns", fetch(5, 0, 0), notLeader(5, 1), true},
		{"a parked Fetch when the leader follows another", fetch(5, 0, 0), notLeader(7, 3), true},
		{"a Fetch of a later epoch answered NOT_LEADER", fetch(5, 0, 0), notLeader(4, 3), false},
		{"a Fetch answered with an error of voter changes", fetch(5, 0, 0), fetched{code: kraft.VoterNotFound, epoch: 5, leader: -1, hw: -1}.response(), false},
		{"a Fetch answered with an error of snapshots", fetch(5, 0, 0), fetched{code: kraft.SnapshotNotFound, epoch: 5, leader: -1, hw: -1}.response(), false},
		{"a malformed Fetch", fetch(5, 0, 0), fetchFailed(kraft.InvalidRequest), true},
		{"a Fetch of the leader's own id", fetch(5, 0, 0), fetched{code: kraft.UnknownServerError, epoch: 5, leader: 1, hw: -1}.response(), true},
		{"a chunk of another epoch", fetchSnapshot(5, at, 0), chunk(6, at, 9, 0, "a"), false},
		{"a chunk", fetchSnapshot(5, at, 0), chunk(5, at, 9, 0, "a"), true},
		{"no snapshot, as the real wire says it", fetchSnapshot(5, at, 0), snapshotFailed(kraft.UnknownServerError, 0), true},
		{"no snapshot, as it is meant", fetchSnapshot(5, at, 0), snapshotFailed(kraft.None, kraft.SnapshotNotFound), true},
		{"a malformed FetchSnapshot", fetchSnapshot(5, at, 0), snapshotFailed(kraft.InvalidRequest, 0), true},
		{"an update while another change is uncommitted", updateVoter(5), updated(kraft.RequestTimedOut, 5, 1), true},
		{"an update", updateVoter(5), updated(kraft.None, 5, 1), true},
		{"an update fenced in its epoch", updateVoter(5), updated(kraft.FencedLeaderEpoch, 5, 1), false},
		{"a voter added before the record is replicated", addVoter(), added(kraft.None), true},
		{"a voter not added", addVoter(), added(kraft.RequestTimedOut), true},
		{"a description", describe(), described(kraft.None, 5, 1, 9, 1, 2), true},
		{"a description by a node that does not lead", describe(), described(kraft.NotLeaderOrFollower, 0, 0, 0), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2)
			s.ask(2, 1, tt.ask).answer(tt.reply)
			if tt.legal {
				s.conforms()
				return
			}
			s.finish()
			for _, f := range s.report.Findings {
				if f.Rule == "M19" && f.Node == 1 {
					return
				}
			}
			t.Fatal(s.text())
		})
	}
}

package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Each test here is a thing that real controllers do and that looks wrong. None may be reported.

func legal(t *testing.T, name string, play func(s *stage)) {
	t.Run(name, func(t *testing.T) {
		s := newStage(t).meet(1, 2, 3)
		play(s)
		s.harmless()
		if r := s.report; r.Judged != r.Decisions || r.Decisions == 0 {
			t.Error(s.text())
		}
	})
}

// lead lets a node be elected by another and be followed by the third.
func (s *stage) lead(leader, voter, other kraft.NodeID, epoch kraft.Epoch) {
	s.ask(leader, voter, preVote(epoch-1)).answer(granted(epoch - 1))
	s.ask(leader, voter, stand(epoch)).answer(granted(epoch))
	s.ask(leader, voter, begin(epoch)).answer(begun(kraft.None, epoch, leader))
	s.ask(leader, other, begin(epoch)).answer(begun(kraft.None, epoch, leader))
}

func fenced(epoch kraft.Epoch, leader kraft.NodeID) response {
	return fetched{code: kraft.FencedLeaderEpoch, epoch: epoch, leader: orNone(leader), hw: -1}.response()
}

func TestLegal_Elections(t *testing.T) {
	legal(t, "a resigned leader enters the next epoch without a vote", func(s *stage) {
		s.lead(1, 2, 3, 5)
		s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
		s.ask(2, 1, fetch(5, 9, 5)).answer(notLeader(5, 1)) // it names itself still
		s.ask(1, 2, fetch(6, 9, 5)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 5, leader: 1, hw: -1}.response())
		s.ask(1, 2, preVote(6)).answer(granted(6))
		s.ask(3, 1, fetch(5, 9, 5)).answer(fenced(6, -1))
	})
	legal(t, "a resigned leader and a prospective grant pre-votes", func(s *stage) {
		s.lead(1, 2, 3, 5)
		s.ask(1, 3, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
		s.ask(2, 1, preVote(5)).answer(ballotAnswer(true, kraft.None, 5, 1))
		s.ask(2, 3, preVote(5)).answer(ballotAnswer(false, kraft.None, 5, 1)) // it has fetched from the leader
		s.ask(3, 2, preVote(5)).answer(ballotAnswer(true, kraft.None, 5, 1))
	})
	legal(t, "a refused pre-vote of a higher epoch bumps the receiver", func(s *stage) {
		s.ask(3, 1, fetch(4, 9, 4)).answer(notLeader(4, -1))
		s.ask(2, 1, preVote(8)).answer(refused(8))
		s.ask(3, 1, fetch(4, 9, 4)).answer(fenced(8, -1))
	})
	legal(t, "observers vote, and votes go to replicas that are no voters", func(s *stage) {
		s.ask(2, 1, fetch(4, 0, 0)).answer(served(4, -1, leaderChange(0, 4, 1, nodes(1, 2, 3), nodes(1, 2))))
		s.ask(4, 2, stand(5)).answer(granted(5))
		s.ask(3, 9, stand(5)).answer(granted(5))
	})
	legal(t, "a single voter leads at once", func(s *stage) {
		s.ask(2, 1, fetch(1, 0, 0)).answer(served(1, 1, leaderChange(0, 1, 1, nodes(1), nodes(1))))
	})
	legal(t, "a vote is granted again, with no voter key and no cluster id given", func(s *stage) {
		s.ask(2, 1, stand(5)).answer(granted(5))
		s.ask(2, 1, ballot{epoch: 5, version: 2, noKey: true}.request()).answer(granted(5))
		s.line(2, 1).send(withoutCluster(stand(5)(s, 2, 1))).answer(granted(5))
	})
	legal(t, "mixed releases: Vote v1 and v2, no pre-vote with an old voter", func(s *stage) { // museum M20
		s.ask(1, 2, preVote(4)).answer(granted(4))
		s.ask(1, 3, ballot{epoch: 5, version: 1}.request()).answer(refused(5))
		s.ask(1, 2, stand(5)).answer(refused(5))
		s.ask(3, 1, ballot{epoch: 6, version: 1}.request()).answer(granted(6))
	})
	legal(t, "a repeated Begin with more endpoints", func(s *stage) { // museum M22, M33
		s.lead(1, 2, 3, 5)
		for range 10 {
			s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
		}
	})
	legal(t, "a reformatted voter refuses by its key for ever", func(s *stage) { // museum M4
		s.lead(1, 2, 3, 5)
		s.ask(3, 1, fetch(5, 0, 0)).answer(served(5, 3))
		s.wipe(3)
		s.ask(3, 1, fetch(5, 0, 0)).answer(served(5, 3))
		for range 5 {
			s.ask(1, 3, begin(5)).answer(begun(kraft.InvalidVoterKey, 5, 1))
			s.ask(2, 3, preVote(5)).answer(ballotAnswer(false, kraft.InvalidVoterKey, 5, 1))
		}
	})
}

func TestLegal_OldLeaders(t *testing.T) {
	legal(t, "a restarted ex-leader sends EndQuorumEpoch with no successors first", func(s *stage) { // museum M14
		s.lead(1, 2, 3, 5)
		s.stop(1)
		s.ask(1, 2, end(5)).answer(ended(kraft.None, 5, 1))
		s.ask(2, 1, fetch(5, 9, 5)).answer(notLeader(5, 1))
		s.ask(3, 2, stand(6)).answer(granted(6))
		s.ask(1, 3, end(5)).answer(ended(kraft.FencedLeaderEpoch, 6, -1))
	})
	legal(t, "its EndQuorumEpoch moves nodes of lower epochs up", func(s *stage) {
		s.ask(3, 2, fetch(4, 9, 4)).answer(notLeader(4, -1))
		s.ask(1, 2, end(5)).answer(ended(kraft.None, 5, 1))
		s.ask(3, 2, fetch(4, 9, 4)).answer(fenced(5, 1))
	})
	legal(t, "a leader that was paused for long wakes up", func(s *stage) { // museum M40
		s.lead(1, 2, 3, 5)
		parked := s.ask(2, 1, fetch(5, 9, 5))
		late := s.ask(3, 1, fetch(5, 9, 5))
		s.lines[[2]kraft.NodeID{2, 3}].close()
		s.ask(2, 3, preVote(5)).answer(ballotAnswer(true, kraft.None, 5, 1))
		s.ask(2, 3, stand(6)).answer(granted(6))
		s.ask(2, 3, begin(6)).answer(begun(kraft.None, 6, 2))
		s.ask(3, 2, fetch(6, 9, 5)).answer(served(6, -1, leaderChange(9, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
		s.ask(3, 2, fetch(6, 10, 6)).answer(served(6, 10))
		parked.answer(served(5, 8))  // expired: with what was true when it came
		late.answer(notLeader(5, 1)) // failed by its resignation
		s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.FencedLeaderEpoch, 6, 2))
		s.ask(1, 2, fetch(6, 9, 5)).answer(served(6, 10, leaderChange(9, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
	})
	legal(t, "a leader that a vote made unattached lets its parked fetches expire", func(s *stage) { // semantics 4.5.6
		s.lead(1, 2, 3, 5)
		parked := s.ask(2, 1, fetch(5, 9, 5))
		s.ask(3, 1, stand(6)).answer(refused(6))
		parked.answer(served(5, 8))
	})
	legal(t, "a removed leader answers, then resigns", func(s *stage) { // museum M24
		s.lead(1, 2, 3, 5)
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9, control(9, 5, wire.Voters{Voters: []wire.Voter{
			{Key: kraft.ReplicaKey{ID: 2, DirectoryID: s.dir(2)}}, {Key: kraft.ReplicaKey{ID: 3, DirectoryID: s.dir(3)}},
		}})))
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10))
		s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
	})
}

func TestLegal_Fetches(t *testing.T) {
	legal(t, "unattached voters fetch from anybody, a connection begins with yesterday's epoch", func(s *stage) { // museum H7
		for range 20 {
			s.ask(1, 2, fetch(4, 9, 4)).answer(fenced(6, -1))
			s.ask(1, 3, fetch(6, 9, 4)).answer(fetched{code: kraft.UnknownLeaderEpoch, epoch: 5, leader: -1, hw: -1}.response())
			s.lines[[2]kraft.NodeID{1, 2}].close()
		}
		s.ask(1, 2, fetch(4, 9, 4)).answer(fenced(6, -1))
	})
	legal(t, "an observer keeps asking a node that does not lead", func(s *stage) { // museum M5, M6
		for range 20 {
			s.ask(9, 2, fetch(5, 9, 5)).answer(notLeader(5, 1))
		}
	})
	legal(t, "the watermark is unknown until the epoch commits, and an empty answer has the old one", func(s *stage) {
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
		s.ask(2, 3, fetch(6, 9, 5)).answer(served(6, -1, leaderChange(9, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
		s.ask(1, 3, fetch(6, 9, 5)).answer(served(6, -1, leaderChange(9, 6, 3, nodes(1, 2, 3), nodes(2, 3))))
		s.ask(2, 3, fetch(6, 10, 6)).answer(served(6, 10))
	})
	legal(t, "a replica that diverged fetches again from further back, more than once", func(s *stage) { // semantics 8.4
		s.ask(2, 1, fetch(7, 20, 6)).answer(fetched{epoch: 7, hw: 5, diverging: &kraft.LogEnd{LastEpoch: 4, LastOffset: 15}}.response())
		s.ask(2, 1, fetch(7, 12, 4)).answer(fetched{epoch: 7, hw: 5, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 10}}.response())
		s.ask(2, 1, fetch(7, 10, 3)).answer(served(7, 5, data(10, 3, "a")))
	})
	legal(t, "a lagging replica is sent to a snapshot and goes on behind it", func(s *stage) { // museum M41
		at := kraft.LogEnd{LastEpoch: 4, LastOffset: 50}
		s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{epoch: 5, hw: 60, snapshot: &at}.response())
		s.ask(2, 1, fetchSnapshot(5, at, 0)).answer(chunk(5, at, 4, 0, "abcd"))
		s.ask(2, 1, fetch(5, 50, 4)).answer(served(5, 60, data(50, 4, "x")))
	})
	legal(t, "records are served that are not committed, and replaced by the next leader", func(s *stage) {
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9, data(9, 5, "a")))
		s.ask(3, 2, fetch(6, 9, 5)).answer(served(6, -1, leaderChange(9, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
		s.ask(1, 2, fetch(6, 10, 5)).answer(fetched{epoch: 6, hw: -1, diverging: &kraft.LogEnd{LastEpoch: 5, LastOffset: 9}}.response())
	})
	legal(t, "a broken batch is fetched again at once", func(s *stage) { // museum P, not fatal
		b := data(9, 5, "a")
		b[len(b)-1] ^= 1
		for range 3 {
			s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9, b))
		}
	})
	legal(t, "a Fetch of the leader's own id, of another cluster, with a topic name", func(s *stage) {
		s.ask(2, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.UnknownServerError, epoch: 5, leader: 1, hw: -1}.response())
		s.ask(2, 1, fetch(5, 9, 5)).answer(fetchFailed(kraft.InconsistentClusterID))
		s.ask(2, 1, fetch(5, 9, 5)).answer(fetchFailed(kraft.InvalidRequest))
	})
	legal(t, "FetchSnapshot errors as the real wire carries them", func(s *stage) { // museum P
		at := kraft.LogEnd{LastEpoch: 4, LastOffset: 50}
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
		s.ask(2, 1, fetchSnapshot(5, at, 0)).answer(snapshotFailed(kraft.UnknownServerError, 0))
		s.ask(2, 1, fetchSnapshot(5, at, 0)).answer(snapshotFailed(kraft.None, kraft.FencedLeaderEpoch))
		s.ask(2, 1, fetchSnapshot(5, at, 0)).answer(snapshotFailed(kraft.None, kraft.PositionOutOfRange))
	})
}

func TestLegal_VoterChanges(t *testing.T) {
	legal(t, "LeaderChange, KRaftVersion and Voters in one batch", func(s *stage) {
		s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1, control(0, 5,
			wire.LeaderChange{Leader: 1, Voters: keysOf(nodes(1, 2, 3)), Granting: keysOf(nodes(1, 3))},
			wire.KRaftVersion{Level: 1},
			wire.Voters{Voters: []wire.Voter{
				{Key: kraft.ReplicaKey{ID: 1, DirectoryID: s.dir(1)}, Endpoints: []wire.Endpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 19091}}},
				{Key: kraft.ReplicaKey{ID: 2, DirectoryID: s.dir(2)}},
				{Key: kraft.ReplicaKey{ID: 3, DirectoryID: s.dir(3)}},
			}},
		)))
		s.ask(3, 2, fetch(5, 0, 0)).answer(notLeader(5, 1))
		s.ask(2, 3, fetch(5, 3, 5)).answer(notLeader(5, 1))
	})
	legal(t, "an update is refused while another is uncommitted, and taken a period later", func(s *stage) {
		s.ask(2, 1, updateVoter(5)).answer(updated(kraft.RequestTimedOut, 5, 1))
		s.ask(2, 1, updateVoter(5)).answer(updated(kraft.None, 5, 1))
		s.ask(3, 1, updateVoter(5)).answer(updated(kraft.None, 5, 1)) // at kraft.version 0 each follower, no record written
	})
	legal(t, "a voter is added before its record is replicated", func(s *stage) {
		s.ask(2, 1, addVoter()).answer(added(kraft.None))
		s.ask(2, 1, addVoter()).answer(added(kraft.RequestTimedOut))
		s.ask(2, 1, addVoter()).answer(added(kraft.NotLeaderOrFollower))
	})
	legal(t, "numbers of a node that does not lead are defaults", func(s *stage) { // museum M43
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
		s.ask(3, 2, describe()).answer(described(kraft.NotLeaderOrFollower, 0, 0, 0))
		s.ask(3, 1, describe()).answer(described(kraft.None, 5, 1, 9, 1, 2, 3))
	})
}

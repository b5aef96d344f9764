package shadow

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Each test here plays a public failure of a real quorum as it looked on the wire; docs/failures.md lists them all, with their issues.

func TestFailure_PartitionedLeaderKeepsItsOffice(t *testing.T) { // KAFKA-15489
	s := newStage(t).meet(1, 2, 3, 9)
	s.lead(1, 2, 3, 5)
	s.ask(9, 1, fetch(5, 9, 5)).answer(served(5, 9))
	for range 12 { // only an observer is heard by it, and it goes on as leader
		s.ask(9, 1, fetch(5, 10, 5)).answer(served(5, 9, data(10, 5, "a")))
		s.pass(oneSecond)
	}
	s.advises("A4", 1, "the high watermark of leader 1 stands at 9")
}

func TestFailure_TwoVoterSetsOfOneCluster(t *testing.T) { // KAFKA-19489: the leader of the one set tells that of the other of itself, in the same epoch
	s := newStage(t).meet(1, 2, 3)
	s.ask(3, 1, fetch(1, 0, 0)).answer(served(1, -1, leaderChange(0, 1, 1, nodes(1), nodes(1))))
	s.ask(2, 3, stand(1)).answer(granted(1))
	s.ask(3, 2, fetch(1, 0, 0)).answer(served(1, -1, leaderChange(0, 1, 2, nodes(1, 2, 3), nodes(2, 3))))
	s.ask(2, 1, begin(1))
	s.finish()
	found := map[string]bool{}
	for _, f := range s.report.Findings {
		found[f.Rule] = true
	}
	if !found["M2"] || !found["M6"] {
		t.Error(s.text())
	}
}

func TestFailure_FetchSnapshotWithoutATopic(t *testing.T) { // MINOR 23185
	shapeless := func(*stage, kraft.NodeID, kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrFetchSnapshotRequest()
		r.Version = 1
		return r
	}
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.ask(3, 1, shapeless)
	s.stop(1)
	s.pass(2 * oneSecond)
	s.ask(2, 3, fetch(5, 9, 5)).answer(notLeader(5, 1))
	s.advises("A6", 1, "after it got a FetchSnapshot without a topic from node 3")

	s = newStage(t).meet(1, 2, 3) // 4.4.0 refuses it
	s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.ask(3, 1, shapeless).answer(snapshotFailed(kraft.InvalidRequest, 0))
	s.pass(2 * oneSecond)
	s.stop(1)
	s.pass(2 * oneSecond)
	s.ask(2, 3, fetch(5, 9, 5)).answer(notLeader(5, 1))
	s.quiet("A6")

	s = newStage(t).meet(1, 2, 3) // another topic is refused by all
	s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.ask(3, 1, func(st *stage, from, to kraft.NodeID) kmsg.Request {
		r := shapeless(st, from, to).(*kmsg.FetchSnapshotRequest)
		topic := kmsg.NewFetchSnapshotRequestTopic()
		topic.Topic = "orders"
		r.Topics = append(r.Topics, topic)
		return r
	})
	s.stop(1)
	s.pass(2 * oneSecond)
	s.ask(2, 3, fetch(5, 9, 5)).answer(notLeader(5, 1))
	s.quiet("A6")
}

func TestFailure_AddedVoterBlocksItsOwnConnection(t *testing.T) { // KAFKA-19400
	s := newStage(t).meet(1, 2)
	led(s, 2)
	s.ask(2, 1, addVoter()) // it waits for a commit that needs the asker's next Fetch
	for range 12 {
		s.ask(9, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.pass(oneSecond)
	}
	s.advises("A4", 1, "stands at 10")
}

func TestFailure_SnapshotWithinABatch(t *testing.T) { // KAFKA-17713
	s := newStage(t).meet(1, 2)
	for range 30 { // the batch begins before what is asked for
		s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 20, data(9, 5, "a", "b", "c", "d")))
		s.pass(oneSecond / 4)
	}
	s.advises("A16", 2, "got records for its Fetch from offset 11")

	s = newStage(t).meet(1, 2) // a few lost answers
	for i := range 30 {
		s.ask(2, 1, fetch(5, kraft.Offset(9+i/5), 5)).answer(served(5, 20, data(kraft.Offset(9+i/5), 5, "a")))
		s.pass(oneSecond / 4)
	}
	s.quiet("A16")

	s = newStage(t).meet(1, 2) // nothing to fetch
	for range 60 {
		s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
		s.pass(oneSecond / 4)
	}
	s.quiet("A16")
}

func TestFailure_FormerLeaderAfterARestart(t *testing.T) {
	t.Run("it leads again in its epoch, with other records", func(t *testing.T) { // KAFKA-10527
		s := newStage(t).meet(1, 2, 3)
		s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, leaderChange(9, 5, 1, nodes(1, 2, 3), nodes(1, 2))))
		s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a")))
		s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "other")))
		s.diverges("M6", 1)
	})
	t.Run("it votes in the epoch that it led", func(t *testing.T) { // KAFKA-10661
		s := newStage(t).meet(1, 2, 3)
		s.ask(1, 2, stand(5)).answer(granted(5))
		s.ask(1, 2, begin(5)).answer(begun(kraft.None, 5, 1))
		s.stop(1)
		s.meet(1, 2, 3)
		s.ask(3, 1, stand(5)).answer(granted(5))
		s.ask(1, 3, fetch(5, 9, 5)).answer(notLeader(5, -1)) // on the disk that it had
		s.diverges("M1", 1)
	})
}

func TestFailure_RemovedVoterStandsOn(t *testing.T) { // KAFKA-17030, KAFKA-17067
	set := func(s *stage, ids ...kraft.NodeID) {
		s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, control(9, 5,
			wire.LeaderChange{Leader: 1, Voters: keysOf(ids), Granting: keysOf(ids)}, wire.KRaftVersion{Level: 1}, votersOf(s, ids...))))
	}
	s := newStage(t).meet(1, 2, 3, 4)
	set(s, 1, 2, 3)
	s.ask(4, 2, stand(6)).answer(refused(6))
	s.ask(4, 2, stand(7)).answer(refused(7))
	s.advises("A15", 4, "node 4 stood for 2 epochs, and is not in the voter set")

	for name, play := range map[string]func(s *stage){
		"a voter": func(s *stage) {
			set(s, 1, 2, 3, 4)
			s.ask(4, 2, stand(6)).answer(refused(6))
			s.ask(4, 2, stand(7)).answer(refused(7))
		},
		"once, before its seat was seen": func(s *stage) {
			set(s, 1, 2, 3)
			s.ask(4, 2, stand(6)).answer(refused(6))
		},
		"by pre-votes, which take nobody's office": func(s *stage) {
			set(s, 1, 2, 3)
			for range 5 {
				s.ask(4, 2, preVote(5)).answer(refused(5))
			}
		},
		"no voter set was seen": func(s *stage) {
			s.ask(4, 2, stand(6)).answer(refused(6))
			s.ask(4, 2, stand(7)).answer(refused(7))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3, 4)
			play(s)
			s.quiet("A15")
		})
	}
}

func TestFailure_TruncationBelowTheWatermark(t *testing.T) { // KAFKA-12460
	s := newStage(t).meet(1, 2, 3)
	s.ask(3, 1, fetch(5, 20, 5)).answer(served(5, 20))
	asked := s.line(2, 1).send(fetching{epoch: 5, end: kraft.LogEnd{LastEpoch: 4, LastOffset: 20}, version: 18, hw: 20}.request()(s, 2, 1))
	asked.answer(fetched{epoch: 5, hw: 20, diverging: &kraft.LogEnd{LastEpoch: 3, LastOffset: 12}}.response())
	s.diverges("M8", 1)
}

// The messages that end a Java controller. Each is told of when the controller goes within a second.
func TestFailure_MessagesThatEndAController(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ask   request
		reply response
		says  string
	}{
		{"INVALID_REQUEST of a partition", fetch(5, 9, 5), fetched{code: kraft.InvalidRequest, epoch: 5, hw: -1}.response(), "INVALID_REQUEST of the partition"},
		{"an error that calls the receiver the leader", fetch(5, 9, 5), fetched{code: kraft.FencedLeaderEpoch, epoch: 6, leader: 2, hw: -1}.response(), "an error that names the receiver as the leader"},
		{"a refusal of the cluster", fetch(5, 9, 5), fetchFailed(kraft.ClusterAuthorizationFailed), "a top-level CLUSTER_AUTHORIZATION_FAILED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(2, 1, tt.ask).answer(tt.reply)
			s.stop(2)
			s.pass(2 * oneSecond)
			s.ask(3, 1, fetch(6, 9, 5)).answer(notLeader(6, -1))
			s.advises("A6", 2, tt.says)
		})
	}
}

// What ends no controller, though it looks like it.
func TestFailure_MessagesThatEndNobody(t *testing.T) {
	for name, reply := range map[string]response{
		"INVALID_REQUEST at the top level":   fetchFailed(kraft.InvalidRequest),
		"an unknown error for its own id":    fetched{code: kraft.UnknownServerError, epoch: 5, leader: 1, hw: -1}.response(),
		"another cluster":                    fetchFailed(kraft.InconsistentClusterID),
		"an answer without records":          served(5, 9),
		"an error that calls another leader": notLeader(5, 3),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.ask(2, 1, fetch(5, 9, 5)).answer(reply)
			s.stop(2)
			s.pass(2 * oneSecond)
			s.ask(3, 1, fetch(5, 9, 5)).answer(fetched{code: kraft.UnknownServerError, epoch: 5, leader: -1, hw: -1}.response())
			s.quiet("A6")
		})
	}
}

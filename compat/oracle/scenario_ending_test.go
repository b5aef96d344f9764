package oracle_test

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// The scripts here lead n1 to what ends its process, each by the shortest way. No well-behaved quorum does any of it.

// ended: what n1 was just given has ended it.
func (s *scene) ended(what string) {
	s.check(what+" ends n1: "+s.Nodes[1].Fatal, s.Nodes[1].Fatal != "")
}

// records answers a Fetch with these batches.
func records(batches ...[]byte) func(int16) kmsg.Response {
	return fetched(func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = slices.Concat(batches...) })
}

// recordsOfNegativeEpoch: the epoch cache refuses them.
func recordsOfNegativeEpoch(s *scene) {
	s.following(oracle.NewInit(1, 1, 1, 2, 3))
	s.respond(records(wire.AppendDataBatch(nil, 0, -1, 5, oracle.Records(1)...)))
	s.ended("a batch of epoch -1")
}

// offsetsThatStandStill: the log refuses batches that do not follow each other.
func offsetsThatStandStill(s *scene) {
	s.following(oracle.NewInit(1, 1, 1, 2, 3))
	batch := wire.AppendDataBatch(nil, 0, 3, 5, oracle.Records(1)...)
	s.respond(records(batch, batch))
	s.ended("the same batch twice in an answer")
}

// unknownKRaftVersion: a level that the release does not know.
func unknownKRaftVersion(s *scene) {
	s.following(oracle.NewInit(1, 1, 1, 2, 3))
	head := wire.NewBatch(0, 3, 5)
	head.Attributes = wire.AttrControl
	s.respond(records(wire.AppendBatch(nil, head, wire.NewControl(wire.KRaftVersion{Level: 5}))))
	s.ended("kraft.version 5 in a control record")
}

// snapshotBelowTheLogEnd: records that were cut off behind a snapshot leave an end whose epoch nobody knows.
func snapshotBelowTheLogEnd(s *scene) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Log = dynamicLog(2)
	s.following(in)
	s.download(20, 2, snapshotOf(2, 1, 2, 3))
	s.respond(records(wire.AppendDataBatch(nil, 25, 3, 5, oracle.Records(1)...)))
	s.check("n1 appends behind a gap", s.State(1).End == 26)
	s.respond(fetched(func(p *kmsg.FetchResponseTopicPartition) { p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 3, 25 }))
	s.ended("a log that ends neither in an epoch nor at its snapshot")
}

// manySuccessors: the shift that makes the back-off of a rank overflows behind the 31st (Kafka: FollowerState, strictExponentialElectionBackoffMs).
func manySuccessors(s *scene) {
	s.following(oracle.NewInit(1, 1, 1, 2, 3))
	var successors []int32
	for rank := range int32(33) {
		successors = append(successors, 100+rank)
	}
	successors[23] = 1
	s.Craft(1, endRequest(3, 3, successors...))
	s.ended("EndQuorumEpoch with 33 successors, n1 the 24th")
}

// leaderWithoutAnAddress: a leader that names endpoints, but none for the listener that controllers use.
func leaderWithoutAnAddress(s *scene) {
	s.alone()
	r := beginRequest(4, 3).(*kmsg.BeginQuorumEpochRequest)
	r.LeaderEndpoints[0].Name = "ELSEWHERE"
	s.Craft(1, r)
	s.ended("a leader that cannot be asked")
}

// observerWithoutAnID: only a node with an id can have a place among successors.
func observerWithoutAnID(s *scene) {
	in := oracle.NewInit(1, 1)
	in.ID = nil
	s.Nodes[1] = &oracle.Node{ID: 1, Init: in}
	s.Do(1, oracle.Command{Cmd: "init", Init: &in, State: true})
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	s.Craft(1, beginRequest(4, 3))
	s.Craft(1, endRequest(4, 3, 2))
	s.ended("EndQuorumEpoch to a node without id")
}

// votersOnlyInTheConfiguration: kraft.version 1 says that the voters stand in the log.
func votersOnlyInTheConfiguration(s *scene) {
	in := oracle.NewInit(1, 0, 1)
	head := wire.NewBatch(0, 1, 5)
	head.Attributes = wire.AttrControl
	in.Log = wire.AppendBatch(nil, head, wire.NewControl(wire.KRaftVersion{Level: 1}))
	s.Start(in, nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	s.ended("leading at kraft.version 1 without a voter set")
}

// voteForOneself: a candidate with n1's id and another directory.
func voteForOneself(s *scene) {
	s.alone()
	r := voteRequest(1, 4, 1, 1, 0, 0, oracle.ClusterID).(*kmsg.VoteRequest)
	r.Topics[0].Partitions[0].CandidateDirectoryID = oracle.DirectoryID(9)
	s.Craft(1, r)
	s.ended("a candidate with the id of n1")
}

// snapshotsOfTwoTopics: before the check of the shape was corrected, a request was refused only if both its counts were wrong.
func snapshotsOfTwoTopics(s *scene) {
	s.leading(1)
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.SetVersion(1)
	cluster := oracle.ClusterID
	r.ClusterID, r.ReplicaID = &cluster, 2
	for range 2 {
		t := kmsg.NewFetchSnapshotRequestTopic()
		t.Topic = topic
		r.Topics = append(r.Topics, t)
	}
	_, reply := s.Craft(1, r)
	answer := kmsg.NewPtrFetchSnapshotResponse()
	answer.SetVersion(1)
	err := answer.ReadFrom(reply.Body)
	s.check("two topics without partitions are refused", err == nil && answer.ErrorCode == int16(kraft.InvalidRequest))
}

// calls of the controller in roles that have little to do with them.
func callsInEveryRole(s *scene) {
	for _, role := range []string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"} {
		in := oracle.NewInit(1, 1, 1, 2, 3)
		in.Log = dynamicLog(2)
		s.following(in)
		s.respond(fetched(func(p *kmsg.FetchResponseTopicPartition) { p.HighWatermark = 5 }))
		s.become(role)
		a := s.Do(1, oracle.Command{Cmd: "snapshot", Offset: 4, Epoch: 1, Settle: true, State: true})
		s.check("a snapshot of what is committed: "+a.Error, a.Created)
		u := kmsg.NewPtrUpdateRaftVoterRequest()
		cluster := oracle.ClusterID
		u.ClusterID, u.VoterID, u.VoterDirectoryID = &cluster, 2, oracle.DirectoryID(2)
		s.Craft(1, u)
		s.check("n1 is still "+role, s.State(1).Role == role && s.Nodes[1].Fatal == "")
		s.Do(1, oracle.Command{Cmd: "shutdown", Ms: 5000, Settle: true, State: true})
		s.check("n1 leaves as "+role, s.Nodes[1].Fatal == "")
	}
}

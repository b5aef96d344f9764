package oracle_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// The scripts here hold one node of three, and answer in the place of its leader n3.

// votersRecord is the set of these voters.
func votersRecord(ids ...int32) wire.Voters {
	var set wire.Voters
	for _, id := range ids {
		set.Voters = append(set.Voters, wire.Voter{
			Key: kraft.ReplicaKey{ID: kraft.NodeID(id), DirectoryID: oracle.DirectoryID(id)}, MaxVersion: 1,
			Endpoints: []wire.Endpoint{{Name: oracle.Channel, Host: fmt.Sprintf("h%d", id), Port: 9093}},
		})
	}
	return set
}

// dynamicLog is a log whose first batch makes a dynamic quorum of n1, n2 and n3, and that ends behind some records.
func dynamicLog(records int) []byte {
	set := votersRecord(1, 2, 3)
	var voters []kraft.Voter
	for _, v := range set.Voters {
		at := kraft.Address{Host: v.Endpoints[0].Host, Port: v.Endpoints[0].Port}
		voters = append(voters, kraft.Voter{
			Key: v.Key, Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: oracle.Channel, Address: at}), Versions: kraft.VersionRange{Max: 1},
		})
	}
	log, _ := wire.AppendControlBatch(nil, kraft.Batch{Epoch: 1, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1, 2, 3}, Granting: []kraft.NodeID{1, 2}},
		{Type: kraft.KRaftVersionRecord, KRaftVersion: 1},
		{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(voters...)},
	}}, 1)
	for next := range records {
		log = wire.AppendDataBatch(log, kraft.Offset(3+next), 1, 1, oracle.Records(1)...)
	}
	return log
}

// snapshotOf is a snapshot with a record and, if there are any, a voter set.
func snapshotOf(epoch kraft.Epoch, voters ...int32) []byte {
	records := []wire.Record{wire.NewControl(wire.SnapshotHeader{Timestamp: 5})}
	if len(voters) > 0 {
		records = append(records, wire.NewControl(wire.KRaftVersion{Level: 1}), wire.NewControl(votersRecord(voters...)))
	}
	head := wire.NewBatch(0, epoch, 5)
	head.Attributes = wire.AttrControl
	all := wire.AppendBatch(nil, head, records...)
	all = wire.AppendDataBatch(all, kraft.Offset(len(records)), epoch, 5, oracle.Records(1)...)
	head.BaseOffset = kraft.Offset(len(records) + 1)
	return wire.AppendBatch(all, head, wire.NewControl(wire.SnapshotFooter{}))
}

// following starts n1 as a follower of n3 in epoch 3.
func (s *scene) following(in oracle.Init) {
	in.Stored = &oracle.StoredState{Epoch: 3, Leader: 3, Voted: -1, Version: 1}
	s.Start(in, nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	s.check("n1 follows n3", s.State(1).Role == "Follower" && s.State(1).Leader == 3)
}

// respond answers the last request of n1.
func (s *scene) respond(answer func(version int16) kmsg.Response) {
	s.answer(oracle.Command{Settle: true, State: true}, answer)
}

// answer answers the last request of n1 with turns as the command says.
func (s *scene) answer(c oracle.Command, answer func(version int16) kmsg.Response) {
	m := s.Net[len(s.Net)-1]
	r := answer(m.Version)
	r.SetVersion(m.Version)
	c.Cmd, c.Corr, c.Version, c.Body = "response", m.Corr, m.Version, r.AppendTo(nil)
	s.Do(1, c)
}

func fetched(change func(p *kmsg.FetchResponseTopicPartition)) func(int16) kmsg.Response {
	return func(int16) kmsg.Response {
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.RecordBatches = -1, []byte{}
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 3, 3
		change(&p)
		r := kmsg.NewPtrFetchResponse()
		r.Topics = []kmsg.FetchResponseTopic{{Topic: topic, TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		return r
	}
}

// download lets n1 fetch a snapshot in one piece.
func (s *scene) download(offset int64, epoch int32, bytes []byte) {
	s.respond(fetched(func(p *kmsg.FetchResponseTopicPartition) { p.SnapshotID.EndOffset, p.SnapshotID.Epoch = offset, epoch }))
	s.respond(func(int16) kmsg.Response {
		p := kmsg.NewFetchSnapshotResponseTopicPartition()
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 3, 3
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch, p.Size, p.Bytes = offset, epoch, int64(len(bytes)), bytes
		r := kmsg.NewPtrFetchSnapshotResponse()
		r.Topics = []kmsg.FetchSnapshotResponseTopic{{Topic: topic, Partitions: []kmsg.FetchSnapshotResponseTopicPartition{p}}}
		return r
	})
	s.check("the log begins at the snapshot", s.State(1).Start == offset && s.State(1).End == offset)
}

// snapshotWithinWhatWasRead: the control records of a snapshot do not count if the log was read beyond its end once, though it was
// truncated since (Kafka: KRaftControlRecordStateMachine.maybeLoadSnapshot).
func snapshotWithinWhatWasRead(s *scene) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Log = dynamicLog(9)
	s.following(in)
	s.respond(fetched(func(p *kmsg.FetchResponseTopicPartition) { p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 1, 5 }))
	s.check("n1 truncates to 5", s.State(1).End == 5)
	s.download(8, 2, snapshotOf(2, 1, 2, 3, 4))
	s.check("the voters of the snapshot are not looked at", len(s.State(1).Voters) == 3)
}

// snapshotWithoutVoters: what stood in the log before a snapshot counts no more, even if the snapshot says nothing.
func snapshotWithoutVoters(s *scene) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Log = dynamicLog(2)
	s.following(in)
	s.download(20, 2, snapshotOf(2))
	s.check("nobody is a voter", len(s.State(1).Voters) == 0 && s.State(1).KRaft == 0)
}

// movedLeader: a leader whose address differs from that in the log writes the voter set again.
func movedLeader(s *scene) {
	s.Start(oracle.NewInit(1, 1, 1), nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	log := s.Do(1, oracle.Command{Cmd: "log"})
	in := oracle.NewInit(1, 1, 1)
	in.Endpoints = map[string]string{oracle.Channel: "h1:9999"}
	in.Log, in.Stored = log.Bytes, &oracle.StoredState{Epoch: s.State(1).Epoch, Leader: 1, Voted: -1, Version: 1}
	s.Start(in, nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	s.check("n1 leads again and has written its new address", s.State(1).Role == "Leader" && strings.Contains(fmt.Sprint(s.State(1).Voters), "h1:9999"))
}

// changeExpiresInTurn: the time of a voter change runs out between the leader's own turn and the message that it then handles.
func changeExpiresInTurn(s *scene) {
	s.leading(1)
	s.Pass(4, 100)
	s.Craft(1, addVoterRequest(4))
	s.check("n4 is being added", s.State(1).PendingChange != nil)
	s.Now = s.State(1).PendingChange.Deadline - 1
	r := addVoterRequest(5)
	s.Request(oracle.Message{To: 1, API: r.Key(), Version: r.GetVersion(), Body: r.AppendTo(nil)}, oracle.Command{Poll: 1, During: 5, State: true})
	s.check("n5 is being added instead", s.State(1).PendingChange != nil && strings.HasPrefix(s.State(1).PendingChange.Voter, "5"))
}

// shutdownInTurn: a leader resigns in the first turn of its shutdown, so it serves nobody only if another thread begins that between the
// leader's part of a turn and the message of the turn (Kafka: KafkaRaftClient.validateLeaderOnlyRequest).
func shutdownInTurn(s *scene) {
	s.leading(1)
	s.Pass(4, 100)
	r := removeVoterRequest(3)
	s.Request(oracle.Message{To: 1, API: r.Key(), Version: r.GetVersion(), Body: r.AppendTo(nil)}, oracle.Command{})
	a := s.Do(1, oracle.Command{Cmd: "shutdown", Ms: 5000, Inside: true, Poll: 1, State: true})
	s.check("the leader has not resigned yet", s.State(1).Role == "Leader")
	s.check("it refuses the request", slices.ContainsFunc(a.Effects, func(e oracle.Effect) bool { return e.Kind == "reply" }))
	s.Do(1, oracle.Command{Cmd: "poll", Poll: 1, State: true})
	s.check("it resigns in the next turn", s.State(1).Role == "Resigned")
}

// updateVoterAtVersionZero: the update-voter timer runs out in the moment between an answer and the next Fetch. At kraft.version 0 the leader
// is told since 4.1 only (KAFKA-16538).
func updateVoterAtVersionZero(s *scene) {
	s.following(oracle.NewInit(1, 0, 1, 2, 3))
	due := s.State(1).Timers["updateVoter"]
	for s.Now+1900 < due {
		s.Now += 1900
		s.respond(fetched(func(*kmsg.FetchResponseTopicPartition) {}))
	}
	s.Now = due - 1
	s.answer(oracle.Command{Poll: 1, State: true}, fetched(func(*kmsg.FetchResponseTopicPartition) {}))
	s.Now = due
	s.Net = nil
	s.Do(1, oracle.Command{Cmd: "poll", Poll: 1, State: true})
	want := kraft.UpdateRaftVoterAPI
	if !from(s.version, "4.1") {
		want = kraft.FetchAPI
	}
	s.check(fmt.Sprintf("n1 sends %v", want), len(s.Net) == 1 && s.Net[0].API == int16(want))
}

// answerNamesAnotherAddress: where an answer says that the leader is, counts more than the voter set.
func answerNamesAnotherAddress(s *scene) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Log = dynamicLog(1)
	s.following(in)
	s.respond(func(version int16) kmsg.Response {
		r := fetched(func(p *kmsg.FetchResponseTopicPartition) {
			p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int16(kraft.FencedLeaderEpoch), 2, 4
		})(version).(*kmsg.FetchResponse)
		r.Brokers = []kmsg.FetchResponseBroker{{NodeID: 2, Host: "elsewhere", Port: 9099}}
		return r
	})
	s.check("n1 follows n2, which is elsewhere", s.State(1).Leader == 2 && strings.Contains(fmt.Sprint(s.State(1).LeaderEndpoints), "elsewhere"))
}

// recordsBehindForcedDrain: records that are prepared behind a control batch do not go out with it.
func recordsBehindForcedDrain(s *scene) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Config["controller.quorum.append.linger.ms"] = 50
	s.Start(in, map[string][]int32{"0:1000": {100}})
	for id := int32(2); id <= 3; id++ {
		s.Start(oracle.NewInit(id, 1, 1, 2, 3), map[string][]int32{"0:1000": {id * 100}})
	}
	s.Elect(1)
	s.Pass(4, 100)
	r := removeVoterRequest(3)
	s.Request(oracle.Message{To: 1, API: r.Key(), Version: r.GetVersion(), Body: r.AppendTo(nil)}, oracle.Command{Poll: 1, State: true})
	end := s.State(1).End
	s.Do(1, oracle.Command{Cmd: "append", Epoch: s.State(1).Epoch, Records: oracle.Records(1), Poll: 1, State: true})
	s.check("the voter set is written, the record is not", s.State(1).End == end+1)
	s.Now += 50
	s.Do(1, oracle.Command{Cmd: "poll", Poll: 1, State: true})
	s.check("the record is written when its time has come", s.State(1).End == end+2)
}

package oracle_test

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/interact"
	"github.com/understudy-kafka/understudy/wire"
)

func parseInt(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// goldenBody are the bytes of a message: those that came from a node, or those of a message that the script made up.
func goldenBody(p *interact.Packet) ([]byte, error) {
	if p.Bytes != nil {
		return p.Bytes, nil
	}
	if p.Answer {
		return answerBody(p)
	}
	r := requestOf(p.Content)
	if r == nil {
		return nil, fmt.Errorf("%T cannot be made up", p.Content)
	}
	r.SetVersion(p.Version)
	return r.AppendTo(nil), nil
}

func arrival(content any) string {
	switch e := content.(type) {
	case *kraft.ReceiveVoteRequest:
		return e.Listener
	case *kraft.ReceiveBeginQuorumEpoch:
		return e.Listener
	case *kraft.ReceiveEndQuorumEpoch:
		return e.Listener
	case *kraft.ReceiveFetch:
		return e.Listener
	case *kraft.ReceiveFetchSnapshot:
		return e.Listener
	}
	return ""
}

func cluster(id kraft.ClusterID) *string {
	if !id.Present {
		return nil
	}
	return &id.Value
}

// partitionName is another topic where the script wants a wrong one.
func topicOf(wrong bool) string {
	if wrong {
		return "other"
	}
	return topic
}

func requestOf(content any) kmsg.Request {
	switch e := content.(type) {
	case *kraft.ReceiveVoteRequest:
		r := kmsg.NewPtrVoteRequest()
		r.ClusterID, r.VoterID = cluster(e.ClusterID), int32(e.VoterID)
		p := kmsg.NewVoteRequestTopicPartition()
		p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(e.CandidateEpoch), int32(e.Candidate), e.CandidateDirectoryID
		p.VoterDirectoryID, p.LastOffsetEpoch, p.LastOffset = e.VoterDirectoryID, int32(e.CandidateLogEnd.LastEpoch), int64(e.CandidateLogEnd.LastOffset)
		p.PreVote = e.PreVote
		r.Topics = []kmsg.VoteRequestTopic{{Topic: topicOf(e.WrongPartition), Partitions: []kmsg.VoteRequestTopicPartition{p}}}
		return r
	case *kraft.ReceiveBeginQuorumEpoch:
		r := kmsg.NewPtrBeginQuorumEpochRequest()
		r.ClusterID, r.VoterID = cluster(e.ClusterID), int32(e.VoterID)
		p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
		p.VoterDirectoryID, p.LeaderID, p.LeaderEpoch = e.VoterDirectoryID, int32(e.LeaderID), int32(e.LeaderEpoch)
		r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: topicOf(e.WrongPartition), Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
		for i := range e.LeaderEndpoints.Len() {
			l := e.LeaderEndpoints.At(i)
			r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.BeginQuorumEpochRequestLeaderEndpoint{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		return r
	case *kraft.ReceiveEndQuorumEpoch:
		r := kmsg.NewPtrEndQuorumEpochRequest()
		r.ClusterID = cluster(e.ClusterID)
		p := kmsg.NewEndQuorumEpochRequestTopicPartition()
		p.LeaderID, p.LeaderEpoch = int32(e.LeaderID), int32(e.LeaderEpoch)
		for _, k := range e.Successors {
			p.PreferredSuccessors = append(p.PreferredSuccessors, int32(k.ID))
			p.PreferredCandidates = append(p.PreferredCandidates, kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{CandidateID: int32(k.ID), CandidateDirectoryID: k.DirectoryID})
		}
		r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: topicOf(e.WrongPartition), Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
		for i := range e.LeaderEndpoints.Len() {
			l := e.LeaderEndpoints.At(i)
			r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.EndQuorumEpochRequestLeaderEndpoint{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		return r
	case *kraft.ReceiveFetch:
		return fetchRequestOf(e)
	case *kraft.ReceiveFetchSnapshot:
		return fetchSnapshotRequestOf(e)
	}
	return clientRequestOf(content)
}

func fetchRequestOf(e *kraft.ReceiveFetch) kmsg.Request {
	r := kmsg.NewPtrFetchRequest()
	r.ClusterID, r.MaxWaitMillis, r.MaxBytes, r.MinBytes = cluster(e.ClusterID), e.MaxWaitMs, e.MaxBytes, 0
	if e.Version >= 15 {
		r.ReplicaState.ID = int32(e.Replica.ID)
	} else {
		r.ReplicaID = int32(e.Replica.ID)
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(e.FetchEpoch), int64(e.FetchOffset), int32(e.LastFetchedEpoch)
	p.HighWatermark, p.ReplicaDirectoryID = int64(e.HighWatermark), e.Replica.DirectoryID
	t := kmsg.FetchRequestTopic{Topic: topic, TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchRequestTopicPartition{p}}
	if e.WrongPartition && e.Version >= 13 {
		t.TopicID = [16]byte{1}
	}
	r.Topics = []kmsg.FetchRequestTopic{t}
	return r
}

func fetchSnapshotRequestOf(e *kraft.ReceiveFetchSnapshot) kmsg.Request {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.ClusterID, r.ReplicaID, r.MaxBytes = cluster(e.ClusterID), int32(e.Replica.ID), e.MaxBytes
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position, p.ReplicaDirectoryID = int32(e.FetchEpoch), e.Position, e.Replica.DirectoryID
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(e.SnapshotID.Offset), int32(e.SnapshotID.Epoch)
	t := kmsg.FetchSnapshotRequestTopic{Topic: topicOf(e.WrongPartition), Partitions: []kmsg.FetchSnapshotRequestTopicPartition{p}}
	switch e.Shape {
	case kraft.ShapeNoTopic:
	case kraft.ShapeExtra:
		t.Partitions = append(t.Partitions, p)
		fallthrough
	default:
		r.Topics = []kmsg.FetchSnapshotRequestTopic{t}
	}
	return r
}

func clientRequestOf(content any) kmsg.Request {
	switch e := content.(type) {
	case *kraft.ReceiveDescribeQuorum:
		r := kmsg.NewPtrDescribeQuorumRequest()
		r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: topicOf(e.WrongPartition), Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		return r
	case *kraft.ReceiveAddRaftVoter:
		r := kmsg.NewPtrAddRaftVoterRequest()
		r.ClusterID, r.TimeoutMillis, r.VoterID, r.VoterDirectoryID = cluster(e.ClusterID), 1000, int32(e.Voter.ID), e.Voter.DirectoryID
		r.AckWhenCommitted = e.AckWhenCommitted
		for i := range e.Endpoints.Len() {
			l := e.Endpoints.At(i)
			r.Listeners = append(r.Listeners, kmsg.AddRaftVoterRequestListener{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		return r
	case *kraft.ReceiveRemoveRaftVoter:
		r := kmsg.NewPtrRemoveRaftVoterRequest()
		r.ClusterID, r.VoterID, r.VoterDirectoryID = cluster(e.ClusterID), int32(e.Voter.ID), e.Voter.DirectoryID
		return r
	case *kraft.ReceiveUpdateRaftVoter:
		r := kmsg.NewPtrUpdateRaftVoterRequest()
		r.ClusterID, r.CurrentLeaderEpoch, r.VoterID, r.VoterDirectoryID = cluster(e.ClusterID), int32(e.FetchEpoch), int32(e.Voter.ID), e.Voter.DirectoryID
		r.KRaftVersionFeature.MinSupportedVersion, r.KRaftVersionFeature.MaxSupportedVersion = e.Versions.Min, e.Versions.Max
		for i := range e.Endpoints.Len() {
			l := e.Endpoints.At(i)
			r.Listeners = append(r.Listeners, kmsg.UpdateRaftVoterRequestListener{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		return r
	}
	return nil
}

// answerBody encodes an answer that the script made up, as one of our own nodes would.
func answerBody(p *interact.Packet) ([]byte, error) {
	reply := func(a *kraft.PartitionAnswer) kraft.PartitionReply {
		return kraft.PartitionReply{PartitionError: a.Error, LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch, HasEndpoint: a.HasEndpoint, LeaderEndpoint: a.LeaderEndpoint}
	}
	if e := responseOf(p.Content); e != nil && e.WrongPartition {
		return oracle.ErrorBody(int16(p.API), p.Version, e.Error), nil
	}
	var action kraft.Action
	var data []byte
	switch e := p.Content.(type) {
	case *kraft.ReceiveAPIVersionsResponse:
		if !e.HasKRaftVersion || e.Error != kraft.None {
			return oracle.ErrorBody(int16(p.API), p.Version, e.Error), nil
		}
		return oracle.APIVersionsBody(p.Version, e.KRaftVersions.Min, e.KRaftVersions.Max), nil
	case *kraft.ReceiveVoteResponse:
		action = &kraft.ReplyVote{Reply: kraft.Reply{Error: e.Response.Error}, PartitionReply: reply(&e.PartitionAnswer), VoteGranted: e.VoteGranted}
	case *kraft.ReceiveBeginQuorumEpochResponse:
		action = &kraft.ReplyBeginQuorumEpoch{Reply: kraft.Reply{Error: e.Response.Error}, PartitionReply: reply(&e.PartitionAnswer)}
	case *kraft.ReceiveEndQuorumEpochResponse:
		action = &kraft.ReplyEndQuorumEpoch{Reply: kraft.Reply{Error: e.Response.Error}, PartitionReply: reply(&e.PartitionAnswer)}
	case *kraft.ReceiveFetchResponse:
		action = &kraft.ReplyFetch{FetchAnswer: kraft.FetchAnswer{
			Reply: kraft.Reply{Error: e.Response.Error}, PartitionReply: reply(&e.PartitionAnswer), HighWatermark: e.HighWatermark, LogStart: e.LogStart,
			Diverging: e.Diverging, Snapshot: e.Snapshot,
		}}
		data = fetchedData(e)
	case *kraft.ReceiveFetchSnapshotResponse:
		action = &kraft.ReplyFetchSnapshot{
			Reply: kraft.Reply{Error: e.Response.Error}, PartitionReply: reply(&e.PartitionAnswer), HasLeader: true, ID: e.SnapshotID, Size: e.Size, Position: e.Position,
		}
		data = make([]byte, e.Bytes)
	case *kraft.ReceiveUpdateRaftVoterResponse:
		action = &kraft.ReplyUpdateRaftVoter{Reply: kraft.Reply{Error: e.Error}, LeaderID: e.LeaderID, LeaderEpoch: e.LeaderEpoch, LeaderEndpoint: e.LeaderEndpoint}
	case *kraft.ReceiveAddRaftVoterResponse:
		action = &kraft.ReplyAddRaftVoter{Reply: kraft.Reply{Error: e.Error}}
	case *kraft.ReceiveRemoveRaftVoterResponse:
		action = &kraft.ReplyRemoveRaftVoter{Reply: kraft.Reply{Error: e.Error}}
	default:
		return nil, fmt.Errorf("%T cannot be made up", p.Content)
	}
	return wire.AppendReply(nil, action, wire.ReplyTo{Version: p.Version}, data)
}

// responseOf is the head of an answer that is about a partition and may name none.
func responseOf(content any) *kraft.Response {
	switch e := content.(type) {
	case *kraft.ReceiveVoteResponse:
		return &e.Response
	case *kraft.ReceiveBeginQuorumEpochResponse:
		return &e.Response
	case *kraft.ReceiveEndQuorumEpochResponse:
		return &e.Response
	case *kraft.ReceiveFetchResponse:
		return &e.Response
	}
	return nil
}

func fetchedData(e *kraft.ReceiveFetchResponse) []byte {
	var data []byte
	for _, b := range e.Batches {
		data = wire.AppendDataBatch(data, b.Base, b.Epoch, 0, goldenRecords(int(b.Last-b.Base+1))...)
	}
	if e.Fault != kraft.RecordsFine {
		at := len(data)
		data = wire.AppendDataBatch(data, 0, e.LeaderEpoch, 0, goldenRecords(1)...)
		data[at+17] ^= 1 // the checksum
	}
	return data
}

// goldenAnswer reads an answer of Kafka's as the conversation tells it.
func goldenAnswer(d *wire.Decoder, p *interact.Packet) (any, error) {
	_, resp, err := oracle.Decode(oracle.Message{Response: true, API: int16(p.API), Version: p.Version, Body: p.Bytes})
	if err != nil {
		return nil, err
	}
	text := func(m *string) kraft.Message {
		switch {
		case m == nil:
			return kraft.NullMessage
		case *m == "":
			return kraft.EmptyMessage
		}
		return kraft.TextMessage
	}
	switch r := resp.(type) {
	case *kmsg.AddRaftVoterResponse:
		return &kraft.ReplyAddRaftVoter{Reply: kraft.Reply{Error: kraft.ErrorCode(r.ErrorCode)}, Message: text(r.ErrorMessage)}, nil
	case *kmsg.RemoveRaftVoterResponse:
		return &kraft.ReplyRemoveRaftVoter{Reply: kraft.Reply{Error: kraft.ErrorCode(r.ErrorCode)}, Message: text(r.ErrorMessage)}, nil
	case *kmsg.DescribeQuorumResponse:
		return described(r), nil
	}
	return d.KRaftResponse(int16(p.API), p.Version, slices.Clone(p.Bytes), kraft.Response{From: p.Record})
}

func described(r *kmsg.DescribeQuorumResponse) *kraft.ReplyDescribeQuorum {
	a := &kraft.ReplyDescribeQuorum{Reply: kraft.Reply{Error: kraft.ErrorCode(r.ErrorCode)}}
	if len(r.Topics) == 0 || len(r.Topics[0].Partitions) == 0 {
		return a
	}
	p := &r.Topics[0].Partitions[0]
	if kraft.ErrorCode(p.ErrorCode) == kraft.UnknownTopicOrPartition {
		a.UnknownPartition = true
		return a
	}
	a.PartitionError, a.LeaderID, a.LeaderEpoch, a.HighWatermark = kraft.ErrorCode(p.ErrorCode), kraft.NodeID(p.LeaderID), kraft.Epoch(p.LeaderEpoch), kraft.Offset(p.HighWatermark)
	statuses := func(list []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) []kraft.ReplicaStatus {
		var out []kraft.ReplicaStatus
		for _, s := range list {
			out = append(out, kraft.ReplicaStatus{
				Key:    kraft.ReplicaKey{ID: kraft.NodeID(s.ReplicaID), DirectoryID: s.ReplicaDirectoryID},
				LogEnd: kraft.Offset(s.LogEndOffset), LastFetch: kraft.Instant(s.LastFetchTimestamp), LastCaughtUp: kraft.Instant(s.LastCaughtUpTimestamp),
			})
		}
		return out
	}
	a.Voters, a.Observers = statuses(p.CurrentVoters), statuses(p.Observers)
	slices.SortFunc(r.Nodes, func(x, y kmsg.DescribeQuorumResponseNode) int { return int(x.NodeID - y.NodeID) })
	for _, n := range r.Nodes {
		a.Nodes = append(a.Nodes, kraft.Voter{Key: kraft.ReplicaKey{ID: kraft.NodeID(n.NodeID)}})
	}
	return a
}

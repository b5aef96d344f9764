package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// ReplyTo is the request that an action answers, as far as its answer needs it.
type ReplyTo struct {
	Version int16
	Body    []byte // of FetchSnapshot and DescribeQuorum, whose names an error echoes
}

// AppendReply appends the body of the response that the action asks for. Data are the records of a Fetch response or
// the bytes of a FetchSnapshot response; the caller has read them.
func AppendReply(dst []byte, action kraft.Action, to ReplyTo, data []byte) ([]byte, error) {
	m, err := response(action, to, data)
	if err != nil {
		return dst, err
	}
	m.SetVersion(to.Version)
	return m.AppendTo(dst), nil
}

// ReplyKey is the api key of the response that an action asks for and the request it answers, or not ok if it is none.
func ReplyKey(action kraft.Action) (key int16, request kraft.RequestID, ok bool) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		return KeyVote, a.Request, true
	case *kraft.ReplyBeginQuorumEpoch:
		return KeyBeginQuorumEpoch, a.Request, true
	case *kraft.ReplyEndQuorumEpoch:
		return KeyEndQuorumEpoch, a.Request, true
	case *kraft.ReplyFetch:
		return KeyFetch, a.Request, true
	case *kraft.ReplyDivergingEpoch:
		return KeyFetch, a.Request, true
	case *kraft.ReplyFetchSnapshot:
		return KeyFetchSnapshot, a.Request, true
	case *kraft.ReplyDescribeQuorum:
		return KeyDescribeQuorum, a.Request, true
	case *kraft.ReplyAddRaftVoter:
		return KeyAddRaftVoter, a.Request, true
	case *kraft.ReplyRemoveRaftVoter:
		return KeyRemoveRaftVoter, a.Request, true
	case *kraft.ReplyUpdateRaftVoter:
		return KeyUpdateRaftVoter, a.Request, true
	}
	return 0, 0, false
}

func response(action kraft.Action, to ReplyTo, data []byte) (kmsg.Response, error) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		return voteReply(a, to.Version), nil
	case *kraft.ReplyBeginQuorumEpoch:
		return beginReply(a, to.Version), nil
	case *kraft.ReplyEndQuorumEpoch:
		return endReply(a, to.Version), nil
	case *kraft.ReplyFetch:
		return fetchReply(&a.FetchAnswer, to.Version, data), nil
	case *kraft.ReplyDivergingEpoch:
		return fetchReply(&a.FetchAnswer, to.Version, data), nil
	case *kraft.ReplyFetchSnapshot:
		return fetchSnapshotReply(a, to, data)
	case *kraft.ReplyDescribeQuorum:
		return describeReply(a, to)
	case *kraft.ReplyAddRaftVoter:
		r := kmsg.NewPtrAddRaftVoterResponse()
		r.ErrorCode, r.ErrorMessage = int16(a.Error), message(a.Message, a.Error)
		return r, nil
	case *kraft.ReplyRemoveRaftVoter:
		r := kmsg.NewPtrRemoveRaftVoterResponse()
		r.ErrorCode, r.ErrorMessage = int16(a.Error), message(a.Message, a.Error)
		return r, nil
	case *kraft.ReplyUpdateRaftVoter:
		r := kmsg.NewPtrUpdateRaftVoterResponse()
		r.ErrorCode = int16(a.Error)
		r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch = int32(a.LeaderID), int32(a.LeaderEpoch)
		r.CurrentLeader.Host, r.CurrentLeader.Port = a.LeaderEndpoint.Host, int32(a.LeaderEndpoint.Port)
		return r, nil
	}
	return nil, fmt.Errorf("%T is no response: %w", action, ErrUnsupported)
}

// message is a text for people; only whether there is one is Kafka's.
func message(kind kraft.Message, code kraft.ErrorCode) *string {
	text := ""
	switch kind {
	case kraft.NullMessage:
		return nil
	case kraft.DefaultMessage, kraft.TextMessage:
		text = code.String()
	case kraft.EmptyMessage:
	}
	return &text
}

// shown is Kafka's text of an error of DescribeQuorum, which tools show as it is (Kafka: Errors.message).
func shown(code kraft.ErrorCode) *string {
	text := code.String()
	switch code {
	case kraft.NotLeaderOrFollower:
		text = "For requests intended only for the leader, this error indicates that the broker is not the current leader. " +
			"For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."
	case kraft.UnknownTopicOrPartition:
		text = "This server does not host this topic-partition."
	}
	return &text
}

func voteReply(a *kraft.ReplyVote, version int16) kmsg.Response {
	r := kmsg.NewPtrVoteResponse()
	if r.ErrorCode = int16(a.Error); a.Error != kraft.None {
		return r
	}
	p := kmsg.NewVoteResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.VoteGranted = int16(a.PartitionError), int32(a.LeaderID), int32(a.LeaderEpoch), a.VoteGranted
	r.Topics = []kmsg.VoteResponseTopic{{Topic: MetadataTopic, Partitions: []kmsg.VoteResponseTopicPartition{p}}}
	if a.HasEndpoint && version >= 1 {
		r.NodeEndpoints = []kmsg.VoteResponseNodeEndpoint{{NodeID: int32(a.LeaderID), Host: a.LeaderEndpoint.Host, Port: a.LeaderEndpoint.Port}}
	}
	return r
}

func beginReply(a *kraft.ReplyBeginQuorumEpoch, version int16) kmsg.Response {
	r := kmsg.NewPtrBeginQuorumEpochResponse()
	if r.ErrorCode = int16(a.Error); a.Error != kraft.None {
		return r
	}
	p := kmsg.NewBeginQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(a.PartitionError), int32(a.LeaderID), int32(a.LeaderEpoch)
	r.Topics = []kmsg.BeginQuorumEpochResponseTopic{{Topic: MetadataTopic, Partitions: []kmsg.BeginQuorumEpochResponseTopicPartition{p}}}
	if a.HasEndpoint && version >= 1 {
		r.NodeEndpoints = []kmsg.BeginQuorumEpochResponseNodeEndpoint{{NodeID: int32(a.LeaderID), Host: a.LeaderEndpoint.Host, Port: a.LeaderEndpoint.Port}}
	}
	return r
}

func endReply(a *kraft.ReplyEndQuorumEpoch, version int16) kmsg.Response {
	r := kmsg.NewPtrEndQuorumEpochResponse()
	if r.ErrorCode = int16(a.Error); a.Error != kraft.None {
		return r
	}
	p := kmsg.NewEndQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(a.PartitionError), int32(a.LeaderID), int32(a.LeaderEpoch)
	r.Topics = []kmsg.EndQuorumEpochResponseTopic{{Topic: MetadataTopic, Partitions: []kmsg.EndQuorumEpochResponseTopicPartition{p}}}
	if a.HasEndpoint && version >= 1 {
		r.NodeEndpoints = []kmsg.EndQuorumEpochResponseNodeEndpoint{{NodeID: int32(a.LeaderID), Host: a.LeaderEndpoint.Host, Port: a.LeaderEndpoint.Port}}
	}
	return r
}

func fetchReply(a *kraft.FetchAnswer, version int16, records []byte) kmsg.Response {
	r := kmsg.NewPtrFetchResponse()
	if r.ErrorCode = int16(a.Error); a.Error != kraft.None {
		return r
	}
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.HighWatermark, p.LogStartOffset = int16(a.PartitionError), int64(a.HighWatermark), int64(a.LogStart)
	p.DivergingEpoch.EndOffset, p.DivergingEpoch.Epoch = int64(a.Diverging.Offset), int32(a.Diverging.Epoch)
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(a.Snapshot.Offset), int32(a.Snapshot.Epoch)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(a.LeaderID), int32(a.LeaderEpoch)
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	p.RecordBatches = notNull(records)
	r.Topics = []kmsg.FetchResponseTopic{{Topic: MetadataTopic, TopicID: MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
	if a.HasEndpoint && version >= 16 {
		r.Brokers = []kmsg.FetchResponseBroker{{NodeID: int32(a.LeaderID), Host: a.LeaderEndpoint.Host, Port: int32(a.LeaderEndpoint.Port)}}
	}
	return r
}

// notNull is what is sent where there are no bytes: an empty field, not a null one.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func fetchSnapshotReply(a *kraft.ReplyFetchSnapshot, to ReplyTo, chunk []byte) (kmsg.Response, error) {
	r := kmsg.NewPtrFetchSnapshotResponse()
	if r.ErrorCode = int16(a.Error); a.Error != kraft.None {
		return r, nil
	}
	topic := MetadataTopic
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	p.ErrorCode, p.Bytes = int16(a.PartitionError), notNull(chunk)
	if a.HasLeader {
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(a.LeaderID), int32(a.LeaderEpoch)
	} else { // the first topic and partition of the request are echoed
		q := kmsg.NewPtrFetchSnapshotRequest()
		q.SetVersion(to.Version)
		if err := q.ReadFrom(to.Body); err != nil {
			return nil, fmt.Errorf("FetchSnapshot v%d request: %w: %w", to.Version, ErrMalformed, err)
		}
		if len(q.Topics) > 0 && len(q.Topics[0].Partitions) > 0 {
			topic, p.Partition = q.Topics[0].Topic, q.Topics[0].Partitions[0].Partition
		}
	}
	if a.PartitionError == kraft.None {
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(a.ID.Offset), int32(a.ID.Epoch)
		p.Size, p.Position = a.Size, a.Position
	}
	r.Topics = []kmsg.FetchSnapshotResponseTopic{{Topic: topic, Partitions: []kmsg.FetchSnapshotResponseTopicPartition{p}}}
	if a.HasEndpoint && to.Version >= 1 {
		r.NodeEndpoints = []kmsg.FetchSnapshotResponseNodeEndpoint{{NodeID: int32(a.LeaderID), Host: a.LeaderEndpoint.Host, Port: a.LeaderEndpoint.Port}}
	}
	return r, nil
}

func describeReply(a *kraft.ReplyDescribeQuorum, to ReplyTo) (kmsg.Response, error) {
	r := kmsg.NewPtrDescribeQuorumResponse()
	empty := ""
	r.ErrorMessage = &empty
	if a.UnknownPartition {
		return echoUnknown(r, to)
	}
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorMessage = &empty
	if p.ErrorCode = int16(a.PartitionError); a.PartitionError != kraft.None {
		p.ErrorMessage = shown(a.PartitionError)
	} else {
		p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(a.LeaderID), int32(a.LeaderEpoch), int64(a.HighWatermark)
		p.CurrentVoters, p.Observers = replicaStates(a.Voters), replicaStates(a.Observers)
	}
	r.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: MetadataTopic, Partitions: []kmsg.DescribeQuorumResponseTopicPartition{p}}}
	for _, v := range a.Nodes {
		n := kmsg.DescribeQuorumResponseNode{NodeID: int32(v.Key.ID)}
		for i := range v.Endpoints.Len() {
			e := v.Endpoints.At(i)
			n.Listeners = append(n.Listeners, kmsg.DescribeQuorumResponseNodeListener{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r, nil
}

func replicaStates(list []kraft.ReplicaStatus) []kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	var states []kmsg.DescribeQuorumResponseTopicPartitionReplicaState
	for _, s := range list {
		states = append(states, kmsg.DescribeQuorumResponseTopicPartitionReplicaState{
			ReplicaID: int32(s.Key.ID), ReplicaDirectoryID: s.Key.DirectoryID, LogEndOffset: int64(s.LogEnd),
			LastFetchTimestamp: int64(s.LastFetch), LastCaughtUpTimestamp: int64(s.LastCaughtUp),
		})
	}
	return states
}

// echoUnknown answers every requested partition with UNKNOWN_TOPIC_OR_PARTITION (Kafka:
// DescribeQuorumRequest.getPartitionLevelErrorResponse).
func echoUnknown(r *kmsg.DescribeQuorumResponse, to ReplyTo) (kmsg.Response, error) {
	q := kmsg.NewPtrDescribeQuorumRequest()
	q.SetVersion(to.Version)
	if err := q.ReadFrom(to.Body); err != nil {
		return nil, fmt.Errorf("DescribeQuorum v%d request: %w: %w", to.Version, ErrMalformed, err)
	}
	for _, t := range q.Topics {
		echo := kmsg.DescribeQuorumResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			partition := kmsg.NewDescribeQuorumResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, int16(kraft.UnknownTopicOrPartition)
			partition.ErrorMessage = shown(kraft.UnknownTopicOrPartition)
			echo.Partitions = append(echo.Partitions, partition)
		}
		r.Topics = append(r.Topics, echo)
	}
	return r, nil
}

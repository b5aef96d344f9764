package shadow

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// The words of a conversation: requests and answers as Kafka 4.4 writes them.

// ballot is a Vote request with what a test wants else.
type ballot struct {
	epoch   kraft.Epoch
	end     kraft.LogEnd
	preVote bool
	version int16
	key     *kraft.ReplicaKey // the candidate, if not the sender
	noKey   bool              // no voter key is given
}

// stand asks for the vote in an epoch.
func stand(epoch kraft.Epoch) request {
	return ballot{epoch: epoch, version: 2, end: longLog(epoch)}.request()
}

func preVote(epoch kraft.Epoch) request {
	return ballot{epoch: epoch, version: 2, preVote: true, end: longLog(epoch + 1)}.request()
}

// longLog ends a log that is longer than any other in the epochs before.
func longLog(epoch kraft.Epoch) kraft.LogEnd {
	return kraft.LogEnd{LastEpoch: max(epoch-1, 0), LastOffset: 1000}
}

func (b ballot) request() request {
	return func(s *stage, from, to kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrVoteRequest()
		r.Version, r.ClusterID, r.VoterID = b.version, &s.cluster, int32(to)
		topic, p := kmsg.NewVoteRequestTopic(), kmsg.NewVoteRequestTopicPartition()
		topic.Topic = metadataTopic
		p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(b.epoch), int32(from), s.dir(from)
		p.VoterDirectoryID = s.dir(to)
		p.LastOffset, p.LastOffsetEpoch, p.PreVote = int64(b.end.LastOffset), int32(b.end.LastEpoch), b.preVote
		if b.key != nil {
			p.CandidateID, p.CandidateDirectoryID = int32(b.key.ID), b.key.DirectoryID
		}
		if b.noKey {
			r.VoterID, p.VoterDirectoryID = -1, [16]byte{}
		}
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// ballotAnswer is an answer to a Vote.
func ballotAnswer(granted bool, code kraft.ErrorCode, epoch kraft.Epoch, leader kraft.NodeID) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrVoteResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewVoteResponseTopic(), kmsg.NewVoteResponseTopicPartition()
		topic.Topic = metadataTopic
		p.ErrorCode, p.VoteGranted, p.LeaderEpoch, p.LeaderID = int16(code), granted, int32(epoch), int32(leader)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

func granted(epoch kraft.Epoch) response { return ballotAnswer(true, kraft.None, epoch, -1) }
func refused(epoch kraft.Epoch) response { return ballotAnswer(false, kraft.None, epoch, -1) }

// voteFailed is a Vote answer with a top-level error.
func voteFailed(code kraft.ErrorCode) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrVoteResponse()
		r.Version, r.ErrorCode = req.GetVersion(), int16(code)
		return r
	}
}

// begin announces the sender's leadership, beginOf that of another node.
func begin(epoch kraft.Epoch) request { return beginOf(epoch, kraft.NoNode) }

func beginOf(epoch kraft.Epoch, leader kraft.NodeID) request {
	return func(s *stage, from, to kraft.NodeID) kmsg.Request {
		if leader >= 0 {
			from = leader
		}
		r := kmsg.NewPtrBeginQuorumEpochRequest()
		r.Version, r.ClusterID, r.VoterID = 1, &s.cluster, int32(to)
		topic, p := kmsg.NewBeginQuorumEpochRequestTopic(), kmsg.NewBeginQuorumEpochRequestTopicPartition()
		topic.Topic = metadataTopic
		p.LeaderID, p.LeaderEpoch, p.VoterDirectoryID = int32(from), int32(epoch), s.dir(to)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		at := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
		at.Name, at.Host, at.Port = "CONTROLLER", "127.0.0.1", uint16(19090+from)
		r.LeaderEndpoints = append(r.LeaderEndpoints, at)
		return r
	}
}

func begun(code kraft.ErrorCode, epoch kraft.Epoch, leader kraft.NodeID) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrBeginQuorumEpochResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewBeginQuorumEpochResponseTopic(), kmsg.NewBeginQuorumEpochResponseTopicPartition()
		topic.Topic = metadataTopic
		p.ErrorCode, p.LeaderEpoch, p.LeaderID = int16(code), int32(epoch), int32(leader)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// end gives up the sender's leadership.
func end(epoch kraft.Epoch, successors ...kraft.NodeID) request {
	return func(s *stage, from, _ kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrEndQuorumEpochRequest()
		r.Version, r.ClusterID = 1, &s.cluster
		topic, p := kmsg.NewEndQuorumEpochRequestTopic(), kmsg.NewEndQuorumEpochRequestTopicPartition()
		topic.Topic = metadataTopic
		p.LeaderID, p.LeaderEpoch = int32(from), int32(epoch)
		for _, id := range successors {
			c := kmsg.NewEndQuorumEpochRequestTopicPartitionPreferredCandidate()
			c.CandidateID, c.CandidateDirectoryID = int32(id), s.dir(id)
			p.PreferredCandidates = append(p.PreferredCandidates, c)
		}
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

func ended(code kraft.ErrorCode, epoch kraft.Epoch, leader kraft.NodeID) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrEndQuorumEpochResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewEndQuorumEpochResponseTopic(), kmsg.NewEndQuorumEpochResponseTopicPartition()
		topic.Topic = metadataTopic
		p.ErrorCode, p.LeaderEpoch, p.LeaderID = int16(code), int32(epoch), int32(leader)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// fetching is a Fetch request.
type fetching struct {
	epoch   kraft.Epoch
	end     kraft.LogEnd
	hw      kraft.Offset // 0: not sent
	version int16        // 0: 17, or 18 with a watermark
	max     int32        // 0: 8 MiB
}

// fetch asks for the log behind the sender's end.
func fetch(epoch kraft.Epoch, end kraft.Offset, last kraft.Epoch) request {
	return fetching{epoch: epoch, end: kraft.LogEnd{LastEpoch: last, LastOffset: end}}.request()
}

func (f fetching) request() request {
	return func(s *stage, from, _ kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrFetchRequest()
		r.Version = f.version
		if r.Version == 0 {
			r.Version = 17
		}
		r.ClusterID, r.ReplicaState.ID, r.MaxWaitMillis, r.MaxBytes = &s.cluster, int32(from), 500, 8<<20
		if f.max != 0 {
			r.MaxBytes = f.max
		}
		topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		topic.TopicID = wire.MetadataTopicID
		p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(f.epoch), int64(f.end.LastOffset), int32(f.end.LastEpoch)
		p.LogStartOffset = -1
		p.ReplicaDirectoryID = s.dir(from)
		if f.hw != 0 {
			r.Version, p.HighWatermark = 18, int64(f.hw)
		}
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// fetched is a Fetch answer.
type fetched struct {
	code      kraft.ErrorCode
	epoch     kraft.Epoch
	leader    kraft.NodeID // 0: the answering node; -1: none
	hw        kraft.Offset
	batches   [][]byte
	diverging *kraft.LogEnd
	snapshot  *kraft.LogEnd
	absent    bool // no current leader
}

// served is a leader's answer with records.
func served(epoch kraft.Epoch, hw kraft.Offset, batches ...[]byte) response {
	return fetched{epoch: epoch, hw: hw, batches: batches}.response()
}

func (f fetched) response() response {
	return func(_ *stage, self kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrFetchResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		topic.TopicID = wire.MetadataTopicID
		p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.PreferredReadReplica = int16(f.code), int64(f.hw), -1, -1
		if f.leader == 0 {
			f.leader = self
		}
		if !f.absent {
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(f.leader), int32(f.epoch)
		}
		p.RecordBatches = []byte{}
		for _, b := range f.batches {
			p.RecordBatches = append(p.RecordBatches, b...)
		}
		if d := f.diverging; d != nil {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(d.LastEpoch), int64(d.LastOffset)
		}
		if d := f.snapshot; d != nil {
			p.SnapshotID.Epoch, p.SnapshotID.EndOffset = int32(d.LastEpoch), int64(d.LastOffset)
		}
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// notLeader is the answer of a node that does not lead.
func notLeader(epoch kraft.Epoch, leader kraft.NodeID) response {
	return fetched{code: kraft.NotLeaderOrFollower, epoch: epoch, leader: orNone(leader), hw: -1}.response()
}

// orNone keeps node 0 out: the stage's nodes count from 1.
func orNone(id kraft.NodeID) kraft.NodeID {
	if id == 0 {
		return kraft.NoNode
	}
	return id
}

// fetchFailed is a Fetch answer with a top-level error.
func fetchFailed(code kraft.ErrorCode) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrFetchResponse()
		r.Version, r.ErrorCode = req.GetVersion(), int16(code)
		return r
	}
}

// data is a batch of records, told apart by their text.
func data(base kraft.Offset, epoch kraft.Epoch, text ...string) []byte {
	records := make([]wire.Record, len(text))
	for i := range text {
		records[i] = wire.Record{Value: []byte(text[i])}
	}
	return wire.AppendBatch(nil, wire.NewBatch(base, epoch, 1), records...)
}

// leaderChange is the batch that an epoch begins with.
func leaderChange(base kraft.Offset, epoch kraft.Epoch, leader kraft.NodeID, voters, granting []kraft.NodeID) []byte {
	return control(base, epoch, wire.LeaderChange{Leader: leader, Voters: keysOf(voters), Granting: keysOf(granting)})
}

func control(base kraft.Offset, epoch kraft.Epoch, records ...wire.ControlRecord) []byte {
	head := wire.NewBatch(base, epoch, 1)
	head.Attributes = wire.AttrControl
	list := make([]wire.Record, len(records))
	for i, r := range records {
		list[i] = wire.NewControl(r)
	}
	return wire.AppendBatch(nil, head, list...)
}

func keysOf(ids []kraft.NodeID) []kraft.ReplicaKey {
	keys := make([]kraft.ReplicaKey, len(ids))
	for i, id := range ids {
		keys[i] = kraft.ReplicaKey{ID: id}
	}
	return keys
}

func nodes(ids ...kraft.NodeID) []kraft.NodeID { return ids }

// fetchSnapshot asks for a part of a snapshot.
func fetchSnapshot(epoch kraft.Epoch, id kraft.LogEnd, position int64) request {
	return func(s *stage, from, _ kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrFetchSnapshotRequest()
		r.Version, r.ClusterID, r.ReplicaID, r.MaxBytes = 1, &s.cluster, int32(from), 1<<20
		topic, p := kmsg.NewFetchSnapshotRequestTopic(), kmsg.NewFetchSnapshotRequestTopicPartition()
		topic.Topic = metadataTopic
		p.CurrentLeaderEpoch, p.Position, p.ReplicaDirectoryID = int32(epoch), position, s.dir(from)
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(id.LastOffset), int32(id.LastEpoch)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

func chunk(epoch kraft.Epoch, id kraft.LogEnd, size, position int64, text string) response {
	return func(_ *stage, self kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrFetchSnapshotResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
		topic.Topic = metadataTopic
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(id.LastOffset), int32(id.LastEpoch)
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(self), int32(epoch)
		p.Size, p.Position, p.Bytes = size, position, []byte(text)
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// snapshotFailed is a FetchSnapshot answer with a top-level error, or with one of the partition.
func snapshotFailed(top, partition kraft.ErrorCode) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrFetchSnapshotResponse()
		r.Version, r.ErrorCode = req.GetVersion(), int16(top)
		if top == kraft.None {
			topic, p := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
			topic.Topic, p.ErrorCode = metadataTopic, int16(partition)
			topic.Partitions = append(topic.Partitions, p)
			r.Topics = append(r.Topics, topic)
		}
		return r
	}
}

// describe asks for the quorum's state.
func describe() request {
	return func(*stage, kraft.NodeID, kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrDescribeQuorumRequest()
		r.Version = 2
		topic, p := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
		topic.Topic = metadataTopic
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

func described(code kraft.ErrorCode, epoch kraft.Epoch, leader kraft.NodeID, hw kraft.Offset, voters ...kraft.NodeID) response {
	return func(s *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrDescribeQuorumResponse()
		r.Version = req.GetVersion()
		topic, p := kmsg.NewDescribeQuorumResponseTopic(), kmsg.NewDescribeQuorumResponseTopicPartition()
		topic.Topic = metadataTopic
		p.ErrorCode, p.LeaderEpoch, p.LeaderID, p.HighWatermark = int16(code), int32(epoch), int32(leader), int64(hw)
		for _, id := range voters {
			v := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
			v.ReplicaID, v.ReplicaDirectoryID = int32(id), s.dir(id)
			p.CurrentVoters = append(p.CurrentVoters, v)
		}
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return r
	}
}

// updateVoter tells the leader where the sender listens.
func updateVoter(epoch kraft.Epoch) request {
	return func(s *stage, from, _ kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrUpdateRaftVoterRequest()
		r.ClusterID, r.CurrentLeaderEpoch, r.VoterID, r.VoterDirectoryID = &s.cluster, int32(epoch), int32(from), s.dir(from)
		return r
	}
}

func updated(code kraft.ErrorCode, epoch kraft.Epoch, leader kraft.NodeID) response {
	return func(*stage, kraft.NodeID, kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrUpdateRaftVoterResponse()
		r.ErrorCode = int16(code)
		r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch = int32(leader), int32(epoch)
		return r
	}
}

// addVoter asks for a new voter.
func addVoter() request {
	return func(s *stage, _, _ kraft.NodeID) kmsg.Request {
		r := kmsg.NewPtrAddRaftVoterRequest()
		r.Version, r.ClusterID, r.VoterID = 1, &s.cluster, 4
		return r
	}
}

func added(code kraft.ErrorCode) response {
	return func(_ *stage, _ kraft.NodeID, req kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrAddRaftVoterResponse()
		r.Version, r.ErrorCode = req.GetVersion(), int16(code)
		return r
	}
}

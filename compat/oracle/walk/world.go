package walk

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// world answers a request of the one real node as some peer could: granting or not, knowing a leader or not, leading a
// log that continues the node's, differs from it, or begins with a snapshot.
func (h *history) world(m oracle.Message) {
	if h.chance(h.Late) {
		h.Net = append(h.Net, m) // later
		return
	}
	req, _, err := oracle.Decode(m)
	if err != nil {
		h.Err = err
		return
	}
	var resp kmsg.Response
	switch r := req.(type) {
	case *kmsg.VoteRequest:
		resp = h.worldVote(m, r)
	case *kmsg.FetchRequest:
		resp = h.worldFetch(m, r)
	case *kmsg.FetchSnapshotRequest:
		resp = h.worldFetchSnapshot(m, r)
	case *kmsg.BeginQuorumEpochRequest:
		resp = h.worldBegin(m, r)
	case *kmsg.EndQuorumEpochRequest:
		resp = h.worldEnd(m, r)
	default:
		resp = h.worldOther(m, req)
	}
	resp.SetVersion(m.Version)
	answer := oracle.Message{From: m.To, To: m.From, Response: true, Corr: m.Corr, API: m.API, Version: m.Version, Body: resp.AppendTo(nil)}
	if h.chance(h.Mutations) {
		answer = h.mutate(answer)
	}
	if h.veryLate(answer) {
		return
	}
	if h.chance(h.Late / 2) {
		h.Net = append(h.Net, answer) // made up now, delivered when the node may have gone on
		return
	}
	h.Deliver(answer, h.turns())
}

// follow lets a made-up replica fetch from the node as if it had all that the node has, so that a lone leader commits.
func (h *history) follow(id int32) {
	s := h.State(id)
	if s.Role != "Leader" || !h.alive(id) {
		return
	}
	replica := 1 + int32(h.IntN(int(h.Voters+1)))
	if replica == id {
		return
	}
	r := kmsg.NewPtrFetchRequest()
	r.SetVersion(h.maxFetch())
	cluster := oracle.ClusterID
	r.ClusterID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.ReplicaState.ID = &cluster, 500, 0, 1<<20, replica
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.ReplicaDirectoryID = s.Epoch, s.End, s.LastEpoch, oracle.DirectoryID(replica)
	if len(s.Epochs) > 0 && s.Epochs[len(s.Epochs)-1][1] >= s.End { // no record of the last epoch yet
		p.LastFetchedEpoch = 0
		if len(s.Epochs) > 1 {
			p.LastFetchedEpoch = int32(s.Epochs[len(s.Epochs)-2][0])
		}
	}
	if p.HighWatermark = math.MaxInt64; r.Version >= 18 {
		p.HighWatermark = s.HighWatermark
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = wire.MetadataTopic, wire.MetadataTopicID, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	h.Request(oracle.Message{To: id, API: r.Key(), Version: r.Version, Body: r.AppendTo(nil)}, h.turns())
}

// known is what a peer says about the leader: mostly what the node itself knows, or that of a newer epoch.
func (h *history) known(id int32) (leader, epoch int32) {
	s := h.State(id)
	leader, epoch = s.Leader, s.Epoch
	switch h.IntN(14) {
	case 0:
		epoch += 1 + int32(h.IntN(2))
		leader = -1
	case 1:
		epoch++
		leader = h.leaderOf(id, epoch)
	case 2:
		epoch = max(0, epoch-1)
		leader = -1
	case 3, 4:
		if leader < 0 && (s.Role == "Unattached" || s.Role == "Prospective" || s.Role == "Candidate") {
			leader = h.leaderOf(id, epoch)
		}
	}
	return leader, epoch
}

func (h *history) worldVote(m oracle.Message, r *kmsg.VoteRequest) kmsg.Response {
	resp := kmsg.NewPtrVoteResponse()
	p := kmsg.NewVoteResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch = -1, r.Topics[0].Partitions[0].CandidateEpoch
	if p.VoteGranted = h.chance(650); !p.VoteGranted {
		p.LeaderID, p.LeaderEpoch = h.known(m.From)
	}
	if h.chance(30) {
		p.ErrorCode = int16(kraft.InvalidVoterKey)
	}
	if p.LeaderID >= 0 && m.Version >= 1 && h.chance(900) {
		resp.NodeEndpoints = []kmsg.VoteResponseNodeEndpoint{{NodeID: p.LeaderID, Host: hostName(p.LeaderID), Port: 9093}}
	}
	resp.Topics = []kmsg.VoteResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteResponseTopicPartition{p}}}
	return resp
}

func (h *history) worldBegin(m oracle.Message, r *kmsg.BeginQuorumEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrBeginQuorumEpochResponse()
	p := kmsg.NewBeginQuorumEpochResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch = r.Topics[0].Partitions[0].LeaderID, r.Topics[0].Partitions[0].LeaderEpoch
	if h.chance(150) {
		p.LeaderEpoch++
		if p.LeaderID = -1; h.chance(500) {
			p.LeaderID = h.leaderOf(m.From, p.LeaderEpoch)
		}
		p.ErrorCode = int16(kraft.FencedLeaderEpoch)
		if p.LeaderID >= 0 && m.Version >= 1 {
			resp.NodeEndpoints = []kmsg.BeginQuorumEpochResponseNodeEndpoint{{NodeID: p.LeaderID, Host: hostName(p.LeaderID), Port: 9093}}
		}
	}
	resp.Topics = []kmsg.BeginQuorumEpochResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.BeginQuorumEpochResponseTopicPartition{p}}}
	return resp
}

func (h *history) worldEnd(m oracle.Message, r *kmsg.EndQuorumEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrEndQuorumEpochResponse()
	p := kmsg.NewEndQuorumEpochResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch = r.Topics[0].Partitions[0].LeaderID, r.Topics[0].Partitions[0].LeaderEpoch
	if h.chance(300) {
		p.LeaderEpoch++
		if p.LeaderID = -1; h.chance(500) {
			p.LeaderID = h.leaderOf(m.From, p.LeaderEpoch)
		}
		p.ErrorCode = int16(kraft.FencedLeaderEpoch)
		if p.LeaderID >= 0 && m.Version >= 1 {
			resp.NodeEndpoints = []kmsg.EndQuorumEpochResponseNodeEndpoint{{NodeID: p.LeaderID, Host: hostName(p.LeaderID), Port: 9093}}
		}
	}
	resp.Topics = []kmsg.EndQuorumEpochResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.EndQuorumEpochResponseTopicPartition{p}}}
	return resp
}

func (h *history) worldFetch(m oracle.Message, r *kmsg.FetchRequest) kmsg.Response {
	resp := kmsg.NewPtrFetchResponse()
	s := h.State(m.From)
	q := r.Topics[0].Partitions[0]
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.AbortedTransactions, p.RecordBatches = -1, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}, []byte{}
	leader, epoch := h.known(m.From)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = leader, epoch
	leads := s.Role == "Follower" && leader == s.Leader && epoch == s.Epoch || epoch == s.Epoch && s.Leader < 0 && leader >= 0
	switch {
	case !leads && epoch > q.CurrentLeaderEpoch:
		p.ErrorCode = int16(kraft.FencedLeaderEpoch)
	case !leads && epoch < q.CurrentLeaderEpoch:
		p.ErrorCode = int16(kraft.UnknownLeaderEpoch)
	case !leads:
		p.ErrorCode = int16(kraft.NotLeaderOrFollower)
	default:
		h.worldRecords(s, &p, kraft.Offset(q.FetchOffset), kraft.Epoch(epoch))
	}
	if leader >= 0 && m.Version >= 17 && h.chance(900) {
		resp.Brokers = []kmsg.FetchResponseBroker{{NodeID: leader, Host: hostName(leader), Port: 9093}}
	}
	resp.Topics = []kmsg.FetchResponseTopic{{Topic: wire.MetadataTopic, TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
	return resp
}

// worldRecords is the partition of a successful Fetch.
func (h *history) worldRecords(s *oracle.State, p *kmsg.FetchResponseTopicPartition, from kraft.Offset, epoch kraft.Epoch) {
	hw := max(s.HighWatermark, 0)
	p.HighWatermark = hw + h.Int64N(max(1, s.End-hw+1))
	switch draw := h.IntN(100); {
	case draw < 25:
	case draw < 32 && s.End > hw:
		p.DivergingEpoch.EndOffset, p.DivergingEpoch.Epoch = hw+h.Int64N(s.End-hw+1), int32(h.IntN(int(max(1, s.LastEpoch+1))))
	case draw < 37:
		id := h.makeSnapshot(s)
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(id.Offset), int32(id.Epoch)
	default:
		next := from
		last := max(kraft.Epoch(s.LastEpoch), 1)
		for range 1 + h.IntN(3) {
			if last < epoch && h.chance(500) {
				last = epoch
			}
			e := min(last, epoch)
			if h.Hostile && h.chance(30) || h.chance(10) {
				e = epoch + 1
			}
			if h.chance(250) {
				b := kraft.Batch{Base: next, Epoch: e, Control: h.control()}
				p.RecordBatches, _ = wire.AppendControlBatch(p.RecordBatches, b, h.Now)
				next += kraft.Offset(len(b.Control))
				continue
			}
			values := oracle.Records(1 + h.IntN(3))
			p.RecordBatches = wire.AppendDataBatch(p.RecordBatches, next, e, h.Now, values...)
			next += kraft.Offset(len(values))
		}
		if h.chance(300) {
			p.HighWatermark = max(hw, int64(next)-h.Int64N(2))
		}
	}
}

// control are the control records of one batch: a new epoch, a voter set, or an upgrade.
func (h *history) control() []kraft.ControlRecord {
	change := kraft.ControlRecord{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1}, Granting: []kraft.NodeID{1}}
	if h.KRaft == 0 && h.chance(950) || h.chance(300) {
		return []kraft.ControlRecord{change}
	}
	voters := h.voterSet()
	switch h.IntN(4) {
	case 0:
		if smaller, ok := voters.Remove(voters.At(h.IntN(voters.Len())).Key); ok {
			voters = smaller
		}
	case 1:
		if larger, ok := voters.Add(h.voter(h.Voters + 1)); ok {
			voters = larger
		}
	}
	return []kraft.ControlRecord{{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}, {Type: kraft.VotersRecord, Voters: voters}}
}

// makeSnapshot is a snapshot that the made-up leader offers: behind the node's log end, mostly.
func (h *history) makeSnapshot(s *oracle.State) kraft.SnapshotID {
	id := kraft.SnapshotID{Offset: kraft.Offset(s.End + 1 + h.Int64N(5)), Epoch: kraft.Epoch(max(s.LastEpoch, 1))}
	if h.chance(100) {
		id.Offset = kraft.Offset(h.IntN(4))
	}
	h.offered = id
	records := []wire.Record{wire.NewControl(wire.SnapshotHeader{Timestamp: 5})}
	if h.KRaft == 1 {
		set := wire.Voters{}
		voters := h.voterSet()
		for i := range voters.Len() {
			v := voters.At(i)
			w := wire.Voter{Key: v.Key, MinVersion: v.Versions.Min, MaxVersion: v.Versions.Max}
			for j := range v.Endpoints.Len() {
				e := v.Endpoints.At(j)
				w.Endpoints = append(w.Endpoints, wire.Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
			}
			set.Voters = append(set.Voters, w)
		}
		records = append(records, wire.NewControl(wire.KRaftVersion{Level: 1}), wire.NewControl(set))
	}
	head := wire.NewBatch(0, id.Epoch, 5)
	head.Attributes = wire.AttrControl
	h.bytes = wire.AppendBatch(nil, head, records...)
	h.bytes = wire.AppendDataBatch(h.bytes, kraft.Offset(len(records)), id.Epoch, 5, oracle.Records(2)...)
	head.BaseOffset = kraft.Offset(len(records) + 2)
	h.bytes = wire.AppendBatch(h.bytes, head, wire.NewControl(wire.SnapshotFooter{}))
	return id
}

func (h *history) worldFetchSnapshot(m oracle.Message, r *kmsg.FetchSnapshotRequest) kmsg.Response {
	resp := kmsg.NewPtrFetchSnapshotResponse()
	q := r.Topics[0].Partitions[0]
	s := h.State(m.From)
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = s.Leader, s.Epoch
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = q.SnapshotID.EndOffset, q.SnapshotID.Epoch
	p.Position, p.Size, p.Bytes = q.Position, int64(len(h.bytes)), []byte{}
	switch id := (kraft.SnapshotID{Offset: kraft.Offset(q.SnapshotID.EndOffset), Epoch: kraft.Epoch(q.SnapshotID.Epoch)}); {
	case h.chance(40):
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = h.known(m.From)
		if p.CurrentLeader.LeaderID != s.Leader || p.CurrentLeader.LeaderEpoch != s.Epoch {
			p.ErrorCode = int16(kraft.FencedLeaderEpoch)
		}
	case id != h.offered || h.chance(30):
		p.ErrorCode = int16(kraft.SnapshotNotFound)
	case q.Position < 0 || q.Position >= int64(len(h.bytes)):
		p.ErrorCode = int16(kraft.PositionOutOfRange)
	default:
		p.Bytes = h.bytes[q.Position:min(int64(len(h.bytes)), q.Position+int64(r.MaxBytes))]
	}
	resp.Topics = []kmsg.FetchSnapshotResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.FetchSnapshotResponseTopicPartition{p}}}
	if p.CurrentLeader.LeaderID >= 0 && m.Version >= 1 {
		resp.NodeEndpoints = []kmsg.FetchSnapshotResponseNodeEndpoint{{NodeID: p.CurrentLeader.LeaderID, Host: hostName(p.CurrentLeader.LeaderID), Port: 9093}}
	}
	return resp
}

func (h *history) worldOther(m oracle.Message, req kmsg.Request) kmsg.Response {
	code := int16(kraft.None)
	if h.chance(300) {
		code = h.code()
	}
	switch r := req.(type) {
	case *kmsg.UpdateRaftVoterRequest:
		resp := kmsg.NewPtrUpdateRaftVoterResponse()
		resp.ErrorCode = code
		resp.CurrentLeader.LeaderID, resp.CurrentLeader.LeaderEpoch = h.State(m.From).Leader, r.CurrentLeaderEpoch
		if h.chance(100) {
			h.leader(m.From, &resp.CurrentLeader.LeaderID, &resp.CurrentLeader.LeaderEpoch)
		}
		if resp.CurrentLeader.LeaderID >= 0 && h.chance(800) {
			resp.CurrentLeader.Host, resp.CurrentLeader.Port = hostName(resp.CurrentLeader.LeaderID), 9093
		}
		return resp
	case *kmsg.AddRaftVoterRequest:
		resp := kmsg.NewPtrAddRaftVoterResponse()
		resp.ErrorCode = code
		return resp
	case *kmsg.RemoveRaftVoterRequest:
		resp := kmsg.NewPtrRemoveRaftVoterResponse()
		resp.ErrorCode = code
		return resp
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	f := kmsg.NewApiVersionsResponseSupportedFeature()
	f.Name, f.MaxVersion = "kraft.version", int16(h.IntN(4)/2+h.IntN(2))
	resp.ErrorCode = 0
	if h.chance(900) {
		resp.SupportedFeatures = append(resp.SupportedFeatures, f)
	}
	if h.chance(100) {
		resp.ErrorCode = int16(kraft.UnknownServerError)
	}
	return resp
}

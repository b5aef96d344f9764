package walk

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// mutate alters one thing of a real message: a number, an id, an error, or the version it is sent in.
func (h *history) mutate(m oracle.Message) oracle.Message {
	if m.Body == nil {
		return m
	}
	req, resp, err := oracle.Decode(m)
	if err != nil {
		return m
	}
	if req != nil {
		h.mutateRequest(req)
		m.Body, m.Version = req.AppendTo(nil), req.GetVersion()
		return m
	}
	h.mutateResponse(m.To, resp)
	m.Body = resp.AppendTo(nil)
	return m
}

func (h *history) nudge32(v *int32) { *v += []int32{-1, 1, 1, 2}[h.IntN(4)] }

func (h *history) nudge64(v *int64) { *v += []int64{-1, 1, -2, 3}[h.IntN(4)] }

func (h *history) mutateRequest(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.VoteRequest:
		if len(r.Topics) == 0 {
			return
		}
		p := &r.Topics[0].Partitions[0]
		switch h.IntN(7) {
		case 0:
			h.nudge32(&p.CandidateEpoch)
		case 1:
			h.nudge64(&p.LastOffset)
		case 2:
			h.nudge32(&p.LastOffsetEpoch)
		case 3:
			p.CandidateDirectoryID = h.someDir(p.CandidateID)
		case 4:
			p.VoterDirectoryID = h.someDir(r.VoterID)
		case 5:
			r.ClusterID = h.clusterID()
		default:
			if !p.PreVote {
				r.SetVersion(int16(h.IntN(3)))
			}
		}
	case *kmsg.FetchRequest:
		if len(r.Topics) == 0 {
			return
		}
		h.mutateFetch(r, &r.Topics[0].Partitions[0])
	case *kmsg.EndQuorumEpochRequest:
		r.SetVersion(int16(h.IntN(2)))
		r.ClusterID = h.clusterID()
	case *kmsg.BeginQuorumEpochRequest:
		r.SetVersion(int16(h.IntN(2)))
		if h.chance(300) {
			r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.BeginQuorumEpochRequestLeaderEndpoint{Name: "THIRD", Host: "h1", Port: 9095})
		}
	case *kmsg.FetchSnapshotRequest:
		if len(r.Topics) == 0 {
			return
		}
		p := &r.Topics[0].Partitions[0]
		switch h.IntN(3) {
		case 0:
			h.nudge64(&p.Position)
		case 1:
			h.nudge32(&p.CurrentLeaderEpoch)
		default:
			h.nudge64(&p.SnapshotID.EndOffset)
		}
	}
}

func (h *history) mutateFetch(r *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
	switch h.IntN(7) {
	case 0:
		h.nudge32(&p.CurrentLeaderEpoch)
	case 1:
		h.nudge64(&p.FetchOffset)
	case 2:
		h.nudge32(&p.LastFetchedEpoch)
	case 3:
		if r.Version >= 17 {
			p.ReplicaDirectoryID = h.someDir(r.ReplicaState.ID)
		}
	case 4:
		r.MaxWaitMillis = int32(h.IntN(300))
	case 5:
		if r.Version >= 18 {
			h.nudge64(&p.HighWatermark)
		}
	default: // an older peer
		id := r.ReplicaState.ID
		if r.Version < 15 {
			return
		}
		r.SetVersion(13 + int16(h.IntN(5)))
		p.HighWatermark = math.MaxInt64
		if r.Version < 17 {
			p.ReplicaDirectoryID = [16]byte{}
		}
		if r.Version < 15 {
			r.ReplicaID, r.ReplicaState.ID = id, -1
		}
	}
}

// codes are errors that a response may carry. The last two end the process and belong to hostile histories.
var codes = []kraft.ErrorCode{
	kraft.FencedLeaderEpoch, kraft.UnknownLeaderEpoch, kraft.NotLeaderOrFollower, kraft.BrokerNotAvailable, kraft.InvalidVoterKey, kraft.UnknownServerError,
	kraft.RequestTimedOut, kraft.SnapshotNotFound, kraft.PositionOutOfRange, kraft.None, kraft.InconsistentClusterID, kraft.UnsupportedVersion,
	kraft.InvalidRequest, kraft.ClusterAuthorizationFailed,
}

func (h *history) code() int16 {
	n := len(codes)
	if !h.Hostile {
		n -= 2
	}
	return int16(codes[h.IntN(n)])
}

// leader alters whom a response names as leader, seldom in a way that contradicts what the node knows.
func (h *history) leader(to int32, leader, epoch *int32) {
	const other, none, older = 300, 300, 300
	switch {
	case h.chance(other):
		*epoch++
		*leader = h.leaderOf(to, *epoch)
	case h.chance(none):
		*epoch++
		*leader = -1
	case h.chance(older):
		*epoch--
	case h.Hostile || h.State(to).Leader < 0:
		*leader = h.leaderOf(to, *epoch)
	}
}

func (h *history) mutateResponse(to int32, resp kmsg.Response) {
	top := h.chance(150)
	switch r := resp.(type) {
	case *kmsg.VoteResponse:
		if top || len(r.Topics) == 0 {
			r.ErrorCode = h.code()
			return
		}
		p := &r.Topics[0].Partitions[0]
		switch h.IntN(4) {
		case 0:
			p.ErrorCode = h.code()
		case 1:
			p.VoteGranted = !p.VoteGranted
		case 2:
			r.NodeEndpoints = nil
		default:
			h.leader(to, &p.LeaderID, &p.LeaderEpoch)
		}
	case *kmsg.BeginQuorumEpochResponse:
		if top || len(r.Topics) == 0 {
			r.ErrorCode = h.code()
			return
		}
		p := &r.Topics[0].Partitions[0]
		h.codeOrLeader(500, to, &p.ErrorCode, &p.LeaderID, &p.LeaderEpoch)
	case *kmsg.EndQuorumEpochResponse:
		if top || len(r.Topics) == 0 {
			r.ErrorCode = h.code()
			return
		}
		p := &r.Topics[0].Partitions[0]
		h.codeOrLeader(500, to, &p.ErrorCode, &p.LeaderID, &p.LeaderEpoch)
	case *kmsg.FetchResponse:
		if top || len(r.Topics) == 0 {
			r.ErrorCode = h.code()
			return
		}
		h.mutateFetched(to, r)
	case *kmsg.FetchSnapshotResponse:
		if top || len(r.Topics) == 0 {
			r.ErrorCode = h.code()
			return
		}
		h.mutateChunk(to, &r.Topics[0].Partitions[0])
	case *kmsg.AddRaftVoterResponse:
		r.ErrorCode = h.code()
	case *kmsg.RemoveRaftVoterResponse:
		r.ErrorCode = h.code()
	case *kmsg.UpdateRaftVoterResponse:
		h.codeOrLeader(600, to, &r.ErrorCode, &r.CurrentLeader.LeaderID, &r.CurrentLeader.LeaderEpoch)
	case *kmsg.ApiVersionsResponse:
		if h.chance(300) {
			r.ErrorCode = int16(kraft.UnknownServerError)
		} else if len(r.SupportedFeatures) > 0 {
			r.SupportedFeatures[0].MaxVersion = 0
		}
	}
}

// codeOrLeader alters the error, so often of a thousand times, or else the leader that is named.
func (h *history) codeOrLeader(perMille int, to int32, code *int16, leader, epoch *int32) {
	if h.chance(perMille) {
		*code = h.code()
	} else {
		h.leader(to, leader, epoch)
	}
}

func (h *history) mutateFetched(to int32, r *kmsg.FetchResponse) {
	p := &r.Topics[0].Partitions[0]
	switch h.IntN(8) {
	case 0:
		p.ErrorCode = h.code()
	case 1:
		h.leader(to, &p.CurrentLeader.LeaderID, &p.CurrentLeader.LeaderEpoch)
	case 2:
		switch {
		case h.Hostile:
			p.HighWatermark += int64(h.IntN(7)) - 3
		case h.chance(500):
			p.HighWatermark += int64(h.IntN(4))
		default:
			p.HighWatermark = -1
		}
	case 3:
		s := h.State(to)
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(h.IntN(int(max(1, s.LastEpoch+1)))), max(s.HighWatermark, s.End-int64(h.IntN(3)))
		p.RecordBatches = nil
	case 4:
		p.RecordBatches = p.RecordBatches[:h.IntN(len(p.RecordBatches)+1)]
	case 5:
		if len(p.RecordBatches) > 61 {
			p.RecordBatches = append([]byte{}, p.RecordBatches...)
			p.RecordBatches[h.IntN(len(p.RecordBatches))] ^= 1 << h.IntN(8)
		}
	case 6:
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(h.IntN(20)-1), int32(h.IntN(5)-1)
	default:
		r.Topics[0].TopicID = [16]byte{9}
	}
}

func (h *history) mutateChunk(to int32, p *kmsg.FetchSnapshotResponseTopicPartition) {
	switch h.IntN(5) {
	case 0:
		p.ErrorCode = h.code()
	case 1:
		h.leader(to, &p.CurrentLeader.LeaderID, &p.CurrentLeader.LeaderEpoch)
	case 2:
		if h.Hostile {
			h.nudge64(&p.Position)
		}
	case 3:
		p.SnapshotID.Epoch = -1
	default:
		p.Size++
	}
}

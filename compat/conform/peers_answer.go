package conform

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// idle is how long a leading peer holds back a Fetch that has nothing to get.
const idle = 50 * time.Millisecond

// maxGiven is more batches than any scenario has a target append.
const maxGiven = 16

// answer is a peer's answer; nil closes the connection.
func (p *peers) answer(r *request) kmsg.Response {
	p.mu.Lock()
	mute := p.mute
	p.mu.Unlock()
	if mute && r.message.Key() != wire.KeyAPIVersions {
		return nil
	}
	resp := r.message.ResponseKind()
	switch m := r.message.(type) {
	case *kmsg.ApiVersionsRequest:
		return peerVersions(resp.(*kmsg.ApiVersionsResponse), r.version)
	case *kmsg.VoteRequest:
		return p.answerVote(r.peer, m, resp.(*kmsg.VoteResponse))
	case *kmsg.BeginQuorumEpochRequest:
		a := resp.(*kmsg.BeginQuorumEpochResponse)
		for _, t := range m.Topics {
			for _, x := range t.Partitions {
				a.Topics = []kmsg.BeginQuorumEpochResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.BeginQuorumEpochResponseTopicPartition{{LeaderID: x.LeaderID, LeaderEpoch: x.LeaderEpoch}}}}
			}
		}
		return a
	case *kmsg.EndQuorumEpochRequest:
		a := resp.(*kmsg.EndQuorumEpochResponse)
		for _, t := range m.Topics {
			for _, x := range t.Partitions {
				a.Topics = []kmsg.EndQuorumEpochResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.EndQuorumEpochResponseTopicPartition{{LeaderID: x.LeaderID, LeaderEpoch: x.LeaderEpoch}}}}
			}
		}
		return a
	case *kmsg.FetchRequest:
		return p.answerFetch(r.peer, m, r.version)
	case *kmsg.UpdateRaftVoterRequest:
		a := resp.(*kmsg.UpdateRaftVoterResponse)
		p.mu.Lock()
		defer p.mu.Unlock()
		a.CurrentLeader.LeaderID, a.CurrentLeader.LeaderEpoch = int32(p.leader), int32(p.epoch)
		host, port := p.address(p.leader)
		a.CurrentLeader.Host, a.CurrentLeader.Port = host, int32(port)
		return a
	case *kmsg.ControllerRegistrationRequest:
		a := resp.(*kmsg.ControllerRegistrationResponse)
		a.ErrorCode = int16(kraft.NotController)
		return a
	case *kmsg.FetchSnapshotRequest:
		p.mu.Lock()
		script := p.snapshot
		p.mu.Unlock()
		if script == nil {
			return nil
		}
		return script(m)
	default:
		return nil
	}
}

// peerVersions is what a peer serves: the raft requests of 4.2 and later, which each release finds a version in.
func peerVersions(a *kmsg.ApiVersionsResponse, version int16) kmsg.Response {
	if version > 4 {
		a.SetVersion(0)
		a.ErrorCode = int16(kraft.UnsupportedVersion)
		a.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: wire.KeyAPIVersions, MaxVersion: 4}}
		return a
	}
	profiles := compat.Profiles()
	newest := profiles[len(profiles)-1]
	for _, api := range newest.APIs {
		highest := api.Max
		if api.API == kraft.APIVersionsAPI {
			highest = 4
		}
		a.ApiKeys = append(a.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(api.API), MinVersion: api.Min, MaxVersion: highest})
	}
	a.ApiKeys = append(a.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: wire.KeyControllerRegistration})
	a.FinalizedFeaturesEpoch = -1
	if version >= 4 {
		a.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: compat.KRaftVersionFeature, MaxVersion: 1}}
	}
	return a
}

// tells notes the directory id of a request, which has none in older versions.
func (p *peers) tells(directory [16]byte) {
	if directory != ([16]byte{}) {
		p.directory = directory
	}
}

// answerVote grants what the scenario says, and nothing by default.
func (p *peers) answerVote(peer kraft.NodeID, m *kmsg.VoteRequest, a *kmsg.VoteResponse) kmsg.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range m.Topics {
		for i := range t.Partitions {
			x := &t.Partitions[i]
			p.end, p.endEpoch, p.knowsEnd = kraft.Offset(x.LastOffset), kraft.Epoch(x.LastOffsetEpoch), true
			p.tells(x.CandidateDirectoryID)
			granted := p.vote != nil && p.vote(peer, x)
			answer := kmsg.VoteResponseTopicPartition{LeaderID: -1, LeaderEpoch: x.CandidateEpoch, VoteGranted: granted}
			a.Topics = []kmsg.VoteResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteResponseTopicPartition{answer}}}
		}
	}
	return a
}

// answerFetch is a leading peer's answer, or that of one that does not lead.
func (p *peers) answerFetch(peer kraft.NodeID, m *kmsg.FetchRequest, version int16) kmsg.Response {
	if len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1 {
		return nil
	}
	x := &m.Topics[0].Partitions[0]
	p.mu.Lock()
	p.end, p.endEpoch, p.knowsEnd = kraft.Offset(x.FetchOffset), kraft.Epoch(x.LastFetchedEpoch), true
	p.tells(x.ReplicaDirectoryID)
	leads := peer == p.leader && x.CurrentLeaderEpoch == int32(p.epoch)
	script := p.fetch
	a, part := p.emptyFetchLocked(version)
	n := 0
	if leads {
		p.fetch = nil
		if missing := p.upTo - kraft.Offset(x.FetchOffset); missing > 0 && missing <= maxGiven {
			n = int(missing)
		}
	}
	p.mu.Unlock()
	if !leads {
		part.ErrorCode = int16(kraft.NotLeaderOrFollower)
		part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = -1, x.CurrentLeaderEpoch
		a.Brokers = nil
		time.Sleep(idle / 5)
		return a
	}
	if script != nil {
		return script(m, version)
	}
	for i := range n {
		part.RecordBatches = appendLeaderBatch(part.RecordBatches, kraft.Offset(x.FetchOffset)+kraft.Offset(i), kraft.Epoch(x.CurrentLeaderEpoch), peer)
	}
	if n == 0 {
		time.Sleep(idle)
	}
	return a
}

// emptyFetch is an answer without records of the peer that leads. The high watermark stays unknown, so that the target
// commits nothing that a later scenario takes back.
func (p *peers) emptyFetch(version int16) (*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.emptyFetchLocked(version)
}

func (p *peers) emptyFetchLocked(version int16) (*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition) {
	a := &kmsg.FetchResponse{Version: version}
	part := kmsg.NewFetchResponseTopicPartition()
	part.HighWatermark, part.LastStableOffset, part.LogStartOffset, part.PreferredReadReplica = -1, -1, 0, -1
	part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(p.leader), int32(p.epoch)
	part.RecordBatches = []byte{}
	a.Topics = []kmsg.FetchResponseTopic{{Topic: wire.MetadataTopic, TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{part}}}
	host, port := p.address(p.leader)
	if version >= 17 && host != "" {
		a.Brokers = []kmsg.FetchResponseBroker{{NodeID: int32(p.leader), Host: host, Port: int32(port)}}
	}
	return a, &a.Topics[0].Partitions[0]
}

// appendLeaderBatch appends a batch of one record that means nothing to a state machine: that somebody leads.
func appendLeaderBatch(dst []byte, base kraft.Offset, epoch kraft.Epoch, leader kraft.NodeID) []byte {
	head := wire.NewBatch(base, epoch, time.Now().UnixMilli())
	head.Attributes = wire.AttrControl
	return wire.AppendBatch(dst, head, wire.NewControl(wire.LeaderChange{Leader: leader, Voters: []kraft.ReplicaKey{{ID: leader}}, Granting: []kraft.ReplicaKey{{ID: leader}}}))
}

package shadow

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// errOther marks a message that is well-formed but not one of the metadata log's quorum.
var errOther = errors.New("not about the metadata log")

// metadataTopic is the topic's name, which Vote, Begin- and EndQuorumEpoch carry.
const metadataTopic = "__cluster_metadata"

// readRequest fills m from a request's body.
func (c *Checker) readRequest(m *message) error {
	if m.kind == KindFetchRequest {
		return readFetchRequest(m)
	}
	decoded, err := c.decoder.Request(m.key, m.version, m.body)
	if err != nil {
		return err
	}
	switch r := decoded.(type) {
	case *kmsg.VoteRequest:
		return readVoteRequest(m, r)
	case *kmsg.BeginQuorumEpochRequest:
		return c.readBeginRequest(m, r)
	case *kmsg.EndQuorumEpochRequest:
		return readEndRequest(m, r)
	case *kmsg.FetchSnapshotRequest:
		return readSnapshotRequest(m, r)
	case *kmsg.DescribeQuorumRequest:
		return nil
	case *kmsg.AddRaftVoterRequest:
		m.cluster = nullable(r.ClusterID)
		return nil
	case *kmsg.RemoveRaftVoterRequest:
		m.cluster = nullable(r.ClusterID)
		return nil
	case *kmsg.UpdateRaftVoterRequest:
		m.cluster = nullable(r.ClusterID)
		m.epoch, m.claimed = kraft.Epoch(r.CurrentLeaderEpoch), kraft.NodeID(r.VoterID)
		m.directory = r.VoterDirectoryID
		for i := range r.Listeners {
			c.learnHearsay(m.claimed, r.Listeners[i].Host, int(r.Listeners[i].Port))
		}
		return nil
	}
	return fmt.Errorf("%s: %w", wire.Name(m.key), wire.ErrUnsupported)
}

func nullable(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func readFetchRequest(m *message) error {
	f := &m.fetch
	if err := f.Parse(m.version, m.body); err != nil {
		if errors.Is(err, wire.ErrShape) {
			return errOther // KRaft fetches one partition; clients of brokers fetch many
		}
		return err
	}
	if m.version >= 13 && f.TopicID != wire.MetadataTopicID || m.version < 13 && string(f.Topic) != metadataTopic {
		return errOther
	}
	m.cluster = f.ClusterID
	m.epoch, m.claimed, m.directory = f.Epoch, f.ReplicaID, f.DirectoryID
	return nil
}

func readVoteRequest(m *message, r *kmsg.VoteRequest) error {
	if len(r.Topics) != 1 || r.Topics[0].Topic != metadataTopic || len(r.Topics[0].Partitions) != 1 {
		return errOther
	}
	p := &r.Topics[0].Partitions[0]
	m.cluster = nullable(r.ClusterID)
	m.vote = vote{
		candidate: kraft.ReplicaKey{ID: kraft.NodeID(p.CandidateID), DirectoryID: p.CandidateDirectoryID},
		epoch:     kraft.Epoch(p.CandidateEpoch),
		logEnd:    kraft.LogEnd{LastEpoch: kraft.Epoch(p.LastOffsetEpoch), LastOffset: kraft.Offset(p.LastOffset)},
		voterKey:  kraft.ReplicaKey{ID: kraft.NoNode},
		preVote:   m.version >= 2 && p.PreVote,
	}
	if m.version >= 1 {
		m.vote.voterKey = kraft.ReplicaKey{ID: kraft.NodeID(r.VoterID), DirectoryID: p.VoterDirectoryID}
	}
	m.epoch, m.claimed, m.directory = m.vote.epoch, m.vote.candidate.ID, m.vote.candidate.DirectoryID
	return nil
}

func (c *Checker) readBeginRequest(m *message, r *kmsg.BeginQuorumEpochRequest) error {
	if len(r.Topics) != 1 || r.Topics[0].Topic != metadataTopic || len(r.Topics[0].Partitions) != 1 {
		return errOther
	}
	p := &r.Topics[0].Partitions[0]
	m.cluster = nullable(r.ClusterID)
	m.begun = leadership{
		leader: kraft.NodeID(p.LeaderID), epoch: kraft.Epoch(p.LeaderEpoch), voterKey: kraft.ReplicaKey{ID: kraft.NoNode},
	}
	if m.version >= 1 {
		m.begun.voterKey = kraft.ReplicaKey{ID: kraft.NodeID(r.VoterID), DirectoryID: p.VoterDirectoryID}
	}
	m.epoch, m.leader, m.claimed, m.leads = m.begun.epoch, m.begun.leader, m.begun.leader, true
	for i := range r.LeaderEndpoints {
		c.learnHearsay(m.leader, r.LeaderEndpoints[i].Host, int(r.LeaderEndpoints[i].Port))
	}
	return nil
}

func readEndRequest(m *message, r *kmsg.EndQuorumEpochRequest) error {
	if len(r.Topics) != 1 || r.Topics[0].Topic != metadataTopic || len(r.Topics[0].Partitions) != 1 {
		return errOther
	}
	p := &r.Topics[0].Partitions[0]
	m.cluster = nullable(r.ClusterID)
	m.begun = leadership{
		leader: kraft.NodeID(p.LeaderID), epoch: kraft.Epoch(p.LeaderEpoch), voterKey: kraft.ReplicaKey{ID: kraft.NoNode},
	}
	for _, id := range p.PreferredSuccessors {
		m.begun.successors = append(m.begun.successors, kraft.ReplicaKey{ID: kraft.NodeID(id)})
	}
	for i := range p.PreferredCandidates {
		s := &p.PreferredCandidates[i]
		m.begun.successors = append(m.begun.successors, kraft.ReplicaKey{ID: kraft.NodeID(s.CandidateID), DirectoryID: s.CandidateDirectoryID})
	}
	m.epoch, m.leader, m.claimed = m.begun.epoch, m.begun.leader, m.begun.leader
	return nil
}

func readSnapshotRequest(m *message, r *kmsg.FetchSnapshotRequest) error {
	m.noTopic = len(r.Topics) == 0
	if len(r.Topics) != 1 || r.Topics[0].Topic != metadataTopic || len(r.Topics[0].Partitions) != 1 {
		return errOther
	}
	p := &r.Topics[0].Partitions[0]
	m.cluster = nullable(r.ClusterID)
	m.epoch, m.claimed, m.directory = kraft.Epoch(p.CurrentLeaderEpoch), kraft.NodeID(r.ReplicaID), p.ReplicaDirectoryID
	return nil
}

// readResponse fills m from a response's body. m holds the request already, as the server got it.
func (c *Checker) readResponse(m *message) error {
	switch m.kind {
	case KindFetchResponse:
		return c.readFetchResponse(m)
	case KindSnapshotResponse:
		return readSnapshotResponse(m)
	}
	decoded, err := c.decoder.Response(m.key, m.version, m.body)
	if err != nil {
		return err
	}
	switch r := decoded.(type) {
	case *kmsg.VoteResponse:
		return c.readVoteResponse(m, r)
	case *kmsg.BeginQuorumEpochResponse:
		m.voter = m.begun.voterKey.ID
		if m.fail(r.ErrorCode, len(r.Topics)) || len(r.Topics[0].Partitions) != 1 {
			return nil
		}
		p := &r.Topics[0].Partitions[0]
		m.claim(p.ErrorCode, p.LeaderID, p.LeaderEpoch)
		for i := range r.NodeEndpoints {
			c.learnHearsay(kraft.NodeID(r.NodeEndpoints[i].NodeID), r.NodeEndpoints[i].Host, int(r.NodeEndpoints[i].Port))
		}
	case *kmsg.EndQuorumEpochResponse:
		if m.fail(r.ErrorCode, len(r.Topics)) || len(r.Topics[0].Partitions) != 1 {
			return nil
		}
		p := &r.Topics[0].Partitions[0]
		m.claim(p.ErrorCode, p.LeaderID, p.LeaderEpoch)
	case *kmsg.DescribeQuorumResponse:
		c.readDescribeResponse(m, r)
	case *kmsg.AddRaftVoterResponse:
		m.err, m.failed = kraft.ErrorCode(r.ErrorCode), true
	case *kmsg.RemoveRaftVoterResponse:
		m.err, m.failed = kraft.ErrorCode(r.ErrorCode), true
	case *kmsg.UpdateRaftVoterResponse:
		m.claim(r.ErrorCode, r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch)
		m.leads = m.err == kraft.None && m.names()
		c.learnHearsay(m.leader, r.CurrentLeader.Host, int(r.CurrentLeader.Port))
	default:
		return fmt.Errorf("%s: %w", wire.Name(m.key), wire.ErrUnsupported)
	}
	return nil
}

// fail takes in a top-level error, or a response without a partition.
func (m *message) fail(code int16, topics int) bool {
	if code != 0 || topics != 1 {
		m.err, m.failed = kraft.ErrorCode(code), true
		return true
	}
	return false
}

// claim takes in error, leader and epoch of a response. An epoch below 0 is none.
func (m *message) claim(code int16, leader, epoch int32) {
	m.err = kraft.ErrorCode(code)
	if epoch >= 0 && m.err != kraft.UnknownServerError {
		m.epoch, m.leader = kraft.Epoch(epoch), max(kraft.NodeID(leader), kraft.NoNode)
	}
}

func (c *Checker) readVoteResponse(m *message, r *kmsg.VoteResponse) error {
	m.voter = m.vote.voterKey.ID
	if m.fail(r.ErrorCode, len(r.Topics)) || len(r.Topics[0].Partitions) != 1 {
		return nil
	}
	p := &r.Topics[0].Partitions[0]
	m.claim(p.ErrorCode, p.LeaderID, p.LeaderEpoch)
	m.vote.granted = p.VoteGranted
	for i := range r.NodeEndpoints {
		c.learnHearsay(kraft.NodeID(r.NodeEndpoints[i].NodeID), r.NodeEndpoints[i].Host, int(r.NodeEndpoints[i].Port))
	}
	return nil
}

func (c *Checker) readFetchResponse(m *message) error {
	f := &m.fetched
	if err := f.Parse(m.version, m.body); err != nil {
		return err
	}
	if !f.HasPartition {
		m.err, m.failed = f.ErrorCode, true
		return nil
	}
	m.claim(int16(f.PartitionError), int32(f.LeaderID), int32(f.LeaderEpoch))
	if f.PartitionError == kraft.None {
		m.leads = m.names()
		m.watermark, m.hasHW = f.HighWatermark, m.leads
	}
	c.hearEndpoints(m)
	return c.readBatches(m)
}

func readSnapshotResponse(m *message) error {
	s := &m.snapshot
	if err := s.Parse(m.version, m.body); err != nil {
		return err
	}
	if !s.HasPartition {
		m.err, m.failed = s.ErrorCode, true
		return nil
	}
	m.err = s.PartitionError
	// With an error the current leader is mostly left out, which reads as leader 0, epoch 0.
	if m.err == kraft.None && (s.LeaderID != 0 || s.LeaderEpoch != 0) {
		m.claim(0, int32(s.LeaderID), int32(s.LeaderEpoch))
		m.leads = m.names()
	}
	return nil
}

func (c *Checker) readDescribeResponse(m *message, r *kmsg.DescribeQuorumResponse) {
	if m.fail(r.ErrorCode, len(r.Topics)) || len(r.Topics[0].Partitions) != 1 {
		return
	}
	p := &r.Topics[0].Partitions[0]
	if m.err = kraft.ErrorCode(p.ErrorCode); m.err != kraft.None {
		return // leader 0, epoch 0 and high watermark 0 are defaults here
	}
	m.claim(0, p.LeaderID, p.LeaderEpoch)
	m.leads = m.names()
	m.watermark, m.hasHW = kraft.Offset(p.HighWatermark), m.leads
	for i := range p.CurrentVoters {
		m.voters = append(m.voters, kraft.ReplicaKey{
			ID: kraft.NodeID(p.CurrentVoters[i].ReplicaID), DirectoryID: p.CurrentVoters[i].ReplicaDirectoryID,
		})
	}
	for i := range r.Nodes {
		for _, l := range r.Nodes[i].Listeners {
			c.learnHearsay(kraft.NodeID(r.Nodes[i].NodeID), l.Host, int(l.Port))
		}
	}
}

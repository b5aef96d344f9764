package wire

import (
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// ErrNotEncodable marks a request with a field that its version lacks and that must not be left out. Kafka's network
// client fails such a request with UNSUPPORTED_VERSION.
var ErrNotEncodable = errors.New("a field cannot be encoded in this version")

// Sender is what a node puts into its requests besides what the machine decides.
type Sender struct {
	ClusterID       string
	SoftwareName    string // of ApiVersions
	SoftwareVersion string
}

// AppendSend appends the body of the request that the action asks for, in the version. Fields that the version lacks
// are left out where Kafka leaves them out; else the error is [ErrNotEncodable].
func (s *Sender) AppendSend(dst []byte, action kraft.Action, version int16) ([]byte, error) {
	m, err := s.request(action, version)
	if err != nil {
		return dst, err
	}
	m.SetVersion(version)
	return m.AppendTo(dst), nil
}

// SendKey is the api key of the request that an action asks for, or not ok if it is none.
func SendKey(action kraft.Action) (key int16, to kraft.Destination, ok bool) {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		return KeyVote, a.Destination, true
	case *kraft.SendBeginQuorumEpoch:
		return KeyBeginQuorumEpoch, a.Destination, true
	case *kraft.SendEndQuorumEpoch:
		return KeyEndQuorumEpoch, a.Destination, true
	case *kraft.SendFetch:
		return KeyFetch, a.Destination, true
	case *kraft.SendFetchSnapshot:
		return KeyFetchSnapshot, a.Destination, true
	case *kraft.SendAPIVersions:
		return KeyAPIVersions, a.Destination, true
	case *kraft.SendUpdateVoter:
		return KeyUpdateRaftVoter, a.Destination, true
	case *kraft.SendAddRaftVoter:
		return KeyAddRaftVoter, a.Destination, true
	case *kraft.SendRemoveRaftVoter:
		return KeyRemoveRaftVoter, a.Destination, true
	}
	return 0, kraft.Destination{}, false
}

func (s *Sender) request(action kraft.Action, version int16) (kmsg.Request, error) {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		if a.PreVote && version < 2 {
			return nil, fmt.Errorf("v%d of Vote with PreVote: %w", version, ErrNotEncodable)
		}
		return s.vote(a), nil
	case *kraft.SendBeginQuorumEpoch:
		return s.begin(a), nil
	case *kraft.SendEndQuorumEpoch:
		return s.end(a), nil
	case *kraft.SendFetch:
		return s.fetch(a, version), nil
	case *kraft.SendFetchSnapshot:
		return s.fetchSnapshot(a, version), nil
	case *kraft.SendAPIVersions:
		r := kmsg.NewPtrApiVersionsRequest()
		r.ClientSoftwareName, r.ClientSoftwareVersion = s.SoftwareName, s.SoftwareVersion
		return r, nil
	case *kraft.SendUpdateVoter:
		return s.updateVoter(a), nil
	case *kraft.SendAddRaftVoter:
		if version < 1 {
			return nil, fmt.Errorf("AddRaftVoter v%d without AckWhenCommitted: %w", version, ErrNotEncodable)
		}
		return s.addVoter(a), nil
	case *kraft.SendRemoveRaftVoter:
		r := kmsg.NewPtrRemoveRaftVoterRequest()
		r.ClusterID, r.VoterID, r.VoterDirectoryID = &s.ClusterID, int32(a.Voter.ID), a.Voter.DirectoryID
		return r, nil
	}
	return nil, fmt.Errorf("%T is no request: %w", action, ErrUnsupported)
}

func (s *Sender) vote(a *kraft.SendVoteRequest) kmsg.Request {
	r := kmsg.NewPtrVoteRequest()
	r.ClusterID, r.VoterID = &s.ClusterID, int32(a.Voter.ID)
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(a.Epoch), int32(a.Candidate.ID), a.Candidate.DirectoryID
	p.VoterDirectoryID = a.Voter.DirectoryID
	p.LastOffsetEpoch, p.LastOffset, p.PreVote = int32(a.LogEnd.LastEpoch), int64(a.LogEnd.LastOffset), a.PreVote
	r.Topics = []kmsg.VoteRequestTopic{{Topic: MetadataTopic, Partitions: []kmsg.VoteRequestTopicPartition{p}}}
	return r
}

func (s *Sender) begin(a *kraft.SendBeginQuorumEpoch) kmsg.Request {
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.ClusterID, r.VoterID = &s.ClusterID, int32(a.Voter.ID)
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.VoterDirectoryID, p.LeaderID, p.LeaderEpoch = a.Voter.DirectoryID, int32(a.Leader), int32(a.Epoch)
	r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: MetadataTopic, Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
	for i := range a.Endpoints.Len() {
		e := a.Endpoints.At(i)
		r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.BeginQuorumEpochRequestLeaderEndpoint{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return r
}

func (s *Sender) end(a *kraft.SendEndQuorumEpoch) kmsg.Request {
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.ClusterID = &s.ClusterID
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = int32(a.Leader), int32(a.Epoch)
	for _, key := range a.Successors {
		p.PreferredSuccessors = append(p.PreferredSuccessors, int32(key.ID)) // v0
		p.PreferredCandidates = append(p.PreferredCandidates, kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{
			CandidateID: int32(key.ID), CandidateDirectoryID: key.DirectoryID,
		})
	}
	r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: MetadataTopic, Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
	return r
}

func (s *Sender) fetch(a *kraft.SendFetch, version int16) kmsg.Request {
	r := kmsg.NewPtrFetchRequest()
	r.ClusterID, r.MaxWaitMillis, r.MaxBytes, r.MinBytes = &s.ClusterID, a.MaxWaitMs, a.MaxBytes, 0
	if version < 15 {
		r.ReplicaID = int32(a.Replica.ID)
	} else {
		r.ReplicaState.ID = int32(a.Replica.ID)
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.FetchOffset = int32(a.Epoch), int32(a.LastFetchedEpoch), int64(a.FetchOffset)
	if version >= 17 { // kmsg would write the tag in any version, and Kafka refuses a tag that it does not know there
		p.ReplicaDirectoryID = a.Replica.DirectoryID
	}
	if p.HighWatermark = math.MaxInt64; version >= 18 {
		p.HighWatermark = int64(a.HighWatermark)
	}
	r.Topics = []kmsg.FetchRequestTopic{{Topic: MetadataTopic, TopicID: MetadataTopicID, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return r
}

func (s *Sender) fetchSnapshot(a *kraft.SendFetchSnapshot, version int16) kmsg.Request {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.ClusterID, r.ReplicaID, r.MaxBytes = &s.ClusterID, int32(a.Replica.ID), a.MaxBytes
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position = int32(a.Epoch), a.Position
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(a.ID.Offset), int32(a.ID.Epoch)
	if version >= 1 {
		p.ReplicaDirectoryID = a.Replica.DirectoryID
	}
	r.Topics = []kmsg.FetchSnapshotRequestTopic{{Topic: MetadataTopic, Partitions: []kmsg.FetchSnapshotRequestTopicPartition{p}}}
	return r
}

func (s *Sender) updateVoter(a *kraft.SendUpdateVoter) kmsg.Request {
	r := kmsg.NewPtrUpdateRaftVoterRequest()
	r.ClusterID, r.CurrentLeaderEpoch = &s.ClusterID, int32(a.Epoch)
	r.VoterID, r.VoterDirectoryID = int32(a.Voter.Key.ID), a.Voter.Key.DirectoryID
	for i := range a.Voter.Endpoints.Len() {
		e := a.Voter.Endpoints.At(i)
		r.Listeners = append(r.Listeners, kmsg.UpdateRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	r.KRaftVersionFeature.MinSupportedVersion, r.KRaftVersionFeature.MaxSupportedVersion = a.Voter.Versions.Min, a.Voter.Versions.Max
	return r
}

func (s *Sender) addVoter(a *kraft.SendAddRaftVoter) kmsg.Request {
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.ClusterID, r.TimeoutMillis, r.AckWhenCommitted = &s.ClusterID, a.TimeoutMs, false
	r.VoterID, r.VoterDirectoryID = int32(a.Voter.ID), a.Voter.DirectoryID
	for i := range a.Endpoints.Len() {
		e := a.Endpoints.At(i)
		r.Listeners = append(r.Listeners, kmsg.AddRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return r
}

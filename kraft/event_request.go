package kraft

import "fmt"

// RequestID is the driver's name for a request that it received. The reply carries it.
type RequestID uint64

// ClusterID is a nullable cluster id. An absent one passes every check.
type ClusterID struct {
	Value   string
	Present bool
}

// Request is what every received request brings with it.
type Request struct {
	ID       RequestID
	Version  int16  // of the API
	Listener string // where it arrived, in upper case
	From     NodeID // who the driver thinks sent it; decides nothing

	ClusterID ClusterID

	// WrongPartition: the request does not name the metadata partition, and nothing else, where the API asks for that.
	WrongPartition bool
}

// ReceiveVoteRequest is a Vote request (api key 52; KIP-595, KIP-996). A field that the version lacks is zero, VoterID is
// NoNode.
type ReceiveVoteRequest struct {
	Request
	VoterID              NodeID
	VoterDirectoryID     DirectoryID
	CandidateEpoch       Epoch
	Candidate            NodeID
	CandidateDirectoryID DirectoryID
	CandidateLogEnd      LogEnd
	PreVote              bool
}

// ReceiveBeginQuorumEpoch is a BeginQuorumEpoch request (api key 53).
type ReceiveBeginQuorumEpoch struct {
	Request
	VoterID          NodeID
	VoterDirectoryID DirectoryID
	LeaderID         NodeID
	LeaderEpoch      Epoch
	LeaderEndpoints  Endpoints
}

// ReceiveEndQuorumEpoch is an EndQuorumEpoch request (api key 54). Successors are the preferred candidates of version 1, or
// the preferred successors of version 0 without directory ids.
type ReceiveEndQuorumEpoch struct {
	Request
	LeaderID        NodeID
	LeaderEpoch     Epoch
	LeaderEndpoints Endpoints
	Successors      []ReplicaKey
}

// ReceiveFetch is a Fetch request (api key 1). HighWatermark is the largest offset where the version lacks it (KIP-1166).
type ReceiveFetch struct {
	Request
	Replica          ReplicaKey
	FetchEpoch       Epoch // current leader epoch
	FetchOffset      Offset
	LastFetchedEpoch Epoch
	HighWatermark    Offset
	MaxWaitMs        int32
	MaxBytes         int32
}

// ReceiveFetchSnapshot is a FetchSnapshot request (api key 59; KIP-630). WrongPartition: the metadata partition is not among
// those that it names.
type ReceiveFetchSnapshot struct {
	Request
	Shape      SnapshotShape
	Replica    ReplicaKey
	FetchEpoch Epoch
	SnapshotID SnapshotID
	Position   int64
	MaxBytes   int32
}

// SnapshotShape counts the topics and partitions of a FetchSnapshot message. The releases differ in what they accept.
type SnapshotShape uint8

// The shapes that Kafka tells apart.
const (
	ShapeFine        SnapshotShape = iota // one topic with one partition
	ShapeExtra                            // one topic with several partitions, or several topics of which the first has one partition
	ShapeWrong                            // several topics of which the first has not one partition
	ShapeNoTopic                          // no topic
	ShapeNoPartition                      // one topic without a partition
)

// ShapeOf is the shape of a message with that many topics, and that many partitions of the first one.
func ShapeOf(topics, firstPartitions int) SnapshotShape {
	switch {
	case topics == 0:
		return ShapeNoTopic
	case topics == 1 && firstPartitions == 0:
		return ShapeNoPartition
	case topics == 1 && firstPartitions == 1:
		return ShapeFine
	case topics == 1 || firstPartitions == 1:
		return ShapeExtra
	}
	return ShapeWrong
}

// ReceiveDescribeQuorum is a DescribeQuorum request (api key 55).
type ReceiveDescribeQuorum struct{ Request }

// ReceiveAddRaftVoter is an AddRaftVoter request (api key 80; KIP-853). Voter.ID is negative where none is named.
type ReceiveAddRaftVoter struct {
	Request
	Voter            ReplicaKey
	Endpoints        Endpoints
	AckWhenCommitted bool // true in version 0 (KIP-1186)
}

// ReceiveRemoveRaftVoter is a RemoveRaftVoter request (api key 81; KIP-853).
type ReceiveRemoveRaftVoter struct {
	Request
	Voter ReplicaKey
}

// ReceiveUpdateRaftVoter is an UpdateRaftVoter request (api key 82; KIP-853).
type ReceiveUpdateRaftVoter struct {
	Request
	FetchEpoch Epoch // current leader epoch
	Voter      ReplicaKey
	Endpoints  Endpoints
	Versions   VersionRange
}

func (*ReceiveVoteRequest) event()      {}
func (*ReceiveBeginQuorumEpoch) event() {}
func (*ReceiveEndQuorumEpoch) event()   {}
func (*ReceiveFetch) event()            {}
func (*ReceiveFetchSnapshot) event()    {}
func (*ReceiveDescribeQuorum) event()   {}
func (*ReceiveAddRaftVoter) event()     {}
func (*ReceiveRemoveRaftVoter) event()  {}
func (*ReceiveUpdateRaftVoter) event()  {}

func (r *Request) String() string {
	s := fmt.Sprintf("#%d v%d", r.ID, r.Version)
	if r.WrongPartition {
		s += " wrong-partition"
	}
	return s
}

func (e *ReceiveVoteRequest) String() string {
	name := "Vote"
	if e.PreVote {
		name = "PreVote"
	}
	return fmt.Sprintf("%s(%v epoch=%d candidate=%v log=%v voter=%v)", name, &e.Request, e.CandidateEpoch,
		ReplicaKey{e.Candidate, e.CandidateDirectoryID}, e.CandidateLogEnd, ReplicaKey{e.VoterID, e.VoterDirectoryID})
}

func (e *ReceiveBeginQuorumEpoch) String() string {
	return fmt.Sprintf("BeginQuorumEpoch(%v leader=%v epoch=%d voter=%v at=%v)", &e.Request, e.LeaderID, e.LeaderEpoch,
		ReplicaKey{e.VoterID, e.VoterDirectoryID}, e.LeaderEndpoints)
}

func (e *ReceiveEndQuorumEpoch) String() string {
	return fmt.Sprintf("EndQuorumEpoch(%v leader=%v epoch=%d successors=%v)", &e.Request, e.LeaderID, e.LeaderEpoch, e.Successors)
}

func (e *ReceiveFetch) String() string {
	return fmt.Sprintf("Fetch(%v from=%v epoch=%d offset=%d last=%d hw=%d wait=%d)", &e.Request, e.Replica, e.FetchEpoch,
		e.FetchOffset, e.LastFetchedEpoch, e.HighWatermark, e.MaxWaitMs)
}

func (e *ReceiveFetchSnapshot) String() string {
	return fmt.Sprintf("FetchSnapshot(%v from=%v epoch=%d id=%v position=%d)", &e.Request, e.Replica, e.FetchEpoch,
		e.SnapshotID, e.Position)
}

func (e *ReceiveDescribeQuorum) String() string { return fmt.Sprintf("DescribeQuorum(%v)", &e.Request) }

func (e *ReceiveAddRaftVoter) String() string {
	return fmt.Sprintf("AddRaftVoter(%v voter=%v at=%v ackWhenCommitted=%t)", &e.Request, e.Voter, e.Endpoints, e.AckWhenCommitted)
}

func (e *ReceiveRemoveRaftVoter) String() string {
	return fmt.Sprintf("RemoveRaftVoter(%v voter=%v)", &e.Request, e.Voter)
}

func (e *ReceiveUpdateRaftVoter) String() string {
	return fmt.Sprintf("UpdateRaftVoter(%v epoch=%d voter=%v at=%v versions=%d-%d)", &e.Request, e.FetchEpoch, e.Voter,
		e.Endpoints, e.Versions.Min, e.Versions.Max)
}

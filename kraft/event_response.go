package kraft

import "fmt"

// APIKey is the number of a Kafka request type.
type APIKey int16

// The requests that a machine sends or answers.
const (
	FetchAPI            APIKey = 1
	APIVersionsAPI      APIKey = 18
	VoteAPI             APIKey = 52
	BeginQuorumEpochAPI APIKey = 53
	EndQuorumEpochAPI   APIKey = 54
	DescribeQuorumAPI   APIKey = 55
	FetchSnapshotAPI    APIKey = 59
	AddRaftVoterAPI     APIKey = 80
	RemoveRaftVoterAPI  APIKey = 81
	UpdateRaftVoterAPI  APIKey = 82
)

func (k APIKey) String() string {
	switch k {
	case FetchAPI:
		return "Fetch"
	case APIVersionsAPI:
		return "ApiVersions"
	case VoteAPI:
		return "Vote"
	case BeginQuorumEpochAPI:
		return "BeginQuorumEpoch"
	case EndQuorumEpochAPI:
		return "EndQuorumEpoch"
	case DescribeQuorumAPI:
		return "DescribeQuorum"
	case FetchSnapshotAPI:
		return "FetchSnapshot"
	case AddRaftVoterAPI:
		return "AddRaftVoter"
	case RemoveRaftVoterAPI:
		return "RemoveRaftVoter"
	case UpdateRaftVoterAPI:
		return "UpdateRaftVoter"
	}
	return fmt.Sprintf("api %d", int16(k))
}

// Response is what every received response brings with it.
type Response struct {
	From          NodeID // the connection record that the request was sent on
	CorrelationID int32

	Error ErrorCode // top level; of an API without a partition, its only one

	// WrongPartition: the response does not name the metadata partition and nothing else.
	WrongPartition bool
}

// PartitionAnswer is what Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot answer about the partition.
type PartitionAnswer struct {
	Error       ErrorCode
	LeaderID    NodeID // negative: unknown
	LeaderEpoch Epoch

	// HasEndpoint: the response lists an endpoint for LeaderID, which is LeaderEndpoint.
	HasEndpoint    bool
	LeaderEndpoint Address
}

// ReceiveVoteResponse answers SendVoteRequest.
type ReceiveVoteResponse struct {
	Response
	PartitionAnswer
	VoteGranted bool
}

// ReceiveBeginQuorumEpochResponse answers SendBeginQuorumEpoch.
type ReceiveBeginQuorumEpochResponse struct {
	Response
	PartitionAnswer
}

// ReceiveEndQuorumEpochResponse answers SendEndQuorumEpoch.
type ReceiveEndQuorumEpochResponse struct {
	Response
	PartitionAnswer
}

// RecordsFault tells what is wrong with the records of a Fetch response.
type RecordsFault uint8

// A driver checks the bytes before it hands over the batches. Batches lists the sound ones before the fault.
const (
	RecordsFine    RecordsFault = iota
	RecordsCorrupt              // a length or a magic is wrong: the records cannot be cut into batches
	BatchCorrupt                // a checksum is wrong, or a control record malformed
)

// ReceiveFetchResponse answers SendFetch. Diverging.Epoch and Snapshot are negative where the response has none.
type ReceiveFetchResponse struct {
	Response
	PartitionAnswer
	HighWatermark Offset
	LogStart      Offset
	Diverging     OffsetAndEpoch
	Snapshot      SnapshotID
	RecordsSize   int32 // bytes
	Batches       []Batch
	Fault         RecordsFault
	FaultEpoch    Epoch // BatchCorrupt: what the first such batch states
}

// ReceiveFetchSnapshotResponse answers SendFetchSnapshot.
type ReceiveFetchSnapshotResponse struct {
	Response
	PartitionAnswer
	Shape      SnapshotShape
	SnapshotID SnapshotID
	Size       int64 // of the whole snapshot
	Position   int64
	Bytes      int32 // of this chunk

	// Contents are the control records of the whole snapshot. The driver reads them from the bytes it holds when this chunk
	// completes it, that is if Position+Bytes = Size.
	Contents SnapshotContents
}

// ReceiveAPIVersionsResponse answers SendAPIVersions.
type ReceiveAPIVersionsResponse struct {
	Response
	HasKRaftVersion bool // kraft.version is among the supported features
	KRaftVersions   VersionRange
}

// ReceiveUpdateRaftVoterResponse answers SendUpdateVoter.
type ReceiveUpdateRaftVoterResponse struct {
	Response
	LeaderID       NodeID
	LeaderEpoch    Epoch
	LeaderEndpoint Address // Host is empty where the response has none
}

// ReceiveAddRaftVoterResponse answers SendAddRaftVoter.
type ReceiveAddRaftVoterResponse struct{ Response }

// ReceiveRemoveRaftVoterResponse answers SendRemoveRaftVoter.
type ReceiveRemoveRaftVoterResponse struct{ Response }

// RequestFailed tells that a request got no answer. Kafka's network channel makes a top-level error of it, and so does the
// machine: Error is BrokerNotAvailable (disconnected, or timed out in the network client), NetworkException (authentication
// failed) or UnsupportedVersion (the peer knows no usable version, or a field cannot be encoded in it).
type RequestFailed struct {
	Response
	API APIKey
}

func (*ReceiveVoteResponse) event()             {}
func (*ReceiveBeginQuorumEpochResponse) event() {}
func (*ReceiveEndQuorumEpochResponse) event()   {}
func (*ReceiveFetchResponse) event()            {}
func (*ReceiveFetchSnapshotResponse) event()    {}
func (*ReceiveAPIVersionsResponse) event()      {}
func (*ReceiveUpdateRaftVoterResponse) event()  {}
func (*ReceiveAddRaftVoterResponse) event()     {}
func (*ReceiveRemoveRaftVoterResponse) event()  {}
func (*RequestFailed) event()                   {}

func (r *Response) String() string {
	s := fmt.Sprintf("from=%v corr=%d", r.From, r.CorrelationID)
	if r.Error != None {
		s += fmt.Sprintf(" top=%v", r.Error)
	}
	if r.WrongPartition {
		s += " wrong-partition"
	}
	return s
}

func (a *PartitionAnswer) String() string {
	s := fmt.Sprintf("leader=%v epoch=%d", a.LeaderID, a.LeaderEpoch)
	if a.Error != None {
		s = fmt.Sprintf("%v %s", a.Error, s)
	}
	if a.HasEndpoint {
		s += " at=" + a.LeaderEndpoint.String()
	}
	return s
}

func (e *ReceiveVoteResponse) String() string {
	return fmt.Sprintf("VoteResponse(%v %v granted=%t)", &e.Response, &e.PartitionAnswer, e.VoteGranted)
}

func (e *ReceiveBeginQuorumEpochResponse) String() string {
	return fmt.Sprintf("BeginQuorumEpochResponse(%v %v)", &e.Response, &e.PartitionAnswer)
}

func (e *ReceiveEndQuorumEpochResponse) String() string {
	return fmt.Sprintf("EndQuorumEpochResponse(%v %v)", &e.Response, &e.PartitionAnswer)
}

func (e *ReceiveFetchResponse) String() string {
	s := fmt.Sprintf("FetchResponse(%v %v hw=%d", &e.Response, &e.PartitionAnswer, e.HighWatermark)
	switch {
	case e.Diverging.Epoch >= 0:
		s += fmt.Sprintf(" diverging=%v", e.Diverging)
	case e.Snapshot.Offset >= 0:
		s += fmt.Sprintf(" snapshot=%v", e.Snapshot)
	case len(e.Batches) > 0:
		s += fmt.Sprintf(" %v", e.Batches)
	}
	return s + ")"
}

func (e *ReceiveFetchSnapshotResponse) String() string {
	return fmt.Sprintf("FetchSnapshotResponse(%v %v id=%v position=%d bytes=%d size=%d)", &e.Response, &e.PartitionAnswer,
		e.SnapshotID, e.Position, e.Bytes, e.Size)
}

func (e *ReceiveAPIVersionsResponse) String() string {
	return fmt.Sprintf("ApiVersionsResponse(%v kraft.version=%d-%d %t)", &e.Response, e.KRaftVersions.Min, e.KRaftVersions.Max,
		e.HasKRaftVersion)
}

func (e *ReceiveUpdateRaftVoterResponse) String() string {
	return fmt.Sprintf("UpdateRaftVoterResponse(%v leader=%v epoch=%d)", &e.Response, e.LeaderID, e.LeaderEpoch)
}

func (e *ReceiveAddRaftVoterResponse) String() string {
	return fmt.Sprintf("AddRaftVoterResponse(%v)", &e.Response)
}

func (e *ReceiveRemoveRaftVoterResponse) String() string {
	return fmt.Sprintf("RemoveRaftVoterResponse(%v)", &e.Response)
}

func (e *RequestFailed) String() string {
	return fmt.Sprintf("RequestFailed(%v %v)", e.API, &e.Response)
}

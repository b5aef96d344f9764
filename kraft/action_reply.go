package kraft

import "fmt"

// Reply is what every reply carries. With an Error (top level) the rest of the reply is absent; of an API without a partition
// Error is its only one.
type Reply struct {
	Request RequestID
	Error   ErrorCode
}

// PartitionReply is what Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot are answered about the partition.
type PartitionReply struct {
	PartitionError ErrorCode
	LeaderID       NodeID
	LeaderEpoch    Epoch

	// HasEndpoint: the response names one node endpoint, LeaderID at LeaderEndpoint. The machine looked at the version and
	// the listener of the request.
	HasEndpoint    bool
	LeaderEndpoint Address
}

// ReplyVote answers ReceiveVoteRequest.
type ReplyVote struct {
	Reply
	PartitionReply
	VoteGranted bool
}

// ReplyBeginQuorumEpoch answers ReceiveBeginQuorumEpoch.
type ReplyBeginQuorumEpoch struct {
	Reply
	PartitionReply
}

// ReplyEndQuorumEpoch answers ReceiveEndQuorumEpoch.
type ReplyEndQuorumEpoch struct {
	Reply
	PartitionReply
}

// FetchAnswer is the whole answer to a Fetch. The records are those of [From, UpTo) as far as MaxBytes allows, but at least
// one whole batch; the driver reads them when it executes the action. From = UpTo: no records.
type FetchAnswer struct {
	Reply
	PartitionReply
	HighWatermark Offset
	LogStart      Offset
	Diverging     OffsetAndEpoch // (-1, -1): none
	Snapshot      SnapshotID     // (-1, -1): none
	From, UpTo    Offset
	MaxBytes      int32
}

// ReplyFetch answers ReceiveFetch.
type ReplyFetch struct{ FetchAnswer }

// ReplyDivergingEpoch answers a ReceiveFetch whose log has diverged: Diverging is set and there are no records.
type ReplyDivergingEpoch struct{ FetchAnswer }

// ReplyFetchSnapshot answers ReceiveFetchSnapshot. The chunk is [Position, Position+MaxBytes) of the snapshot, cut at Size; the
// driver reads it when it executes the action. HasLeader is false where Kafka leaves the current leader out, and the first
// topic and partition of the request are echoed.
type ReplyFetchSnapshot struct {
	Reply
	PartitionReply
	HasLeader bool
	ID        SnapshotID
	Size      int64
	Position  int64
	MaxBytes  int32
}

// ReplicaStatus is one line of DescribeQuorum. Times and offsets are -1 where unknown.
type ReplicaStatus struct {
	Key          ReplicaKey
	LogEnd       Offset
	LastFetch    Instant
	LastCaughtUp Instant
}

// ReplyDescribeQuorum answers ReceiveDescribeQuorum. With UnknownPartition every requested partition is echoed with
// UNKNOWN_TOPIC_OR_PARTITION. With a PartitionError LeaderID, LeaderEpoch and HighWatermark are 0.
type ReplyDescribeQuorum struct {
	Reply
	UnknownPartition bool
	PartitionError   ErrorCode
	LeaderID         NodeID
	LeaderEpoch      Epoch
	HighWatermark    Offset
	Voters           []ReplicaStatus
	Observers        []ReplicaStatus
	Nodes            []Voter // key and endpoints of the voters; from version 2
}

// Message says which kind of text goes with an error. The texts themselves are for people and differ between releases.
type Message uint8

// The kinds of text.
const (
	EmptyMessage   Message = iota // ""
	NullMessage                   // null
	DefaultMessage                // Kafka's text of the error code; for NONE that is "NONE"
	TextMessage                   // some diagnostic text
)

// ReplyAddRaftVoter answers ReceiveAddRaftVoter.
type ReplyAddRaftVoter struct {
	Reply
	Message Message
}

// ReplyRemoveRaftVoter answers ReceiveRemoveRaftVoter.
type ReplyRemoveRaftVoter struct {
	Reply
	Message Message
}

// ReplyUpdateRaftVoter answers ReceiveUpdateRaftVoter. Host is empty and Port 0 where no endpoint is known.
type ReplyUpdateRaftVoter struct {
	Reply
	LeaderID       NodeID
	LeaderEpoch    Epoch
	LeaderEndpoint Address
}

func (*ReplyVote) action()             {}
func (*ReplyBeginQuorumEpoch) action() {}
func (*ReplyEndQuorumEpoch) action()   {}
func (*ReplyFetch) action()            {}
func (*ReplyDivergingEpoch) action()   {}
func (*ReplyFetchSnapshot) action()    {}
func (*ReplyDescribeQuorum) action()   {}
func (*ReplyAddRaftVoter) action()     {}
func (*ReplyRemoveRaftVoter) action()  {}
func (*ReplyUpdateRaftVoter) action()  {}

func (r Reply) String() string {
	if r.Error != None {
		return fmt.Sprintf("#%d %v", r.Request, r.Error)
	}
	return fmt.Sprintf("#%d", r.Request)
}

func (p *PartitionReply) String() string {
	s := fmt.Sprintf("leader=%v epoch=%d", p.LeaderID, p.LeaderEpoch)
	if p.HasEndpoint {
		s += " at=" + p.LeaderEndpoint.String()
	}
	if p.PartitionError != None {
		return fmt.Sprintf("%v %s", p.PartitionError, s)
	}
	return s
}

func (a *ReplyVote) String() string {
	return fmt.Sprintf("ReplyVote(%v %v granted=%t)", a.Reply, &a.PartitionReply, a.VoteGranted)
}

func (a *ReplyBeginQuorumEpoch) String() string {
	return fmt.Sprintf("ReplyBeginQuorumEpoch(%v %v)", a.Reply, &a.PartitionReply)
}

func (a *ReplyEndQuorumEpoch) String() string {
	return fmt.Sprintf("ReplyEndQuorumEpoch(%v %v)", a.Reply, &a.PartitionReply)
}

func (a *FetchAnswer) String() string {
	s := fmt.Sprintf("%v %v hw=%d start=%d", a.Reply, &a.PartitionReply, a.HighWatermark, a.LogStart)
	switch {
	case a.Diverging.Epoch >= 0:
		s += fmt.Sprintf(" diverging=%v", a.Diverging)
	case a.Snapshot.Epoch >= 0:
		s += fmt.Sprintf(" snapshot=%v", a.Snapshot)
	case a.From < a.UpTo:
		s += fmt.Sprintf(" records=[%d..%d)", a.From, a.UpTo)
	}
	return s
}

func (a *ReplyFetch) String() string { return "ReplyFetch(" + a.FetchAnswer.String() + ")" }
func (a *ReplyDivergingEpoch) String() string {
	return "ReplyDivergingEpoch(" + a.FetchAnswer.String() + ")"
}

func (a *ReplyFetchSnapshot) String() string {
	return fmt.Sprintf("ReplyFetchSnapshot(%v %v id=%v position=%d size=%d)", a.Reply, &a.PartitionReply, a.ID, a.Position, a.Size)
}

func (a *ReplyDescribeQuorum) String() string {
	return fmt.Sprintf("ReplyDescribeQuorum(%v %v leader=%v epoch=%d hw=%d voters=%v observers=%v)", a.Reply, a.PartitionError,
		a.LeaderID, a.LeaderEpoch, a.HighWatermark, a.Voters, a.Observers)
}

func (a *ReplyAddRaftVoter) String() string { return fmt.Sprintf("ReplyAddRaftVoter(%v)", a.Reply) }
func (a *ReplyRemoveRaftVoter) String() string {
	return fmt.Sprintf("ReplyRemoveRaftVoter(%v)", a.Reply)
}

func (a *ReplyUpdateRaftVoter) String() string {
	return fmt.Sprintf("ReplyUpdateRaftVoter(%v leader=%v epoch=%d at=%v)", a.Reply, a.LeaderID, a.LeaderEpoch, a.LeaderEndpoint)
}

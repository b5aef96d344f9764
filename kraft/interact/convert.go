package interact

import (
	"math"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// APIVersions is the content of an ApiVersions request: nothing that decides.
type APIVersions struct{}

// received makes of a request that a machine sends what its receiver gets in that version of the api. Not ok: a field that counts
// cannot be encoded in it.
func received(action kraft.Action, version int16) (content any, to kraft.Destination, api kraft.APIKey, ok bool) {
	about := kraft.Request{Version: version, Listener: Channel, ClusterID: kraft.ClusterID{Value: ClusterID, Present: true}}
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		return shrinkVote(&kraft.ReceiveVoteRequest{
			Request: about, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, CandidateEpoch: a.Epoch, Candidate: a.Candidate.ID,
			CandidateDirectoryID: a.Candidate.DirectoryID, CandidateLogEnd: a.LogEnd, PreVote: a.PreVote,
		}), a.Destination, kraft.VoteAPI, version >= 2 || !a.PreVote
	case *kraft.SendBeginQuorumEpoch:
		return shrinkBegin(&kraft.ReceiveBeginQuorumEpoch{
			Request: about, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, LeaderID: a.Leader, LeaderEpoch: a.Epoch, LeaderEndpoints: a.Endpoints,
		}), a.Destination, kraft.BeginQuorumEpochAPI, true
	case *kraft.SendEndQuorumEpoch:
		return shrinkEnd(&kraft.ReceiveEndQuorumEpoch{
			Request: about, LeaderID: a.Leader, LeaderEpoch: a.Epoch, Successors: slices.Clone(a.Successors),
		}), a.Destination, kraft.EndQuorumEpochAPI, true
	case *kraft.SendFetch:
		return shrinkFetch(&kraft.ReceiveFetch{
			Request: about, Replica: a.Replica, FetchEpoch: a.Epoch, FetchOffset: a.FetchOffset, LastFetchedEpoch: a.LastFetchedEpoch,
			HighWatermark: a.HighWatermark, MaxWaitMs: a.MaxWaitMs, MaxBytes: a.MaxBytes,
		}), a.Destination, kraft.FetchAPI, true
	case *kraft.SendFetchSnapshot:
		e := &kraft.ReceiveFetchSnapshot{
			Request: about, Replica: a.Replica, FetchEpoch: a.Epoch, SnapshotID: a.ID, Position: a.Position, MaxBytes: a.MaxBytes,
		}
		return shrinkFetchSnapshot(e, ""), a.Destination, kraft.FetchSnapshotAPI, true
	case *kraft.SendAPIVersions:
		return APIVersions{}, a.Destination, kraft.APIVersionsAPI, true
	case *kraft.SendUpdateVoter:
		return &kraft.ReceiveUpdateRaftVoter{
			Request: about, FetchEpoch: a.Epoch, Voter: a.Voter.Key, Endpoints: a.Voter.Endpoints, Versions: a.Voter.Versions,
		}, a.Destination, kraft.UpdateRaftVoterAPI, true
	case *kraft.SendAddRaftVoter:
		return &kraft.ReceiveAddRaftVoter{Request: about, Voter: a.Voter, Endpoints: a.Endpoints}, a.Destination, kraft.AddRaftVoterAPI, version >= 1
	case *kraft.SendRemoveRaftVoter:
		return &kraft.ReceiveRemoveRaftVoter{Request: about, Voter: a.Voter}, a.Destination, kraft.RemoveRaftVoterAPI, true
	}
	return nil, kraft.Destination{}, 0, false
}

// The old versions of a request lack fields.

func shrinkVote(e *kraft.ReceiveVoteRequest) kraft.Event {
	if e.Version < 1 {
		e.VoterID, e.VoterDirectoryID, e.CandidateDirectoryID = kraft.NoNode, kraft.DirectoryID{}, kraft.DirectoryID{}
	}
	if e.WrongPartition {
		return &kraft.ReceiveVoteRequest{Request: e.Request, VoterID: e.VoterID}
	}
	return e
}

func shrinkBegin(e *kraft.ReceiveBeginQuorumEpoch) kraft.Event {
	if e.Version < 1 {
		e.VoterID, e.VoterDirectoryID, e.LeaderEndpoints = kraft.NoNode, kraft.DirectoryID{}, kraft.Endpoints{}
	}
	return e
}

func shrinkEnd(e *kraft.ReceiveEndQuorumEpoch) kraft.Event {
	if e.Version < 1 {
		e.LeaderEndpoints = kraft.Endpoints{}
		for i := range e.Successors {
			e.Successors[i].DirectoryID = kraft.DirectoryID{}
		}
	}
	return e
}

func shrinkFetch(e *kraft.ReceiveFetch) kraft.Event {
	if e.Version < 17 {
		e.Replica.DirectoryID = kraft.DirectoryID{}
	}
	if e.Version < 18 {
		e.HighWatermark = math.MaxInt64
	}
	e.WrongPartition = e.WrongPartition || e.Version < 13 // no topic id
	return e
}

// shrinkFetchSnapshot gives the request another shape too: no topic, a partition twice, a topic twice, an unknown topic.
func shrinkFetchSnapshot(e *kraft.ReceiveFetchSnapshot, topics string) kraft.Event {
	if e.Version < 1 {
		e.Replica.DirectoryID = kraft.DirectoryID{}
	}
	switch topics {
	case "none":
		e.Shape, e.WrongPartition = kraft.ShapeNoTopic, true
	case "partition-twice":
		e.Shape = kraft.ShapeExtra
	case "unknown":
		e.WrongPartition = true
	}
	return e
}

// answered makes of a reply what the requester gets. The driver reads records and snapshots for it.
func answered(action kraft.Action, q *Packet, log reader) (content any, text string) {
	r := kraft.Response{From: q.Record}
	switch a := action.(type) {
	case *kraft.ReplyVote:
		r.Error = a.Error
		return &kraft.ReceiveVoteResponse{Response: mispartitioned(r), PartitionAnswer: partition(a.Error, &a.PartitionReply), VoteGranted: a.VoteGranted}, ""
	case *kraft.ReplyBeginQuorumEpoch:
		r.Error = a.Error
		return &kraft.ReceiveBeginQuorumEpochResponse{Response: mispartitioned(r), PartitionAnswer: partition(a.Error, &a.PartitionReply)}, ""
	case *kraft.ReplyEndQuorumEpoch:
		r.Error = a.Error
		return &kraft.ReceiveEndQuorumEpochResponse{Response: mispartitioned(r), PartitionAnswer: partition(a.Error, &a.PartitionReply)}, ""
	case *kraft.ReplyFetch:
		r.Error = a.Error
		return fetchAnswered(mispartitioned(r), &a.FetchAnswer, log), ""
	case *kraft.ReplyDivergingEpoch:
		r.Error = a.Error
		return fetchAnswered(mispartitioned(r), &a.FetchAnswer, log), ""
	case *kraft.ReplyFetchSnapshot:
		return snapshotAnswered(r, a, log)
	case *kraft.ReplyUpdateRaftVoter:
		r.Error = a.Error
		return &kraft.ReceiveUpdateRaftVoterResponse{Response: r, LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch, LeaderEndpoint: a.LeaderEndpoint}, ""
	case *kraft.ReplyAddRaftVoter:
		c := *a
		return &c, ""
	case *kraft.ReplyRemoveRaftVoter:
		c := *a
		return &c, ""
	case *kraft.ReplyDescribeQuorum:
		return describedIn(a, q.Version), ""
	}
	return nil, ""
}

// describedIn leaves out what the version lacks: times in 0, directory ids and endpoints until 1.
func describedIn(a *kraft.ReplyDescribeQuorum, version int16) *kraft.ReplyDescribeQuorum {
	c := *a
	c.Voters, c.Observers, c.Nodes = slices.Clone(a.Voters), slices.Clone(a.Observers), slices.Clone(a.Nodes)
	if version < 2 {
		c.Nodes = nil
	}
	for _, list := range [][]kraft.ReplicaStatus{c.Voters, c.Observers} {
		for i := range list {
			if version < 2 {
				list[i].Key.DirectoryID = kraft.DirectoryID{}
			}
			if version < 1 {
				list[i].LastFetch, list[i].LastCaughtUp = -1, -1
			}
		}
	}
	return &c
}

// mispartitioned: an answer with a top-level error names no partition.
func mispartitioned(r kraft.Response) kraft.Response {
	r.WrongPartition = r.Error != kraft.None
	return r
}

func partition(top kraft.ErrorCode, p *kraft.PartitionReply) kraft.PartitionAnswer {
	if top != kraft.None {
		return kraft.PartitionAnswer{LeaderID: kraft.NoNode}
	}
	return kraft.PartitionAnswer{
		Error: p.PartitionError, LeaderID: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HasEndpoint: p.HasEndpoint, LeaderEndpoint: p.LeaderEndpoint,
	}
}

// reader is the log of the node that answers.
type reader interface {
	Batches(from, upTo kraft.Offset, maxBytes int32) []kraft.Batch
	Contents(id kraft.SnapshotID) (kraft.SnapshotContents, bool)
}

func fetchAnswered(r kraft.Response, a *kraft.FetchAnswer, log reader) any {
	e := &kraft.ReceiveFetchResponse{
		Response: r, PartitionAnswer: partition(a.Error, &a.PartitionReply), HighWatermark: a.HighWatermark, LogStart: a.LogStart,
		Diverging: a.Diverging, Snapshot: a.Snapshot,
	}
	if a.Error == kraft.None && a.From < a.UpTo {
		e.Batches = slices.Clone(log.Batches(a.From, a.UpTo, a.MaxBytes))
		for _, b := range e.Batches {
			e.RecordsSize += b.Size
		}
	}
	return e
}

// snapshotAnswered: an error in the partition cannot be encoded, since the bytes of the chunk stay null, and the server answers with
// UNKNOWN_SERVER_ERROR instead (Kafka: FetchSnapshotResponse.singleton).
func snapshotAnswered(r kraft.Response, a *kraft.ReplyFetchSnapshot, log reader) (any, string) {
	if r.Error = a.Error; r.Error == kraft.None && a.PartitionError != kraft.None {
		r.Error = kraft.UnknownServerError
	}
	if r.Error != kraft.None {
		e := &kraft.ReceiveFetchSnapshotResponse{Response: r, Shape: kraft.ShapeNoTopic, PartitionAnswer: kraft.PartitionAnswer{LeaderID: kraft.NoNode}}
		e.WrongPartition = true
		if a.Error == kraft.None {
			return e, UnencodableSnapshot(a.PartitionError.String())
		}
		return e, ""
	}
	e := &kraft.ReceiveFetchSnapshotResponse{
		Response: r, PartitionAnswer: partition(a.Error, &a.PartitionReply), SnapshotID: a.ID, Size: a.Size, Position: a.Position,
		Bytes: int32(min(int64(a.MaxBytes), a.Size-a.Position)),
	}
	e.Contents, _ = log.Contents(a.ID)
	return e, ""
}

// UnencodableSnapshot are the words for a FetchSnapshot answer that Kafka fails to encode. Only the machine knows the code.
func UnencodableSnapshot(code string) string {
	return "FetchSnapshot(UNKNOWN_SERVER_ERROR, since {" + code + "} cannot be encoded)"
}

// deliverable is what an answer is as an event for the node that asked.
func deliverable(p *Packet, correlation int32) kraft.Event {
	about := kraft.Response{From: p.Record, CorrelationID: correlation}
	switch c := p.Content.(type) {
	case *kraft.ReplyAddRaftVoter:
		about.Error = c.Error
		return &kraft.ReceiveAddRaftVoterResponse{Response: about}
	case *kraft.ReplyRemoveRaftVoter:
		about.Error = c.Error
		return &kraft.ReceiveRemoveRaftVoterResponse{Response: about}
	case *kraft.ReceiveVoteResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveBeginQuorumEpochResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveEndQuorumEpochResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveFetchResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveFetchSnapshotResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveUpdateRaftVoterResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveAPIVersionsResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveAddRaftVoterResponse:
		c.CorrelationID = correlation
		return c
	case *kraft.ReceiveRemoveRaftVoterResponse:
		c.CorrelationID = correlation
		return c
	}
	return nil
}

package explore

import (
	"github.com/understudy-kafka/understudy/kraft"
)

// packet is a message on its way.
type packet struct {
	from, to int // nodes; from may be client
	slot     int // of the connection record that the request was sent on
	request  bool
	live     bool // the sender of the request waits for the answer
	api      kraft.APIKey
	event    kraft.Event

	// spent: as soon as the receiver is in this epoch the packet changes nothing any more. 0: it always may.
	spent kraft.Epoch
}

// spentIn works out when a request that nobody waits for has lost all effect: it is fenced, and a PreVote gives nothing but its epoch.
func (p *packet) spentIn() kraft.Epoch {
	if !p.request || p.live {
		return 0
	}
	switch e := p.event.(type) {
	case *kraft.ReceiveVoteRequest:
		if e.PreVote {
			return max(1, e.CandidateEpoch)
		}
		return e.CandidateEpoch + 1
	case *kraft.ReceiveBeginQuorumEpoch:
		return e.LeaderEpoch + 1
	case *kraft.ReceiveEndQuorumEpoch:
		return e.LeaderEpoch + 1
	case *kraft.ReceiveFetch:
		return e.FetchEpoch + 1
	case *kraft.ReceiveFetchSnapshot:
		return e.FetchEpoch + 1
	case *kraft.ReceiveUpdateRaftVoter:
		return e.FetchEpoch + 1
	}
	return 0
}

func (p *packet) encode(e *encoder) {
	from, to := p.from, p.to
	e.id(nodeID(from))
	e.id(nodeID(to))
	e.id(recordOf(p.slot))
	e.flag(p.request)
	e.flag(p.live)
	e.num(int64(p.api))
	e.event(p.event)
}

// orphan is the packet once its sender does not wait for the answer any more.
func (p *packet) orphan() packet {
	o := *p
	o.live = false
	id := requestID(p.from, p.slot, false)
	switch e := p.event.(type) {
	case *kraft.ReceiveVoteRequest:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveBeginQuorumEpoch:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveEndQuorumEpoch:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveFetch:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveFetchSnapshot:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveUpdateRaftVoter:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveAddRaftVoter:
		o.event = renumbered(e, &e.ID, id)
	case *kraft.ReceiveRemoveRaftVoter:
		o.event = renumbered(e, &e.ID, id)
	}
	return o
}

// renumbered is a copy of an event in which its request has another id.
func renumbered[T any](e *T, field *kraft.RequestID, id kraft.RequestID) *T {
	old := *field
	*field = id
	c := *e
	*field = old
	return &c
}

func (e *encoder) partition(a *kraft.PartitionAnswer) {
	e.num(int64(a.Error))
	e.id(a.LeaderID)
	e.num(int64(a.LeaderEpoch))
	e.flag(a.HasEndpoint)
}

func (e *encoder) event(ev kraft.Event) {
	switch v := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		e.key(kraft.ReplicaKey{ID: v.VoterID, DirectoryID: v.VoterDirectoryID})
		e.key(kraft.ReplicaKey{ID: v.Candidate, DirectoryID: v.CandidateDirectoryID})
		e.num(int64(v.CandidateEpoch))
		e.num(int64(v.CandidateLogEnd.LastEpoch))
		e.num(int64(v.CandidateLogEnd.LastOffset))
		e.flag(v.PreVote)
	case *kraft.ReceiveBeginQuorumEpoch:
		e.key(kraft.ReplicaKey{ID: v.VoterID, DirectoryID: v.VoterDirectoryID})
		e.id(v.LeaderID)
		e.num(int64(v.LeaderEpoch))
	case *kraft.ReceiveEndQuorumEpoch:
		e.id(v.LeaderID)
		e.num(int64(v.LeaderEpoch))
	case *kraft.ReceiveFetch:
		e.key(v.Replica)
		e.num(int64(v.FetchEpoch))
		e.num(int64(v.FetchOffset))
		e.num(int64(v.LastFetchedEpoch))
		e.num(int64(v.HighWatermark))
	case *kraft.ReceiveFetchSnapshot:
		e.key(v.Replica)
		e.num(int64(v.FetchEpoch))
		e.position(v.SnapshotID)
		e.num(v.Position)
	case *kraft.ReceiveUpdateRaftVoter:
		e.key(v.Voter)
		e.num(int64(v.FetchEpoch))
		e.num(int64(v.Versions.Max))
	case *kraft.ReceiveAddRaftVoter:
		e.key(v.Voter)
	case *kraft.ReceiveRemoveRaftVoter:
		e.key(v.Voter)
	default:
		e.answer(ev)
	}
}

func (e *encoder) answer(ev kraft.Event) {
	switch v := ev.(type) {
	case *kraft.ReceiveVoteResponse:
		e.num(int64(v.Response.Error))
		e.partition(&v.PartitionAnswer)
		e.flag(v.VoteGranted)
	case *kraft.ReceiveBeginQuorumEpochResponse:
		e.num(int64(v.Response.Error))
		e.partition(&v.PartitionAnswer)
	case *kraft.ReceiveEndQuorumEpochResponse:
		e.num(int64(v.Response.Error))
		e.partition(&v.PartitionAnswer)
	case *kraft.ReceiveFetchResponse:
		e.num(int64(v.Response.Error))
		e.partition(&v.PartitionAnswer)
		e.num(int64(v.HighWatermark))
		e.num(int64(v.LogStart))
		e.position(v.Diverging)
		e.position(v.Snapshot)
		e.batches(v.Batches)
	case *kraft.ReceiveFetchSnapshotResponse:
		e.num(int64(v.Response.Error))
		e.partition(&v.PartitionAnswer)
		e.position(v.SnapshotID)
		e.num(v.Position)
		e.num(int64(v.Bytes))
		e.contents(&v.Contents)
	case *kraft.ReceiveUpdateRaftVoterResponse:
		e.num(int64(v.Error))
		e.id(v.LeaderID)
		e.num(int64(v.LeaderEpoch))
	case *kraft.ReceiveAPIVersionsResponse:
		e.num(int64(v.Error))
	case *kraft.ReceiveAddRaftVoterResponse:
		e.num(int64(v.Error))
	case *kraft.ReceiveRemoveRaftVoterResponse:
		e.num(int64(v.Error))
	}
}

package explore

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/interact"
)

// The network: what one machine sends becomes an event of another one.

func (x *explorer) request(id kraft.RequestID) kraft.Request {
	sender, _, _ := splitRequest(id)
	r := kraft.Request{ID: id, Version: version, Listener: interact.Channel, ClusterID: kraft.ClusterID{Value: clusterID, Present: true}}
	if sender == client {
		r.From = kraft.NoNode
	} else {
		r.From = nodeID(sender)
	}
	return r
}

// at is the node that listens at an address.
func (x *explorer) at(a kraft.Address) (int, bool) {
	for i := range x.model.Nodes {
		if interact.Address(nodeID(i)) == a {
			return i, true
		}
	}
	return 0, false
}

// send puts a request on its way. Whether its answer is waited for shows at the end of the step.
func (r *runner) send(api kraft.APIKey, d kraft.Destination, event func(kraft.Request) kraft.Event) {
	to, ok := r.x.at(d.Address)
	if !ok {
		return
	}
	slot := slotOf(d.Record)
	id := requestID(r.l.node, slot, true)
	r.packets = append(r.packets, sent{
		packet: packet{
			from: r.l.node, to: to, slot: slot, request: true, live: true, api: api, event: event(r.x.request(id)),
		},
		correlation: d.CorrelationID,
	})
	r.tellSend(&r.packets[len(r.packets)-1].packet)
}

// answer puts a response on its way, if somebody waits for it.
func (r *runner) answer(api kraft.APIKey, reply kraft.Reply, event func(kraft.Response) kraft.Event) {
	sender, slot, live := splitRequest(reply.Request)
	p := packet{from: r.l.node, to: sender, slot: slot, live: true, api: api}
	p.event = event(kraft.Response{From: recordOf(slot), Error: reply.Error})
	r.tellSend(&p)
	if sender != client && live {
		r.packets = append(r.packets, sent{packet: p})
	}
}

func (r *runner) communicate(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		r.send(kraft.VoteAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveVoteRequest{
				Request: q, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, CandidateEpoch: a.Epoch,
				Candidate: a.Candidate.ID, CandidateDirectoryID: a.Candidate.DirectoryID, CandidateLogEnd: a.LogEnd, PreVote: a.PreVote,
			}
		})
	case *kraft.SendBeginQuorumEpoch:
		r.send(kraft.BeginQuorumEpochAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveBeginQuorumEpoch{
				Request: q, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, LeaderID: a.Leader, LeaderEpoch: a.Epoch,
				LeaderEndpoints: a.Endpoints,
			}
		})
	case *kraft.SendEndQuorumEpoch:
		r.send(kraft.EndQuorumEpochAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveEndQuorumEpoch{Request: q, LeaderID: a.Leader, LeaderEpoch: a.Epoch, Successors: a.Successors}
		})
	case *kraft.SendFetch:
		r.send(kraft.FetchAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveFetch{
				Request: q, Replica: a.Replica, FetchEpoch: a.Epoch, FetchOffset: a.FetchOffset, LastFetchedEpoch: a.LastFetchedEpoch,
				HighWatermark: a.HighWatermark, MaxWaitMs: a.MaxWaitMs, MaxBytes: a.MaxBytes,
			}
		})
	case *kraft.SendFetchSnapshot:
		r.send(kraft.FetchSnapshotAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveFetchSnapshot{
				Request: q, Replica: a.Replica, FetchEpoch: a.Epoch, SnapshotID: a.ID, Position: a.Position, MaxBytes: a.MaxBytes,
			}
		})
	case *kraft.SendAPIVersions:
		r.probe(a)
	case *kraft.SendUpdateVoter:
		r.send(kraft.UpdateRaftVoterAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveUpdateRaftVoter{
				Request: q, FetchEpoch: a.Epoch, Voter: a.Voter.Key, Endpoints: a.Voter.Endpoints, Versions: a.Voter.Versions,
			}
		})
	case *kraft.SendAddRaftVoter:
		r.send(kraft.AddRaftVoterAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveAddRaftVoter{Request: q, Voter: a.Voter, Endpoints: a.Endpoints}
		})
	case *kraft.SendRemoveRaftVoter:
		r.send(kraft.RemoveRaftVoterAPI, a.Destination, func(q kraft.Request) kraft.Event {
			return &kraft.ReceiveRemoveRaftVoter{Request: q, Voter: a.Voter}
		})
	default:
		r.reply(action)
	}
}

// probe: ApiVersions is answered below the machine, so request and answer are one packet.
func (r *runner) probe(a *kraft.SendAPIVersions) {
	from, ok := r.x.at(a.Address)
	if !ok {
		return
	}
	r.packets = append(r.packets, sent{packet: packet{
		from: from, to: r.l.node, slot: slotOf(a.Record), live: true, api: kraft.APIVersionsAPI,
		event: &kraft.ReceiveAPIVersionsResponse{
			Response: kraft.Response{From: a.Record}, HasKRaftVersion: true, KRaftVersions: kraft.VersionRange{Max: 1},
		},
	}, correlation: a.CorrelationID})
	r.say("sends %s ApiVersions()", interact.Node(nodeID(from)))
}

func partition(p *kraft.PartitionReply) kraft.PartitionAnswer {
	return kraft.PartitionAnswer{
		Error: p.PartitionError, LeaderID: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HasEndpoint: p.HasEndpoint,
		LeaderEndpoint: p.LeaderEndpoint,
	}
}

func (r *runner) reply(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		r.answer(kraft.VoteAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveVoteResponse{Response: q, PartitionAnswer: partition(&a.PartitionReply), VoteGranted: a.VoteGranted}
		})
	case *kraft.ReplyBeginQuorumEpoch:
		r.answer(kraft.BeginQuorumEpochAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveBeginQuorumEpochResponse{Response: q, PartitionAnswer: partition(&a.PartitionReply)}
		})
	case *kraft.ReplyEndQuorumEpoch:
		r.answer(kraft.EndQuorumEpochAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveEndQuorumEpochResponse{Response: q, PartitionAnswer: partition(&a.PartitionReply)}
		})
	case *kraft.ReplyFetch:
		r.answerFetch(&a.FetchAnswer)
	case *kraft.ReplyDivergingEpoch:
		r.answerFetch(&a.FetchAnswer)
	case *kraft.ReplyFetchSnapshot:
		r.answerFetchSnapshot(a)
	case *kraft.ReplyUpdateRaftVoter:
		r.answer(kraft.UpdateRaftVoterAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveUpdateRaftVoterResponse{
				Response: q, LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch, LeaderEndpoint: a.LeaderEndpoint,
			}
		})
	case *kraft.ReplyAddRaftVoter:
		r.answer(kraft.AddRaftVoterAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveAddRaftVoterResponse{Response: q}
		})
	case *kraft.ReplyRemoveRaftVoter:
		r.answer(kraft.RemoveRaftVoterAPI, a.Reply, func(q kraft.Response) kraft.Event {
			return &kraft.ReceiveRemoveRaftVoterResponse{Response: q}
		})
	}
}

func (r *runner) answerFetch(a *kraft.FetchAnswer) {
	var batches []kraft.Batch
	size := int32(0)
	if a.From != a.UpTo {
		batches = slices.Clone(r.l.log.Batches(a.From, a.UpTo, max(a.MaxBytes, 1)))
		for _, b := range batches {
			size += b.Size
		}
	}
	r.answer(kraft.FetchAPI, a.Reply, func(q kraft.Response) kraft.Event {
		return &kraft.ReceiveFetchResponse{
			Response: q, PartitionAnswer: partition(&a.PartitionReply), HighWatermark: a.HighWatermark, LogStart: a.LogStart,
			Diverging: a.Diverging, Snapshot: a.Snapshot, RecordsSize: size + int32(len(batches)), Batches: batches,
		}
	})
}

func (r *runner) answerFetchSnapshot(a *kraft.ReplyFetchSnapshot) {
	c, _ := r.l.log.Contents(a.ID)
	r.answer(kraft.FetchSnapshotAPI, a.Reply, func(q kraft.Response) kraft.Event {
		return &kraft.ReceiveFetchSnapshotResponse{
			Response: q, PartitionAnswer: partition(&a.PartitionReply), SnapshotID: a.ID, Size: a.Size, Position: a.Position,
			Bytes: int32(min(int64(a.MaxBytes), a.Size-a.Position)), Contents: c,
		}
	})
}

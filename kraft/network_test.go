package kraft_test

import "github.com/understudy-kafka/understudy/kraft"

// The network of the test cluster: what one machine sends becomes an event of another one.

func (n *node) communicate(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveVoteRequest{
				Request: r, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, CandidateEpoch: a.Epoch,
				Candidate: a.Candidate.ID, CandidateDirectoryID: a.Candidate.DirectoryID, CandidateLogEnd: a.LogEnd, PreVote: a.PreVote,
			}
		})
	case *kraft.SendBeginQuorumEpoch:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveBeginQuorumEpoch{
				Request: r, VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, LeaderID: a.Leader, LeaderEpoch: a.Epoch,
				LeaderEndpoints: a.Endpoints,
			}
		})
	case *kraft.SendEndQuorumEpoch:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveEndQuorumEpoch{Request: r, LeaderID: a.Leader, LeaderEpoch: a.Epoch, Successors: a.Successors}
		})
	case *kraft.SendFetch:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveFetch{
				Request: r, Replica: a.Replica, FetchEpoch: a.Epoch, FetchOffset: a.FetchOffset, LastFetchedEpoch: a.LastFetchedEpoch,
				HighWatermark: a.HighWatermark, MaxWaitMs: a.MaxWaitMs, MaxBytes: a.MaxBytes,
			}
		})
	case *kraft.SendFetchSnapshot:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveFetchSnapshot{
				Request: r, Replica: a.Replica, FetchEpoch: a.Epoch, SnapshotID: a.ID, Position: a.Position, MaxBytes: a.MaxBytes,
			}
		})
	default:
		n.communicateMore(action)
	}
}

func (n *node) communicateMore(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.SendAPIVersions:
		to := n.cluster.at(a.Address)
		if to == nil {
			n.fail(a.Destination, kraft.APIVersionsAPI)
			return
		}
		n.inbox = append(n.inbox, &kraft.ReceiveAPIVersionsResponse{
			Response: response(a.Destination), HasKRaftVersion: true, KRaftVersions: to.config.KRaftVersions,
		})
	case *kraft.SendUpdateVoter:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveUpdateRaftVoter{
				Request: r, FetchEpoch: a.Epoch, Voter: a.Voter.Key, Endpoints: a.Voter.Endpoints, Versions: a.Voter.Versions,
			}
		})
	case *kraft.SendAddRaftVoter:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveAddRaftVoter{Request: r, Voter: a.Voter, Endpoints: a.Endpoints}
		})
	case *kraft.SendRemoveRaftVoter:
		n.send(a.Destination, func(r kraft.Request) kraft.Event {
			return &kraft.ReceiveRemoveRaftVoter{Request: r, Voter: a.Voter}
		})
	default:
		n.reply(action)
	}
}

func response(d kraft.Destination) kraft.Response {
	return kraft.Response{From: d.Record, CorrelationID: d.CorrelationID}
}

func (n *node) fail(d kraft.Destination, api kraft.APIKey) {
	r := response(d)
	r.Error = kraft.BrokerNotAvailable
	n.inbox = append(n.inbox, &kraft.RequestFailed{Response: r, API: api})
}

// send delivers a request, unless it gets lost.
func (n *node) send(d kraft.Destination, event func(kraft.Request) kraft.Event) {
	to := n.cluster.at(d.Address)
	if to == nil || to.ended || n.cluster.lost(n, to) {
		return
	}
	to.requests++
	to.clients[to.requests] = client{node: n, correlation: d.CorrelationID, record: d.Record}
	id := "cluster"
	to.inbox = append(to.inbox, event(kraft.Request{
		ID: to.requests, Version: 18, Listener: "CONTROLLER", From: n.id, ClusterID: kraft.ClusterID{Value: id, Present: true},
	}))
}

// ask hands a request of the test to the node.
func (n *node) ask(event func(kraft.Request) kraft.Event) {
	n.requests++
	n.clients[n.requests] = client{}
	n.inbox = append(n.inbox, event(kraft.Request{ID: n.requests, Version: 18, Listener: "CONTROLLER"}))
}

func (c *cluster) lost(from, to *node) bool { return c.drop != nil && c.drop(from.id, to.id) }

// answer delivers a response.
func (n *node) answer(r kraft.Reply, event func(kraft.Response) kraft.Event) {
	c := n.clients[r.Request]
	delete(n.clients, r.Request)
	if c.node == nil || c.node.ended || n.cluster.lost(n, c.node) {
		return
	}
	c.node.inbox = append(c.node.inbox, event(kraft.Response{From: c.record, CorrelationID: c.correlation, Error: r.Error}))
}

func partition(p *kraft.PartitionReply) kraft.PartitionAnswer {
	return kraft.PartitionAnswer{
		Error: p.PartitionError, LeaderID: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HasEndpoint: p.HasEndpoint,
		LeaderEndpoint: p.LeaderEndpoint,
	}
}

func (n *node) reply(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		n.answer(a.Reply, func(r kraft.Response) kraft.Event {
			return &kraft.ReceiveVoteResponse{Response: r, PartitionAnswer: partition(&a.PartitionReply), VoteGranted: a.VoteGranted}
		})
	case *kraft.ReplyBeginQuorumEpoch:
		n.answer(a.Reply, func(r kraft.Response) kraft.Event {
			return &kraft.ReceiveBeginQuorumEpochResponse{Response: r, PartitionAnswer: partition(&a.PartitionReply)}
		})
	case *kraft.ReplyEndQuorumEpoch:
		n.answer(a.Reply, func(r kraft.Response) kraft.Event {
			return &kraft.ReceiveEndQuorumEpochResponse{Response: r, PartitionAnswer: partition(&a.PartitionReply)}
		})
	case *kraft.ReplyFetch:
		n.answerFetch(&a.FetchAnswer)
	case *kraft.ReplyDivergingEpoch:
		n.answerFetch(&a.FetchAnswer)
	case *kraft.ReplyFetchSnapshot:
		n.answerFetchSnapshot(a)
	case *kraft.ReplyUpdateRaftVoter:
		n.answer(a.Reply, func(r kraft.Response) kraft.Event {
			return &kraft.ReceiveUpdateRaftVoterResponse{
				Response: r, LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch, LeaderEndpoint: a.LeaderEndpoint,
			}
		})
	case *kraft.ReplyAddRaftVoter:
		n.outcomes = append(n.outcomes, &kraft.ReplyAddRaftVoter{Reply: a.Reply, Message: a.Message})
		n.answer(a.Reply, func(r kraft.Response) kraft.Event { return &kraft.ReceiveAddRaftVoterResponse{Response: r} })
	case *kraft.ReplyRemoveRaftVoter:
		n.outcomes = append(n.outcomes, &kraft.ReplyRemoveRaftVoter{Reply: a.Reply, Message: a.Message})
		n.answer(a.Reply, func(r kraft.Response) kraft.Event { return &kraft.ReceiveRemoveRaftVoterResponse{Response: r} })
	case *kraft.ReplyDescribeQuorum:
		described := *a
		n.outcomes = append(n.outcomes, &described)
	case *kraft.Refused:
		n.outcomes = append(n.outcomes, &kraft.Refused{Reason: a.Reason})
	case *kraft.Accepted:
		n.outcomes = append(n.outcomes, &kraft.Accepted{LastOffset: a.LastOffset})
	}
}

func (n *node) answerFetch(a *kraft.FetchAnswer) {
	batches := n.log.Batches(a.From, a.UpTo, max(a.MaxBytes, 1))
	if a.From == a.UpTo {
		batches = nil
	}
	n.answer(a.Reply, func(r kraft.Response) kraft.Event {
		return &kraft.ReceiveFetchResponse{
			Response: r, PartitionAnswer: partition(&a.PartitionReply), HighWatermark: a.HighWatermark, LogStart: a.LogStart,
			Diverging: a.Diverging, Snapshot: a.Snapshot, RecordsSize: int32(len(batches)), Batches: batches,
		}
	})
}

func (n *node) answerFetchSnapshot(a *kraft.ReplyFetchSnapshot) {
	c, _ := n.log.Contents(a.ID)
	n.answer(a.Reply, func(r kraft.Response) kraft.Event {
		return &kraft.ReceiveFetchSnapshotResponse{
			Response: r, PartitionAnswer: partition(&a.PartitionReply), SnapshotID: a.ID, Size: a.Size, Position: a.Position,
			Bytes: int32(min(int64(a.MaxBytes), a.Size-a.Position)), Contents: c,
		}
	})
}

package kraft

// What the handlers of responses share. Each handler reports whether the request succeeded: then the node can be asked again at
// once, else it is left alone for the retry backoff.

// responseEvent is one of the events that answer a request of this node.
type responseEvent interface {
	Event
	response() *Response
	handle(m *QuorumStateMachine) (success bool)
}

func (r *Response) response() *Response { return r }

// Head is what all responses begin with, of the event that embeds it.
func (r *Response) Head() *Response { return r }

func (e *ReceiveVoteResponse) handle(m *QuorumStateMachine) bool  { return m.onVoteResponse(e) }
func (e *ReceiveFetchResponse) handle(m *QuorumStateMachine) bool { return m.onFetchResponse(e) }
func (e *ReceiveBeginQuorumEpochResponse) handle(m *QuorumStateMachine) bool {
	return m.onBeginQuorumEpochResponse(e)
}

func (e *ReceiveEndQuorumEpochResponse) handle(m *QuorumStateMachine) bool {
	return m.onEndQuorumEpochResponse(e)
}

func (e *ReceiveFetchSnapshotResponse) handle(m *QuorumStateMachine) bool {
	return m.onFetchSnapshotResponse(e)
}

func (e *ReceiveAPIVersionsResponse) handle(m *QuorumStateMachine) bool {
	return m.onAPIVersionsResponse(e)
}

func (e *ReceiveUpdateRaftVoterResponse) handle(m *QuorumStateMachine) bool {
	return m.onUpdateRaftVoterResponse(e)
}

func (e *ReceiveAddRaftVoterResponse) handle(m *QuorumStateMachine) bool {
	return m.onAddRaftVoterResponse(e)
}

func (e *ReceiveRemoveRaftVoterResponse) handle(m *QuorumStateMachine) bool {
	return m.onRemoveRaftVoterResponse(e)
}
func (e *RequestFailed) handle(m *QuorumStateMachine) bool { return m.onRequestFailed(e) }

// onResponse handles an answer that is still waited for, and settles its connection.
func (m *QuorumStateMachine) onResponse(r *Response, e responseEvent) {
	if m.requests.expects(r.From, r.CorrelationID) {
		m.settle(r, e.handle(m))
	}
}

// onRequestFailed treats a request without an answer as Kafka does: as an answer that has nothing but a top-level error.
func (m *QuorumStateMachine) onRequestFailed(e *RequestFailed) bool {
	switch e.API {
	case VoteAPI:
		return m.onVoteResponse(&ReceiveVoteResponse{Response: e.Response})
	case APIVersionsAPI:
		return m.onAPIVersionsResponse(&ReceiveAPIVersionsResponse{Response: e.Response})
	case UpdateRaftVoterAPI:
		return m.onUpdateRaftVoterResponse(&ReceiveUpdateRaftVoterResponse{
			Response: e.Response, LeaderID: NoNode, LeaderEpoch: -1,
		})
	case AddRaftVoterAPI:
		return m.onAddRaftVoterResponse(&ReceiveAddRaftVoterResponse{Response: e.Response})
	case RemoveRaftVoterAPI:
		return m.onRemoveRaftVoterResponse(&ReceiveRemoveRaftVoterResponse{Response: e.Response})
	case FetchAPI, BeginQuorumEpochAPI, EndQuorumEpochAPI, FetchSnapshotAPI, DescribeQuorumAPI:
	}
	return m.onTopLevelError(e.Error)
}

// onTopLevelError judges the error of a whole response (Kafka: handleTopLevelError).
func (m *QuorumStateMachine) onTopLevelError(err ErrorCode) bool {
	if err == ClusterAuthorizationFailed {
		m.fatal(FatalNotAuthorized)
	}
	return false
}

// knownEndpoints are the leader's endpoints according to an answer: the one that it names, stored under the channel listener, or
// else those of the voter set.
func (m *QuorumStateMachine) knownEndpoints(leader NodeID, named bool, at Address) Endpoints {
	switch {
	case leader < 0:
		return Endpoints{}
	case named:
		return NewEndpoints(Endpoint{Name: m.cfg.Listener, Address: at})
	}
	return m.history.lastVoters().Listeners(leader)
}

// common handles what an answer says about the leader, whatever it answers (Kafka: maybeHandleCommonResponse). First match:
//
//  1. older epoch, or UNKNOWN_LEADER_EPOCH: the answer is stale; that is no failure
//  2. newer epoch, FENCED_LEADER_EPOCH or NOT_LEADER_OR_FOLLOWER: follow the leader that it names
//  3. same epoch, naming a leader where none was known: follow it. With NONE the handler goes on, as a Follower.
//  4. BROKER_NOT_AVAILABLE: a failure
//  5. INVALID_VOTER_KEY: the request was meant for another replica; no failure
//  6. INVALID_REQUEST: ends the process
func (m *QuorumStateMachine) common(a *PartitionAnswer) (handled, success bool) {
	switch {
	case a.LeaderEpoch < m.epoch || a.Error == UnknownLeaderEpoch:
		return true, true
	case a.LeaderEpoch > m.epoch || a.Error == FencedLeaderEpoch || a.Error == NotLeaderOrFollower:
		m.maybeTransition(a.LeaderID, a.LeaderEpoch, m.knownEndpoints(a.LeaderID, a.HasEndpoint, a.LeaderEndpoint))
		return true, true
	case a.LeaderID >= 0 && !m.hasLeader():
		m.becomeFollower(a.LeaderEpoch, a.LeaderID, m.knownEndpoints(a.LeaderID, a.HasEndpoint, a.LeaderEndpoint))
		return a.Error != None, true
	case a.Error == BrokerNotAvailable:
		return true, false
	case a.Error == InvalidVoterKey:
		return true, true
	case a.Error == InvalidRequest:
		m.fatal(FatalInvalidRequest)
		return true, false
	}
	return false, false
}

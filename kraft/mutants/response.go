package mutants

// responseMutants are about answers, whatever they answer.
var responseMutants = []Mutant{
	{
		Name: "stale-answer-backs-off", File: "response.go", Rule: "an answer of an earlier epoch makes the connection back off",
		Old: `		return true, true
	case a.LeaderEpoch > m.epoch`, New: `		return true, false
	case a.LeaderEpoch > m.epoch`,
	},
	{
		Name: "unknown-leader-epoch-judged", File: "response.go", Rule: "UNKNOWN_LEADER_EPOCH is not taken as stale",
		Old: `case a.LeaderEpoch < m.epoch || a.Error == UnknownLeaderEpoch:`, New: `case a.LeaderEpoch < m.epoch:`,
	},
	{
		Name: "not-leader-not-followed", File: "response.go", Rule: "the leader that NOT_LEADER_OR_FOLLOWER names is not followed",
		Old: `|| a.Error == FencedLeaderEpoch || a.Error == NotLeaderOrFollower:`, New: `|| a.Error == FencedLeaderEpoch:`,
	},
	{
		Name: "fenced-not-followed", File: "response.go", Rule: "FENCED_LEADER_EPOCH of the own epoch is judged by the handler",
		Old: `|| a.Error == FencedLeaderEpoch || a.Error == NotLeaderOrFollower:`, New: `|| a.Error == NotLeaderOrFollower:`,
	},
	{
		Name: "leader-in-answer-not-followed", File: "response.go", Rule: "an answer that names an unknown leader of the own epoch does not count",
		Old: `case a.LeaderID >= 0 && !m.hasLeader():`, New: `case false:`,
	},
	{
		Name: "handler-goes-on-never", File: "response.go", Rule: "an answer that names the leader is not used any further",
		Old: `return a.Error != None, true`, New: `return true, true`,
	},
	{
		Name: "unavailable-is-no-failure", File: "response.go", Rule: "BROKER_NOT_AVAILABLE does not make the connection back off",
		Old: `	case a.Error == BrokerNotAvailable:
		return true, false
`, New: `	case a.Error == BrokerNotAvailable:
		return true, true
`,
	},
	{
		Name: "wrong-voter-key-is-failure", File: "response.go", Rule: "INVALID_VOTER_KEY makes the connection back off",
		Old: `	case a.Error == InvalidVoterKey:
		return true, true
`, New: `	case a.Error == InvalidVoterKey:
		return true, false
`,
	},
	{
		Name: "invalid-request-survived", File: "response.go", Rule: "INVALID_REQUEST does not end the process",
		Old: `		m.fatal(FatalInvalidRequest)
`, New: ``,
	},
	{
		Name: "authorization-survived", File: "response.go", Rule: "CLUSTER_AUTHORIZATION_FAILED does not end the process",
		Old: `if err == ClusterAuthorizationFailed {`, New: `if false {`,
	},
	{
		Name: "top-level-error-is-success", File: "response.go", Rule: "a top-level error does not make the connection back off",
		Old: `		m.fatal(FatalNotAuthorized)
	}
	return false
`, New: `		m.fatal(FatalNotAuthorized)
	}
	return true
`,
	},
	{
		Name: "named-endpoint-ignored", File: "response.go", Rule: "the endpoint that an answer names is not used",
		Old: `case named:`, New: `case named && false:`,
	},
	{
		Name: "voter-set-endpoint-first", File: "response.go", Rule: "the endpoints of the voter set count more than the one in an answer",
		Old: `case named:`, New: `case named && m.history.lastVoters().Find(leader) == nil:`,
	},
	{
		Name: "late-answer-accepted", File: "response.go", Rule: "any answer of a node that is asked something counts",
		Old: `if m.requests.expects(r.From, r.CorrelationID) {`, New: `if i := m.requests.index(r.From); i >= 0 && !m.requests.connections[i].BackingOff {`,
	},
	{
		Name: "answer-after-reset-accepted", File: "response.go", Rule: "every answer counts, waited for or not",
		Old: `if m.requests.expects(r.From, r.CorrelationID) {`, New: `if true {`,
	},
	{
		Name: "failed-update-backs-off", File: "response.go", Rule: "an UpdateRaftVoter without answer makes the connection back off",
		Old: `Response: e.Response, LeaderID: NoNode, LeaderEpoch: -1,`, New: `Response: e.Response, LeaderID: NoNode, LeaderEpoch: m.epoch,`,
	},
	{
		Name: "begin-error-is-success", File: "begin.go", Rule: "a BeginQuorumEpoch answer with an error counts as an acknowledgement",
		Old: `	if e.PartitionAnswer.Error != None {
		return false
	}
`, New: ``,
	},
	{
		Name: "end-error-is-success", File: "end.go", Rule: "an EndQuorumEpoch answer with an error counts as an acknowledgement",
		Old: `	if e.PartitionAnswer.Error != None {
		return false
	}
`, New: ``,
	},
	{
		Name: "end-acknowledgement-forgotten", File: "end.go", Rule: "a voter that has acknowledged EndQuorumEpoch is told again",
		Old: `	m.resigned.acknowledge(e.From)
`, New: ``,
	},
	{
		Name: "answer-in-wrong-role-survived", File: "end.go", Rule: "an EndQuorumEpoch answer to a node that is not Resigned is ignored",
		Equivalent: "only a Resigned sends EndQuorumEpoch (actResigned), every way out of that role resets the connections, and an answer that is not waited for reaches no handler (onResponse)",
		Old: `		m.fatal(FatalUnexpectedRole)
`, New: ``,
	},
	{
		Name: "wrong-partition-is-success", File: "fetch_response.go", Rule: "a Fetch answer about another partition does not make the connection back off",
		Old: `	if e.WrongPartition {
		return false
	}
`, New: `	if e.WrongPartition {
		return true
	}
`,
	},
}

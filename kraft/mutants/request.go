package mutants

// requestMutants are about what the handlers of requests check, and in which order.
var requestMutants = []Mutant{
	{
		Name: "cluster-id-required", File: "request.go", Rule: "a request without cluster id is refused",
		Old: `return !id.Present || id.Value == m.cfg.ClusterID`, New: `return id.Value == m.cfg.ClusterID`,
	},
	{
		Name: "cluster-id-unchecked", File: "request.go", Rule: "a request of another cluster is served",
		Old: `return !id.Present || id.Value == m.cfg.ClusterID`, New: `return true`,
	},
	{
		Name: "partition-before-cluster", File: "request.go", Rule: "the partition is looked at before the cluster id",
		Old: `	case !m.clusterIDMatches(r.ClusterID):
		return InconsistentClusterID
	case r.WrongPartition:
		return InvalidRequest
`, New: `	case r.WrongPartition:
		return InvalidRequest
	case !m.clusterIDMatches(r.ClusterID):
		return InconsistentClusterID
`,
	},
	{
		Name: "partition-unchecked", File: "request.go", Rule: "a request for another partition is served",
		Old: `	case r.WrongPartition:
		return InvalidRequest
`, New: ``,
	},
	{
		Name: "sender-before-epoch", File: "request.go", Rule: "a negative sender is refused before the epoch is fenced",
		Old: `	case epoch < m.epoch:
		return FencedLeaderEpoch
	case sender < 0:
		return InvalidRequest
`, New: `	case sender < 0:
		return InvalidRequest
	case epoch < m.epoch:
		return FencedLeaderEpoch
`,
	},
	{
		Name: "sender-unchecked", File: "request.go", Rule: "a request among voters may have no sender",
		Old: `	case sender < 0:
		return InvalidRequest
`, New: ``,
	},
	{
		Name: "voter-epoch-unfenced", File: "request.go", Rule: "a request among voters of an earlier epoch is served",
		Old: `	case epoch < m.epoch:
		return FencedLeaderEpoch
	case sender < 0:
`, New: `	case sender < 0:
`,
	},
	{
		Name: "leadership-before-epoch", File: "request.go", Rule: "whether the node leads is looked at before the epoch",
		Old: `	case epoch < m.epoch:
		return FencedLeaderEpoch
	case epoch > m.epoch:
		return UnknownLeaderEpoch
	case m.kind != LeaderRole:
		return NotLeaderOrFollower
`, New: `	case m.kind != LeaderRole:
		return NotLeaderOrFollower
	case epoch < m.epoch:
		return FencedLeaderEpoch
	case epoch > m.epoch:
		return UnknownLeaderEpoch
`,
	},
	{
		Name: "later-epoch-fenced", File: "request.go", Rule: "a request of a later epoch is answered FENCED_LEADER_EPOCH",
		Old: `return UnknownLeaderEpoch`, New: `return FencedLeaderEpoch`,
	},
	{
		Name: "leader-serves-in-shutdown", File: "request.go", Rule: "a leader that shuts down serves requests",
		Old: `	case m.shutdown:
		return BrokerNotAvailable
`, New: ``,
	},
	{
		Name: "directory-required", File: "request.go", Rule: "a request that names the voter by id alone is meant for somebody else",
		Old: `return directory.IsZero() || directory == m.cfg.DirectoryID`, New: `return directory == m.cfg.DirectoryID`,
	},
	{
		Name: "directory-unchecked", File: "request.go", Rule: "a request for another directory id of the voter is served",
		Old: `return directory.IsZero() || directory == m.cfg.DirectoryID`, New: `return true`,
	},
	{
		Name: "voter-id-required", File: "request.go", Rule: "a request that names no voter is meant for somebody else",
		Old: `	case id < 0:
		return true
`, New: ``,
	},
	{
		Name: "given-endpoints-ignored", File: "request.go", Rule: "the endpoints that a leader announces do not count",
		Old: `if given.Len() > 0 {`, New: `if false {`,
	},
	{
		Name: "endpoints-must-be-given", File: "request.go", Rule: "the endpoints of the voter set do not stand in for announced ones",
		Old: `	return m.history.lastVoters().Listeners(leader)
`, New: `	return given
`,
	},
	{
		Name: "answer-names-leader-of-channel", File: "request.go", Rule: "an answer names the leader's endpoint of the channel listener, not of the request's",
		Old: `m.leaderEndpoints().Address(listener)`, New: `m.leaderEndpoints().Address(m.cfg.Listener)`,
	},
	{
		Name: "inconsistent-leader-ignored", File: "request.go", Rule: "another leader for the same epoch does not end the process",
		Old: `		m.fatal(FatalInconsistentLeader)
`, New: ``,
	},
	{
		Name: "own-name-from-outside", File: "request.go", Rule: "a node that does not lead may be told that it does",
		Old: `return m.kind == LeaderRole
`, New: `return true
`,
	},
	{
		Name: "resigned-still-consistent", File: "request.go", Rule: "a Resigned may be told that it leads",
		Old: `return m.kind == LeaderRole
`, New: `return m.kind == LeaderRole || m.kind == ResignedRole
`,
	},
	{
		Name: "repeated-announcement-followed", File: "request.go", Rule: "as many endpoints as known are followed as if they were more",
		Old: `endpoints.Len() > m.leaderEndpoints().Len()`, New: `endpoints.Len() >= m.leaderEndpoints().Len()`,
	},
	{
		Name: "more-endpoints-ignored", File: "request.go", Rule: "more endpoints of the known leader are ignored",
		Old: `(!m.hasLeader() || endpoints.Len() > m.leaderEndpoints().Len())`, New: `!m.hasLeader()`,
	},
	{
		Name: "higher-epoch-needs-leader", File: "request.go", Rule: "a higher epoch without leader is not taken over",
		Old: `		m.becomeUnattached(epoch, NoNode)
`, New: ``,
	},
	{
		Name: "begin-key-first", File: "begin.go", Rule: "BeginQuorumEpoch for another replica does not count",
		Old: `		m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
		if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
			err = InvalidVoterKey
		}
`, New: `		if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
			err = InvalidVoterKey
		} else {
			m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
		}
`,
	},
	{
		Name: "begin-key-unchecked", File: "begin.go", Rule: "BeginQuorumEpoch for another replica is answered NONE",
		Old: `if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {`, New: `if false {`,
	},
	{
		Name: "begin-does-not-convince", File: "begin.go", Rule: "BeginQuorumEpoch makes nobody a follower",
		Old: `		m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
`, New: ``,
	},
	{
		Name: "begin-is-a-sign-of-life", File: "begin.go", Rule: "a repeated BeginQuorumEpoch starts the fetch timer anew",
		Old: `		if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
`, New: `		if m.kind == FollowerRole {
			m.resetKind(FetchTimer, m.cfg.Timeouts.FetchMs)
		}
		if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
`,
	},
	{
		Name: "end-does-not-inform", File: "end.go", Rule: "EndQuorumEpoch makes nobody a follower of the leader that it names",
		Old: `		m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
`, New: ``,
	},
	{
		Name: "end-does-not-hurry", File: "end.go", Rule: "EndQuorumEpoch does not change the fetch timer",
		Old: `	m.resetKind(FetchTimer, backoff)
`, New: ``,
	},
	{
		Name: "end-forgets-leader", File: "end.go", Rule: "after EndQuorumEpoch a follower grants PreVotes",
		Old: `	m.resetKind(FetchTimer, backoff)
`, New: `	m.resetKind(FetchTimer, backoff)
	m.follower.FetchedFromLeader = false
`,
	},
	{
		Name: "end-rank-without-directory", File: "end.go", Rule: "a successor is listed by its id alone",
		Old: `rankAmong(successors, m.selfKey())`, New: `rankAmong(successors, ReplicaKey{ID: m.cfg.ID})`,
	},
	{
		Name: "end-rank-by-id", File: "successors.go", Rule: "a successor with another directory id is the same",
		Old: `if matches(s, self) {`, New: `if s.ID == self.ID {`,
	},
	{
		Name: "first-successor-waits", File: "successors.go", Rule: "the first successor waits as well",
		Old: `	case r.Position == 0:
		return 0
`, New: `	case r.Position == 0:
		return maxMs >> (uint(r.Successors) & 31)
`,
	},
	{
		Name: "unlisted-does-not-wait", File: "successors.go", Rule: "a node that is no successor does not wait",
		Old: `		return maxMs
`, New: `		return 0
`,
	},
	{
		Name: "successor-backoff-linear", File: "successors.go", Rule: "successors wait linearly longer",
		Old: `base<<(uint(r.Position-1)&31)`, New: `base*int32(r.Position)`,
	},
	{
		Name: "successor-backoff-halved", File: "successors.go", Rule: "successors wait half as long",
		Old: `base := maxMs >> (uint(r.Successors-1) & 31)`, New: `base := maxMs >> (uint(r.Successors) & 31)`,
	},
}

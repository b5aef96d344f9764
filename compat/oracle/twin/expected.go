package twin

import (
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// What a run should reach. Each entry that no schedule can reach has its reason in unreachable.
var (
	roles  = []kraft.RoleKind{kraft.UnattachedRole, kraft.ProspectiveRole, kraft.CandidateRole, kraft.LeaderRole, kraft.FollowerRole, kraft.ResignedRole}
	events = strings.Fields(`ReceiveVoteRequest ReceivePreVoteRequest ReceiveBeginQuorumEpoch ReceiveEndQuorumEpoch ReceiveFetch ReceiveFetchSnapshot
		ReceiveDescribeQuorum ReceiveAddRaftVoter ReceiveRemoveRaftVoter ReceiveUpdateRaftVoter ReceiveVoteResponse
		ReceiveBeginQuorumEpochResponse ReceiveEndQuorumEpochResponse ReceiveFetchResponse ReceiveFetchSnapshotResponse
		ReceiveAPIVersionsResponse ReceiveUpdateRaftVoterResponse ReceiveAddRaftVoterResponse ReceiveRemoveRaftVoterResponse
		AppendRequested ScheduleAppend SnapshotCreated ParkedExpired Resign Shutdown UpgradeKRaftVersion`)

	// answers lists the errors that each request can be answered with (reference: Kafka's handlers, in their order of checks).
	answers = map[string]string{
		"ReplyVote":             "NONE INCONSISTENT_CLUSTER_ID INVALID_REQUEST FENCED_LEADER_EPOCH INVALID_VOTER_KEY",
		"ReplyBeginQuorumEpoch": "NONE INCONSISTENT_CLUSTER_ID INVALID_REQUEST FENCED_LEADER_EPOCH INVALID_VOTER_KEY",
		"ReplyEndQuorumEpoch":   "NONE INCONSISTENT_CLUSTER_ID INVALID_REQUEST FENCED_LEADER_EPOCH",
		"ReplyFetch": "NONE INCONSISTENT_CLUSTER_ID INVALID_REQUEST FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH NOT_LEADER_OR_FOLLOWER " +
			"UNKNOWN_SERVER_ERROR snapshot",
		"ReplyFetchSnapshot": "NONE INCONSISTENT_CLUSTER_ID INVALID_REQUEST UNKNOWN_TOPIC_OR_PARTITION FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH " +
			"NOT_LEADER_OR_FOLLOWER SNAPSHOT_NOT_FOUND POSITION_OUT_OF_RANGE",
		"ReplyDescribeQuorum":  "NONE UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER",
		"ReplyAddRaftVoter":    "NONE INCONSISTENT_CLUSTER_ID NOT_LEADER_OR_FOLLOWER INVALID_REQUEST REQUEST_TIMED_OUT UNSUPPORTED_VERSION DUPLICATE_VOTER",
		"ReplyRemoveRaftVoter": "NONE INCONSISTENT_CLUSTER_ID NOT_LEADER_OR_FOLLOWER INVALID_REQUEST REQUEST_TIMED_OUT UNSUPPORTED_VERSION VOTER_NOT_FOUND",
		"ReplyUpdateRaftVoter": "NONE INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH NOT_LEADER_OR_FOLLOWER INVALID_REQUEST " +
			"REQUEST_TIMED_OUT VOTER_NOT_FOUND",
	}
	outputs = strings.Fields(`TransitionedTo PersistQuorumState AssignEpoch ResetTimer CancelTimer ChooseBootstrap AppendLeaderChange AppendControl AppendRecords
		AppendFetched FlushLog TruncateTo AdvanceHighWatermark BeginSnapshotFetch AppendSnapshot AbandonSnapshotFetch InstallSnapshot Park Accepted Refused
		ShutdownDone Fatal SendVoteRequest SendBeginQuorumEpoch SendEndQuorumEpoch SendFetch SendFetchSnapshot SendAPIVersions SendUpdateVoter
		ReplyDivergingEpoch`)
	autoJoin = strings.Fields("SendAddRaftVoter SendRemoveRaftVoter")
)

// unreachable gives the reason why a cell cannot be visited.
func unreachable(cell string, p *compat.Profile) string {
	if !p.Rules.AutoJoin && (strings.Contains(cell, "AddRaftVoterResponse") || strings.Contains(cell, "RemoveRaftVoterResponse")) {
		return "the release never sends the request"
	}
	if !p.Rules.UpgradeKRaftVersion && strings.HasSuffix(cell, "UpgradeKRaftVersion") {
		return "the release has no such call"
	}
	switch cell {
	case "Follower × ParkedExpired", "Resigned × ParkedExpired":
		return "the way into the role answers all parked requests"
	case "Fatal contradictory-vote":
		return "a voter that has answered is not asked again in the epoch, and an answer that nobody waits for is dropped"
	case "Fatal local-end-offset":
		return "the log of a leader is never truncated"
	case "Fatal replica-key":
		return "the entry of a voter is looked up by its directory id, unless it has none yet"
	case "Fatal response-in-role":
		return "only a Follower sends the request, and every change of role forgets the requests in flight"
	case "Fatal voter-change":
		return "voters change one at a time, and what a change needs was checked when it was asked for"
	case "Fatal corrupt-records":
		if p.Rules.DropNewerEpochBatches {
			return "the release drops corrupt records"
		}
	case "Fatal snapshot-request":
		if p.Rules.FetchSnapshotStrictShape {
			return "the release refuses the request"
		}
	}
	return ""
}

// Unvisited lists what no schedule has reached and could.
func (c *Coverage) Unvisited(p *compat.Profile) []string {
	var list []string
	note := func(count int64, cell string) {
		if count == 0 && unreachable(cell, p) == "" {
			list = append(list, cell)
		}
	}
	for _, r := range roles {
		for _, e := range events {
			cell := r.String() + " × " + e
			note(c.Cells[cell], cell)
		}
	}
	for reply, codes := range answers {
		for _, code := range strings.Fields(codes) {
			note(c.Errors[reply+" "+code], reply+" "+code)
		}
	}
	for _, a := range outputs {
		note(c.Actions[a], a)
	}
	if p.Rules.AutoJoin {
		for _, a := range autoJoin {
			note(c.Actions[a], a)
		}
	}
	for _, reason := range kraft.FatalReasons() {
		note(c.Fatals[reason.String()], "Fatal "+reason.String())
	}
	slices.Sort(list)
	return list
}

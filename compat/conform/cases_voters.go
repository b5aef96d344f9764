package conform

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

func dynamic(t *Target) string {
	if t.KRaftVersion < 1 {
		return "the quorum is static (kraft.version 0)"
	}
	return ""
}

func static(t *Target) string {
	if t.KRaftVersion > 0 {
		return "the quorum is dynamic (kraft.version 1)"
	}
	return ""
}

// addVoterCases ask for voters that a leader must refuse.
func addVoterCases(p compat.Profile) []Case {
	const (
		source  = "KIP-853; Kafka: KafkaRaftClient.handleAddVoterRequest, AddVoterHandler"
		refused = "throttleTimeMs=0 errorMessage=some errorCode="
	)
	return eachVersion(p, kraft.AddRaftVoterAPI, "add-raft-voter", source, []rule{
		{name: "refuses-other-cluster", says: "another cluster id is refused", ask: otherCluster, want: []string{refused + "INCONSISTENT_CLUSTER_ID"}},
		{name: "only-the-leader-adds", says: "a follower adds no voter", role: Follower, want: []string{"throttleTimeMs=0 errorCode=NOT_LEADER_OR_FOLLOWER"}},
		{name: "leadership-before-key", says: "leadership is checked before the voter's key", role: Follower, ask: "voterId=-1", want: []string{"throttleTimeMs=0 errorCode=NOT_LEADER_OR_FOLLOWER"}},
		{name: "negative-voter", says: "a voter id below 0 is invalid", role: Leader, ask: "voterId=-1", want: []string{refused + "INVALID_REQUEST"}},
		{name: "voter-without-directory", says: "a voter without directory id is invalid", role: Leader, ask: "voterDirectoryId=zero", want: []string{refused + "INVALID_REQUEST"}},
		{name: "no-listener", says: "a voter without the controllers' listener is invalid", role: Leader, ask: "listeners.len=0", want: []string{refused + "INVALID_REQUEST"}},
		{name: "other-listener", says: "a voter with other listeners only is invalid", role: Leader, ask: "listeners[0].name=ELSEWHERE", want: []string{refused + "INVALID_REQUEST"}},
		{name: "not-in-a-static-quorum", says: "a static quorum takes no voters", role: Leader, needs: static, want: []string{refused + "UNSUPPORTED_VERSION"}},
		{
			name: "voter-that-is-one", says: "the id of a voter cannot be added again, whatever its directory id", role: Leader, needs: dynamic,
			ask: "voterId=$leader", want: []string{refused + "DUPLICATE_VOTER"},
		},
	})
}

// removeVoterCases ask to remove voters that are none.
func removeVoterCases(p compat.Profile) []Case {
	const (
		source  = "KIP-853; Kafka: KafkaRaftClient.handleRemoveVoterRequest, RemoveVoterHandler"
		refused = "throttleTimeMs=0 errorMessage=some errorCode="
	)
	return eachVersion(p, kraft.RemoveRaftVoterAPI, "remove-raft-voter", source, []rule{
		{name: "refuses-other-cluster", says: "another cluster id is refused", ask: otherCluster, want: []string{refused + "INCONSISTENT_CLUSTER_ID"}},
		{name: "only-the-leader-removes", says: "a follower removes no voter", role: Follower, want: []string{"throttleTimeMs=0 errorCode=NOT_LEADER_OR_FOLLOWER"}},
		{name: "leadership-before-key", says: "leadership is checked before the voter's key", role: Follower, ask: "voterId=-1", want: []string{"throttleTimeMs=0 errorCode=NOT_LEADER_OR_FOLLOWER"}},
		{name: "negative-voter", says: "a voter id below 0 is invalid", role: Leader, ask: "voterId=-1", want: []string{refused + "INVALID_REQUEST"}},
		{name: "voter-without-directory", says: "a voter without directory id is invalid", role: Leader, ask: "voterDirectoryId=zero", want: []string{refused + "INVALID_REQUEST"}},
		{name: "not-in-a-static-quorum", says: "a static quorum loses no voters", role: Leader, needs: static, want: []string{refused + "UNSUPPORTED_VERSION"}},
		{name: "voter-that-is-none", says: "who is no voter cannot be removed", role: Leader, needs: dynamic, want: []string{refused + "VOTER_NOT_FOUND"}},
		{name: "voter-of-another-directory", says: "a voter is removed by its whole key", role: Leader, needs: dynamic, ask: "voterId=$leader", want: []string{refused + "VOTER_NOT_FOUND"}},
	})
}

// updateVoterCases describe voters that a leader must refuse.
func updateVoterCases(p compat.Profile) []Case {
	const (
		source  = "KIP-853; Kafka: KafkaRaftClient.handleUpdateVoterRequest, UpdateVoterHandler"
		now     = "currentLeaderEpoch=$epoch"
		refused = "throttleTimeMs=0 currentLeader.leaderId=$leader currentLeader.leaderEpoch=$epoch errorCode="
	)
	rows := []rule{
		{name: "refuses-other-cluster", says: "another cluster id is refused", ask: now + " " + otherCluster, want: []string{refused + "INCONSISTENT_CLUSTER_ID"}},
		{name: "fences-an-older-epoch", says: "an older epoch is fenced", ask: "currentLeaderEpoch=$oldEpoch", want: []string{refused + "FENCED_LEADER_EPOCH"}},
		{name: "newer-epoch-is-unknown", says: "a newer epoch is refused, and moves no epoch", ask: "currentLeaderEpoch=$epoch+1", want: []string{refused + "UNKNOWN_LEADER_EPOCH"}, again: true},
		{name: "only-the-leader-updates", says: "a follower updates no voter", role: Follower, ask: now, want: []string{refused + "NOT_LEADER_OR_FOLLOWER"}},
		{
			name: "names-the-endpoint", says: "a refusal says where the leader is for the listener", ask: "currentLeaderEpoch=0",
			want: []string{refused + "FENCED_LEADER_EPOCH currentLeader.host=$leaderHost currentLeader.port=$leaderPort"},
		},
		{name: "negative-voter", says: "a voter id below 0 is invalid", role: Leader, ask: now + " voterId=-1", want: []string{refused + "INVALID_REQUEST"}},
		{name: "voter-without-directory", says: "a voter without directory id is invalid", role: Leader, ask: now + " voterDirectoryId=zero", want: []string{refused + "INVALID_REQUEST"}},
		{name: "no-listener", says: "a voter without the controllers' listener is invalid", role: Leader, ask: now + " listeners.len=0", want: []string{refused + "INVALID_REQUEST"}},
		{name: "range-upside-down", says: "a range of kraft.version that ends before it starts is invalid", role: Leader, ask: now + " kraftVersionFeature.minSupportedVersion=1 kraftVersionFeature.maxSupportedVersion=0", want: []string{refused + "INVALID_REQUEST"}},
		{name: "negative-range", says: "a range of kraft.version below 0 is invalid", role: Leader, ask: now + " kraftVersionFeature.minSupportedVersion=-1", want: []string{refused + "INVALID_REQUEST"}},
		{name: "voter-that-is-none", says: "who is no voter cannot be updated", role: Leader, needs: dynamic, ask: now, want: []string{refused + "VOTER_NOT_FOUND"}},
		{name: "voter-of-another-directory", says: "a voter is updated by its whole key", role: Leader, needs: dynamic, ask: now + " voterId=$leader", want: []string{refused + "VOTER_NOT_FOUND"}},
		{
			name: "range-without-the-level-in-force", says: "a voter that does not support the kraft.version in force is invalid", role: Leader, needs: dynamic,
			ask: now + " kraftVersionFeature.maxSupportedVersion=0", want: []string{refused + "INVALID_REQUEST"},
		},
	}
	static0 := rule{name: "not-in-a-static-quorum", says: "a static quorum updates no voters", level: Quirk, quirk: "upgrade-kraft-version", role: Leader, needs: static, ask: now, want: []string{refused + "UNSUPPORTED_VERSION"}}
	if p.Rules.UpgradeKRaftVersion {
		static0.name, static0.says = "stranger-in-a-static-quorum", "who is no voter of a static quorum cannot be updated"
		static0.want = []string{refused + "VOTER_NOT_FOUND"}
	}
	return eachVersion(p, kraft.UpdateRaftVoterAPI, "update-raft-voter", source, append(rows, static0))
}

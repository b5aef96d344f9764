package conform

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// beginCases announce leaders that a node must refuse, or the one that it has.
func beginCases(p compat.Profile) []Case {
	const (
		old    = "p.leaderEpoch=$oldEpoch"
		now    = "p.leaderEpoch=$epoch p.leaderId=$leader"
		about  = one + known
		fenced = about + "p.errorCode=FENCED_LEADER_EPOCH"
		source = "KIP-595, KIP-853; Kafka: KafkaRaftClient.handleBeginQuorumEpochRequest"
	)
	rows := []rule{
		{name: "fences-an-older-epoch", says: "a leader of an older epoch is fenced", ask: old + " " + ownCluster, want: []string{fenced}},
		{name: "names-the-leader", says: "a refusal tells the leader, its epoch and its endpoint for the listener", from: 1, ask: old, want: []string{fenced + " " + endpoints}},
		{name: "refuses-other-cluster", says: "another cluster id is refused as a whole", ask: old + " " + otherCluster, want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "cluster-id-before-shape", says: "the cluster id is checked before the shape", ask: old + " " + otherCluster + " topics.len=0", want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "negative-leader", says: "a leader below 0 is invalid", ask: "p.leaderEpoch=$epoch p.leaderId=-1", want: []string{about + "p.errorCode=INVALID_REQUEST"}},
		{name: "fencing-before-leader", says: "an older epoch is fenced before the leader's id is looked at", ask: old + " p.leaderId=-1", want: []string{fenced}},
		{name: "fencing-is-repeatable", says: "a fenced leader leaves no trace", ask: old, want: []string{fenced}, again: true},
		{
			name: "fencing-before-voter-key", says: "an older epoch is fenced before the voter key is looked at", from: 1,
			ask: old + " voterId=2000000002", want: []string{fenced},
		},
		{
			name: "known-leader-again", says: "the leader that a follower has may announce itself again", role: Follower,
			ask: now, want: []string{about + "p.errorCode=NONE"}, again: true,
		},
		{
			name: "voter-of-another-id", says: "an announcement meant for another voter is refused", role: Follower, from: 1,
			ask: now + " voterId=2000000002", want: []string{about + "p.errorCode=INVALID_VOTER_KEY", one + untold + "p.errorCode=INVALID_VOTER_KEY"},
		},
		{
			name: "voter-of-another-directory", says: "an announcement meant for another directory id is refused", role: Follower, from: 1,
			ask: now + " voterId=$node p.voterDirectoryId=strange", want: []string{about + "p.errorCode=INVALID_VOTER_KEY", one + untold + "p.errorCode=INVALID_VOTER_KEY"},
		},
		{name: "voter-without-directory", says: "the voter's id alone is enough", role: Follower, from: 1, ask: now + " voterId=$node", want: []string{about + "p.errorCode=NONE"}},
		{
			name: "voter-with-its-directory", says: "the voter's own key passes", role: Follower, from: 1,
			ask: now + " voterId=$node p.voterDirectoryId=$directory", want: []string{about + "p.errorCode=NONE"},
		},
	}
	rows = append(rows, refusedShapes("topics[0].topicName=other", old, refusedWhole+"INVALID_REQUEST")...)
	return eachVersion(p, kraft.BeginQuorumEpochAPI, "begin-quorum-epoch", source, rows)
}

// endCases resign in the name of leaders whose resignation a node must refuse.
func endCases(p compat.Profile) []Case {
	const (
		old    = "p.leaderEpoch=$oldEpoch"
		about  = one + known
		fenced = about + "p.errorCode=FENCED_LEADER_EPOCH"
		source = "KIP-595, KIP-853; Kafka: KafkaRaftClient.handleEndQuorumEpochRequest"
	)
	rows := []rule{
		{name: "fences-an-older-epoch", says: "a resignation of an older epoch is fenced", ask: old + " " + ownCluster, want: []string{fenced}},
		{name: "names-the-leader", says: "a refusal tells the leader, its epoch and its endpoint for the listener", from: 1, ask: old, want: []string{fenced + " " + endpoints}},
		{name: "refuses-other-cluster", says: "another cluster id is refused as a whole", ask: old + " " + otherCluster, want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "cluster-id-before-shape", says: "the cluster id is checked before the shape", ask: old + " " + otherCluster + " topics.len=0", want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "negative-leader", says: "a leader below 0 is invalid", ask: "p.leaderEpoch=$epoch p.leaderId=-1", want: []string{about + "p.errorCode=INVALID_REQUEST"}},
		{name: "fencing-before-leader", says: "an older epoch is fenced before the leader's id is looked at", ask: old + " p.leaderId=-1", want: []string{fenced}},
		{name: "fencing-is-repeatable", says: "a fenced resignation leaves no trace", ask: old, want: []string{fenced}, again: true},
		{name: "successors-do-not-matter-when-fenced", says: "a fenced resignation is not read for its successors", ask: old + " p.preferredSuccessors.len=2 p.preferredSuccessors[0]=$leader p.preferredSuccessors[1]=7", want: []string{fenced}},
	}
	rows = append(rows, refusedShapes("topics[0].topicName=other", old, refusedWhole+"INVALID_REQUEST")...)
	return eachVersion(p, kraft.EndQuorumEpochAPI, "end-quorum-epoch", source, rows)
}

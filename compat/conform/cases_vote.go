package conform

import (
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

const (
	// one is the frame of an answer about the metadata partition.
	one = "errorCode=NONE topics.len=1 topics[0].topicName=__cluster_metadata topics[0].partitions.len=1 p.partitionIndex=0 "
	// known is what every such answer tells of the quorum.
	known = "p.leaderId=$leader p.leaderEpoch=$epoch "
	// untold is what one may hear instead who speaks in the leader's own name, and shows that it does not lead: an answer that says so ends
	// nodes of Kafka (KafkaRaftClient.maybeTransition), though Kafka's own nodes give it.
	untold = "p.leaderId=-1 p.leaderEpoch=$epoch "
	// endpoints say where the leader is, from v1 on.
	endpoints = "v1+:nodeEndpoints.len=1 v1+:nodeEndpoints[0].nodeId=$leader " +
		"v1+:nodeEndpoints[0].host=$leaderHost v1+:nodeEndpoints[0].port=$leaderPort "
	// refusedWhole is an answer that is nothing but an error.
	refusedWhole = "topics.len=0 v1+:nodeEndpoints.len=0 errorCode="

	otherCluster = "clusterId=not-this-cluster"
	ownCluster   = "clusterId=$cluster"
)

// voteCases ask for votes that are not granted: in the current epoch and for an older log, so that a node without a
// leader does not grant them either.
func voteCases(p compat.Profile) []Case {
	const (
		now    = "p.replicaEpoch=$epoch"
		not    = one + known + "p.voteGranted=false "
		denied = not + "p.errorCode=NONE"
		source = "KIP-595, KIP-853, KIP-996; Kafka: KafkaRaftClient.handleVoteRequest"
	)
	rows := []rule{
		{name: "not-granted-below-a-leader", says: "a node that leads, or has a leader, grants no standard vote in that epoch", ask: now + " " + ownCluster, want: []string{denied}},
		{name: "names-the-leader", says: "a refusal tells the leader, its epoch and, from v1 on, its endpoint for the listener", ask: now, want: []string{denied + " v0-:nodeEndpoints.len=0 " + endpoints}},
		{name: "null-cluster-id-passes", says: "a request without cluster id is not checked for it", ask: now + " clusterId=null", want: []string{denied}},
		{name: "refuses-other-cluster", says: "another cluster id is refused as a whole", ask: now + " " + otherCluster, want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "cluster-id-before-shape", says: "the cluster id is checked before the shape", ask: now + " " + otherCluster + " topics.len=0", want: []string{refusedWhole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "negative-last-offset", says: "a log end below 0 is invalid", ask: now + " p.lastOffset=-1", want: []string{not + "p.errorCode=INVALID_REQUEST"}},
		{name: "negative-last-offset-epoch", says: "a log epoch below 0 is invalid", ask: now + " p.lastOffsetEpoch=-1", want: []string{not + "p.errorCode=INVALID_REQUEST"}},
		{
			name: "log-epoch-of-a-standard-vote", says: "the log of a candidate ends in an older epoch than the one it stands for",
			ask: now + " p.lastOffsetEpoch=$epoch", want: []string{not + "p.errorCode=INVALID_REQUEST"},
		},
		{name: "log-epoch-above-the-candidates", says: "a log epoch above the candidate's own is invalid", ask: now + " p.lastOffsetEpoch=$epoch+1", want: []string{not + "p.errorCode=INVALID_REQUEST"}},
		{name: "fences-an-older-epoch", says: "an older epoch is fenced", ask: "p.replicaEpoch=$oldVoteEpoch", want: []string{not + "p.errorCode=FENCED_LEADER_EPOCH"}},
		{
			name: "log-epoch-before-fencing", says: "the log position is checked before the epoch is fenced",
			ask: "p.replicaEpoch=$oldVoteEpoch p.lastOffsetEpoch=$epoch", want: []string{not + "p.errorCode=INVALID_REQUEST"},
		},
		{name: "negative-candidate", says: "a candidate below 0 is invalid", ask: now + " p.replicaId=-1", want: []string{not + "p.errorCode=INVALID_REQUEST"}},
		{name: "fencing-before-candidate", says: "an older epoch is fenced before the candidate's id is looked at", ask: "p.replicaEpoch=$oldVoteEpoch p.replicaId=-1", want: []string{not + "p.errorCode=FENCED_LEADER_EPOCH"}},
		{name: "leader-as-candidate", says: "the leader of an epoch gets no vote of it either", ask: now + " p.replicaId=$leader", want: []string{denied, strings.Replace(denied, known, untold, 1)}},
		{name: "asking-twice-changes-nothing", says: "a refused vote leaves no trace: the second answer is the first", ask: now, want: []string{denied}, again: true},
		{
			name: "voter-of-another-id", says: "a vote meant for another voter is refused", from: 1, ask: now + " voterId=2000000002",
			want: []string{not + "p.errorCode=INVALID_VOTER_KEY"},
		},
		{
			name: "voter-of-another-directory", says: "a vote meant for another directory id of the voter is refused", from: 1,
			ask: now + " voterId=$node p.voterDirectoryId=strange", want: []string{not + "p.errorCode=INVALID_VOTER_KEY"},
		},
		{name: "voter-without-directory", says: "the voter's id alone is enough", from: 1, ask: now + " voterId=$node", want: []string{denied}},
		{name: "voter-with-its-directory", says: "the voter's own key passes", from: 1, ask: now + " voterId=$node p.voterDirectoryId=$directory", want: []string{denied}},
		{name: "directory-without-voter", says: "a directory id without a voter id is not checked", from: 1, ask: now + " p.voterDirectoryId=strange", want: []string{denied}},
		{
			name: "fencing-before-voter-key", says: "an older epoch is fenced before the voter key is looked at", from: 1,
			ask: "p.replicaEpoch=$oldVoteEpoch voterId=2000000002", want: []string{not + "p.errorCode=FENCED_LEADER_EPOCH"},
		},
		{name: "candidate-without-directory", says: "a candidate need not give its directory id", from: 1, ask: now + " p.replicaDirectoryId=zero", want: []string{denied}},
		{name: "prevote-refused-below-a-leader", says: "a leader, and a follower that hears from one, refuse a pre-vote", from: 2, ask: now + " p.preVote=true", want: []string{denied}},
		{
			name: "prevote-refused-with-the-best-log", says: "a pre-vote is refused below a leader however long the log is", from: 2,
			ask: now + " p.preVote=true p.lastOffset=$max p.lastOffsetEpoch=$epoch", want: []string{denied},
		},
		{
			name: "prevote-does-not-change-state", says: "a pre-vote changes neither epoch nor leader nor vote", from: 2,
			ask: now + " p.preVote=true p.lastOffset=$max p.lastOffsetEpoch=$epoch", want: []string{denied}, again: true,
		},
		{
			name: "prevote-log-epoch-may-be-its-own", says: "the log of a pre-vote may end in its own epoch", from: 2,
			ask: now + " p.preVote=true p.lastOffsetEpoch=$epoch", want: []string{denied},
		},
		{
			name: "prevote-log-epoch-above-its-own", says: "the log of a pre-vote does not end in a later epoch than its own", from: 2,
			ask: now + " p.preVote=true p.lastOffsetEpoch=$epoch+1", want: []string{not + "p.errorCode=INVALID_REQUEST"},
		},
		{name: "prevote-fences-an-older-epoch", says: "a pre-vote of an older epoch is fenced", from: 2, ask: "p.replicaEpoch=$oldVoteEpoch p.preVote=true", want: []string{not + "p.errorCode=FENCED_LEADER_EPOCH"}},
		{name: "prevote-negative-candidate", says: "a pre-vote for a candidate below 0 is invalid", from: 2, ask: now + " p.preVote=true p.replicaId=-1", want: []string{not + "p.errorCode=INVALID_REQUEST"}},
		{
			name: "prevote-voter-of-another-id", says: "a pre-vote meant for another voter is refused", from: 2,
			ask: now + " p.preVote=true voterId=2000000002", want: []string{not + "p.errorCode=INVALID_VOTER_KEY"},
		},
	}
	rows = append(rows, refusedShapes("topics[0].topicName=other", now, refusedWhole+"INVALID_REQUEST")...)
	return eachVersion(p, kraft.VoteAPI, "vote", source, rows)
}

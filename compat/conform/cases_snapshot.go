package conform

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// fetchSnapshotCases read snapshots as nobody in particular.
//
// Kafka's own answers with an error at the partition cannot be serialised (a field that must not be null is), so what
// leaves it is UNKNOWN_SERVER_ERROR for the whole request. Both forms are right.
func fetchSnapshotCases(p compat.Profile) []Case {
	const (
		source  = "KIP-630, KIP-853; Kafka: KafkaRaftClient.handleFetchSnapshotRequest"
		about   = "errorCode=NONE throttleTimeMs=0 topics.len=1 topics[0].topicName=__cluster_metadata topics[0].partitions.len=1 p.partitionIndex=0 "
		leader  = "p.currentLeader.leaderId=$leader p.currentLeader.leaderEpoch=$epoch "
		broken  = "errorCode=UNKNOWN_SERVER_ERROR topics.len=0"
		whole   = "topics.len=0 throttleTimeMs=0 errorCode="
		now     = "p.currentLeaderEpoch=$epoch"
		wanted  = now + " p.snapshotId.endOffset=$snapshotEnd p.snapshotId.epoch=$snapshotEpoch"
		success = about + leader + "p.errorCode=NONE p.snapshotId.endOffset=$snapshotEnd p.snapshotId.epoch=$snapshotEpoch p.unalignedRecords=some "
	)
	refused := func(code string) []string { return []string{broken, about + leader + "p.errorCode=" + code} }
	unknown := []string{broken, "errorCode=NONE topics.len=1 topics[0].partitions.len=1 p.errorCode=UNKNOWN_TOPIC_OR_PARTITION"}
	rows := []rule{
		{name: "refuses-other-cluster", says: "another cluster id is refused as a whole", ask: now + " " + otherCluster, want: []string{whole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "cluster-id-before-partition", says: "the cluster id is checked before the partition", ask: now + " " + otherCluster + " p.partitionIndex=1", want: []string{whole + "INCONSISTENT_CLUSTER_ID"}},
		{name: "refuses-other-topic", says: "another topic is unknown", ask: now + " topics[0].topicName=other", want: unknown},
		{name: "refuses-other-partition", says: "another partition is unknown", ask: now + " p.partitionIndex=1", want: unknown},
		{name: "fences-an-older-epoch", says: "an older epoch is fenced", ask: "p.currentLeaderEpoch=$oldEpoch", want: refused("FENCED_LEADER_EPOCH")},
		{name: "newer-epoch-is-unknown", says: "a newer epoch is refused, and moves no epoch", ask: "p.currentLeaderEpoch=$epoch+1", want: refused("UNKNOWN_LEADER_EPOCH"), again: true},
		{name: "only-the-leader-serves", says: "a follower serves no snapshot", role: Follower, ask: now, want: refused("NOT_LEADER_OR_FOLLOWER")},
		{name: "unknown-snapshot", says: "a snapshot that the leader does not have is not found", role: Leader, ask: now + " p.snapshotId.endOffset=$max p.snapshotId.epoch=$epoch", want: refused("SNAPSHOT_NOT_FOUND")},
		{name: "bootstrap-snapshot-is-not-served", says: "the bootstrap snapshot (0, 0) is nobody else's", role: Leader, ask: now, want: refused("SNAPSHOT_NOT_FOUND")},
		{name: "serves-the-snapshot", says: "the leader serves its latest snapshot", role: Leader, ask: wanted + " " + ownCluster, want: []string{success + "p.position=0 p.size>=1"}},
		{name: "serves-no-more-than-asked", says: "a chunk is no longer than asked for", role: Leader, ask: wanted + " maxBytes=10", want: []string{success + "p.position=0 p.unalignedRecords.len=10 p.size>=10"}},
		{name: "serves-from-a-position", says: "a chunk starts where it is asked for", role: Leader, ask: wanted + " maxBytes=7 p.position=5", want: []string{success + "p.position=5 p.unalignedRecords.len=7"}},
		{name: "negative-position", says: "a position below 0 is out of range", role: Leader, ask: wanted + " p.position=-1", want: refused("POSITION_OUT_OF_RANGE")},
		{name: "position-behind-the-end", says: "a position at or behind the snapshot's end is out of range", role: Leader, ask: wanted + " p.position=2147483647", want: refused("POSITION_OUT_OF_RANGE")},
		{name: "v0-names-no-endpoint", says: "v0 does not say where the leader is", role: Leader, only0: true, ask: wanted, want: []string{success + "nodeEndpoints.len=0"}},
		{
			name: "names-the-endpoint", says: "an answer says where the leader is, from v1 on", role: Leader, from: 1, ask: wanted,
			want: []string{success + "nodeEndpoints.len=1 nodeEndpoints[0].nodeId=$leader nodeEndpoints[0].host=$leaderHost nodeEndpoints[0].port=$leaderPort"},
		},
	}
	if p.Rules.FetchSnapshotStrictShape {
		for _, s := range shapes("") {
			if s.name == "other-topic" || s.name == "other-partition" {
				continue
			}
			rows = append(rows, rule{
				name: "refuses-" + s.name, says: s.says + " is refused as a whole", level: Quirk, quirk: "fetch-snapshot-strict-shape",
				ask: now + " " + s.edit, want: []string{whole + "INVALID_REQUEST"},
			})
		}
	}
	return eachVersion(p, kraft.FetchSnapshotAPI, "fetch-snapshot", source, rows)
}

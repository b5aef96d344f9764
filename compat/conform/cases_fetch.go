package conform

import (
	"fmt"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// fetchCases read the metadata log as a consumer would, of whose progress the leader keeps no account.
func fetchCases(p compat.Profile) []Case {
	const source = "KIP-595, KIP-630, KIP-853; Kafka: KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest"
	rows := append(fetchRefusals(), fetchAnswers()...)
	rows = append(rows, fetchWaits(p)...)
	rows = append(rows, refusedShapes("topics[0].topicId=strange", "p.currentLeaderEpoch=$epoch", "topics.len=0 errorCode=INVALID_REQUEST")...)
	for i := range rows {
		rows[i].from = max(rows[i].from, 13)
	}
	rows = append(rows, rule{
		name: "no-topic-id", says: "a Fetch without topic id (below v13) is never about the metadata partition", to: 12,
		ask: "p.currentLeaderEpoch=$epoch", want: []string{"topics.len=0 v7+:errorCode=INVALID_REQUEST v7+:sessionId=0 throttleTimeMs=0"},
	}, rule{
		name: "refuses-other-cluster-before-shape", says: "another cluster id is refused before the missing topic id", from: 12, to: 12,
		ask: "p.currentLeaderEpoch=$epoch " + otherCluster, want: []string{"topics.len=0 errorCode=INCONSISTENT_CLUSTER_ID"},
	})
	return eachVersion(p, kraft.FetchAPI, "fetch", source, rows)
}

const (
	fetched = "errorCode=NONE throttleTimeMs=0 sessionId=0 topics.len=1 topics[0].topicId=metadata topics[0].partitions.len=1 p.partitionIndex=0 " +
		"p.currentLeader.leaderId=$leader p.currentLeader.leaderEpoch=$epoch p.lastStableOffset=-1 p.preferredReadReplica=-1 "
	noRecords = "p.records.len=0 "
	noRetreat = "p.divergingEpoch.epoch=-1 p.divergingEpoch.endOffset=-1 p.snapshotId.epoch=-1 p.snapshotId.endOffset=-1 "
	notServed = fetched + noRecords + noRetreat + "p.highWatermark=-1 p.logStartOffset=$logStart p.errorCode="
	readHere  = "p.currentLeaderEpoch=$epoch"
)

func fetchRefusals() []rule {
	return []rule{
		{name: "refuses-other-cluster", says: "another cluster id is refused as a whole", ask: readHere + " " + otherCluster, want: []string{"topics.len=0 errorCode=INCONSISTENT_CLUSTER_ID sessionId=0"}},
		{name: "cluster-id-before-shape", says: "the cluster id is checked before the shape", ask: readHere + " " + otherCluster + " topics.len=0", want: []string{"topics.len=0 errorCode=INCONSISTENT_CLUSTER_ID"}},
		{name: "negative-offset", says: "an offset below 0 is invalid", ask: readHere + " p.fetchOffset=-1", want: []string{notServed + "INVALID_REQUEST"}},
		{name: "negative-last-fetched-epoch", says: "a last fetched epoch below 0 is invalid", ask: readHere + " p.lastFetchedEpoch=-1", want: []string{notServed + "INVALID_REQUEST"}},
		{
			name: "last-fetched-epoch-above-its-own", says: "a last fetched epoch above the fetcher's epoch is invalid",
			ask: readHere + " p.lastFetchedEpoch=$epoch+1", want: []string{notServed + "INVALID_REQUEST"},
		},
		{name: "negative-wait", says: "a wait below 0 is invalid", ask: readHere + " maxWaitMs=-1", want: []string{notServed + "INVALID_REQUEST"}},
		{name: "position-before-fencing", says: "the position is checked before the epoch is fenced", ask: "p.currentLeaderEpoch=$oldEpoch p.fetchOffset=-1", want: []string{notServed + "INVALID_REQUEST"}},
		{name: "fences-an-older-epoch", says: "an older epoch is fenced", ask: "p.currentLeaderEpoch=$oldEpoch", want: []string{notServed + "FENCED_LEADER_EPOCH"}},
		{name: "newer-epoch-is-unknown", says: "a newer epoch is refused, and moves no epoch", ask: "p.currentLeaderEpoch=$epoch+1", want: []string{notServed + "UNKNOWN_LEADER_EPOCH"}, again: true},
		{name: "newer-epoch-by-far", says: "an epoch far ahead is refused, and moves no epoch", ask: "p.currentLeaderEpoch=2147483647", want: []string{notServed + "UNKNOWN_LEADER_EPOCH"}, again: true},
		{name: "fences-epoch-0", says: "epoch 0, in which nobody leads, is fenced", ask: "p.currentLeaderEpoch=0", want: []string{notServed + "FENCED_LEADER_EPOCH"}},
		{name: "only-the-leader-serves", says: "a follower sends the fetcher to its leader", role: Follower, ask: readHere, want: []string{notServed + "NOT_LEADER_OR_FOLLOWER"}},
		{
			name: "follower-does-not-wait", says: "a refusal is not held back for the wait that the request allows", role: Follower,
			ask: readHere + " maxWaitMs=5000", want: []string{notServed + "NOT_LEADER_OR_FOLLOWER " + elapsed + "<=3000"},
		},
		{
			name: "leader-does-not-fetch-from-itself", says: "a Fetch in the leader's own name is an error of the server", role: Leader, level: Should,
			ask:  readHere + " p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch v14-:replicaId=$leader v15+:replicaState.id=$leader",
			want: []string{fetched + noRecords + noRetreat + "p.highWatermark=-1 p.errorCode=UNKNOWN_SERVER_ERROR"},
		},
		{name: "refusal-names-no-endpoint", says: "a refusal below v17 does not say where the leader is", to: 16, ask: "p.currentLeaderEpoch=0", want: []string{"nodeEndpoints.len=0 p.errorCode=FENCED_LEADER_EPOCH"}},
		{
			name: "refusal-names-the-endpoint", says: "a refusal says where the leader is for the listener, from v17 on", from: 17,
			ask: "p.currentLeaderEpoch=0", want: []string{"p.errorCode=FENCED_LEADER_EPOCH nodeEndpoints.len=1 nodeEndpoints[0].nodeId=$leader nodeEndpoints[0].host=$leaderHost nodeEndpoints[0].port=$leaderPort"},
		},
	}
}

func fetchAnswers() []rule {
	const (
		served  = fetched + "p.errorCode=NONE p.highWatermark>=$highWatermark p.logStartOffset=$logStart "
		records = served + noRetreat + "p.records=some"
	)
	return []rule{
		{name: "serves-the-log", says: "the leader serves the log from its start", role: Leader, ask: readHere + " p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch " + ownCluster, want: []string{records}},
		{name: "reading-leaves-no-trace", says: "reading as nobody in particular changes nothing", role: Leader, ask: readHere + " p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch", want: []string{records}, again: true},
		{name: "at-least-one-batch", says: "a limit smaller than a batch still gives the whole batch", role: Leader, ask: readHere + " p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch maxBytes=1 p.partitionMaxBytes=1", want: []string{records}},
		{
			name: "ignores-sessions-and-isolation", says: "sessions, isolation level and minimum bytes are not looked at", role: Leader,
			ask: readHere + " p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch sessionId=7 sessionEpoch=3 isolationLevel=1 minBytes=1000000", want: []string{records},
		},
		{
			name: "points-to-the-snapshot", says: "a Fetch at 0 is sent to the latest snapshot, if there is one", role: Leader, ask: readHere,
			want: []string{served + noRecords + "p.snapshotId.endOffset>=$snapshotEnd p.snapshotId.epoch>=$snapshotEpoch p.divergingEpoch.epoch=-1"},
		},
		{
			name: "snapshot-is-not-waited-for", says: "an answer that points to a snapshot is not held back", role: Leader, ask: readHere + " maxWaitMs=5000",
			want: []string{"p.snapshotId.endOffset>=$snapshotEnd " + elapsed + "<=3000"},
		},
		{
			name: "diverges-behind-the-log-end", says: "an offset behind the log end diverges: the answer tells the end of the epoch", role: Leader,
			ask:  readHere + " p.fetchOffset=$max p.lastFetchedEpoch=$epoch",
			want: []string{served + noRecords + "p.divergingEpoch.epoch=$epoch p.divergingEpoch.endOffset>=$highWatermark p.snapshotId.epoch=-1 p.snapshotId.endOffset=-1"},
		},
		{
			name: "divergence-is-not-waited-for", says: "a diverging epoch is not held back", role: Leader,
			ask: readHere + " p.fetchOffset=$max p.lastFetchedEpoch=$epoch maxWaitMs=5000", want: []string{"p.divergingEpoch.epoch=$epoch " + elapsed + "<=3000"},
		},
		{
			name: "diverges-in-an-epoch-without-records", says: "a position in an epoch that has no records diverges", role: Leader,
			ask: readHere + " p.fetchOffset=$highWatermark p.lastFetchedEpoch=0",
			want: []string{
				served + noRecords + "p.divergingEpoch.epoch!=-1 p.divergingEpoch.endOffset<=$highWatermark p.snapshotId.epoch=-1",
				served + noRecords + "p.snapshotId.endOffset>=$snapshotEnd p.snapshotId.epoch>=$snapshotEpoch p.divergingEpoch.epoch=-1",
			},
		},
		{name: "answer-names-no-endpoint", says: "an answer below v17 does not say where the leader is", role: Leader, to: 16, ask: readHere + " p.fetchOffset=$max p.lastFetchedEpoch=$epoch", want: []string{"p.errorCode=NONE nodeEndpoints.len=0"}},
		{
			name: "answer-names-the-endpoint", says: "an answer without error says where the leader is too, from v17 on", role: Leader, from: 17,
			ask:  readHere + " p.fetchOffset=$max p.lastFetchedEpoch=$epoch",
			want: []string{"p.errorCode=NONE nodeEndpoints.len=1 nodeEndpoints[0].nodeId=$leader nodeEndpoints[0].host=$leaderHost nodeEndpoints[0].port=$leaderPort"},
		},
	}
}

// fetchWaits are about how long answers take.
func fetchWaits(p compat.Profile) []rule {
	const served = "errorCode=NONE p.errorCode=NONE "
	var rows []rule
	for _, wait := range []int{0, 300} {
		name, says := "no-wait", "a Fetch that may not wait is answered at once"
		upper := fmt.Sprintf(" %s<=2000", elapsed)
		if wait != 0 {
			name, says = "records-are-not-waited-for", "records that are there are answered at once, whatever the wait"
		}
		rows = append(rows, rule{
			name: name, says: says, role: Leader, level: Should, ask: fmt.Sprintf("%s p.fetchOffset=$from p.lastFetchedEpoch=$fromEpoch maxWaitMs=%d", readHere, wait*30),
			want: []string{served + "p.records=some" + upper},
		})
	}
	rows = append(rows, rule{
		name: "waits-at-the-log-end", says: "a Fetch at the log end is held back until records come or its wait is over", role: Leader, fresh: true,
		ask:  readHere + " p.fetchOffset=$logEnd p.lastFetchedEpoch=$epoch maxWaitMs=300",
		want: []string{served + "p.records=some", served + elapsed + ">=280"},
	})
	if p.Rules.FetchHighWatermark {
		rows = append(rows, rule{
			name: "tells-a-newer-high-watermark-at-once", says: "a fetcher whose high watermark is behind is answered at once", level: Quirk, quirk: "fetch-high-watermark",
			role: Leader, from: 18, ask: readHere + " p.fetchOffset=$logEnd p.lastFetchedEpoch=$epoch p.highWatermark=0 maxWaitMs=5000",
			want: []string{served + "p.highWatermark>=$highWatermark " + elapsed + "<=3000"},
		})
	}
	return rows
}

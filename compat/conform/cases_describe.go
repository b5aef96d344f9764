package conform

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// describeCases ask for the quorum's state.
func describeCases(p compat.Profile) []Case {
	const (
		source = "KIP-595, KIP-836, KIP-853; Kafka: KafkaRaftClient.handleDescribeQuorumRequest"
		about  = "errorCode=NONE topics.len=1 topics[0].topicName=__cluster_metadata topics[0].partitions.len=1 p.partitionIndex=0 "
		none   = "p.leaderId=0 p.leaderEpoch=0 p.highWatermark=0 p.currentVoters.len=0 p.observers.len=0 v2+:nodes.len=0 "
		state  = about + "p.errorCode=NONE p.leaderId=$leader p.leaderEpoch=$epoch p.highWatermark>=$highWatermark p.currentVoters.len=$voters "
		strays = "errorCode=NONE p.errorCode=UNKNOWN_TOPIC_OR_PARTITION "
	)
	rows := []rule{
		{name: "leader-tells", says: "the leader tells who leads since when, how far is committed, and who votes", role: Leader, want: []string{state}},
		{
			name: "voters-listeners", says: "there is one entry of listeners for each voter", role: Leader, from: 2,
			want: []string{state + "nodes.len=$voters nodes[0].listeners.len>=1 nodes[0].listeners[0].host=some nodes[0].listeners[0].port>=1"},
		},
		{name: "voters-progress", says: "a voter's log end is told, and when it fetched", role: Leader, want: []string{state + "p.currentVoters[0].replicaId>=0 p.currentVoters[0].logEndOffset>=-1 v1+:p.currentVoters[0].lastFetchTimestamp>=-1 v1+:p.currentVoters[0].lastCaughtUpTimestamp>=-1"}},
		{name: "no-message-without-error", says: "without an error the messages are empty, not null", role: Leader, from: 2, want: []string{about + "errorMessage=empty p.errorMessage=empty"}},
		{name: "only-the-leader-knows", says: "a follower tells nothing, not even the leader", role: Follower, want: []string{about + none + "p.errorCode=NOT_LEADER_OR_FOLLOWER v2+:p.errorMessage=some v2+:errorMessage=empty"}},
		{name: "other-topic", says: "another topic is unknown, and echoed", ask: "topics[0].topicName=other", want: []string{strays + "topics.len=1 topics[0].topicName=other topics[0].partitions.len=1 p.partitionIndex=0 v2+:p.errorMessage=some"}},
		{name: "other-partition", says: "another partition is unknown, and echoed", ask: "p.partitionIndex=1", want: []string{strays + "topics.len=1 topics[0].topicName=__cluster_metadata topics[0].partitions.len=1 p.partitionIndex=1"}},
		{name: "two-topics", says: "of two topics neither is answered, each is echoed", ask: "topics.len=2 topics[1].topicName=other", want: []string{strays + "topics.len=2 topics[0].topicName=__cluster_metadata topics[1].topicName=other topics[1].partitions[0].errorCode=UNKNOWN_TOPIC_OR_PARTITION"}},
		{name: "two-partitions", says: "of two partitions neither is answered, each is echoed", ask: "topics[0].partitions.len=2", want: []string{strays + "topics.len=1 topics[0].partitions.len=2 topics[0].partitions[1].errorCode=UNKNOWN_TOPIC_OR_PARTITION"}},
		{name: "no-topic", says: "a request without a topic is answered without one", ask: "topics.len=0", want: []string{"errorCode=NONE topics.len=0"}},
		{name: "asking-leaves-no-trace", says: "asking does not make an observer", role: Leader, fresh: true, again: true, want: []string{state + "p.observers.len=$observers"}},
	}
	return eachVersion(p, kraft.DescribeQuorumAPI, "describe-quorum", source, rows)
}

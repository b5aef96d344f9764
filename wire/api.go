package wire

import (
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The api keys that KRaft itself speaks, and those with a rule of their own here.
const (
	KeyFetch                     int16 = 1
	KeySaslHandshake             int16 = 17
	KeyAPIVersions               int16 = 18
	KeySaslAuthenticate          int16 = 36
	KeyIncrementalAlterConfigs   int16 = 44
	KeyAlterUserScramCredentials int16 = 51
	KeyVote                      int16 = 52
	KeyBeginQuorumEpoch          int16 = 53
	KeyEndQuorumEpoch            int16 = 54
	KeyDescribeQuorum            int16 = 55
	KeyUpdateFeatures            int16 = 57
	KeyEnvelope                  int16 = 58
	KeyFetchSnapshot             int16 = 59
	KeyDescribeCluster           int16 = 60
	KeyBrokerRegistration        int16 = 62
	KeyBrokerHeartbeat           int16 = 63
	KeyUnregisterBroker          int16 = 64
	KeyControllerRegistration    int16 = 70
	KeyAddRaftVoter              int16 = 80
	KeyRemoveRaftVoter           int16 = 81
	KeyUpdateRaftVoter           int16 = 82
	KeyUnregisterController      int16 = 94
)

// ErrUnsupported marks an api key or version whose layout is not known here.
var ErrUnsupported = errors.New("key or version not known")

// apiNames holds Kafka's names by key (Kafka: ApiKeys, ApiMessageType).
var apiNames = [...]string{
	"Produce", "Fetch", "ListOffsets", "Metadata", "LeaderAndIsr", "StopReplica", "UpdateMetadata",
	"ControlledShutdown", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup",
	"SyncGroup", "DescribeGroups", "ListGroups", "SaslHandshake", "ApiVersions", "CreateTopics", "DeleteTopics",
	"DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
	"WriteTxnMarkers", "TxnOffsetCommit", "DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeConfigs",
	"AlterConfigs", "AlterReplicaLogDirs", "DescribeLogDirs", "SaslAuthenticate", "CreatePartitions",
	"CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken",
	"DeleteGroups", "ElectLeaders", "IncrementalAlterConfigs", "AlterPartitionReassignments",
	"ListPartitionReassignments", "OffsetDelete", "DescribeClientQuotas", "AlterClientQuotas",
	"DescribeUserScramCredentials", "AlterUserScramCredentials", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch",
	"DescribeQuorum", "AlterPartition", "UpdateFeatures", "Envelope", "FetchSnapshot", "DescribeCluster",
	"DescribeProducers", "BrokerRegistration", "BrokerHeartbeat", "UnregisterBroker", "DescribeTransactions",
	"ListTransactions", "AllocateProducerIds", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe",
	"ControllerRegistration", "GetTelemetrySubscriptions", "PushTelemetry", "AssignReplicasToDirs",
	"ListConfigResources", "DescribeTopicPartitions", "ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch",
	"ShareAcknowledge", "AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "InitializeShareGroupState",
	"ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary",
	"StreamsGroupHeartbeat", "StreamsGroupDescribe", "DescribeShareGroupOffsets", "AlterShareGroupOffsets",
	"DeleteShareGroupOffsets", "StreamsGroupTopologyDescriptionUpdate", "UnregisterController",
}

var apiKeys = func() map[string]int16 {
	keys := make(map[string]int16, len(apiNames))
	for key, name := range apiNames {
		keys[name] = int16(key)
	}
	return keys
}()

// Name is Kafka's name of an api key, or "ApiKey N" for one that is not known.
func Name(key int16) string {
	if key >= 0 && int(key) < len(apiNames) {
		return apiNames[key]
	}
	return "ApiKey " + strconv.Itoa(int(key))
}

// KeyOf is the api key with this name, spelt as Kafka does.
func KeyOf(name string) (int16, bool) {
	key, ok := apiKeys[name]
	return key, ok
}

var maxVersions = func() (highest [len(apiNames)]int16) {
	for key := range highest {
		highest[key] = -1
		if req := kmsg.RequestForKey(int16(key)); req != nil {
			highest[key] = req.MaxVersion()
		}
	}
	return highest
}()

// Decodable reports whether bodies of this key and version can be decoded.
func Decodable(key, version int16) bool {
	return key >= 0 && int(key) < len(maxVersions) && version >= 0 && version <= maxVersions[key]
}

// Raft reports whether the key belongs to KRaft: its messages reach Kafka's raft layer.
func Raft(key int16) bool {
	switch key {
	case KeyFetch, KeyVote, KeyBeginQuorumEpoch, KeyEndQuorumEpoch, KeyDescribeQuorum, KeyFetchSnapshot,
		KeyAddRaftVoter, KeyRemoveRaftVoter, KeyUpdateRaftVoter:
		return true
	}
	return false
}

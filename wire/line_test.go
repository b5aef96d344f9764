package wire

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

func text(s string) *string { return &s }

// requestAs builds a request at its version.
func requestAs[M any, P interface {
	*M
	kmsg.Request
	Default()
}](version int16, set func(P)) kmsg.Request {
	m := P(new(M))
	m.Default()
	m.SetVersion(version)
	set(m)
	return m
}

func responseAs[M any, P interface {
	*M
	kmsg.Response
	Default()
}](version int16, set func(P)) kmsg.Response {
	m := P(new(M))
	m.Default()
	m.SetVersion(version)
	set(m)
	return m
}

var lineRequests = []struct {
	message kmsg.Request
	want    string
}{
	{requestAs(1, func(m *kmsg.SASLHandshakeRequest) { m.Mechanism = "PLAIN" }), "SaslHandshake v1 mechanism PLAIN"},
	{requestAs(2, func(*kmsg.ApiVersionsRequest) {}), "ApiVersions v2 client software not stated"},
	{requestAs(5, func(m *kmsg.ApiVersionsRequest) {
		m.ClientSoftwareName, m.ClientSoftwareVersion, m.ClusterID, m.NodeID = "understudy", "1.0", text("abc"), 3
	}), "ApiVersions v5 understudy 1.0, cluster abc, node 3"},
	{requestAs(2, func(m *kmsg.SASLAuthenticateRequest) { m.SASLAuthBytes = []byte(secret) }), "SaslAuthenticate v2 14 bytes withheld"},
	{requestAs(1, func(m *kmsg.IncrementalAlterConfigsRequest) {
		m.ValidateOnly = true
		m.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
			{Name: "retention.ms", Op: kmsg.IncrementalAlterConfigOpSet, Value: text(secret)},
			{Name: "cleanup.policy", Op: kmsg.IncrementalAlterConfigOpDelete},
		}}}
	}), "IncrementalAlterConfigs v1 [TOPIC t: [SET retention.ms DELETE cleanup.policy]], validate only"},
	{requestAs(0, func(m *kmsg.AlterUserSCRAMCredentialsRequest) {
		m.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "alice", Mechanism: 1, Salt: []byte(secret)}}
		m.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "bob", Mechanism: 2}, {Name: "eve", Mechanism: 9}}
	}), "AlterUserScramCredentials v0 upsert [alice SCRAM-SHA-256], delete [bob SCRAM-SHA-512 eve mechanism 9]"},
	{requestAs(0, func(*kmsg.VoteRequest) {}), "Vote v0 no partition"},
	{requestAs(2, func(m *kmsg.VoteRequest) {
		m.Topics = []kmsg.VoteRequestTopic{{Partitions: []kmsg.VoteRequestTopicPartition{
			{CandidateEpoch: 7, CandidateID: 2, CandidateDirectoryID: dirD2, LastOffset: 45, LastOffsetEpoch: 6, PreVote: true},
			{CandidateEpoch: 8, CandidateID: 3, LastOffset: 1},
		}}}
	}), "Vote v2 epoch 7, candidate 2/IiIiIiIiIiIiIiIiIiIiIg, log 45@6, pre-vote; epoch 8, candidate 3, log 1@0"},
	{requestAs(0, func(m *kmsg.BeginQuorumEpochRequest) {
		m.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{{LeaderID: 2, LeaderEpoch: 3}}}}
	}), "BeginQuorumEpoch v0 leader 2, epoch 3"},
	{requestAs(1, func(m *kmsg.BeginQuorumEpochRequest) {
		m.VoterID = 1
		m.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{{LeaderID: 2, LeaderEpoch: 3, VoterDirectoryID: dirD1}}}}
		m.LeaderEndpoints = []kmsg.BeginQuorumEpochRequestLeaderEndpoint{{Name: "CONTROLLER", Host: "c2", Port: 9093}, {Host: "alt", Port: 65535}}
	}), "BeginQuorumEpoch v1 leader 2, epoch 3, to 1/EREREREREREREREREREREQ at c2:9093 and alt:65535"},
	{requestAs(0, func(m *kmsg.EndQuorumEpochRequest) {
		m.Topics = []kmsg.EndQuorumEpochRequestTopic{{Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{{LeaderID: 2, LeaderEpoch: 3, PreferredSuccessors: []int32{3, 1}}}}}
	}), "EndQuorumEpoch v0 leader 2, epoch 3, successors [3 1]"},
	{requestAs(1, func(m *kmsg.EndQuorumEpochRequest) {
		m.Topics = []kmsg.EndQuorumEpochRequestTopic{{Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{{
			LeaderID: 2, LeaderEpoch: 3, PreferredCandidates: []kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{{CandidateID: 1, CandidateDirectoryID: dirD1}, {CandidateID: 3}},
		}}}}
		m.LeaderEndpoints = []kmsg.EndQuorumEpochRequestLeaderEndpoint{{Host: "c2", Port: 9093}}
	}), "EndQuorumEpoch v1 leader 2, epoch 3, successors [1/EREREREREREREREREREREQ 3] at c2:9093"},
	{requestAs(2, func(m *kmsg.DescribeQuorumRequest) {
		m.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: make([]kmsg.DescribeQuorumRequestTopicPartition, 1)}}
	}), "DescribeQuorum v2 __cluster_metadata-0"},
	{requestAs(0, func(m *kmsg.UpdateFeaturesRequest) {
		m.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "a", MaxVersionLevel: 1}, {Feature: "b", AllowDowngrade: true}}
	}), "UpdateFeatures v0 [a to 1 b to 0 downgrade allowed]"},
	{requestAs(2, func(m *kmsg.UpdateFeaturesRequest) {
		m.ValidateOnly = true
		m.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{
			{Feature: "kraft.version", MaxVersionLevel: 1, UpgradeType: 1}, {Feature: "b", UpgradeType: 2}, {Feature: "c", UpgradeType: 3}, {Feature: "d", UpgradeType: 9},
		}
	}), "UpdateFeatures v2 [kraft.version to 1 upgrade b to 0 safe downgrade c to 0 unsafe downgrade d to 0 type 9], validate only"},
	{requestAs(0, func(m *kmsg.EnvelopeRequest) {
		m.RequestData, m.RequestPrincipal, m.ClientHostAddress = []byte{1}, []byte{0, 0, 5, 'U', 's', 'e', 'r', 2, 'a', 0, 0}, []byte{10, 0, 0, 1}
	}), "Envelope v0 1 bytes without a readable header, for User:a at 10.0.0.1"},
	{requestAs(0, func(m *kmsg.EnvelopeRequest) {
		m.RequestData = []byte{0, 19, 0, 7, 0, 0, 0, 1, 0, 2, 'c', 'l', 0, 1, 2, 3}
	}), "Envelope v0 CreateTopics v7 3 bytes from cl"},
	{requestAs(1, func(m *kmsg.FetchSnapshotRequest) {
		m.Topics = []kmsg.FetchSnapshotRequestTopic{{Partitions: []kmsg.FetchSnapshotRequestTopicPartition{{
			CurrentLeaderEpoch: 4, SnapshotID: kmsg.FetchSnapshotRequestTopicPartitionSnapshotID{EndOffset: 7228, Epoch: 3}, Position: 4096,
		}}}}
	}), "FetchSnapshot v1 epoch 4, snapshot 7228@3, from byte 4096"},
	{requestAs(0, func(*kmsg.DescribeClusterRequest) {}), "DescribeCluster v0 brokers"},
	{requestAs(2, func(m *kmsg.DescribeClusterRequest) { m.EndpointType, m.IncludeFencedBrokers = 2, true }), "DescribeCluster v2 controllers, also fenced"},
	{requestAs(1, func(m *kmsg.DescribeClusterRequest) { m.EndpointType = 9 }), "DescribeCluster v1 endpoint type 9"},
	{requestAs(4, func(m *kmsg.BrokerRegistrationRequest) {
		m.BrokerID, m.ClusterID, m.IncarnationID = 10, "abc", dirD1
		m.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: "b", Port: 9092}}
	}), "BrokerRegistration v4 broker 10, incarnation EREREREREREREREREREREQ, cluster abc, listeners [PLAINTEXT://b:9092], 0 features, 0 log dirs"},
	{requestAs(2, func(m *kmsg.BrokerHeartbeatRequest) {
		m.BrokerID, m.BrokerEpoch, m.CurrentMetadataOffset, m.WantFence, m.WantShutdown = 10, 15, 30, true, true
		m.OfflineLogDirs, m.CordonedLogDirs = make([][16]byte, 1), make([][16]byte, 2)
	}), "BrokerHeartbeat v2 broker 10, broker epoch 15, metadata offset 30, wants to stay fenced, wants to shut down, 1 log dirs offline, 2 log dirs cordoned"},
	{requestAs(0, func(m *kmsg.UnregisterBrokerRequest) { m.BrokerID = 10 }), "UnregisterBroker v0 broker 10"},
	{requestAs(0, func(m *kmsg.ControllerRegistrationRequest) {
		m.ControllerID, m.IncarnationID = 3, dirD2
		m.Listeners = []kmsg.ControllerRegistrationRequestListener{{Name: "CONTROLLER", Host: "c3", Port: 9093}}
	}), "ControllerRegistration v0 controller 3, incarnation IiIiIiIiIiIiIiIiIiIiIg, listeners [CONTROLLER://c3:9093], 0 features"},
	{requestAs(1, func(m *kmsg.AddRaftVoterRequest) {
		m.VoterID, m.VoterDirectoryID, m.AckWhenCommitted = 4, dirD1, false
		m.Listeners = []kmsg.AddRaftVoterRequestListener{{Name: "CONTROLLER", Host: "c4", Port: 9093}}
	}), "AddRaftVoter v1 voter 4/EREREREREREREREREREREQ, listeners [CONTROLLER://c4:9093], timeout 15000 ms, answer when appended"},
	{requestAs(0, func(m *kmsg.RemoveRaftVoterRequest) { m.VoterID, m.VoterDirectoryID = 4, dirD1 }), "RemoveRaftVoter v0 voter 4/EREREREREREREREREREREQ"},
	{requestAs(0, func(m *kmsg.UpdateRaftVoterRequest) {
		m.CurrentLeaderEpoch, m.VoterID, m.KRaftVersionFeature.MaxSupportedVersion = 5, 3, 1
		m.Listeners = []kmsg.UpdateRaftVoterRequestListener{{Name: "CONTROLLER", Host: "c3", Port: 9093}}
	}), "UpdateRaftVoter v0 epoch 5, voter 3, listeners [CONTROLLER://c3:9093], kraft.version 0..1"},
	{requestAs(0, func(m *kmsg.UnregisterControllerRequest) { m.ControllerID = 3 }), "UnregisterController v0 controller 3"},
	{requestAs(17, func(m *kmsg.FetchRequest) { m.SessionID = 5 }), "Fetch v17 not of KRaft's shape: 0 topics, session 5"},
	{requestAs(15, func(m *kmsg.FetchRequest) {
		topic := kmsg.NewFetchRequestTopic()
		topic.TopicID = dirD1
		topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		m.Topics = append(m.Topics, topic)
	}), "Fetch v15 epoch -1, from 0@-1, not a replica, topic EREREREREREREREREREREQ"},
	{requestAs(0, func(*kmsg.ProduceRequest) {}), "Produce v0 10 bytes"},
}

func TestRequestLine_EachKey(t *testing.T) {
	var d Decoder
	seen := map[int16]bool{}
	for _, tt := range lineRequests {
		h := RequestHeader{Key: tt.message.Key(), Version: tt.message.GetVersion()}
		seen[h.Key] = true
		if got := string(d.AppendRequestLine(nil, h, tt.message.AppendTo(nil))); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
	for key := range requestLines {
		if !seen[key] {
			t.Errorf("no sample of %s", Name(key))
		}
	}
}

func TestLine_UndecodableSaysWhy(t *testing.T) {
	var d Decoder
	for _, tt := range []struct {
		key, version int16
		body         []byte
		want         string
	}{
		{KeyVote, 3, nil, "Vote v3 undecodable: key or version not known"},
		{KeyVote, 2, []byte{9}, "Vote v2 undecodable: malformed"},
		{KeyFetch, 99, nil, "Fetch v99 undecodable: key or version not known"},
		{KeyFetch, 17, []byte{9}, "Fetch v17 undecodable: malformed"},
		{KeyVote, 2, make([]byte, decodeBudget), "Vote v2 undecodable: too big to decode"},
		{400, 3, []byte{1, 2}, "ApiKey 400 v3 2 bytes"},
	} {
		if got := string(d.AppendRequestLine(nil, RequestHeader{Key: tt.key, Version: tt.version}, tt.body)); got != tt.want {
			t.Errorf("request: %q, want %q", got, tt.want)
		}
		if got := string(d.AppendResponseLine(nil, tt.key, tt.version, tt.body)); got != tt.want {
			t.Errorf("response: %q, want %q", got, tt.want)
		}
	}
}

func TestLine_EscapesForeignText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"", `""`},
		{"two words", `"two words"`},
		{"a\nb\x1b[31m", `"a\nb\x1b[31m"`},
		{"naïve", `"naïve"`},
		{strings.Repeat("x", 300), strings.Repeat("x", maxText) + "…"},
	} {
		if got := string(line(nil).text(tt.in)); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestLine_BoundsLists(t *testing.T) {
	m := kmsg.NewEndQuorumEpochRequest()
	m.Topics = []kmsg.EndQuorumEpochRequestTopic{{Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{{PreferredSuccessors: make([]int32, 20)}}}}
	var d Decoder
	got := string(d.AppendRequestLine(nil, RequestHeader{Key: KeyEndQuorumEpoch}, m.AppendTo(nil)))
	if !strings.HasSuffix(got, "0 … 4 more]") {
		t.Error(got)
	}
}

func TestErrorName_CoversAllOfKafka(t *testing.T) {
	for code, want := range map[kraft.ErrorCode]string{
		0: "NONE", 6: "NOT_LEADER_OR_FOLLOWER", 36: "TOPIC_ALREADY_EXISTS", -1: "UNKNOWN_SERVER_ERROR", 9999: "error 9999",
	} {
		if got := ErrorName(code); got != want {
			t.Errorf("%d: %s, want %s", code, got, want)
		}
	}
}

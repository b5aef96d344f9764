package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetched is a Fetch answer with one partition.
func fetched(set func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition)) kmsg.Response {
	return responseAs(17, func(m *kmsg.FetchResponse) {
		p := kmsg.NewFetchResponseTopicPartition()
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 2, 3
		set(m, &p)
		m.Topics = []kmsg.FetchResponseTopic{{TopicID: MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
	})
}

func noRecords(base int) []byte {
	return AppendBatch(nil, NewBatch(0, 3, goldenTime), make([]Record, base)...)
}

var lineResponses = []struct {
	message kmsg.Response
	want    string
}{
	{
		responseAs(1, func(m *kmsg.SASLHandshakeResponse) {
			m.ErrorCode, m.SupportedMechanisms = 33, []string{"PLAIN", "SCRAM-SHA-256"}
		}),
		"SaslHandshake v1 UNSUPPORTED_SASL_MECHANISM, mechanisms [PLAIN SCRAM-SHA-256]",
	},
	{responseAs(0, func(m *kmsg.ApiVersionsResponse) {
		m.ErrorCode, m.ApiKeys = 35, []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 4}}
	}), "ApiVersions v0 UNSUPPORTED_VERSION, keys [ApiVersions:0..4]"},
	{responseAs(4, func(m *kmsg.ApiVersionsResponse) {
		m.ApiKeys = make([]kmsg.ApiVersionsResponseApiKey, 3)
		m.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: "kraft.version", MaxVersion: 1}}
		m.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{Name: "kraft.version", MaxVersionLevel: 1, MinVersionLevel: 1}}
		m.FinalizedFeaturesEpoch = 5
	}), "ApiVersions v4 3 keys, features [kraft.version:0..1], finalized [kraft.version:1] at 5"},
	{responseAs(2, func(m *kmsg.SASLAuthenticateResponse) {
		m.ErrorCode, m.ErrorMessage, m.SASLAuthBytes, m.SessionLifetimeMillis = 58, text(secret), []byte(secret), 1000
	}), "SaslAuthenticate v2 SASL_AUTHENTICATION_FAILED, 14 bytes withheld, session 1000 ms"},
	{responseAs(1, func(m *kmsg.IncrementalAlterConfigsResponse) {
		m.Resources = []kmsg.IncrementalAlterConfigsResponseResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}
	}), "IncrementalAlterConfigs v1 [TOPIC t: ok]"},
	{responseAs(0, func(m *kmsg.AlterUserSCRAMCredentialsResponse) {
		m.Results = []kmsg.AlterUserSCRAMCredentialsResponseResult{{User: "alice"}, {User: "bob", ErrorCode: 41, ErrorMessage: text("no leader")}}
	}), `AlterUserScramCredentials v0 [alice: ok bob: NOT_CONTROLLER "no leader"]`},
	{responseAs(2, func(m *kmsg.VoteResponse) { m.ErrorCode = 104 }), "Vote v2 INCONSISTENT_CLUSTER_ID"},
	{responseAs(2, func(m *kmsg.VoteResponse) {
		m.Topics = []kmsg.VoteResponseTopic{{Partitions: []kmsg.VoteResponseTopicPartition{
			{LeaderID: -1, LeaderEpoch: 7, VoteGranted: true}, {LeaderID: 2, LeaderEpoch: 7}, {ErrorCode: 74, LeaderID: 2, LeaderEpoch: 8},
		}}}
		m.NodeEndpoints = []kmsg.VoteResponseNodeEndpoint{{NodeID: 2, Host: "c2", Port: 9093}}
	}), "Vote v2 granted, leader none, epoch 7; rejected, leader 2, epoch 7; FENCED_LEADER_EPOCH, leader 2, epoch 8 at c2:9093"},
	{responseAs(1, func(m *kmsg.BeginQuorumEpochResponse) { m.ErrorCode = 42 }), "BeginQuorumEpoch v1 INVALID_REQUEST"},
	{responseAs(1, func(m *kmsg.BeginQuorumEpochResponse) {
		m.Topics = []kmsg.BeginQuorumEpochResponseTopic{{Partitions: []kmsg.BeginQuorumEpochResponseTopicPartition{{LeaderID: 2, LeaderEpoch: 7}}}}
		m.NodeEndpoints = []kmsg.BeginQuorumEpochResponseNodeEndpoint{{Host: "c2", Port: 9093}}
	}), "BeginQuorumEpoch v1 ok, leader 2, epoch 7 at c2:9093"},
	{responseAs(1, func(m *kmsg.EndQuorumEpochResponse) { m.ErrorCode = 42 }), "EndQuorumEpoch v1 INVALID_REQUEST"},
	{responseAs(1, func(m *kmsg.EndQuorumEpochResponse) {
		m.Topics = []kmsg.EndQuorumEpochResponseTopic{{Partitions: []kmsg.EndQuorumEpochResponseTopicPartition{{LeaderID: 2, LeaderEpoch: 7, ErrorCode: 74}}}}
		m.NodeEndpoints = []kmsg.EndQuorumEpochResponseNodeEndpoint{{Host: "::1", Port: 9093}}
	}), "EndQuorumEpoch v1 FENCED_LEADER_EPOCH, leader 2, epoch 7 at [::1]:9093"},
	{responseAs(2, func(m *kmsg.DescribeQuorumResponse) { m.ErrorCode, m.ErrorMessage = 31, text("no") }), "DescribeQuorum v2 CLUSTER_AUTHORIZATION_FAILED no"},
	{responseAs(2, func(m *kmsg.DescribeQuorumResponse) {
		m.Topics = []kmsg.DescribeQuorumResponseTopic{{Partitions: []kmsg.DescribeQuorumResponseTopicPartition{{
			LeaderID: 2, LeaderEpoch: 7, HighWatermark: 50,
			CurrentVoters: []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{{ReplicaID: 1, ReplicaDirectoryID: dirD1, LogEndOffset: 50}, {ReplicaID: 2, LogEndOffset: -1}},
		}}}}
	}), "DescribeQuorum v2 ok, leader 2, epoch 7, hw 50, voters [1/EREREREREREREREREREREQ:50 2:-1], observers []"},
	{responseAs(1, func(m *kmsg.UpdateFeaturesResponse) {
		m.Results = []kmsg.UpdateFeaturesResponseResult{{Feature: "a", ErrorCode: 95, ErrorMessage: text("why")}}
	}), "UpdateFeatures v1 ok, [a: INVALID_UPDATE_VERSION why]"},
	{responseAs(0, func(m *kmsg.EnvelopeResponse) { m.ErrorCode = 41 }), "Envelope v0 NOT_CONTROLLER, no answer inside"},
	{responseAs(0, func(m *kmsg.EnvelopeResponse) { m.ResponseData = []byte(secret) }), "Envelope v0 ok, 14 bytes inside"},
	{responseAs(1, func(m *kmsg.FetchSnapshotResponse) { m.ErrorCode = 42 }), "FetchSnapshot v1 INVALID_REQUEST"},
	{responseAs(1, func(m *kmsg.FetchSnapshotResponse) {
		id := kmsg.FetchSnapshotResponseTopicPartitionSnapshotID{EndOffset: 7228, Epoch: 3}
		leader := kmsg.FetchSnapshotResponseTopicPartitionCurrentLeader{LeaderID: 2, LeaderEpoch: 4}
		m.Topics = []kmsg.FetchSnapshotResponseTopic{{Partitions: []kmsg.FetchSnapshotResponseTopicPartition{
			{SnapshotID: id, Position: 10, Size: 100, Bytes: make([]byte, 5), CurrentLeader: leader}, {ErrorCode: 98, CurrentLeader: leader},
		}}}
		m.NodeEndpoints = []kmsg.FetchSnapshotResponseNodeEndpoint{{Host: "c2", Port: 9093}}
	}), "FetchSnapshot v1 snapshot 7228@3, bytes 10..15 of 100, leader 2, epoch 4; SNAPSHOT_NOT_FOUND, leader 2, epoch 4 at c2:9093"},
	{responseAs(2, func(m *kmsg.DescribeClusterResponse) { m.ErrorCode = 114 }), "DescribeCluster v2 MISMATCHED_ENDPOINT_TYPE"},
	{responseAs(2, func(m *kmsg.DescribeClusterResponse) {
		m.ClusterID, m.ControllerID, m.Brokers = "abc", 2, []kmsg.DescribeClusterResponseBroker{{NodeID: 2, Host: "c2", Port: 9093}}
	}), "DescribeCluster v2 cluster abc, controller 2, nodes [2@c2:9093]"},
	{responseAs(4, func(m *kmsg.BrokerRegistrationResponse) { m.BrokerEpoch = 15 }), "BrokerRegistration v4 ok, broker epoch 15"},
	{
		responseAs(1, func(m *kmsg.BrokerHeartbeatResponse) { m.IsCaughtUp, m.IsFenced, m.ShouldShutdown = true, true, true }),
		"BrokerHeartbeat v1 ok, caught up, fenced, should shut down",
	},
	{responseAs(0, func(m *kmsg.UnregisterBrokerResponse) { m.ErrorCode = 102 }), "UnregisterBroker v0 BROKER_ID_NOT_REGISTERED"},
	{responseAs(0, func(m *kmsg.ControllerRegistrationResponse) { m.ErrorCode = 41 }), "ControllerRegistration v0 NOT_CONTROLLER"},
	{responseAs(0, func(m *kmsg.AddRaftVoterResponse) { m.ErrorCode, m.ErrorMessage = 126, text("") }), "AddRaftVoter v0 DUPLICATE_VOTER"},
	{responseAs(0, func(m *kmsg.RemoveRaftVoterResponse) { m.ErrorCode = 127 }), "RemoveRaftVoter v0 VOTER_NOT_FOUND"},
	{responseAs(0, func(*kmsg.UpdateRaftVoterResponse) {}), "UpdateRaftVoter v0 ok, leader none, epoch -1"},
	{responseAs(0, func(m *kmsg.UpdateRaftVoterResponse) {
		m.CurrentLeader = kmsg.UpdateRaftVoterResponseCurrentLeader{LeaderID: 1, LeaderEpoch: 5, Host: "c1", Port: 9093}
	}), "UpdateRaftVoter v0 ok, leader 1, epoch 5 at c1:9093"},
	{responseAs(0, func(*kmsg.UnregisterControllerResponse) {}), "UnregisterController v0 ok"},

	{responseAs(17, func(m *kmsg.FetchResponse) { m.ErrorCode = 104 }), "Fetch v17 INCONSISTENT_CLUSTER_ID"},
	{responseAs(17, func(*kmsg.FetchResponse) {}), "Fetch v17 not of KRaft's shape: 0 topics, session 0"},
	{fetched(func(m *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.ErrorCode = 6
		m.Brokers = []kmsg.FetchResponseBroker{{NodeID: 2, Host: "c2", Port: 9093}}
	}), "Fetch v17 NOT_LEADER_OR_FOLLOWER, leader 2, epoch 3 at c2:9093"},
	{fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 1, 44
	}), "Fetch v17 diverging 44@1, leader 2, epoch 3"},
	{fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.SnapshotID.Epoch, p.SnapshotID.EndOffset = 3, 7228
	}), "Fetch v17 snapshot 7228@3, leader 2, epoch 3"},
	{
		fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.HighWatermark = -1 }),
		"Fetch v17 hw unknown, no records, leader 2, epoch 3",
	},
	{fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.HighWatermark, p.RecordBatches = 48, noRecords(3)
	}), "Fetch v17 hw 48, records 0..2, leader 2, epoch 3"},
	{fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.RecordBatches = append(noRecords(3), noRecords(2)[:30]...)
	}), "Fetch v17 hw 0, records 0..2 and a cut batch, leader 2, epoch 3"},
	{
		fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = noRecords(2)[:5] }),
		"Fetch v17 hw 0, records cut within the first batch, leader 2, epoch 3",
	},
	{fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.RecordBatches = append(noRecords(1), make([]byte, 61)...)
	}), "Fetch v17 hw 0, records 0..0 and a malformed batch, leader 2, epoch 3"},
	{
		fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = make([]byte, 61) }),
		"Fetch v17 hw 0, records malformed, leader 2, epoch 3",
	},
}

func TestResponseLine_EachKey(t *testing.T) {
	var d Decoder
	seen := map[int16]bool{}
	for _, tt := range lineResponses {
		key := tt.message.Key()
		seen[key] = true
		if got := string(d.AppendResponseLine(nil, key, tt.message.GetVersion(), tt.message.AppendTo(nil))); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
	for key := range responseLines {
		if !seen[key] {
			t.Errorf("no sample of %s", Name(key))
		}
	}
}

// TestResponseLine_RefusedApiVersions reads the answer of a server that does not know the version asked with.
func TestResponseLine_RefusedApiVersions(t *testing.T) {
	var d Decoder
	got := string(d.AppendResponseLine(nil, KeyAPIVersions, 5, unhex(t, `0023 00000001 0012 0000 0004`)))
	if got != "ApiVersions v5 UNSUPPORTED_VERSION, keys [ApiVersions:0..4]" {
		t.Error(got)
	}
}

func TestFetchLines_DoNotAllocate(t *testing.T) {
	h, request := goldenFetch(t, goldenFetchV18)
	m := fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.HighWatermark, p.RecordBatches = 48, noRecords(3)
	})
	response := m.AppendTo(nil)
	var d Decoder
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		dst = d.AppendRequestLine(dst[:0], h, request)
		dst = d.AppendResponseLine(dst, KeyFetch, 17, response)
	}); n != 0 {
		t.Errorf("%v allocations for %s", n, dst)
	}
}

package mixed

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// TestMatrix_OursStandsByAsAControllerOfKafka: beside a real controller of the same release ours lists the same requests and features and the
// same registered controllers; Kafka's tools that are told only of ours get their answers; and a broker outlives a leader without
// metadata logic.
func TestMatrix_OursStandsByAsAControllerOfKafka(t *testing.T) {
	t.Parallel()
	for _, release := range cases(t, nil, nil, []string{"4.4.0", "4.0.0"}) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			q := stays(t, 10*time.Minute, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Dynamic, Brokers: 1, Timeouts: quick})
			ctx := q.ctx
			must(t, q.Start(ctx, 1, 2))
			must(t, q.WaitReady(ctx, 1, 2))
			must(t, q.Start(ctx, ours, kafka.FirstBroker))
			must(t, q.WaitReady(ctx))
			sameVersions(ctx, t, q.Quorum)
			sameControllers(ctx, t, q.Quorum)
			sameRefusal(ctx, t, q.Quorum)
			if release == "4.4.0" { // each tool is a JVM
				toolsAskOurs(ctx, t, q.Quorum)
				q.outlives()
			}
			must(t, q.Err())
		})
	}
}

func ask[T kmsg.Response](ctx context.Context, t *testing.T, n kafka.Node, req kmsg.Request, version int16) T {
	t.Helper()
	a, err := kafka.DialAdmin(ctx, n.Listener, "test")
	must(t, err)
	defer func() { _ = a.Close() }()
	req.SetVersion(version)
	resp, err := a.Request(ctx, req)
	must(t, err)
	return resp.(T)
}

func sameVersions(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	versions := func(id kraft.NodeID) (apis, finalized, supported map[string]string) {
		apis, finalized, supported = map[string]string{}, map[string]string{}, map[string]string{}
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1"
		r := ask[*kmsg.ApiVersionsResponse](ctx, t, q.Node(id), req, 4)
		for _, k := range r.ApiKeys {
			apis[wire.Name(k.ApiKey)] = fmt.Sprintf("%d-%d", k.MinVersion, k.MaxVersion)
		}
		for _, f := range r.FinalizedFeatures {
			finalized[f.Name] = fmt.Sprintf("%d-%d", f.MinVersionLevel, f.MaxVersionLevel)
		}
		for _, f := range r.SupportedFeatures {
			supported[f.Name] = fmt.Sprintf("%d-%d", f.MinVersion, f.MaxVersion)
		}
		return apis, finalized, supported
	}
	theirs, theirFinalized, theirSupported := versions(1)
	mine, finalized, supported := versions(ours)
	if !maps.Equal(theirs, mine) {
		for _, name := range slices.Sorted(maps.Keys(theirs)) {
			if mine[name] != theirs[name] {
				t.Errorf("%s: Kafka lists %s, ours %q", name, theirs[name], mine[name])
			}
			delete(mine, name)
		}
		t.Errorf("only ours, or otherwise, lists %v", mine)
	}
	if !maps.Equal(theirFinalized, finalized) {
		t.Errorf("finalized features: Kafka says %v, ours %v", theirFinalized, finalized)
	}
	for name, levels := range theirSupported {
		if supported[name] == "" {
			t.Errorf("ours does not support %s, of which Kafka knows the levels %s", name, levels)
		}
	}
	t.Logf("supported by Kafka %v, by ours %v", theirSupported, supported)
}

func sameControllers(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	known := func(id kraft.NodeID) string {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 2
		r := ask[*kmsg.DescribeClusterResponse](ctx, t, q.Node(id), req, 1)
		var all []string
		for _, b := range r.Brokers {
			all = append(all, fmt.Sprintf("%d at %s:%d", b.NodeID, b.Host, b.Port))
		}
		slices.Sort(all)
		return fmt.Sprintf("%v %s, %d leads %v", kraft.ErrorCode(r.ErrorCode), r.ClusterID, r.ControllerID, all)
	}
	for {
		theirs, mine := known(1), known(ours)
		if theirs == mine && strings.Count(theirs, " at ") == 3 {
			t.Log(theirs)
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("Kafka knows %s, ours %s", theirs, mine)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// sameRefusal asks who does not lead to describe the quorum.
func sameRefusal(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	said := map[bool]string{} // by ours, or not
	for ctx.Err() == nil && len(said) < 2 {
		for _, id := range q.Controllers() {
			if r := ask[*kmsg.DescribeQuorumResponse](ctx, t, q.Node(id), req, 2); r.Topics[0].Partitions[0].ErrorCode != 0 {
				text, err := json.Marshal(r)
				must(t, err)
				said[id == ours] = string(text)
			}
		}
		if len(said) < 2 { // ours leads
			time.Sleep(100 * time.Millisecond)
		}
	}
	if said[true] != said[false] {
		t.Errorf("who does not lead describes the quorum as\n%s\nours as\n%s", said[false], said[true])
	}
}

// setForAll changes a dynamic setting of all brokers and controllers, and waits until ours knows it.
func setForAll(ctx context.Context, t *testing.T, q *kafka.Quorum, name, value string) {
	t.Helper()
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = name, &value
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	set.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{config}}}
	get := kmsg.NewPtrDescribeConfigsRequest()
	get.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ConfigNames: []string{name}}}
	until(ctx, t, func() (any, bool) {
		for _, id := range q.Controllers() { // one of them is active
			if r := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, t, q.Node(id), set, 1); r.Resources[0].ErrorCode == 0 {
				return r, true
			}
		}
		return "no controller is active", false
	})
	until(ctx, t, func() (any, bool) {
		r := ask[*kmsg.DescribeConfigsResponse](ctx, t, q.Node(ours), get, 4)
		c := r.Resources[0].Configs
		return r, len(c) == 1 && c[0].Value != nil && *c[0].Value == value
	})
}

func toolsAskOurs(ctx context.Context, t *testing.T, q *kafka.Quorum) {
	t.Helper()
	setForAll(ctx, t, q, "log.retention.ms", "7777777")
	for _, tool := range []struct {
		class string
		args  []string
		says  string
	}{
		{"org.apache.kafka.tools.MetadataQuorumCommand", []string{"describe", "--status"}, q.ClusterID},
		{"org.apache.kafka.tools.MetadataQuorumCommand", []string{"describe", "--replication"}, "Follower"},
		{"org.apache.kafka.tools.FeatureCommand", []string{"describe"}, "metadata.version"},
		{"org.apache.kafka.tools.ClusterTool", []string{"cluster-id"}, q.ClusterID},
		{"org.apache.kafka.tools.ConfigCommand", []string{"--describe", "--entity-type", "brokers", "--entity-name", "3", "--all"}, "controller.listener.names=CONTROLLER"},
		{"org.apache.kafka.tools.ConfigCommand", []string{"--describe", "--entity-type", "brokers"}, "log.retention.ms=7777777"},
		{"org.apache.kafka.tools.ClusterTool", []string{"list-endpoints"}, "controller"},
	} {
		args := slices.Concat([]string{"--bootstrap-controller", q.Node(ours).Listener}, tool.args)
		if strings.HasSuffix(tool.class, "ClusterTool") { // its options follow the command
			args = slices.Concat(tool.args, []string{"--bootstrap-controller", q.Node(ours).Listener})
		}
		out, err := q.Tool(ctx, tool.class, args...)
		if err != nil || !strings.Contains(out, tool.says) {
			t.Errorf("%s %v: %v\n%s", tool.class, args, err, out)
		}
	}
}

// outlives has ours lead for longer than a broker's heartbeats take to be missed, and expects the broker at work again afterwards.
func (q *quorum) outlives() {
	ctx, t := q.ctx, q.t
	t.Helper()
	must(t, q.CreateTopics(ctx, 1, "before"))
	lead := q.oursMustLead()
	if r := ask[*kmsg.BrokerHeartbeatResponse](ctx, t, q.Node(ours), kmsg.NewPtrBrokerHeartbeatRequest(), 1); r.ErrorCode != int16(kraft.NotController) {
		t.Errorf("a heartbeat was answered %v", kraft.ErrorCode(r.ErrorCode))
	}
	time.Sleep(3 * time.Second)
	must(t, q.Stop(ctx, ours)) // it resigns
	q.leadsAbove(false, lead.Epoch)
	for {
		err := q.CreateTopics(ctx, 1, "after")
		if err == nil {
			return
		}
		if ctx.Err() != nil || !q.Running(kafka.FirstBroker) {
			t.Fatalf("after a leader of ours the broker makes no topic: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

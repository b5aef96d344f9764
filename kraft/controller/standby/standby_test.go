package standby

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func profile(t testing.TB, release string) compat.Profile {
	t.Helper()
	p, err := compat.ByRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHandle_AnswersEveryVersionThatIsListed: no request that a broker or tool may send gets a frame that cannot be read, and each says
// NOT_CONTROLLER somewhere.
func TestHandle_AnswersEveryVersionThatIsListed(t *testing.T) {
	for _, release := range []string{"4.0.0", "4.1.2", "4.4.0"} {
		s := New(Config{ID: 1, Profile: profile(t, release)})
		for _, r := range s.APIs() {
			for version := r.Min; version <= r.Max; version++ {
				answer, err := s.Handle(t.Context(), &controller.Request{Key: int16(r.API), Version: version, Body: sample(int16(r.API), version)})
				if err != nil {
					t.Errorf("%s %s v%d: %v", release, wire.Name(int16(r.API)), version, err)
					continue
				}
				checkAnswer(t, int16(r.API), version, answer)
			}
		}
	}
}

// sample asks for one thing of each kind.
func sample(key, version int16) []byte {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return []byte{0, 0, 0, 7, 0} // UnregisterController 7
	}
	req.SetVersion(version)
	switch q := req.(type) {
	case *kmsg.CreateTopicsRequest:
		q.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "a", NumPartitions: 1}}
	case *kmsg.DeleteTopicsRequest:
		name := "a"
		q.TopicNames, q.Topics = []string{name}, []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	case *kmsg.CreateACLsRequest:
		q.Creations = []kmsg.CreateACLsRequestCreation{{ResourceType: 2, ResourceName: "a", ResourcePatternType: 3, Principal: "User:a", Host: "*", Operation: 3, PermissionType: 3}}
	case *kmsg.DeleteACLsRequest:
		q.Filters = []kmsg.DeleteACLsRequestFilter{{ResourceType: 2, ResourcePatternType: 3, Operation: 3, PermissionType: 3}}
	case *kmsg.CreatePartitionsRequest:
		q.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "a", Count: 2}}
	case *kmsg.ElectLeadersRequest:
		q.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	case *kmsg.DescribeConfigsRequest:
		q.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: 2, ResourceName: "a"}}
	case *kmsg.AlterConfigsRequest:
		q.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: 2, ResourceName: "a"}}
	case *kmsg.IncrementalAlterConfigsRequest:
		q.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 2, ResourceName: "a"}}
	case *kmsg.AlterClientQuotasRequest:
		q.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user"}}}}
	case *kmsg.AlterUserSCRAMCredentialsRequest:
		q.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "a"}}
		q.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "b"}}
	}
	return req.AppendTo(nil)
}

func checkAnswer(t *testing.T, key, version int16, answer []byte) {
	t.Helper()
	if key == wire.KeyUnregisterController {
		if !bytes.Equal(answer, []byte{0, 0, 0, 0, 0, 41, 0, 0}) {
			t.Errorf("UnregisterController: % x", answer)
		}
		return
	}
	var d wire.Decoder
	resp, err := d.Response(key, version, answer)
	if err != nil {
		t.Errorf("%s v%d: %v", wire.Name(key), version, err)
		return
	}
	text, _ := json.Marshal(resp)
	want := `"ErrorCode":41`
	switch key {
	case wire.KeySaslHandshake, wire.KeySaslAuthenticate:
		want = `"ErrorCode":34`
	case keyDescribeDelegationToken, keyDescribeUserSCRAM:
		want = `"ErrorCode":-1`
	case wire.KeyDescribeCluster:
		want = `"ErrorCode":35` // nothing is known of the cluster
	}
	if !strings.Contains(string(text), want) {
		t.Errorf("%s v%d: %s", wire.Name(key), version, text)
	}
}

func TestHandle_RefusesWhatCannotBeRead(t *testing.T) {
	s := New(Config{ID: 1, Profile: profile(t, "4.4.0")})
	for _, key := range []int16{keyCreateTopics, wire.KeyIncrementalAlterConfigs, wire.KeyDescribeCluster} {
		if _, err := s.Handle(t.Context(), &controller.Request{Key: key, Version: 1, Body: []byte{0xff, 0xff, 0xff}}); err == nil {
			t.Errorf("%s of three bytes was answered", wire.Name(key))
		}
	}
}

func FuzzHandle(f *testing.F) {
	for _, a := range apis {
		f.Add(a.key, a.max, sample(a.key, a.max))
	}
	s := New(Config{ID: 1, Profile: profile(f, "4.4.0")})
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		for _, r := range s.APIs() {
			if int16(r.API) == key && version >= r.Min && version <= r.Max {
				answer, err := s.Handle(t.Context(), &controller.Request{Key: key, Version: version, Body: body})
				if err != nil {
					continue // the connection is closed
				}
				response := kmsg.ResponseForKey(key)
				response.SetVersion(version)
				if err := response.ReadFrom(answer); err != nil {
					t.Errorf("%s v%d answers what cannot be read: %v", kmsg.NameForKey(key), version, err)
				}
			}
		}
	})
}

// record frames a metadata record.
func record(kind byte, body ...byte) []byte { return append([]byte{1, kind, 0}, body...) }

// registered is a RegisterControllerRecord of one listener.
func registered(id byte, incarnation byte, listener, host string) []byte {
	body := []byte{0, 0, 0, id}
	body = append(body, bytes.Repeat([]byte{incarnation}, 16)...)
	body = append(body, 0, 2, byte(len(listener)+1))
	body = append(append(body, listener...), byte(len(host)+1))
	body = append(append(body, host...), 0x23, 0x84, 0, 0, 0) // port 9092, PLAINTEXT, no tags
	return record(registerController, append(body, 1, 0)...)  // no features, no tags
}

func batch(base kraft.Offset, values ...[]byte) []byte {
	var records []wire.Record
	for i, v := range values {
		records = append(records, wire.Record{Offset: base + kraft.Offset(i), Value: v})
	}
	return wire.AppendBatch(nil, wire.NewBatch(base, 1, 0), records...)
}

func TestImage_FollowsRecords(t *testing.T) {
	m := newImage()
	position, err := m.apply(append(
		batch(0, wire.FeatureLevelRecord(metadataVersion, 25), record(20), []byte{9, 9, 9}, nil, registered(1, 0xaa, "CONTROLLER", "h1")),
		batch(5, record(beginTransaction, 0), wire.FeatureLevelRecord(metadataVersion, 27), registered(2, 0xbb, "CONTROLLER", "h2"))...), 0)
	if err != nil || position != 8 {
		t.Fatal(position, err)
	}
	if s := m.shown(); s.features[metadataVersion] != 25 || len(s.controllers) != 1 || s.controllers[1].endpoints[0].Host != "h1" {
		t.Errorf("within a transaction: %+v", s)
	}
	aborted := m.clone()
	abort := wire.AppendBatch(nil, wire.NewBatch(8, 3, 0), wire.Record{Offset: 8, Value: record(abortTransaction, 0, 0)}) // by the next leader
	if _, err := aborted.apply(abort, 8); err != nil {
		t.Fatal(err)
	}
	if aborted.epoch != 3 {
		t.Errorf("after an abort in epoch 3: epoch %d", aborted.epoch)
	}
	if s := aborted.shown(); s.features[metadataVersion] != 25 || len(s.controllers) != 1 {
		t.Errorf("after an abort: %+v", s)
	}
	if _, err := m.apply(batch(8, record(endTransaction, 0), record(unregisterController, 0, 0, 0, 1, 0)), 8); err != nil {
		t.Fatal(err)
	}
	if s := m.shown(); s.features[metadataVersion] != 27 || len(s.controllers) != 1 || s.controllers[2].incarnation[0] != 0xbb {
		t.Errorf("after the end: %+v", s)
	}
	if _, err := m.apply([]byte{1, 2, 3}, 10); err == nil {
		t.Error("garbage was taken for committed records")
	}
}

// node is a log and a status.
type node struct {
	mu      sync.Mutex
	status  controller.Status
	log     []byte
	changed chan struct{}
}

func (n *node) Status() controller.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status
}

func (n *node) Wait(ctx context.Context, wanted func(*controller.Status) bool) (controller.Status, error) {
	for {
		n.mu.Lock()
		s, changed := n.status, n.changed
		n.mu.Unlock()
		if wanted(&s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}

func (n *node) Read(_ context.Context, _ []byte, from kraft.Offset, _ int32) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rest := n.log
	for {
		b, next, err := wire.NextBatch(rest)
		if err != nil || b.LastOffset() >= from {
			return rest, nil
		}
		rest = next
	}
}

func (n *node) append(to kraft.Offset, batches []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, batches...)
	n.status.HighWatermark = to
	close(n.changed)
	n.changed = make(chan struct{})
}

func describe(t *testing.T, s *Standby, endpointType int8) *kmsg.DescribeClusterResponse {
	t.Helper()
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.EndpointType = 1, endpointType
	answer, err := s.Handle(t.Context(), &controller.Request{Key: wire.KeyDescribeCluster, Version: 1, Listener: "CONTROLLER", Body: req.AppendTo(nil)})
	if err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	if err := resp.ReadFrom(answer); err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestDescribeCluster_NamesTheRegisteredControllers(t *testing.T) {
	n := &node{changed: make(chan struct{}), status: controller.Status{Leader: 2, Running: true}}
	s := New(Config{ID: 1, ClusterID: "c", Profile: profile(t, "4.4.0"), Endpoints: []Endpoint{{Endpoint: kraft.Endpoint{
		Name: "CONTROLLER", Address: kraft.Address{Host: "me", Port: 1},
	}}}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx, n) }()
	n.append(5, batch(0, wire.FeatureLevelRecord(metadataVersion, 25), registered(1, 1, "CONTROLLER", "where I was"), registered(2, 1, "CONTROLLER", "h2"),
		registered(3, 1, "OTHER", "h3"), record(20)))
	resp := describe(t, s, endpointTypeController)
	for end := time.Now().Add(20 * time.Second); resp.ErrorCode != 0 && time.Now().Before(end); {
		resp = describe(t, s, endpointTypeController)
	}
	if resp.ErrorCode != 0 || resp.ClusterID != "c" || resp.ControllerID != 2 || len(resp.Brokers) != 2 || resp.Brokers[1].Host != "h2" {
		t.Errorf("%+v", resp)
	}
	if resp := describe(t, s, 1); resp.ErrorCode != int16(kraft.MismatchedEndpointType) {
		t.Errorf("brokers were asked for: %+v", resp)
	}
	if resp := describe(t, s, 9); resp.ErrorCode != int16(kraft.UnsupportedEndpointType) {
		t.Errorf("what does not exist was asked for: %+v", resp)
	}
	n.mu.Lock()
	n.status.Leader = 1
	n.mu.Unlock()
	if resp := describe(t, s, endpointTypeController); resp.ControllerID != 1 || len(resp.Brokers) != 2 || resp.Brokers[1].Host != "me" {
		t.Errorf("this node leads: %+v", resp)
	}
	versions := kmsg.NewPtrApiVersionsResponse()
	versions.Version = 4
	s.Features(versions)
	if len(versions.FinalizedFeatures) != 1 || versions.FinalizedFeatures[0].MaxVersionLevel != 25 || versions.FinalizedFeaturesEpoch != 4 {
		t.Errorf("features %+v", versions)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

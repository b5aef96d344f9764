package standby

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft/controller"
)

// configRecord is a ConfigRecord; value "" deletes.
func configRecord(kind byte, resource, name, value string) []byte {
	compact := func(s string) []byte { return append([]byte{byte(len(s) + 1)}, s...) }
	v := compact(value)
	if value == "" {
		v = []byte{0}
	}
	return record(configuration, slices.Concat([]byte{kind}, compact(resource), compact(name), v, []byte{0})...)
}

func TestDescribeConfigs_TellsWhatTheFileAndTheRecordsSay(t *testing.T) {
	s := New(Config{ID: 3, Profile: profile(t, "4.4.0"), Settings: map[string]string{
		"node.id": "3", "log.retention.ms": "1", "ssl.keystore.password": "hidden",
	}})
	m := newImage()
	if _, err := m.apply(batch(0,
		configRecord(brokerResource, "", "log.retention.ms", "2"), configRecord(brokerResource, "3", "log.retention.ms", "3"),
		configRecord(brokerResource, "", "log.roll.ms", "4"), configRecord(brokerResource, "", "gone", "5"), configRecord(brokerResource, "", "gone", ""),
		configRecord(brokerResource, "1", "log.roll.ms", "6"), configRecord(2, "3", "log.roll.ms", "7"),
	), 0); err != nil {
		t.Fatal(err)
	}
	s.shown.Store(m)
	for _, c := range []struct {
		kind     kmsg.ConfigResourceType
		resource string
		names    []string
		want     string
	}{
		{brokerResource, "3", nil, "0: log.retention.ms=3 (2) log.roll.ms=4 (3) node.id=3 (4) ssl.keystore.password withheld (4)"},
		{brokerResource, "3", []string{"node.id", "none"}, "0: node.id=3 (4)"},
		{brokerResource, "", nil, "0: log.retention.ms=2 (3) log.roll.ms=4 (3)"},
		{brokerResource, "1", nil, "42:"},
		{brokerResource, "three", nil, "42:"},
		{2, "topic", nil, "41:"},
	} {
		for version := int16(1); version <= 4; version++ {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Version = version
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: c.kind, ResourceName: c.resource, ConfigNames: c.names}}
			body, err := s.Handle(t.Context(), &controller.Request{Key: keyDescribeConfigs, Version: version, Body: req.AppendTo(nil)})
			if err != nil {
				t.Fatal(err)
			}
			if got := configsIn(t, version, body); got != c.want {
				t.Errorf("v%d of %d %q %v: %s, want %s", version, c.kind, c.resource, c.names, got, c.want)
			}
		}
	}
}

// configsIn is an answer about one resource in short.
func configsIn(t *testing.T, version int16, body []byte) string {
	t.Helper()
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Version = version
	if err := resp.ReadFrom(body); err != nil || len(resp.Resources) != 1 {
		t.Fatalf("%+v: %v", resp, err)
	}
	r := resp.Resources[0]
	text := []string{fmt.Sprintf("%d:", r.ErrorCode)}
	for _, c := range r.Configs {
		value := " withheld"
		if !c.IsSensitive {
			value = "=" + *c.Value
		}
		text = append(text, fmt.Sprintf("%s%s (%d)", c.Name, value, c.Source))
	}
	return strings.Join(text, " ")
}

// The records of resources other than brokers, of which there may be many, are not looked at.
func TestImage_PassesOverTheConfigurationOfTopics(t *testing.T) {
	if interesting(configRecord(2, "topic", "a", "b")) || !interesting(configRecord(brokerResource, "", "a", "b")) {
		t.Error("a record is taken for another one")
	}
	if interesting(binary.BigEndian.AppendUint16([]byte{1, configuration}, 0)[:3]) {
		t.Error("a record without a resource is looked at")
	}
}

func TestDescribeConfigs_WithholdsWhatMayBeSecret(t *testing.T) {
	for name, withheld := range map[string]bool{
		"log.retention.ms": false, "controller.quorum.bootstrap.servers": false, "advertised.listeners": false, "listener.name.controller.sasl.enabled.mechanisms": false,
		"ssl.truststore.location": false, "ssl.keystore.location": false, "delegation.token.max.lifetime.ms": false,
		"ssl.key.password": true, "SSL.KEY.PASSWORD": true, "listener.name.x.plain.sasl.jaas.config": true, "sasl.oauthbearer.assertion.private.key.passphrase": true,
		"my.reporter.api.key": true, "vendor.license.token": true, "Custom.PASSWORD": true, "delegation.token.secret.key": true, "delegation.token.master.key": true,
	} {
		if got := maySecret(name); got != withheld {
			t.Errorf("%s: withheld %t, want %t", name, got, withheld)
		}
	}
}

// A short question has no long answer: each resource is told once.
func TestDescribeConfigs_AResourceThatIsAskedForAgainIsRefused(t *testing.T) {
	s := New(Config{ID: 3, Profile: profile(t, "4.4.0"), Settings: map[string]string{"node.id": "3"}})
	s.shown.Store(newImage())
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	for range 1000 {
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: brokerResource, ResourceName: "3"})
	}
	q := req.AppendTo(nil)
	body, err := s.Handle(t.Context(), &controller.Request{Key: keyDescribeConfigs, Version: 4, Body: q})
	if err != nil {
		t.Fatal(err)
	}
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Version = 4
	if err := resp.ReadFrom(body); err != nil || len(resp.Resources) != 1000 || resp.Resources[0].ErrorCode != 0 || resp.Resources[1].ErrorCode != 42 {
		t.Errorf("%d resources: %v", len(resp.Resources), err)
	}
	if len(body) > 4*len(q) {
		t.Errorf("%d bytes are answered with %d", len(q), len(body))
	}
}

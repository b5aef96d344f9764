package standby

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/wire"
)

// DescribeConfigs (32), by which kafka-configs asks each controller for its own configuration.
//
// Behaviour (Kafka: ControllerApis.handleDescribeConfigs, ConfigHelper.describeConfigs):
//   - A BROKER of the node's own id: what stands in the property file, with the dynamic settings of all brokers and then of this one over it.
//     Kafka adds the defaults of all properties that it knows; a node that interprets no record has none to add.
//   - A BROKER without a name: the dynamic settings of all brokers. Another id is an INVALID_REQUEST.
//   - Values that may be secret are withheld. Kafka knows them by their type, here the name tells; both withhold what Kafka has no property for.
//   - A resource that is asked for again is an INVALID_REQUEST; Kafka answers it again.
//   - All else is in the metadata that only an active controller interprets: NOT_CONTROLLER.

// What describes itself as a broker, and where a setting comes from (Kafka: DescribeConfigsResponse.ConfigSource).
const (
	brokerResource                          = 4
	fromThisNode, fromAllNodes, fromTheFile = 2, 3, 4
)

func (s *Standby) describeConfigs(r *controller.Request) ([]byte, error) {
	var d wire.Decoder
	decoded, err := d.Request(r.Key, r.Version, r.Body)
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	type resource struct {
		kind int8
		name string
	}
	seen := map[resource]bool{}
	for i := range req.Resources {
		q := &req.Resources[i]
		key := resource{int8(q.ResourceType), q.ResourceName}
		if seen[key] { // the answer is to stay about as long as the question
			again := kmsg.NewDescribeConfigsResponseResource()
			again.ResourceType, again.ResourceName, again.ErrorCode = q.ResourceType, q.ResourceName, int16(kraft.InvalidRequest)
			resp.Resources = append(resp.Resources, again)
			continue
		}
		seen[key] = true
		resp.Resources = append(resp.Resources, s.describeResource(q, req.IncludeSynonyms))
	}
	return resp.AppendTo(nil), nil
}

func (s *Standby) describeResource(q *kmsg.DescribeConfigsRequestResource, synonyms bool) kmsg.DescribeConfigsResponseResource {
	one := kmsg.NewDescribeConfigsResponseResource()
	one.ResourceType, one.ResourceName = q.ResourceType, q.ResourceName
	refuse := func(code kraft.ErrorCode, text string) kmsg.DescribeConfigsResponseResource {
		one.ErrorCode, one.ErrorMessage = int16(code), &text
		return one
	}
	own := s.cfg.ID.String()
	switch {
	case q.ResourceType != brokerResource:
		return refuse(kraft.NotController, "This controller interprets no metadata.")
	case q.ResourceName != "" && q.ResourceName != own:
		return refuse(kraft.InvalidRequest, "This is node "+own+", not "+strconv.Quote(q.ResourceName)+".")
	}
	m := s.shown.Load()
	all := map[string]setting{}
	if q.ResourceName == own {
		for name, value := range s.cfg.Settings {
			all[name] = setting{value, fromTheFile}
		}
	}
	for name, value := range m.settings[""] {
		all[name] = setting{value, fromAllNodes}
	}
	if q.ResourceName == own {
		for name, value := range m.settings[own] {
			all[name] = setting{value, fromThisNode}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if q.ConfigNames == nil || slices.Contains(q.ConfigNames, name) {
			one.Configs = append(one.Configs, all[name].entry(name, synonyms))
		}
	}
	return one
}

type setting struct {
	value  string
	source int8
}

func (v setting) entry(name string, synonyms bool) kmsg.DescribeConfigsResponseResourceConfig {
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.Source = name, kmsg.ConfigSource(v.source)
	if e.IsSensitive = maySecret(name); !e.IsSensitive {
		e.Value = &v.value
	}
	if synonyms {
		synonym := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		synonym.Name, synonym.Value, synonym.Source = name, e.Value, e.Source
		e.ConfigSynonyms = append(e.ConfigSynonyms, synonym)
	}
	return e
}

// words are what Kafka's properties begin with.
var words = strings.Fields(`add advertised allow alter authorizer auto background broker client cluster compression config connection connections controlled controller
	create default delegation delete early eligible errors fetch group initial inter internal kafka leader listener listeners log max message metadata metric metrics min node
	num offset offsets password principal process producer queued quota quotas remote replica replication request reserved sasl security server share socket ssl
	streams telemetry transaction transactional transactions unclean unstable zookeeper`)

// maySecret reports whether a property may hold what only its owner may know. So may one of a plugin, of which nothing is known (Kafka:
// KafkaConfig.maybeSensitive).
func maySecret(name string) bool {
	name = strings.ToLower(name)
	first, _, _ := strings.Cut(name, ".")
	return !slices.Contains(words, first) ||
		slices.ContainsFunc([]string{"password", "passphrase", "secret", "token.secret", "token.master", "credential", "private", "jaas.config", "api.key", "keystore.key",
			"keystore.certificate", "truststore.certificates"}, func(part string) bool {
			return strings.Contains(name, part)
		})
}

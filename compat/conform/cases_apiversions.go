package conform

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// apiVersionsCases ask what the node serves.
func apiVersionsCases(p compat.Profile) []Case {
	const (
		source  = "KIP-35, KIP-511, KIP-584; Kafka: ControllerApis.handleApiVersionsRequest, ApiVersionsRequest"
		some    = "errorCode=NONE apiKeys.len>=10 v1+:throttleTimeMs=0 "
		invalid = "errorCode=INVALID_REQUEST apiKeys.len=0"
	)
	cases := eachVersion(p, kraft.APIVersionsAPI, "api-versions", source, []rule{
		{name: "answers", says: "each version of the request is answered", want: []string{some}},
		{name: "needs-a-software-name", says: "a client without software name is refused", from: 3, ask: "clientSoftwareName=empty", want: []string{invalid}},
		{name: "needs-a-proper-software-name", says: "a software name starts and ends with a letter or digit", from: 3, ask: "clientSoftwareName=-x-", want: []string{invalid}},
		{name: "needs-a-software-version", says: "a client without software version is refused", from: 3, ask: "clientSoftwareVersion=empty", want: []string{invalid}},
	})
	for _, api := range p.APIs {
		cases = append(cases, rangeCase(api))
	}
	for v := int16(4); v <= 5; v++ {
		if r, ok := p.Range(kraft.APIVersionsAPI); ok && v <= r.Max {
			cases = append(cases, kraftVersionCase(v))
		}
	}
	for _, v := range []int16{99, 32767} {
		cases = append(cases, Case{
			ID:     fmt.Sprintf("api-versions/v%d/refused-in-v0", v),
			Says:   "a version that the node does not know is refused in the layout of v0, with the versions of ApiVersions itself",
			Source: "KIP-511; Kafka: ApiVersionsRequest.getErrorResponse", Level: Must,
			Steps: []Step{{
				Key: wire.KeyAPIVersions, Version: v, Frame: withoutBody,
				Want: []string{"errorCode=UNSUPPORTED_VERSION apiKeys.len=1 apiKeys[0].apiKey=18 apiKeys[0].minVersion=0 apiKeys[0].maxVersion>=4"},
			}},
		})
	}
	return cases
}

// rangeCase checks the versions that a node says it serves of one request.
func rangeCase(api compat.APIRange) Case {
	entry := func(message any) *kmsg.ApiVersionsResponseApiKey {
		m := message.(*kmsg.ApiVersionsResponse)
		for i := range m.ApiKeys {
			if m.ApiKeys[i].ApiKey == int16(api.API) {
				return &m.ApiKeys[i]
			}
		}
		return nil
	}
	name := wire.Name(int16(api.API))
	return Case{
		ID:     "api-versions/serves/" + name,
		Says:   fmt.Sprintf("%s is served in versions %d to %d", name, api.Min, api.Max),
		Source: "Kafka: clients/src/main/resources/common/message, ApiKeys", Level: Must,
		Steps: []Step{{
			Key: wire.KeyAPIVersions, Version: 3, Want: []string{"errorCode=NONE"},
			Check: &check{
				says: fmt.Sprintf("an entry %s %d-%d", name, api.Min, api.Max),
				holds: func(_ *Target, message any) error {
					have := entry(message)
					if have == nil {
						return fmt.Errorf("%s is not served", name)
					}
					if have.MinVersion != api.Min || have.MaxVersion != api.Max {
						return fmt.Errorf("%s is served in versions %d to %d, want %d to %d", name, have.MinVersion, have.MaxVersion, api.Min, api.Max)
					}
					return nil
				},
				spoil: func(_ *Target, message any) { entry(message).MaxVersion++ },
			},
		}},
	}
}

// kraftVersionCase checks that a node tells which levels of kraft.version it supports: a leader adds no voter that does
// not. Below v4 features that start at level 0 are left out.
func kraftVersionCase(version int16) Case {
	entry := func(message any) *kmsg.ApiVersionsResponseSupportedFeature {
		m := message.(*kmsg.ApiVersionsResponse)
		for i := range m.SupportedFeatures {
			if m.SupportedFeatures[i].Name == compat.KRaftVersionFeature {
				return &m.SupportedFeatures[i]
			}
		}
		return nil
	}
	return Case{
		ID: fmt.Sprintf("api-versions/v%d/tells-kraft-version", version), Says: "a controller supports kraft.version 0 to 1, and says so",
		Source: "KIP-853; Kafka: AddVoterHandler.handleApiVersionsResponse, KRaftVersion", Level: Must,
		Steps: []Step{{
			Key: wire.KeyAPIVersions, Version: version, Want: []string{"errorCode=NONE"},
			Check: &check{
				says: "a supported feature kraft.version 0-1",
				holds: func(_ *Target, message any) error {
					have := entry(message)
					if have == nil {
						return errors.New("kraft.version is not among the supported features")
					}
					if have.MinVersion != 0 || have.MaxVersion != 1 {
						return fmt.Errorf("kraft.version is supported from %d to %d, want 0 to 1", have.MinVersion, have.MaxVersion)
					}
					return nil
				},
				spoil: func(_ *Target, message any) { entry(message).MaxVersion = 0 },
			},
		}},
	}
}

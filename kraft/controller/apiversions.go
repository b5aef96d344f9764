package controller

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// softwareName is what a client may call itself (Kafka: ApiVersionsRequest.SOFTWARE_NAME_VERSION_PATTERN).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (c *Controller) otherAPIs() []compat.APIRange {
	if c.cfg.Handler == nil {
		return nil
	}
	return c.cfg.Handler.APIs()
}

// apiVersionsFrame answers an ApiVersions request before a handshake. Frames are without their size.
func (k *session) apiVersionsFrame(frame []byte) ([]byte, error) {
	h, body, err := wire.ParseRequestHeader(frame)
	if err != nil {
		return nil, err
	}
	response, err := k.apiVersions(&h, body)
	if err != nil {
		return nil, err
	}
	return response[4:], nil
}

// apiVersions answers any version: one that is not known by the layout of v0, with UNSUPPORTED_VERSION and the versions of ApiVersions
// alone.
func (k *session) apiVersions(h *wire.RequestHeader, body []byte) ([]byte, error) {
	own, _ := k.cfg.Profile.Range(kraft.APIVersionsAPI)
	r := kmsg.NewPtrApiVersionsResponse()
	if h.Version < own.Min || h.Version > own.Max {
		r.ErrorCode = int16(kraft.UnsupportedVersion)
		r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiKey(own)}
		return endResponse(r.AppendTo(beginResponse(nil, h))), nil
	}
	r.SetVersion(h.Version)
	q, err := k.decoder.Request(h.Key, h.Version, body)
	if err != nil {
		return nil, err
	}
	if q := q.(*kmsg.ApiVersionsRequest); h.Version >= 3 {
		if !softwareName.MatchString(q.ClientSoftwareName) || !softwareName.MatchString(q.ClientSoftwareVersion) {
			r.ErrorCode = int16(kraft.InvalidRequest)
			return endResponse(r.AppendTo(beginResponse(nil, h))), nil
		}
		k.software = q.ClientSoftwareName + " " + q.ClientSoftwareVersion
	}
	k.describe(r)
	return endResponse(r.AppendTo(beginResponse(nil, h))), nil
}

// describe lists what the node serves. Below v4 a feature whose minimum is 0 is left out, so kraft.version shows from v4 on.
func (k *session) describe(r *kmsg.ApiVersionsResponse) {
	for _, a := range slices.Concat(k.cfg.Profile.APIs, k.otherAPIs()) {
		r.ApiKeys = append(r.ApiKeys, apiKey(a))
	}
	slices.SortFunc(r.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	if r.Version < 3 {
		return
	}
	r.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: compat.KRaftVersionFeature, MaxVersion: 1}}
	if level := k.Status().KRaftVersion; level > 0 {
		r.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{
			Name: compat.KRaftVersionFeature, MaxVersionLevel: level, MinVersionLevel: level,
		}}
	}
	r.FinalizedFeaturesEpoch = -1
	if k.cfg.Features != nil {
		k.cfg.Features(r)
	}
	if r.Version < 4 {
		r.SupportedFeatures = slices.DeleteFunc(r.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.MinVersion == 0 })
	}
}

func apiKey(a compat.APIRange) kmsg.ApiVersionsResponseApiKey {
	return kmsg.ApiVersionsResponseApiKey{ApiKey: int16(a.API), MinVersion: a.Min, MaxVersion: a.Max}
}

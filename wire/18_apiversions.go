package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// ApiVersions (18): opens every connection of a Kafka client; the answer lists api keys, their versions and features.
//
// Behaviour:
//   - A client asks with its own highest version. A server that does not know it answers UNSUPPORTED_VERSION in
//     the layout of v0 with the one key 18, and the client asks again.
//   - A finalized feature at level 0 is left out; FinalizedFeaturesEpoch is -1 before metadata is loaded.
//   - The leader asks a new voter for its kraft.version range with one of these (KIP-853).
//
// Version notes:
//   - v3 flexible, client software name and version, features; the response header stays v0 at every version
//   - v4 lists features whose minimum is 0, so kraft.version shows only from there on
//   - v5 cluster id and node id that the client expects (KIP-1242, from 4.4.0); a raft client sends null and -1

func apiVersionsRequestLine(l line, m *kmsg.ApiVersionsRequest) line {
	if m.Version < 3 {
		return l.add("client software not stated")
	}
	l = l.text(m.ClientSoftwareName).add(" ").text(m.ClientSoftwareVersion)
	if m.ClusterID != nil {
		l = l.add(", cluster ").text(*m.ClusterID)
	}
	if m.Version >= 5 && m.NodeID != -1 {
		l = l.add(", node ").num(int64(m.NodeID))
	}
	return l
}

func apiVersionsResponseLine(l line, m *kmsg.ApiVersionsResponse) line {
	if m.ErrorCode != 0 {
		return list(l.code(m.ErrorCode).add(", keys "), m.ApiKeys, func(l line, k *kmsg.ApiVersionsResponseApiKey) line {
			return l.add(Name(k.ApiKey)).add(":").num(int64(k.MinVersion)).add("..").num(int64(k.MaxVersion))
		})
	}
	l = l.num(int64(len(m.ApiKeys))).add(" keys")
	if len(m.SupportedFeatures) > 0 {
		l = list(l.add(", features "), m.SupportedFeatures, func(l line, f *kmsg.ApiVersionsResponseSupportedFeature) line {
			return l.text(f.Name).add(":").num(int64(f.MinVersion)).add("..").num(int64(f.MaxVersion))
		})
	}
	if len(m.FinalizedFeatures) > 0 {
		l = list(l.add(", finalized "), m.FinalizedFeatures, func(l line, f *kmsg.ApiVersionsResponseFinalizedFeature) line {
			return l.text(f.Name).add(":").num(int64(f.MaxVersionLevel))
		})
		l = l.add(" at ").num(m.FinalizedFeaturesEpoch)
	}
	return l
}

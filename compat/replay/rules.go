package replay

import (
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// domain is where a rule of compat shows: in which message, at which field.
type domain struct {
	key  int16
	dir  wire.Direction // Request: what the node itself asks
	path string         // "": anywhere, or that it is there at all
}

// domains lists them for the rules whose difference can be seen from outside. A rule explains a difference only
// between two builds that differ in it. Rules that say when something is asked, and not what, are not among them, since the clock
// plays no part: by election-backoff a candidate of 4.0 that has lost asks for the same pre-votes sooner.
var domains = map[string][]domain{
	"fetch-high-watermark":         {{wire.KeyFetch, wire.Request, "topics.partitions.highWatermark"}, {wire.KeyFetch, wire.Response, "responses.partitions.highWatermark"}},
	"upgrade-kraft-version":        {{wire.KeyUpdateRaftVoter, wire.Response, ""}, {wire.KeyUpdateRaftVoter, wire.Request, ""}, {wire.KeyUpdateFeatures, wire.Response, ""}},
	"update-voter-period":          {{wire.KeyUpdateRaftVoter, wire.Request, ""}},
	"ack-when-committed":           {{wire.KeyAddRaftVoter, wire.Response, ""}},
	"auto-join":                    {{wire.KeyAddRaftVoter, wire.Request, ""}, {wire.KeyRemoveRaftVoter, wire.Request, ""}},
	"begin-only-to-silent":         {{wire.KeyBeginQuorumEpoch, wire.Request, ""}},
	"null-success-message":         {{wire.KeyAddRaftVoter, wire.Response, "errorMessage"}, {wire.KeyRemoveRaftVoter, wire.Response, "errorMessage"}},
	"configured-fetch-bytes":       {{wire.KeyFetch, wire.Request, "maxBytes"}, {wire.KeyFetch, wire.Request, "topics.partitions.partitionMaxBytes"}, {wire.KeyFetchSnapshot, wire.Request, "maxBytes"}, {wire.KeyFetchSnapshot, wire.Response, ""}},
	"fetch-snapshot-strict-shape":  {{wire.KeyFetchSnapshot, wire.Response, ""}},
	"fetch-snapshot-errors":        {{wire.KeyFetchSnapshot, wire.Request, ""}},
	"update-voter-restart-if-sent": {{wire.KeyUpdateRaftVoter, wire.Request, ""}},
}

// Rules that are no switch of the engine: each build has its own ranges of versions, and says so.
const (
	ruleVersions = "api-versions"
	ruleRange    = "api-range"
)

// explain names the rule by which two builds differ at a place; "" if none does.
func explain(recorded, live *compat.Profile, key int16, dir wire.Direction, path string) string {
	if recorded == nil || live == nil || recorded.Build == live.Build {
		return ""
	}
	path = withoutIndexes(path)
	if key == wire.KeyAPIVersions && dir == wire.Response && (path == "apiKeys" || strings.HasPrefix(path, "apiKeys.") || strings.Contains(path, "Features")) {
		return ruleVersions
	}
	rule, closest := "", -1 // the longest path says most
	for _, r := range compat.Rules() {
		if r.Value(recorded.Rules) == r.Value(live.Rules) {
			continue
		}
		for _, d := range domains[r.Name] {
			if d.key == key && d.dir == dir && (d.path == "" || path == d.path || strings.HasPrefix(path, d.path+".")) && len(d.path) > closest {
				rule, closest = r.Name, len(d.path)
			}
		}
	}
	return rule
}

// versionFor is the version in which a recorded request is asked of the live node: a lower one where its build does not
// serve that which the recorded build did.
func versionFor(recorded, live *compat.Profile, key, version int16) int16 {
	if recorded == nil || live == nil {
		return version
	}
	was, ok1 := recorded.Range(kraft.APIKey(key))
	is, ok2 := live.Range(kraft.APIKey(key))
	if !ok1 || !ok2 || version < was.Min || version > was.Max {
		return version // refused then too
	}
	return min(version, is.Max)
}

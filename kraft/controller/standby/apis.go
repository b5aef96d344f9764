package standby

import (
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Keys of requests that are answered here and have no name in package wire.
const (
	keyCreateTopics               int16 = 19
	keyDeleteTopics               int16 = 20
	keyDescribeACLs               int16 = 29
	keyCreateACLs                 int16 = 30
	keyDeleteACLs                 int16 = 31
	keyDescribeConfigs            int16 = 32
	keyAlterConfigs               int16 = 33
	keyCreatePartitions           int16 = 37
	keyCreateDelegationToken      int16 = 38
	keyRenewDelegationToken       int16 = 39
	keyExpireDelegationToken      int16 = 40
	keyDescribeDelegationToken    int16 = 41
	keyElectLeaders               int16 = 43
	keyAlterPartitionAssignments  int16 = 45
	keyListPartitionReassignments int16 = 46
	keyAlterClientQuotas          int16 = 49
	keyDescribeUserSCRAM          int16 = 50
	keyAlterPartition             int16 = 56
	keyAllocateProducerIDs        int16 = 67
	keyAssignReplicasToDirs       int16 = 73
)

// api is a request that a controller of Kafka lists, in the versions of 4.0, and what later releases have changed.
type api struct {
	key, min, max int16
	since         string // the first build that has it; "": all
	raised        string // the build that raised max to raisedMax; "": none
	raisedMax     int16
}

// apis are what Kafka's controllers list besides ApiVersions and the raft layer. Brokers offer to their clients what the active
// controller lists, so nothing that brokers forward may be missing.
var apis = []api{
	{key: wire.KeySaslHandshake, max: 1},
	{key: keyCreateTopics, min: 2, max: 7},
	{key: keyDeleteTopics, min: 1, max: 6},
	{key: keyDescribeACLs, min: 1, max: 3},
	{key: keyCreateACLs, min: 1, max: 3},
	{key: keyDeleteACLs, min: 1, max: 3},
	{key: keyDescribeConfigs, min: 1, max: 4},
	{key: keyAlterConfigs, max: 2},
	{key: wire.KeySaslAuthenticate, max: 2},
	{key: keyCreatePartitions, max: 3},
	{key: keyCreateDelegationToken, min: 1, max: 3},
	{key: keyRenewDelegationToken, min: 1, max: 2},
	{key: keyExpireDelegationToken, min: 1, max: 2},
	{key: keyDescribeDelegationToken, min: 1, max: 3},
	{key: keyElectLeaders, max: 2},
	{key: wire.KeyIncrementalAlterConfigs, max: 1},
	{key: keyAlterPartitionAssignments, raised: "4.1.0", raisedMax: 1},
	{key: keyListPartitionReassignments},
	{key: keyAlterClientQuotas, max: 1},
	{key: keyDescribeUserSCRAM},
	{key: wire.KeyAlterUserScramCredentials},
	{key: keyAlterPartition, min: 2, max: 3},
	{key: wire.KeyUpdateFeatures, max: 2},
	{key: wire.KeyEnvelope},
	{key: wire.KeyDescribeCluster, max: 2},
	{key: wire.KeyBrokerRegistration, max: 4},
	{key: wire.KeyBrokerHeartbeat, max: 1, raised: "4.3.0", raisedMax: 2},
	{key: wire.KeyUnregisterBroker},
	{key: keyAllocateProducerIDs},
	{key: wire.KeyControllerRegistration},
	{key: keyAssignReplicasToDirs},
	{key: wire.KeyUnregisterController, since: "4.4.0"},
}

// ranges are the versions that a build lists.
func ranges(build string) (all []compat.APIRange) {
	builds := compat.Profiles()
	at := func(name string) int {
		return slices.IndexFunc(builds, func(p compat.Profile) bool { return p.Build == name })
	}
	for _, a := range apis {
		if a.since != "" && at(build) < at(a.since) {
			continue
		}
		r := compat.APIRange{API: kraft.APIKey(a.key), Min: a.min, Max: a.max}
		if a.raised != "" && at(build) >= at(a.raised) {
			r.Max = a.raisedMax
		}
		all = append(all, r)
	}
	return all
}

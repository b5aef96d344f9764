package conform

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// flexibleCases add to requests of each api what a newer client may send.
func flexibleCases(p compat.Profile) []Case {
	asks := map[kraft.APIKey][2]string{
		kraft.VoteAPI:             {"p.replicaEpoch=$epoch", one + known + "p.errorCode=NONE p.voteGranted=false"},
		kraft.BeginQuorumEpochAPI: {"p.leaderEpoch=0", one + known + "p.errorCode=FENCED_LEADER_EPOCH"},
		kraft.EndQuorumEpochAPI:   {"p.leaderEpoch=0", one + known + "p.errorCode=FENCED_LEADER_EPOCH"},
		kraft.DescribeQuorumAPI:   {"topics.len=0", "errorCode=NONE topics.len=0"},
		kraft.FetchAPI:            {"p.currentLeaderEpoch=0", "v13+:p.errorCode=FENCED_LEADER_EPOCH v12-:errorCode=INVALID_REQUEST"},
		kraft.FetchSnapshotAPI:    {otherCluster, "errorCode=INCONSISTENT_CLUSTER_ID topics.len=0"},
		kraft.AddRaftVoterAPI:     {otherCluster, "errorCode=INCONSISTENT_CLUSTER_ID errorMessage=some"},
		kraft.RemoveRaftVoterAPI:  {otherCluster, "errorCode=INCONSISTENT_CLUSTER_ID errorMessage=some"},
		kraft.UpdateRaftVoterAPI:  {otherCluster, "errorCode=INCONSISTENT_CLUSTER_ID currentLeader.leaderId=$leader"},
		kraft.APIVersionsAPI:      {"", "errorCode=NONE apiKeys.len>=10"},
	}
	var cases []Case
	for _, api := range p.APIs {
		ask, ok := asks[api.API]
		if !ok {
			continue
		}
		cases = append(cases, eachVersion(p, api.API, "flexible/"+wire.Name(int16(api.API)), "KIP-482; Kafka: RawTaggedField", []rule{
			{name: "unknown-tag", says: "an unknown tagged field of a request is passed over", from: api.Flexible, ask: ask[0], want: []string{ask[1]}, tag: true},
			{name: "unknown-tag-in-header", says: "an unknown tagged field of a request's header is passed over", from: api.Flexible, ask: ask[0], want: []string{ask[1]}, headerTag: true},
		})...)
	}
	return cases
}

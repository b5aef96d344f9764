package kraft_test

import (
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// A request may leave the cluster id out. One that has it must have the right one: the empty text is another cluster (Kafka:
// KafkaRaftClient.hasValidClusterId). DescribeQuorum has none.
func TestClusterID_AbsentIsFineAndEmptyIsNot(t *testing.T) {
	requests := map[string]func(kraft.ClusterID) kraft.Event{
		"Fetch": func(id kraft.ClusterID) kraft.Event {
			e := leaderStage(3).fetch(2, 1, 0)
			e.ClusterID = id
			return e
		},
		"Vote": func(id kraft.ClusterID) kraft.Event {
			e := vote(1, kraft.LogEnd{})
			e.ClusterID = id
			return e
		},
		"PreVote": func(id kraft.ClusterID) kraft.Event {
			e := preVote(1, kraft.LogEnd{})
			e.ClusterID = id
			return e
		},
		"BeginQuorumEpoch": func(id kraft.ClusterID) kraft.Event {
			e := begin(2, 3)
			e.ClusterID = id
			return e
		},
		"EndQuorumEpoch": func(id kraft.ClusterID) kraft.Event {
			e := end(2, 3)
			e.ClusterID = id
			return e
		},
		"FetchSnapshot": func(id kraft.ClusterID) kraft.Event {
			e := &kraft.ReceiveFetchSnapshot{Request: request(7, 1), FetchEpoch: 1, Replica: kraft.ReplicaKey{ID: 2}}
			e.ClusterID = id
			return e
		},
		"AddRaftVoter": func(id kraft.ClusterID) kraft.Event {
			e := addVoter(4)
			e.ClusterID = id
			return e
		},
		"RemoveRaftVoter": func(id kraft.ClusterID) kraft.Event {
			e := removeVoter(3)
			e.ClusterID = id
			return e
		},
		"UpdateRaftVoter": func(id kraft.ClusterID) kraft.Event {
			e := updateVoter(2)
			e.ClusterID = id
			return e
		},
	}
	ids := []struct {
		id kraft.ClusterID
		ok bool
	}{
		{kraft.ClusterID{}, true},
		{kraft.ClusterID{Value: "cluster", Present: true}, true},
		{kraft.ClusterID{Value: "", Present: true}, false},
		{kraft.ClusterID{Value: "Cluster", Present: true}, false},
	}
	for name, request := range requests {
		for _, tt := range ids {
			refused := false
			for _, a := range leaderStage(3).on(request(tt.id)) {
				refused = refused || strings.Contains(a.String(), kraft.InconsistentClusterID.String())
			}
			if refused == tt.ok {
				t.Errorf("%s with %+v: refused %t", name, tt.id, refused)
			}
		}
	}
}

package mixed

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
)

// quorumInfo is what the leader answers to DescribeQuorum.
type quorumInfo struct {
	leader kraft.NodeID
	epoch  kraft.Epoch
	voters []kraft.ReplicaKey
	ports  map[kraft.NodeID]uint16

	watermark kraft.Offset
	observers []kraft.ReplicaKey
	ends      map[kraft.NodeID]kraft.Offset // of logs, as far as the leader knows
}

// ask asks the controllers themselves until one of them leads: Kafka's tool is a process of a second.
func (q *quorum) ask() (d quorumInfo) {
	q.t.Helper()
	until(q.ctx, q.t, func() (any, bool) {
		for _, id := range q.Controllers() {
			var ok bool
			if d, ok = describeBy(q.ctx, q.Node(id)); ok {
				return nil, true
			}
		}
		return "no controller says that it leads", false
	})
	return d
}

func describeBy(ctx context.Context, n kafka.Node) (d quorumInfo, ok bool) {
	a, err := kafka.DialAdmin(ctx, n.Listener, "test")
	if err != nil {
		return d, false
	}
	defer func() { _ = a.Close() }()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	resp, err := a.Request(limit, req)
	if err != nil {
		return d, false
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		return d, false
	}
	p := r.Topics[0].Partitions[0]
	d = quorumInfo{leader: kraft.NodeID(p.LeaderID), epoch: kraft.Epoch(p.LeaderEpoch), ports: map[kraft.NodeID]uint16{},
		watermark: kraft.Offset(p.HighWatermark), ends: map[kraft.NodeID]kraft.Offset{}}
	keys := func(replicas []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) (all []kraft.ReplicaKey) {
		for _, r := range replicas {
			all = append(all, kraft.ReplicaKey{ID: kraft.NodeID(r.ReplicaID), DirectoryID: r.ReplicaDirectoryID})
			d.ends[kraft.NodeID(r.ReplicaID)] = kraft.Offset(r.LogEndOffset)
		}
		slices.SortFunc(all, func(a, b kraft.ReplicaKey) int { return cmp.Compare(a.ID, b.ID) })
		return all
	}
	d.voters, d.observers = keys(p.CurrentVoters), keys(p.Observers)
	for _, node := range r.Nodes {
		for _, l := range node.Listeners {
			d.ports[kraft.NodeID(node.NodeID)] = l.Port
		}
	}
	return d, true
}

// describedRight compares what Kafka's tool says of a quorum of three voters and one observer, without a load, with the logs of the nodes, with what is on
// their disks, and with what the leader says before and after. The log grows meanwhile: an idle leader of Kafka writes ten records a second.
func (q *quorum) describedRight() (d kafka.Description) {
	t := q.t
	t.Helper()
	replicas := append(slices.Clone(q.Controllers()), observer)
	until(q.ctx, t, func() (any, bool) {
		onDisk := map[kraft.NodeID]kraft.Offset{}
		for _, id := range replicas {
			onDisk[id] = endOnDisk(t, q.Node(id))
		}
		var before quorumInfo
		until(q.ctx, t, func() (any, bool) { // each of them fetches from the leader of now
			before = q.ask()
			for _, id := range replicas {
				if end, known := before.ends[id]; !known || end < onDisk[id] {
					return []any{onDisk, before}, false
				}
			}
			return nil, true
		})
		var leader kafka.Elected
		d, leader = q.described()
		after := q.ask()
		t.Logf("Kafka's tool: %+v", d)
		if d.Epoch != before.epoch || d.Epoch != after.epoch {
			return []any{before, d, after}, false
		}
		if d.Leader != leader.Node || d.Leader != before.leader || d.Epoch != leader.Epoch {
			t.Errorf("the logs of the nodes say %v, the leader %+v", leader, before)
		}
		q.sameReplicas(d, before)
		least, most := extremes(before, after, q.Controllers())
		if d.HighWatermark < before.watermark || d.HighWatermark > after.watermark || d.MaxFollowerLag < 0 || d.MaxFollowerLag > most-least {
			t.Errorf("the leader says %+v before and %+v after", before, after)
		}
		for _, id := range replicas {
			if end := endOnDisk(t, q.Node(id)); end < after.ends[id] {
				t.Errorf("the leader believes that the log of node %v goes up to %d: on its disk it goes up to %d", id, after.ends[id], end)
			}
		}
		return nil, true
	})
	return d
}

// sameReplicas compares the voters, with their directories and addresses, and the observers.
func (q *quorum) sameReplicas(d kafka.Description, said quorumInfo) {
	t := q.t
	t.Helper()
	keys := func(replicas []kafka.DescribedReplica) (all []kraft.ReplicaKey) {
		for _, r := range replicas {
			all = append(all, r.Key)
		}
		return all
	}
	if voters := keys(d.Voters); !slices.Equal(voters, said.voters) || len(voters) != 3 || voters[0].DirectoryID != (kraft.DirectoryID{}) && !slices.Equal(voters, q.keys(1, 2, 3)) {
		t.Errorf("the voters are %v, the leader says %v", d.Voters, said.voters)
	}
	for _, v := range d.Voters {
		if want := "CONTROLLER://" + q.Node(v.Key.ID).Advertised; !slices.Equal(v.Endpoints, []string{want}) {
			t.Errorf("node %v is at %v, want %s", v.Key.ID, v.Endpoints, want)
		}
	}
	if observers := keys(d.Observers); !slices.Equal(observers, said.observers) || !slices.Equal(observers, q.keys(observer)) {
		t.Errorf("the observers are %v, the leader says %v", d.Observers, said.observers)
	}
}

// extremes are the least end of a log before and the greatest after.
func extremes(before, after quorumInfo, voters []kraft.NodeID) (least, most kraft.Offset) {
	least = before.ends[voters[0]]
	for _, id := range voters {
		least, most = min(least, before.ends[id]), max(most, after.ends[id])
	}
	return least, most
}

// endOnDisk is where the log of a node, which may be writing, ends.
func endOnDisk(t *testing.T, n kafka.Node) (end kraft.Offset) {
	t.Helper()
	eachOnDisk(n, func(last kraft.Offset) bool {
		end = last + 1
		return true
	})
	return end
}

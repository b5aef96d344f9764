package controller

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// Anyone can announce a leader of the highest epoch there is. As a controller of Kafka does, a node believes it, keeps it on its disk and takes it to
// the others; it does not end.
func TestLastEpoch_IsBelievedAndKept(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1)
	n := q.nodes[1]
	last := func(s *Status) bool { return s.Epoch == math.MaxInt32 }
	resp, err := n.sends(t, &kraft.SendBeginQuorumEpoch{Epoch: math.MaxInt32, Leader: 3, Voter: n.key, Endpoints: q.nodes[3].endpoints()}, 1)
	must(t, err)
	if p := resp.(*kmsg.BeginQuorumEpochResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.LeaderID != 3 || p.LeaderEpoch != math.MaxInt32 {
		t.Errorf("answered %+v", p)
	}
	if s := q.wait(1, "it believes the last epoch", last); s.Leader != 3 {
		t.Errorf("it follows %v", s.Leader)
	}
	q.kill(1)
	q.start(1)
	q.wait(1, "it has read the last epoch from its disk", last)
	q.start(2)
	q.wait(2, "it hears of the last epoch", last)
	q.kill(1)
	q.kill(2)
}

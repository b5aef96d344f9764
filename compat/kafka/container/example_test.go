package container_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka/container"
)

func TestQuorum_GetsOverTheLossOfItsLeader(t *testing.T) {
	q := container.Start(t, container.Config{Image: "understudy/kafka:4.4.0"}) // three controllers, each behind the proxy
	if err := q.Kill(q.First.Node); err != nil {                               // SIGKILL of the leader
		t.Fatal(err)
	}
	second, err := q.WaitEpochAbove(t.Context(), q.First.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, then %s", q.First, second)
	q.MustConform(t) // every answer was one that Kafka's rules allow
}

package controller

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Who has fetched much once and says nothing more costs its connection, and not what it was given.
func TestServe_ABigResponseIsNotKept(t *testing.T) {
	n := lone(t, nil)
	for range 4 {
		_, err := n.Append(t.Context(), bytes.Repeat([]byte{7}, 1<<20))
		must(t, err)
	}
	s := n.Status()
	sender := wire.Sender{ClusterID: testCluster}
	body, err := sender.AppendSend(nil, &kraft.SendFetch{
		Replica: kraft.ReplicaKey{ID: 9}, Epoch: s.Epoch, HighWatermark: -1, MaxBytes: 1 << 30,
	}, 18)
	must(t, err)
	hello := frameOf(kmsg.NewPtrApiVersionsRequest(), 0)
	const connections = 16
	for range connections {
		conn := n.dial(t)
		answer, err := answerTo(conn, appendRequest(nil, 1, 18, 7, "test", body), 1, 18)
		must(t, err)
		if len(answer) < 4<<20 {
			t.Fatalf("the response has %d bytes", len(answer))
		}
		_, err = answerTo(conn, hello, 18, 0) // what was given has left
		must(t, err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > connections*(4<<20)/2 {
		t.Errorf("%d MiB are held with %d silent connections", m.HeapAlloc>>20, connections)
	}
}

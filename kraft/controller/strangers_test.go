package controller

import (
	"encoding/binary"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func (l *loop) observers() int { return len(l.m.Role().(*kraft.Leader).Observers) }

// fetchAs is taken by the loop as from a connection.
func (l *loop) fetchAs(key kraft.ReplicaKey) (answered bool) {
	s := l.m.QuorumState()
	last, _ := l.log.LastEpoch()
	r := &request{id: kraft.RequestID(l.nextRequest.Add(1)), done: make(chan bool, 1)}
	r.header.Key, r.header.Version = wire.KeyFetch, 18
	e := &kraft.ReceiveFetch{
		Request: kraft.Request{ID: r.id, Version: 18, Listener: testListener}, Replica: key, FetchEpoch: s.Epoch,
		FetchOffset: l.log.End, LastFetchedEpoch: last, HighWatermark: -1, MaxBytes: 1,
	}
	l.on(l.take(&message{event: e, request: r}))
	l.hand = nil
	return len(r.done) == 1
}

// Whoever may connect can fetch under as many keys as it likes. With thousands of them each message took a leader longer than a Fetch may.
func TestObservers_NoAccountOfOneTooMany(t *testing.T) {
	const kept = 60
	n := lone(t, func(c *Config) { c.Limits.Observers = kept })
	made := func(i int) kraft.ReplicaKey {
		key := kraft.ReplicaKey{ID: 9}
		binary.BigEndian.PutUint32(key.DirectoryID[:], uint32(i))
		return key
	}
	n.inLoop(t, func(l *loop) {
		for i := 1; i <= kept+50; i++ {
			if !l.fetchAs(made(i)) {
				t.Errorf("Fetch %d has no answer", i)
			}
			if l.hand = nil; l.observers() > kept {
				t.Fatalf("after %d keys there are %d observers", i, l.observers())
			}
		}
		if l.observers() != kept {
			t.Errorf("there are %d observers, want %d", l.observers(), kept)
		}
		if timers := len(l.timers.peers); timers > 4*kept {
			t.Errorf("%d timers run", timers)
		}
		l.forgot = 0
		for timer := range l.timers.peers {
			if timer.Kind == kraft.SessionTimer {
				l.timers.peers[timer] = 0 // it has been silent for so long
			}
		}
		if !l.fetchAs(made(kept + 60)) {
			t.Error("the Fetch after a long silence has no answer")
		}
		if l.observers() != 1 {
			t.Errorf("there are %d observers after a long silence, want the new one", l.observers())
		}
	})
	if _, err := n.Append(t.Context(), []byte("after")); err != nil {
		t.Error(err)
	}
}

// Each announced leader is asked over a connection of its own.
func TestPeers_LeadersOfThePastAreLeft(t *testing.T) {
	n, _ := idle(t, "4.4.0")
	nobody := kraft.NewEndpoints(kraft.Endpoint{Name: testListener, Address: kraft.Address{Host: "127.0.0.1", Port: 1}})
	n.inLoop(t, func(l *loop) {
		for i := 1; i <= 10*maxPeers; i++ {
			to := kraft.Destination{Record: kraft.NodeID(1000 + i), CorrelationID: int32(i), Address: kraft.Address{Host: "127.0.0.1", Port: 1}}
			l.send(wire.KeyFetch, to, &kraft.SendFetch{Destination: to})
			l.peers[to.Record].asked = false // it has answered
			l.timers.reset(kraft.PeerTimer(kraft.RequestTimer, to.Record), 0)
		}
		if len(l.peers) > maxPeers {
			t.Errorf("%d peers are kept", len(l.peers))
		}
		if len(l.timers.peers) > 2*maxPeers {
			t.Errorf("%d timers are kept", len(l.timers.peers))
		}
	})
	resp, err := n.sends(t, &kraft.SendBeginQuorumEpoch{Epoch: 9, Leader: 1001, Voter: n.key, Endpoints: nobody}, 1)
	if err != nil || resp == nil {
		t.Errorf("one that was left is not followed again: %v", err)
	}
}

package simbench

import (
	"io"
	"log"
	"math/rand/v2"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/understudy-kafka/understudy/kraft/sim"
)

// BenchmarkSimulator plays seeds as the tests do, with every checker, in rounds that take turns with those of BenchmarkEtcdRaft. An
// operation is one simulator event: a delivery, a wake-up, a fault, a call of a client.
func BenchmarkSimulator(b *testing.B) {
	w := sim.New()
	b.ReportAllocs()
	events, calls, seed := 0, 0, uint64(1)
	for events < b.N {
		r := w.Run(sim.Draw(seed))
		if r.Violation != nil {
			b.Fatal(&r)
		}
		events, calls, seed = events+int(r.Events), calls+int(r.Calls), seed+1
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "engine-calls/s")
}

// BenchmarkEtcdRaft steps three RawNodes of etcd/raft with a random queue, without faults and without a check. An operation is a message, a
// tick or a proposal.
func BenchmarkEtcdRaft(b *testing.B) {
	raft.SetLogger(&raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)})
	random := rand.New(rand.NewPCG(1, 1))
	nodes := make([]*raft.RawNode, 3)
	stores := make([]*raft.MemoryStorage, 3)
	for i := range nodes {
		stores[i] = raft.NewMemoryStorage()
		if err := stores[i].ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{
			Index: 1, Term: 1, ConfState: raftpb.ConfState{Voters: []uint64{1, 2, 3}},
		}}); err != nil {
			b.Fatal(err)
		}
		n, err := raft.NewRawNode(&raft.Config{
			ID: uint64(i + 1), ElectionTick: 10, HeartbeatTick: 1, Storage: stores[i], MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
			PreVote: true, CheckQuorum: true, Applied: 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		nodes[i] = n
	}
	var queue []raftpb.Message
	drain := func(i int) {
		for nodes[i].HasReady() {
			ready := nodes[i].Ready()
			if len(ready.Entries) > 0 {
				_ = stores[i].Append(ready.Entries)
			}
			if !raft.IsEmptyHardState(ready.HardState) {
				_ = stores[i].SetHardState(ready.HardState)
			}
			queue = append(queue, ready.Messages...)
			nodes[i].Advance(ready)
		}
		if last, _ := stores[i].LastIndex(); last > 4096 {
			if first, _ := stores[i].FirstIndex(); last-first > 4096 {
				_ = stores[i].Compact(last - 1024)
			}
		}
	}
	payload := make([]byte, 40)
	b.ReportAllocs()
	for b.Loop() {
		switch dice := random.IntN(100); {
		case len(queue) > 0 && dice < 90:
			at := random.IntN(len(queue))
			m := queue[at]
			queue[at] = queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			_ = nodes[m.To-1].Step(m)
			drain(int(m.To - 1))
		case dice < 95:
			i := random.IntN(3)
			nodes[i].Tick()
			drain(i)
		default:
			i := random.IntN(3)
			_ = nodes[i].Propose(payload)
			drain(i)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

package controller

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// BenchmarkAppend_OneWriter is how long a record of 1 KB takes from Append until a majority of three nodes on files and sockets has it.
func BenchmarkAppend_OneWriter(b *testing.B) {
	for _, size := range []int{1 << 10, 50 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			q := newQuorum(b, 3, 3, func(_ kraft.NodeID, c *Config) { c.Timeouts = kraft.DefaultTimeouts(); c.Timeouts.AppendLingerMs = 0 })
			q.start(1, 2, 3)
			leader, _ := q.leader(0)
			n := q.nodes[leader]
			record := make([]byte, size)
			var took []time.Duration
			b.SetBytes(int64(size))
			b.ResetTimer()
			for range b.N {
				start := time.Now()
				if _, err := n.Append(b.Context(), record); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkAppend_EightWriters is what eight writers of 50 KB batches get through three nodes on files and sockets.
func BenchmarkAppend_EightWriters(b *testing.B) {
	q := newQuorum(b, 3, 3, func(_ kraft.NodeID, c *Config) { c.Timeouts = kraft.DefaultTimeouts(); c.Timeouts.AppendLingerMs = 0 })
	q.start(1, 2, 3)
	leader, _ := q.leader(0)
	n := q.nodes[leader]
	const writers, size = 8, 50 << 10
	b.SetBytes(size)
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			record := make([]byte, size)
			for range (b.N + writers - 1 - w) / writers {
				if _, err := n.Append(b.Context(), record); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkFollow_LongLog is how fast a node without a log takes over one of 256 MB.
func BenchmarkFollow_LongLog(b *testing.B) {
	const record, records = 200 << 10, 256 << 20 / (200 << 10)
	q := newQuorum(b, 2, 1, nil)
	q.start(1)
	leader, _ := q.leader(0)
	value := make([]byte, record)
	for range records {
		if _, err := q.nodes[leader].Append(b.Context(), value); err != nil {
			b.Fatal(err)
		}
	}
	end := q.nodes[leader].Status().LogEnd
	b.SetBytes(record * records)
	b.ResetTimer()
	for range b.N {
		q.wipe(2)
		q.start(2)
		q.wait(2, "it has the log", func(s *Status) bool { return s.LogEnd >= end })
		b.StopTimer()
		q.kill(2)
		b.StartTimer()
	}
}

package proxy

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// counter has one goroutine that adds and any number that read.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n uint64) { c.n.Store(c.n.Load() + n) }
func (c *counter) get() uint64  { return c.n.Load() }

// LatencyBuckets is the number of buckets of the forward latency: bucket i counts what took less than
// LatencyBound(i), the last one everything else.
const LatencyBuckets = 24

// LatencyBound is the upper bound of a bucket: 1.024 us, 2.048 us, … 8.6 s.
func LatencyBound(i int) time.Duration { return time.Duration(1024 << i) }

// latency is a histogram of the time between reading bytes and having written them on.
type latency struct {
	buckets [LatencyBuckets]counter
	sum     counter
}

func (l *latency) observe(ns int64) {
	i := max(0, bits.Len64(uint64(max(ns, 0)))-10)
	l.buckets[min(i, LatencyBuckets-1)].add(1)
	l.sum.add(uint64(max(ns, 0)))
}

// counters is what the loop counts; only the loop adds.
type counters struct {
	open, opened, reset counter
	bytes, frames       [2]counter
	gaps                counter
	opaque              counter
	unrecorded          counter
	faults              counter
	waits               counter
	latency             latency
}

// Stats is a snapshot of everything the proxy counts.
type Stats struct {
	Open      uint64 // connections being relayed
	Opened    uint64 // connections relayed since the start
	Reset     uint64 // connections that ended in a reset
	DialError uint64 // connections closed at once because the upstream did not answer

	BytesRequest, BytesResponse   uint64 // read from clients, from upstreams
	FramesRequest, FramesResponse uint64 // written on, whole

	Gaps          uint64           // times that the tap had no room
	GapBytes      uint64           // bytes of frames left out of the recording
	GapFrames     uint64           // frames left out
	Opaque        uint64           // directions that were not Kafka's protocol
	Unrecorded    uint64           // connections that the recorder never heard of
	Faults        uint64           // frames that a fault rule took
	Recorded      uint64           // frames given to the sinks
	Backlog       uint64           // bytes that the recorder has not looked at yet
	Requests      map[int16]uint64 // by api key
	Waits         uint64           // times that the loop waited for sockets
	LatencyCounts [LatencyBuckets]uint64
	LatencySum    time.Duration
	Sinks         []SinkStats
}

// OtherKeys stands in Stats.Requests for all api keys that Kafka does not have.
const OtherKeys int16 = -1

// SinkStats is what one sink counts.
type SinkStats struct {
	Name      string
	Frames    uint64 // taken
	Lost      uint64 // frames it could not take
	Errors    uint64
	LastError string
	Up        bool              // it works: the recording can be written, the checker runs
	State     string            // in words, where there is more to say
	Events    map[string]uint64 // of a checker, by kind
}

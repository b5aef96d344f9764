// Command etcdbench measures the engine beside etcd/raft v3.6.0, and copies of its state beside a copy of as many bytes, in one run.
//
// It is a module of its own, so that understudy does not depend on etcd/raft. Each round runs both sides of every case, one
// after the other and every other round in reverse; what counts is the ratio of their times within a round. Both are used as
// their drivers use them: Step, Ready and Advance of a RawNode on MemoryStorage, without logging; OnEvent with the actions in
// storage that is used again. Work that belongs to neither, as making messages and proposing what is to be acknowledged, is done
// before the clock starts.
//
// It exits with 1 if a requirement is missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// steps handles n events and tells how long that took. It fails if they had not the effect that they must have.
type steps func(n int) (time.Duration, error)

type comparison struct {
	name         string
	ours, theirs steps
	atMost       float64 // our time divided by theirs; 0: only to be seen
}

func main() {
	rounds := flag.Int("rounds", 51, "rounds that count")
	n := flag.Int("n", 20_000, "events of one case in a round")
	flag.Parse()
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	met, err := compare(comparisons, *rounds, *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcdbench:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}

var comparisons = []comparison{
	{"an acknowledgement moves the watermark", leaderAcknowledged, etcdLeaderAcknowledged, 1 / 2.0},
	{"a follower appends one record", followerAppends, etcdFollowerAppends, 1 / 2.0},
	{"the same, written to kraft/memlog", followerWrites, etcdFollowerAppends, 1 / 2.0},
	{"a fetch without news is answered", fetchAnswered, etcdHeartbeatAnswered, 3},
	{"the same, beside an old acknowledgement", fetchAnswered, etcdAcknowledgedAgain, 0},
	{"a fetch without news waits and expires", fetchParked, etcdHeartbeatAnswered, 0},
	{"clone into storage used again", onBusyLeader(cloneReused), onBusyLeader(copyBytes), 4},
	{"fresh clone", onBusyLeader(cloneFresh), onBusyLeader(copyBytesFresh), 3},
	{"fingerprint", onBusyLeader(fingerprint), onBusyLeader(copyBytes), 30},
}

type sample struct{ ours, theirs float64 } // nanoseconds an event

func (s sample) ratio() float64 { return s.ours / s.theirs }

func compare(list []comparison, rounds, n int) (met bool, err error) {
	samples := make([][]sample, len(list))
	for round := range rounds + 1 {
		for i, c := range list {
			s, err := c.measure(n, round%2 == 1)
			if err != nil {
				return false, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 { // the first one warms up
				samples[i] = append(samples[i], s)
			}
		}
	}
	fmt.Printf("%-40s %10s %10s %10s %16s  %s\n", "", "ours", "beside", "ratio", "quartiles", "required")
	met = true
	for i, c := range list {
		met = c.report(samples[i]) && met
	}
	return met, nil
}

func (c comparison) measure(n int, reverse bool) (s sample, err error) {
	order := []struct {
		run steps
		to  *float64
	}{{c.ours, &s.ours}, {c.theirs, &s.theirs}}
	if reverse {
		slices.Reverse(order)
	}
	for _, o := range order {
		runtime.GC() // and no more of it while the clock runs: etcd/raft allocates, but what that costs depends on the machine's load
		took, err := o.run(n)
		if err != nil {
			return s, err
		}
		*o.to = float64(took.Nanoseconds()) / float64(n)
	}
	return s, nil
}

func (c comparison) report(samples []sample) (met bool) {
	quantile := func(of func(sample) float64, q float64) float64 {
		var list []float64
		for _, s := range samples {
			list = append(list, of(s))
		}
		slices.Sort(list)
		return list[int(q*float64(len(list)-1))]
	}
	ratio := quantile(sample.ratio, 0.5)
	required := "-"
	met = true
	if c.atMost > 0 {
		met = ratio <= c.atMost
		required = fmt.Sprintf("at most %.2f", c.atMost)
		if !met {
			required += " MISSED"
		}
	}
	fmt.Printf("%-40s %7.0f ns %7.0f ns %10.2f %7.2f to %5.2f  %s\n", c.name,
		quantile(func(s sample) float64 { return s.ours }, 0.5), quantile(func(s sample) float64 { return s.theirs }, 0.5),
		ratio, quantile(sample.ratio, 0.25), quantile(sample.ratio, 0.75), required)
	return met
}

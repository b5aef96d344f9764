package sim

import (
	"flag"
	"slices"
	"testing"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only")
	seedsFlag = flag.Uint64("seeds", 0, "run so many seeds; 0: as many as the test tier has")
	fromFlag  = flag.Uint64("from", 1, "the first seed")
)

// numbers are the seeds of a random test. A failing one is printed; -seed takes it back.
func numbers(t *testing.T, short, full uint64) []uint64 {
	t.Helper()
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	n := full
	switch {
	case *seedsFlag > 0:
		n = *seedsFlag
	case testing.Short():
		n = short
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = *fromFlag + uint64(i)
	}
	return list
}

// report shows a failure with the smallest run that still has it.
func report(t *testing.T, w *World, r Result) {
	t.Helper()
	small := w.Shrink(r, 300)
	t.Errorf("%v\n%v\nshrunk: %v\n%v\nunderstudy sim %s", &r, &r.Options, &small, &small.Options, small.Options.Replay())
}

// TestSim_NoSeedBreaksAnInvariant is the proof by many runs: the sum of its events is in the log.
func TestSim_NoSeedBreaksAnInvariant(t *testing.T) {
	w := New()
	var total Result
	var times []int64
	failures := 0
	for _, seed := range numbers(t, 25, 2_200) {
		r := w.Run(Draw(seed))
		total.Events, total.Calls, total.Faults = total.Events+r.Events, total.Calls+r.Calls, total.Faults+r.Faults
		total.Committed, total.Acks = total.Committed+r.Committed, total.Acks+r.Acks
		times = append(times, r.ElectionMs)
		for h, n := range r.Hazards {
			total.Hazards[h] += n
		}
		if r.Violation != nil {
			report(t, w, r)
			if failures++; failures > 3 {
				break
			}
		}
	}
	slices.Sort(times)
	t.Logf("%d seeds: %d events, %d engine calls, %d faults, %d records committed, %d acknowledged; leader after the faults: median %d ms, "+
		"longest %d ms", len(times), total.Events, total.Calls, total.Faults, total.Committed,
		total.Acks, times[len(times)/2], times[len(times)-1])
	for h, n := range total.Hazards {
		t.Logf("%5d times: %v", n, Hazard(h))
	}
}

func TestSim_SameSeedSameRun(t *testing.T) {
	fresh, used := New(), New()
	for _, seed := range numbers(t, 10, 40) {
		o := Draw(seed)
		o.Events = 2000
		a := used.Run(o)
		b := fresh.Run(o)
		if a.String() != b.String() || a.At != b.At || a.Calls != b.Calls {
			t.Fatalf("seed %d:\n%v\n%v", seed, &a, &b)
		}
		fresh = New()
	}
}

package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/mutants"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// twin is an engine or a driver with something broken, which the checkers must see.
type twin struct {
	name string // of a mutant, or "driver:" and that of a broken driver
	want safety.Invariant
}

// drivers and mutants by the invariant that they break first. A run is made as its seed draws it.
var twins = []twin{
	{"driver:skips-persist", safety.PersistBeforeSend},
	{"driver:skips-vote-persist", safety.PersistBeforeSend},
	{"driver:forgets-election", safety.NoFatal},
	{"driver:forgets-state", safety.MonotoneEpoch},
	{"driver:skips-flush", safety.PersistBeforeSend},
	{"driver:flushes-late", safety.PersistBeforeSend},
	{"driver:keeps-directory", safety.Liveness},
	{"driver:wipes-majority", safety.Liveness},
	{"driver:acks-early", safety.AcknowledgedKept},
	{"driver:snapshots-ahead", safety.SnapshotIsPrefix},
	{"driver:snapshots-wrongly", safety.SnapshotIsPrefix},
	{"driver:truncates-more", safety.TruncationBound},
	{"driver:appends-other", safety.LogMatching},
	{"driver:swaps-batches", safety.LogMatching},
	{"driver:mixes-answers", safety.MajorityHolds},
	{"driver:forgets-voters", safety.OneVoterChange},
	{"driver:counts-ahead", safety.StateMachineSafety},
	{"driver:clock-stops", safety.Liveness},
	{"driver:never-fetches", safety.Liveness},
	{"driver:never-votes", safety.Liveness},
	{"driver:bumps-prevote", safety.PersistBeforeSend},
	{"resigned-forgets-itself", safety.NoFatal},
	{"unattached-keeps-old-vote", safety.Liveness},
	{"unattached-not-persisted", safety.PersistBeforeSend},
	{"follower-not-persisted", safety.PersistBeforeSend},
	{"prospective-keeps-connections", safety.NoFatal},
	{"candidate-not-persisted", safety.PersistBeforeSend},
	{"resigned-tells-itself", safety.NoFatal},
	{"voter-by-id", safety.VotersOnly},
	{"observer-elects", safety.NoFatal},
	{"vote-key-unchecked", safety.LeaderCompleteness},
	{"directory-unchecked", safety.LeaderCompleteness},
	{"vote-names-voter-without-directory", safety.LeaderCompleteness},
	{"vote-key-with-invalid-request", safety.NoFatal},
	{"vote-forgotten", safety.PersistBeforeSend},
	{"vote-told-before-durable", safety.PersistBeforeSend},
	{"vote-not-persisted", safety.PersistBeforeSend},
	{"vote-only-to-longer-log", safety.Liveness},
	{"vote-by-length-alone", safety.LeaderCompleteness},
	{"vote-by-epoch-alone", safety.LeaderCompleteness},
	{"candidate-grants-votes", safety.OneVote},
	{"vote-given-twice", safety.OneVote},
	{"high-watermark-of-old-epochs", safety.MonotoneWatermark},
	{"high-watermark-falls", safety.MonotoneWatermark},
	{"commit-by-half", safety.MajorityHolds},
	{"commit-by-all", safety.Liveness},
	{"observers-commit", safety.MajorityHolds},
	{"leader-inherits-high-watermark", safety.MonotoneWatermark},
	{"begin-to-itself", safety.NoFatal},
	{"leader-does-not-flush", safety.PersistBeforeSend},
	{"follower-does-not-flush", safety.PersistBeforeSend},
	{"observing-controller-does-not-flush", safety.PersistBeforeSend},
	{"fetch-diverging-is-progress", safety.MajorityHolds},
	{"fetch-error-parked", safety.ElectionSafety},
	{"election-without-own-vote", safety.Liveness},
	{"late-answer-accepted", safety.NoFatal},
	{"answer-after-reset-accepted", safety.NoFatal},
	{"repeated-announcement-followed", safety.NoFatal},
	{"leader-in-answer-not-followed", safety.NoFatal},
}

// mostTwinSeeds bounds how long a twin may hide.
const mostTwinSeeds = 150

// put puts a twin in place; the result is the broken driver.
func put(t *testing.T, name string) Broken {
	t.Helper()
	var none *mutants.Mutant
	none.Select()
	if driver, ok := strings.CutPrefix(name, "driver:"); ok {
		for _, b := range BrokenDrivers() {
			if b.String() == driver {
				return b
			}
		}
		t.Fatalf("no driver %q", driver)
	}
	m, err := mutants.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	m.Select()
	return Sound
}

// hunt plays seeds until one breaks an invariant that is wanted.
func hunt(t *testing.T, w *World, name string, most uint64, change func(*Options), want func(safety.Invariant) bool) (seed uint64, r Result) {
	t.Helper()
	broken := put(t, name)
	defer put(t, "driver:"+BrokenDrivers()[0].String())
	for seed = 1; seed <= most; seed++ {
		o := Draw(seed)
		o.Broken, o.Events, o.MostEvents = broken, 6000, 100_000
		change(&o)
		if r = w.Run(o); r.Violation != nil && want(r.Violation.Invariant) {
			return seed, r
		}
	}
	return 0, r
}

// TestTwins_EachBrokenTwinIsCaught: a checker that never fails is worse than none.
func TestTwins_EachBrokenTwinIsCaught(t *testing.T) {
	if !mutants.Inside(t) {
		return // the same test has run in a binary with the mutants
	}
	w := New()
	var seeds []uint64
	caught := map[safety.Invariant]int{}
	list := twins
	if testing.Short() {
		list = twins[:12]
	}
	for _, x := range list {
		seed, r := hunt(t, w, x.name, mostTwinSeeds, func(o *Options) { o.SkipLiveness = x.want != safety.Liveness && x.want != safety.AcknowledgedKept },
			func(i safety.Invariant) bool { return i == x.want })
		if seed == 0 {
			t.Errorf("%s: %d seeds do not break %v", x.name, mostTwinSeeds, x.want)
			continue
		}
		t.Logf("%-36s seed %3d, after %7d events: %v", x.name, seed, r.Events, r.Violation.Invariant)
		seeds = append(seeds, seed)
		caught[x.want]++
	}
	slices.Sort(seeds)
	t.Logf("%d of %d twins caught, median of %d seeds", len(seeds), len(list), seeds[len(seeds)/2])
	if testing.Short() {
		return
	}
	for _, i := range safety.Invariants() {
		if caught[i] == 0 {
			t.Errorf("no twin breaks %v", i)
		}
	}
}

// faultTwins has a twin for each kind of fault that a run with that kind alone catches. Where the twin is one that a quiet run does not
// catch, the fault is what finds it.
var faultTwins = []struct {
	kind  Kind
	name  string
	quiet bool // a run without it catches it too
	base  KindSet
}{
	{Loss, "driver:swaps-batches", false, 0},
	{Duplicate, "late-answer-accepted", true, 0},
	{Delay, "driver:truncates-more", false, 0},
	{Reorder, "answer-after-reset-accepted", true, 0},
	{Partition, "driver:truncates-more", false, 0},
	{Clog, "driver:swaps-batches", false, 0},
	{Pause, "driver:truncates-more", false, 0},
	{Crash, "driver:forgets-state", false, 0},
	{LostTail, "driver:forgets-election", false, 0},
	{TornTail, "driver:forgets-election", false, 0},
	{Wipe, "driver:keeps-directory", false, 0},
	{DiskFull, "driver:forgets-state", false, 0},
	{SlowSync, "driver:swaps-batches", false, 0},
	{Skew, "driver:clock-stops", true, 0},
	{Snapshots, "driver:snapshots-wrongly", false, 0},
	{Voters, "driver:forgets-voters", false, KindSet(0).With(Crash)},
	{Update, "driver:forgets-state", false, 0},
	{Upgrade, "driver:swaps-batches", false, 0},
	{Resign, "driver:forgets-state", false, 0},
	{Releases, "repeated-announcement-followed", true, 0},
}

func TestTwins_EachFaultCatchesOne(t *testing.T) {
	if !mutants.Inside(t) {
		return
	}
	w := New()
	any := func(safety.Invariant) bool { return true }
	covered := KindSet(0)
	for i, x := range faultTwins {
		covered = covered.With(x.kind)
		if testing.Short() && i%5 != 0 {
			continue
		}
		seed, r := hunt(t, w, x.name, mostTwinSeeds, func(o *Options) { o.Kinds, o.Events = x.base.With(x.kind), 3000 }, any)
		if seed == 0 {
			t.Errorf("%v alone does not catch %s within %d seeds", x.kind, x.name, mostTwinSeeds)
			continue
		}
		calm, _ := hunt(t, w, x.name, seed, func(o *Options) { o.Kinds, o.Events = x.base, 3000 }, any)
		if calm != 0 && !x.quiet {
			t.Errorf("%s is caught without %v too, with seed %d", x.name, x.kind, calm)
		}
		t.Logf("%-10v %-32s seed %3d: %v", x.kind, x.name, seed, r.Violation.Invariant)
	}
	for _, k := range Kinds() {
		if !covered.Has(k) {
			t.Errorf("no twin for %v", k)
		}
	}
}

func TestShrink_AFailureBecomesSmall(t *testing.T) {
	w := New()
	o := Draw(3)
	o.Broken = AppendsOther
	for o.Seed = 1; ; o.Seed++ {
		o.Kinds = Draw(o.Seed).Kinds.With(Loss, Partition, Pause)
		if r := w.Run(o); r.Violation != nil {
			small := w.Shrink(r, 150)
			if small.Violation == nil || small.Violation.Invariant != r.Violation.Invariant || small.Options.nodes() > r.Options.nodes() {
				t.Errorf("%v became %v", &r, &small)
			}
			if again := w.Run(small.Options); fmt.Sprint(again.Violation) != fmt.Sprint(small.Violation) {
				t.Errorf("the shrunk run does not repeat itself: %v, %v", again.Violation, small.Violation)
			}
			return
		}
	}
}

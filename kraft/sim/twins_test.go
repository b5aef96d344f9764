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
	name   string // of a mutant, or "driver:" and that of a broken driver
	want   safety.Invariant
	change func(*Options) // nil: a run is made as its seed draws it
}

// rivals makes five voters stand, vote and die in quick succession, while votes are late.
func rivals(o *Options) {
	_ = o.Resize(5, 0, 0)
	o.only(KindSet(0).With(Crash, Resign, Delay, Loss))
	o.FaultEvery, o.SlowPerMille = 30_000, 300
}

// drivers and mutants by the invariant that they break first.
var twins = []twin{
	{"driver:skips-persist", safety.PersistBeforeSend, nil},
	{"driver:skips-vote-persist", safety.PersistBeforeSend, nil},
	{"driver:forgets-vote", safety.OneVote, rivals},
	{"driver:forgets-election", safety.NoFatal, nil},
	{"driver:forgets-state", safety.MonotoneEpoch, nil},
	{"driver:skips-flush", safety.PersistBeforeSend, nil},
	{"driver:flushes-late", safety.PersistBeforeSend, nil},
	{"driver:keeps-directory", safety.Liveness, nil},
	{"driver:wipes-majority", safety.Liveness, nil},
	{"driver:acks-early", safety.AcknowledgedKept, nil},
	{"driver:snapshots-ahead", safety.SnapshotIsPrefix, nil},
	{"driver:snapshots-wrongly", safety.SnapshotIsPrefix, nil},
	{"driver:snapshots-unlinked", safety.VotersOnly, nil},
	{"driver:truncates-more", safety.TruncationBound, nil},
	{"driver:appends-other", safety.LogMatching, nil},
	{"driver:swaps-batches", safety.LogMatching, nil},
	{"driver:mixes-answers", safety.MajorityHolds, nil},
	{"driver:forgets-voters", safety.OneVoterChange, nil},
	{"driver:counts-ahead", safety.StateMachineSafety, nil},
	{"driver:clock-stops", safety.Liveness, nil},
	{"driver:never-fetches", safety.Liveness, nil},
	{"driver:never-votes", safety.Liveness, nil},
	{"driver:bumps-prevote", safety.PersistBeforeSend, nil},
	{"driver:takes-second-answer", safety.NoFatal, nil},
	{"driver:trusts-time-stamps", safety.Liveness, nil},
	{"driver:sends-newest", safety.Liveness, nil},
	{"driver:disk-lies", safety.LeaderCompleteness, nil},
	{"driver:keeps-torn-batch", safety.LogMatching, nil},
	{"driver:ignores-full-disk", safety.NoFatal, nil},
	{"driver:gives-up-sync", safety.PersistBeforeSend, nil},
	{"start-forgets-vote", safety.OneVote, rivals},
	{"resigned-forgets-itself", safety.NoFatal, nil},
	{"unattached-keeps-old-vote", safety.Liveness, nil},
	{"unattached-not-persisted", safety.PersistBeforeSend, nil},
	{"follower-not-persisted", safety.PersistBeforeSend, nil},
	{"prospective-keeps-connections", safety.NoFatal, nil},
	{"candidate-not-persisted", safety.PersistBeforeSend, nil},
	{"resigned-tells-itself", safety.NoFatal, nil},
	{"voter-by-id", safety.VotersOnly, nil},
	{"observer-elects", safety.NoFatal, nil},
	{"vote-key-unchecked", safety.LeaderCompleteness, nil},
	{"directory-unchecked", safety.LeaderCompleteness, nil},
	{"vote-names-voter-without-directory", safety.LeaderCompleteness, nil},
	{"vote-key-with-invalid-request", safety.NoFatal, nil},
	{"vote-forgotten", safety.PersistBeforeSend, nil},
	{"vote-told-before-durable", safety.PersistBeforeSend, nil},
	{"vote-not-persisted", safety.PersistBeforeSend, nil},
	{"vote-only-to-longer-log", safety.Liveness, nil},
	{"vote-by-length-alone", safety.LeaderCompleteness, nil},
	{"vote-by-epoch-alone", safety.LeaderCompleteness, nil},
	{"candidate-grants-votes", safety.OneVote, nil},
	{"vote-given-twice", safety.OneVote, nil},
	{"high-watermark-at-epoch-start", safety.MajorityHolds, nil},
	{"high-watermark-of-old-epochs", safety.MonotoneWatermark, nil},
	{"high-watermark-falls", safety.MonotoneWatermark, nil},
	{"commit-by-half", safety.MajorityHolds, nil},
	{"commit-by-all", safety.Liveness, nil},
	{"observers-commit", safety.MajorityHolds, nil},
	{"leader-inherits-high-watermark", safety.MonotoneWatermark, nil},
	{"begin-to-itself", safety.NoFatal, nil},
	{"leader-does-not-flush", safety.PersistBeforeSend, nil},
	{"follower-does-not-flush", safety.PersistBeforeSend, nil},
	{"observing-controller-does-not-flush", safety.PersistBeforeSend, nil},
	{"fetch-diverging-is-progress", safety.MajorityHolds, nil},
	{"fetch-error-parked", safety.ElectionSafety, nil},
	{"election-without-own-vote", safety.Liveness, nil},
	{"remove-voter-pending-unchecked", safety.OneVoterChange, nil},
	{"late-answer-accepted", safety.NoFatal, nil},
	{"answer-after-reset-accepted", safety.NoFatal, nil},
	{"repeated-announcement-followed", safety.NoFatal, nil},
	{"leader-in-answer-not-followed", safety.NoFatal, nil},
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
		change := func(o *Options) {
			if x.change != nil {
				x.change(o)
			}
			o.SkipLiveness = x.want != safety.Liveness && x.want != safety.AcknowledgedKept
		}
		seed, r := hunt(t, w, x.name, mostTwinSeeds, change, func(i safety.Invariant) bool { return i == x.want })
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
	for _, b := range BrokenDrivers() {
		if !slices.ContainsFunc(list, func(x twin) bool { return x.name == "driver:"+b.String() }) {
			t.Errorf("no run catches the driver %v", b)
		}
	}
	for _, i := range safety.Invariants() {
		if caught[i] == 0 {
			t.Errorf("no twin breaks %v", i)
		}
	}
}

// faultTwins has a twin for each kind of fault that is not caught without it: not by runs with no fault at all, or with those of base.
var faultTwins = []struct {
	kind   Kind
	name   string
	base   KindSet
	static bool // the quorum begins at kraft.version 0
}{
	{kind: Loss, name: "driver:truncates-more"},
	{kind: Duplicate, name: "driver:takes-second-answer"},
	{kind: Delay, name: "driver:truncates-more"},
	{kind: Reorder, name: "high-watermark-falls", base: KindSet(0).With(Duplicate)},
	{kind: Partition, name: "driver:truncates-more"},
	{kind: Clog, name: "driver:truncates-more"},
	{kind: Pause, name: "driver:truncates-more"},
	{kind: Crash, name: "driver:forgets-state"},
	{kind: LostTail, name: "driver:disk-lies", base: KindSet(0).With(Crash)},
	{kind: TornTail, name: "driver:keeps-torn-batch", base: KindSet(0).With(Crash, LostTail)},
	{kind: Wipe, name: "driver:keeps-directory"},
	{kind: DiskFull, name: "driver:ignores-full-disk", base: KindSet(0).With(Crash)},
	{kind: SlowSync, name: "driver:gives-up-sync"},
	{kind: Skew, name: "driver:trusts-time-stamps", base: KindSet(0).With(Loss)},
	{kind: Snapshots, name: "driver:snapshots-wrongly"},
	{kind: Voters, name: "driver:forgets-voters", base: KindSet(0).With(Crash)},
	{kind: Update, name: "driver:forgets-state"},
	{kind: Upgrade, name: "driver:forgets-voters", base: KindSet(0).With(Crash), static: true},
	{kind: Resign, name: "driver:forgets-state"},
	{kind: Releases, name: "driver:sends-newest"},
}

// faultTwinSeeds are enough to catch each of them with its fault, and catch none without it.
const faultTwinSeeds = 40

// TestTwins_EachFaultIsNeeded: a kind of fault that finds nothing of its own is worth nothing.
func TestTwins_EachFaultIsNeeded(t *testing.T) {
	if !mutants.Inside(t) {
		return
	}
	w := New()
	anything := func(safety.Invariant) bool { return true }
	covered := KindSet(0)
	var seeds []uint64
	for i, x := range faultTwins {
		covered = covered.With(x.kind)
		if testing.Short() && i%5 != 0 {
			continue
		}
		with := func(kinds KindSet) func(*Options) {
			return func(o *Options) {
				o.only(kinds)
				o.Dynamic, o.DuplicatePerMille = o.Dynamic && !x.static, 150
			}
		}
		seed, r := hunt(t, w, x.name, faultTwinSeeds, with(x.base.With(x.kind)), anything)
		if seed == 0 {
			t.Errorf("%v does not catch %s within %d seeds", x.kind, x.name, faultTwinSeeds)
			continue
		}
		if calm, _ := hunt(t, w, x.name, faultTwinSeeds, with(x.base), anything); calm != 0 {
			t.Errorf("%s is caught without %v too, with seed %d", x.name, x.kind, calm)
		}
		t.Logf("%-10v %-28s beside %-18v seed %2d: %v", x.kind, x.name, x.base, seed, r.Violation.Invariant)
		seeds = append(seeds, seed)
	}
	slices.Sort(seeds)
	t.Logf("%d kinds of faults, median of %d seeds, the most %d", len(seeds), seeds[len(seeds)/2], seeds[len(seeds)-1])
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

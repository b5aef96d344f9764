package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// Kind is a kind of fault, or of what operators and clients do to a quorum.
type Kind uint8

// The kinds. Those up to SlowSync are faults, the others are in order but make trouble.
const (
	Loss      Kind = iota // a message gets lost; its connection breaks, or the sender waits in vain
	Duplicate             // a request arrives twice
	Delay                 // some messages take far longer
	Reorder               // messages of one node to another overtake each other, as on different connections
	Partition             // nothing passes from some nodes to others, in one direction or both
	Clog                  // nothing passes for a while, then all of it at once
	Pause                 // a process stands still
	Crash                 // a process dies between any two actions, and begins anew
	LostTail              // a crash takes what was not flushed
	TornTail              // a crash takes a part of what was not flushed
	Wipe                  // the disk is lost: the node comes back with a new directory id and an empty log
	DiskFull              // a write fails, the process ends and stays away until there is space
	SlowSync              // making something durable takes long
	Skew                  // clocks run up to 5 % too fast or too slow
	Snapshots             // snapshots are taken and the log start moves
	Voters                // voters are added and removed
	Update                // a node restarts with another endpoint, which it tells the leader
	Upgrade               // kraft.version is raised from 0 to 1
	Resign                // leaders are asked to step down, nodes to shut down gracefully
	Releases              // the nodes run different releases
	kinds
)

var kindNames = [kinds]string{
	"loss", "duplicate", "delay", "reorder", "partition", "clog", "pause", "crash", "lost-tail", "torn-tail", "wipe", "disk-full",
	"slow-sync", "skew", "snapshots", "voters", "update", "upgrade", "resign", "releases",
}

func (k Kind) String() string { return kindNames[k] }

// Kinds are all of them.
func Kinds() []Kind {
	list := make([]Kind, kinds)
	for i := range list {
		list[i] = Kind(i)
	}
	return list
}

// KindByName finds a kind.
func KindByName(name string) (Kind, error) {
	if i := slices.Index(kindNames[:], name); i >= 0 {
		return Kind(i), nil
	}
	return 0, fmt.Errorf("there is no fault %q: want one of %s", name, strings.Join(kindNames[:], ", "))
}

// KindSet is a set of kinds.
type KindSet uint32

// Has reports whether the kind is in the set.
func (s KindSet) Has(k Kind) bool { return s&(1<<k) != 0 }

// With is the set and the kinds.
func (s KindSet) With(list ...Kind) KindSet {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Without is the set but for the kinds.
func (s KindSet) Without(list ...Kind) KindSet {
	for _, k := range list {
		s &^= 1 << k
	}
	return s
}

func (s KindSet) String() string {
	var list []string
	for k := range kinds {
		if s.Has(k) {
			list = append(list, k.String())
		}
	}
	return "{" + strings.Join(list, " ") + "}"
}

// Options are what a run is made of. Draw makes them from a seed.
type Options struct {
	Seed      uint64
	Voters    int  // that the quorum begins with, 1 to 7
	Spares    int  // controllers that are no voters yet
	Observers int  // brokers
	Dynamic   bool // kraft.version 1 from the beginning
	AutoJoin  bool // controllers add themselves to the voters, where the release can
	Wire      bool // every message passes through its real bytes
	Profiles  []compat.Profile
	Kinds     KindSet
	Events    int // of the safety phase
	Skip      map[int]bool
	Only      bool // the faults of Skip are those that are kept

	LossPerMille, DuplicatePerMille, SlowPerMille int64
	LinkDelay                                     int64 // microseconds a message takes at most
	FaultEvery, AppendEvery, AdminEvery           int64 // microseconds, on average
	SyncDelay                                     int64 // microseconds that making something durable takes at most

	// Broken is a driver that does something wrong, which the checkers must see.
	Broken Broken

	// KeepStaleVoters lets a node go on that does not know the voters that its log holds.
	KeepStaleVoters bool

	// NoLimits lets the fault model do what no quorum survives.
	NoLimits bool

	// MostEvents ends the liveness phase with a violation; 0: a number that only a loop reaches.
	MostEvents uint64

	// SkipLiveness ends the run after the safety phase.
	SkipLiveness bool
}

// Timeouts of the nodes: Kafka's defaults.
var timeouts = kraft.DefaultTimeouts()

const defaultEvents = 10_000

// Draw makes the options of a seed: each kind of fault is on or off, and how often things happen is drawn too, so that the runs of a
// thousand seeds differ in more than their dice (swarm testing).
func Draw(seed uint64) Options {
	r := newRandom(seed, 1)
	o := Options{
		Seed: seed, Voters: int(r.between(1, 5)), Dynamic: r.chance(600), Wire: r.chance(60), Events: defaultEvents,
		LinkDelay: r.between(1, 20) * 1000, AppendEvery: r.between(5, 120) * 1000, FaultEvery: r.between(20, 600) * 1000,
		AdminEvery: r.between(100, 3000) * 1000, SyncDelay: r.below(4) * 1000,
	}
	switch {
	case r.chance(80):
		o.Voters = 7
	case o.Voters < 3 && r.chance(600):
		o.Voters = 3
	}
	if r.chance(500) {
		o.Spares = int(r.between(0, 2))
	}
	if r.chance(400) {
		o.Observers = int(r.between(0, 2))
	}
	for k := range kinds {
		if r.chance(450) {
			o.Kinds = o.Kinds.With(k)
		}
	}
	o.AutoJoin = r.chance(300)
	o.LossPerMille, o.DuplicatePerMille, o.SlowPerMille = r.between(1, 150), r.between(1, 150), r.between(1, 100)
	o.drawProfiles(&r)
	return o
}

// only leaves the kinds of the set, and draws the releases for them.
func (o *Options) only(set KindSet) {
	o.Kinds, o.Profiles = set, nil
	r := newRandom(o.Seed, 6)
	o.drawProfiles(&r)
}

func (o *Options) drawProfiles(r *random) {
	all := profiles
	same := all[r.pick(len(all))]
	for range o.nodes() {
		if o.Kinds.Has(Releases) {
			same = all[r.pick(len(all))]
		}
		o.Profiles = append(o.Profiles, same)
	}
}

var profiles = compat.Profiles()

func (o *Options) nodes() int { return o.Voters + o.Spares + o.Observers }

// skips reports whether a fault, by its number in the run, is left out.
func (o *Options) skips(fault int) bool { return o.Skip[fault] != o.Only }

func (o *Options) String() string {
	var builds []string
	for i := range o.Profiles {
		if b := o.Profiles[i].Build; i == 0 || builds[len(builds)-1] != b {
			builds = append(builds, b)
		}
	}
	return fmt.Sprintf("seed=%d voters=%d spares=%d observers=%d dynamic=%t auto-join=%t wire=%t releases=%s loss=%d duplicate=%d slow=%d "+
		"link=%dus fault-every=%dus append-every=%dus admin-every=%dus sync=%dus %v", o.Seed, o.Voters, o.Spares, o.Observers, o.Dynamic,
		o.AutoJoin, o.Wire, strings.Join(builds, ","), o.LossPerMille, o.DuplicatePerMille, o.SlowPerMille, o.LinkDelay, o.FaultEvery,
		o.AppendEvery, o.AdminEvery, o.SyncDelay, o.Kinds)
}

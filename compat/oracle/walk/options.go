package walk

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// Options are what one history is played under. They are drawn from its seed.
type Options struct {
	Release   string // whose versions the made-up messages keep to
	Seed      uint64
	KRaft     int   // kraft.version that the cluster begins with
	Voters    int32 // 1 to 5
	Observers int32
	Lone      bool // only node 1 is real: everybody else is made up
	Hostile   bool // messages that end the process are among those made up
	Started   bool // nodes find something on their disks

	Config      map[string]any
	Listeners   int  // names that a node listens on
	Bootstrap   bool // a static quorum with bootstrap servers of its own
	AutoJoin    bool
	Old         bool // some peers speak old versions
	Loss        int  // per mille of messages
	Duplicates  int
	Failures    int // per mille of requests that fail in the transport
	Mutations   int // per mille of messages that are altered
	Crafted     int // per mille of steps that make up a request
	Restarts    int
	Partitions  int
	During      bool // the clock moves inside turns
	Jumps       int  // per mille of steps that jump to a deadline
	Shutdowns   int
	Snapshots   int
	VoterChange int
	Disk        int // per mille of steps in which storage fails
	Late        int // per mille of answers of the made-up world that come later
	Follow      int // per mille of steps in which a made-up replica follows the node

	FileLog bool // nothing that Kafka's file log cannot do: no initial log, no lost tail, no failing storage
}

// Draw makes the options of a history.
func Draw(seed uint64) Options {
	r := rand.New(rand.NewPCG(seed, 1))
	some := func(chance, value int) int {
		if r.IntN(100) < chance {
			return 1 + r.IntN(value)
		}
		return 0
	}
	o := Options{
		Seed: seed, KRaft: r.IntN(3), Voters: 1 + int32(r.IntN(5)), Observers: int32(r.IntN(3)),
		Lone: r.IntN(3) == 0, Hostile: r.IntN(4) == 0, Started: r.IntN(3) == 0, Listeners: 1 + r.IntN(2), Bootstrap: r.IntN(4) == 0,
		AutoJoin: r.IntN(3) == 0, Old: r.IntN(5) == 0, Loss: some(50, 60), Duplicates: some(30, 40), Failures: some(60, 80), Mutations: some(40, 80),
		Crafted: some(60, 120), Restarts: some(50, 8), Partitions: some(40, 20), During: r.IntN(3) == 0, Jumps: 20 + r.IntN(150),
		Shutdowns: some(20, 4), Snapshots: some(60, 40), VoterChange: some(60, 40), Disk: some(15, 3), Late: some(70, 500), Follow: 50 + r.IntN(250),
	}
	if o.Hostile {
		o.Mutations += 40 + r.IntN(100)
	}
	o.KRaft = min(1, o.KRaft) // two of three are dynamic
	if o.Voters == 2 && r.IntN(2) == 0 {
		o.Voters = 3
	}
	one := func(values ...int) int { return values[r.IntN(len(values))] }
	o.Config = map[string]any{
		"controller.quorum.election.timeout.ms":      one(1000, 300, 707),
		"controller.quorum.fetch.timeout.ms":         one(2000, 500, 1001),
		"controller.quorum.election.backoff.max.ms":  one(1000, 150, 333),
		"controller.quorum.request.timeout.ms":       one(2000, 100, 600),
		"controller.quorum.retry.backoff.ms":         one(20, 55, 0),
		"controller.quorum.append.linger.ms":         one(0, 25, 7),
		"controller.quorum.fetch.max.bytes":          one(1<<20, 200, 90),
		"controller.quorum.fetch.snapshot.max.bytes": one(1<<20, 300, 77),
		"controller.quorum.auto.join.enable":         o.AutoJoin,
	}
	return o
}

// ForFileLog leaves out what Kafka's file log cannot do.
func (o Options) ForFileLog() Options {
	o.FileLog, o.Disk = true, 0
	return o
}

// maxFetch and maxAddVoter are the highest versions that the release serves.
func (o *Options) maxFetch() int16 {
	if o.Release < "4.1" {
		return 17
	}
	return 18
}

func (o *Options) maxAddVoter() int16 {
	if o.Release < "4.2" {
		return 0
	}
	return 1
}

// String shows the options on one line.
func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: kraft.version %d, %d voters, %d observers", o.Seed, o.KRaft, o.Voters, o.Observers)
	for name, on := range map[string]bool{"lone": o.Lone, "hostile": o.Hostile, "started": o.Started, "during": o.During, "old": o.Old} {
		if on {
			b.WriteString(", " + name)
		}
	}
	fmt.Fprintf(&b, "; per mille: loss %d, duplicates %d, failures %d, mutations %d, crafted %d, restarts %d, partitions %d, jumps %d", o.Loss, o.Duplicates,
		o.Failures, o.Mutations, o.Crafted, o.Restarts, o.Partitions, o.Jumps)
	return b.String()
}

// init describes a node of the history.
func (h *history) init(id int32) oracle.Init {
	o := &h.Options
	var voters []int32
	for v := int32(1); v <= o.Voters; v++ {
		voters = append(voters, v)
	}
	in := oracle.NewInit(id, o.KRaft, voters...)
	in.Config, in.Seed = o.Config, nil
	seed := int64(o.Seed)*100 + int64(id)
	in.Seed = &seed
	if o.Listeners > 1 {
		in.Endpoints["SECOND"] = fmt.Sprintf("h%d:9094", id)
		for i := range in.Voters {
			in.Voters[i].Endpoints["SECOND"] = fmt.Sprintf("h%d:9094", in.Voters[i].ID)
		}
	}
	in.BootstrapServers = nil
	if o.KRaft == 1 || o.Bootstrap {
		for v := int32(1); v <= max(2, min(o.Voters, 3)); v++ {
			in.BootstrapServers = append(in.BootstrapServers, oracle.Host(v))
		}
	}
	if id > o.Voters {
		if o.KRaft == 1 { // formatted without initial controllers
			in.Voters = nil
		}
		in.CannotBecome = h.chance(300)
	}
	switch {
	case o.AutoJoin && o.KRaft == 1 && h.chance(250): // its disk was wiped: the voters know it by another directory id
		in.Dir = kraft.DirectoryID{15: byte(200 + id)}.String()
	case id > o.Voters && h.chance(60): // no broker or controller at all
		in.ID, in.CannotBecome = nil, true
	}
	if o.Started && h.chance(700) {
		h.disk(&in)
	}
	return in
}

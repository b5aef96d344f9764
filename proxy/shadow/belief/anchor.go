package belief

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// wires is what is known of the node's connections, whether or not the node is anchored.
type wires struct {
	asked []*crossing          // requests to it without an answer
	fetch *crossing            // its last Fetch, if nothing came to it since
	reign reign                // what it has answered as a leader
	out   map[ConnID]*crossing // its requests without an answer
	conns map[ConnID]bool      // open connections that it has an end of; true: it was heard on it
	alive int                  // those that it was heard on
	gone  bool                 // all of them have ended

	// drained are the connections that a request has left on that was built since judging began. On others older ones may yet leave: to
	// one node there may be two, as a voter and as a bootstrap server.
	drained   map[ConnID]bool
	began     *crossing   // what judging began with; nil: with the node's first state
	stated    kraft.Epoch // the latest that the node has answered with since it was started
	unclear   bool
	restarted bool  // and has not said since which disk it has
	proofs    int   // answers that are explained since judging began with a guess
	settled   int64 // until when messages that were not seen may show, in nanoseconds since the Unix epoch
}

// midway takes in whether what went over a connection before is known.
func (j *judge) midway(x *crossing) {
	w := &j.wire
	if _, known := w.conns[x.conn]; x.midway && !known {
		j.missed(x.nanos)
	}
}

// missed notes that messages of the node or to it may have gone by unseen.
func (j *judge) missed(at int64) {
	j.wire.unclear = true
	j.wire.settled = max(j.wire.settled, at+int64(j.c.options.Settle))
}

// anchorAtRequest begins with what a request of the node proves about it.
func (j *judge) anchorAtRequest(x *crossing) {
	w := &j.wire
	if x.key == wire.KeyFetch || x.key == wire.KeyVote && x.said.preVote {
		if x.said.epoch == 0 && x.said.offset == 0 && x.said.last == 0 && !w.unclear && w.stated <= 0 { // a later epoch: built before
			if x.said.replica.ID == j.id { // a request that was lost on its way tells it too
				j.c.world.directory(x.said.replica)
			}
			j.anchorEmpty()
			return
		}
	}
	w.fetch = nil
	if x.key == wire.KeyFetch && len(w.asked) == 0 {
		w.fetch = x
	}
}

// anchorEmpty: a node in epoch 0 whose log is empty has nothing behind it. Nobody votes, leads or writes in epoch 0.
func (j *judge) anchorEmpty() {
	j.configure(kraft.BootstrapSnapshot.Offset - 1)
	h := new(hypothesis)
	if j.c.world.dynamic { // the checkpoint that the voters were formatted with decides how an unknown epoch diverges
		h.view.AddSnapshot(kraft.Snapshot{ID: kraft.BootstrapSnapshot})
	}
	for _, q := range j.wire.asked {
		h.asked = append(h.asked, askedSlot{x: q})
	}
	var set []*hypothesis
	if j.boot(h, func(begun *hypothesis) { set = append(set, begun) }); len(set) == 0 {
		j.why = "its first state cannot be made"
		return
	}
	j.begin(set, nil)
}

// anchorAtAnswer: who fetches in an epoch and is answered by the leader of that epoch without an error is its follower as soon as it
// takes the answer. Its log before that is known by its end only.
func (j *judge) anchorAtAnswer(x *crossing) {
	f := j.wire.fetch
	j.wire.fetch = nil
	if f == nil || x.key != wire.KeyFetch || x.conn != f.conn || len(j.wire.asked) > 0 || x.event == nil {
		return
	}
	said := x.event.(*kraft.ReceiveFetchResponse)
	if said.Response.Error != kraft.None || said.WrongPartition || said.PartitionAnswer.Error != kraft.None || said.LeaderID != x.from ||
		said.LeaderEpoch != f.said.epoch || said.Diverging.Epoch >= 0 || said.Snapshot.Epoch >= 0 || said.LeaderID == j.id {
		return
	}
	w := &j.c.world
	if w.votersAt >= f.said.offset || w.votersEpoch > f.said.last || !w.certain(f.said.epoch) { // it may not have that set of voters
		return
	}
	if !f.said.replica.DirectoryID.IsZero() {
		j.c.world.directory(f.said.replica)
	}
	at := f.said.offset
	votersAt := j.c.world.votersAt
	if at > 0 && votersAt < 0 {
		votersAt = 0 // recorded before what is known
	}
	j.configure(votersAt)
	var set []*hypothesis
	for _, s := range asksThen {
		h := new(hypothesis)
		h.view = kraft.LogView{End: at}
		if at > 0 {
			h.view.Epochs = kraft.EpochCache{{Epoch: f.said.last, Start: 0}}
		}
		h.flushed = at
		h.unvoted, h.since = f.said.epoch, f.said.last
		h.stored = kraft.QuorumState{Epoch: f.said.epoch, Leader: kraft.NoNode, Voted: kraft.NoReplica}
		if s.role == kraft.FollowerRole {
			h.stored.Leader = said.LeaderID
		}
		j.boot(h, func(begun *hypothesis) {
			if begun.m.Role().Kind() != s.role {
				return
			}
			if u, ok := begun.m.Role().(*kraft.Unattached); ok && s.knows {
				u.Leader, begun.stored.Leader = said.LeaderID, said.LeaderID
			}
			begun.reached(f)
			for i := range begun.sent {
				if j.acceptRequest(begun, i, f, false) {
					begun.loading = s.role == kraft.FollowerRole
					j.offered(begun, x)
					set = append(set, begun)
					return
				}
			}
		})
	}
	if len(set) > 0 {
		j.begin(set, f)
	}
}

// asksThen are the states in which a node fetches in an epoch. One that is no follower yet becomes one as it takes the answer, and may
// never take it. Whom it has voted for, and whether it is fetching a snapshot, shows later (hypothesis.unvoted, hypothesis.loading). In all
// other states no Fetch is on its way: a change of the role makes the node forget what it has asked.
var asksThen = []struct {
	role  kraft.RoleKind
	knows bool // who leads
}{{kraft.FollowerRole, true}, {kraft.UnattachedRole, false}, {kraft.UnattachedRole, true}}

// reached gives a node the high watermark that it says it has.
func (h *hypothesis) reached(f *crossing) {
	if h.unheard = f.version < 18; !h.unheard {
		h.heard(f.said.hw)
	}
}

// heard gives a node a high watermark. It reports whether the node may have it.
func (h *hypothesis) heard(hw kraft.Offset) bool {
	if hw < 0 || hw > h.view.End {
		return false
	}
	switch r := h.m.Role().(type) {
	case *kraft.Follower:
		r.HighWatermark = hw
	case *kraft.Unattached:
		r.HighWatermark = hw
	case *kraft.Prospective:
		r.HighWatermark = hw
	default:
		return false
	}
	h.view.HighWatermark, h.unheard = hw, false
	for i := range h.sent {
		if h.sent[i].key == wire.KeyFetch {
			h.sent[i].said.hw = hw
		}
	}
	return true
}

// begin makes these the only hypotheses.
func (j *judge) begin(set []*hypothesis, began *crossing) {
	j.window.clear(j)
	j.set, j.trial, j.lossyAt = set, began != nil, 0
	j.wire.proofs = 0
	j.wire.began, j.wire.drained = began, map[ConnID]bool{}
	if began != nil { // it has left
		j.wire.drained[began.conn] = true
	}
	j.why = ""
	j.stats.Anchored++
}

// end gives the node up until it is anchored again.
func (j *judge) end(why string) {
	for _, h := range j.set {
		j.free(h)
	}
	j.window.clear(j)
	j.set, j.trial, j.why, j.wire.fetch, j.wire.reign = j.set[:0], false, why, nil, reign{}
}

// nowhereDisk stands for a directory id that is not known yet.
var nowhereDisk = kraft.DirectoryID{1}

// configure sets up what the machines of this node are made of. at is where the voter set was recorded.
func (j *judge) configure(at kraft.Offset) {
	w := &j.c.world
	profile, _ := j.c.profile(j.id)
	cfg := kraft.Config{
		ID: j.id, DirectoryID: w.dirs[j.id], ClusterID: w.cluster, Rules: profile.Rules, Timeouts: kraft.DefaultTimeouts(),
		Listener: listenerName, KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: true, FetchMaxWaitMs: 500, FetchMaxBytes: 1 << 20,
		FetchSnapshotMaxBytes: 1 << 20,
	}
	if cfg.DirectoryID.IsZero() {
		cfg.DirectoryID = nowhereDisk
	}
	j.records = j.records[:0]
	for i := range w.voters.Len() {
		j.records = append(j.records, w.voters.At(i).Key.ID)
		w.meet(w.voters.At(i).Key.ID)
	}
	cfg.Endpoints = w.voters.Listeners(j.id)
	if cfg.Endpoints.Len() > 0 {
		cfg.Listener = cfg.Endpoints.At(0).Name
	} else {
		cfg.Endpoints = made(j.id)
	}
	if w.dynamic {
		for i := range w.voters.Len() { // whose addresses are theirs does not matter: a Fetch to any of them may go anywhere
			cfg.BootstrapServers = append(cfg.BootstrapServers, kraft.Address{Host: "bootstrap", Port: uint16(i + 1)})
			j.records = append(j.records, kraft.NodeID(-2-i))
		}
		if v := w.voters.Find(j.id); v != nil {
			cfg.KRaftVersions = v.Versions
		}
		cfg.History = []kraft.HistoryEntry{
			{Offset: at, Record: kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}},
			{Offset: at, Record: kraft.ControlRecord{Type: kraft.VotersRecord, Voters: w.voters}},
		}
	} else {
		cfg.StaticVoters = w.voters
	}
	j.config = cfg
}

// elsewhere reports whether the voters have come to say of the node otherwise than its machines were told: that it can be reached elsewhere,
// or supports something else. As a leader it would write the voters anew, which the node does not.
func (j *judge) elsewhere() bool {
	if len(j.set) == 0 || !j.c.world.dynamic {
		return false
	}
	v := j.c.world.voters.Find(j.id)
	return v != nil && v.Endpoints.Len() > 0 && (!v.Endpoints.Equal(j.config.Endpoints) || v.Versions != j.config.KRaftVersions)
}

// made are endpoints that stand for those that nobody has seen.
func made(id kraft.NodeID) kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: listenerName, Address: kraft.Address{Host: "node-" + id.String(), Port: 9093}})
}

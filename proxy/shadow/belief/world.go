package belief

import (
	"github.com/understudy-kafka/understudy/kraft"
)

// world is what all nodes have in common, as far as it was seen.
type world struct {
	cluster     string
	dirs        map[kraft.NodeID]kraft.DirectoryID
	voters      kraft.VoterSet
	votersAt    kraft.Offset // the offset of their record; -1: they were configured
	votersEpoch kraft.Epoch  // and its epoch
	dynamic     bool         // kraft.version 1: the voters have directory ids
	known       bool
	sets        int            // how many sets of voters were known one after the other
	counted     bool           // by what the leader has committed (census)
	shownIn     kraft.Epoch    // the last epoch in which a leader has shown that it has this set,
	shownAt     kraft.Offset   // by a record here: once it commits that, no later leader has another
	safe        bool           // it has
	ids         []kraft.NodeID // that any set of voters had
	leader      kraft.NodeID   // that led when the first message was seen: nothing shows its directory id until it leads no more
}

func (w *world) directory(key kraft.ReplicaKey) {
	if !key.DirectoryID.IsZero() && key.ID >= 0 && len(w.dirs) < maxNodes {
		w.dirs[key.ID] = key.DirectoryID
	}
}

// learn takes in what a message says about the voters.
func (w *world) learn(x *crossing) {
	w.meets(x)
	switch e := x.event.(type) {
	case *kraft.ReceiveVoteRequest:
		w.named(e.ClusterID)
		w.directory(x.said.replica)
		w.directory(x.said.voter)
		w.dynamic = w.dynamic || !x.said.voter.DirectoryID.IsZero()
	case *kraft.ReceiveBeginQuorumEpoch:
		w.named(e.ClusterID)
		w.dynamic = w.dynamic || !x.said.voter.DirectoryID.IsZero()
	case *kraft.ReceiveEndQuorumEpoch:
		w.named(e.ClusterID)
		for _, heir := range e.Successors {
			w.directory(heir)
			w.dynamic = w.dynamic || !heir.DirectoryID.IsZero()
		}
	case *kraft.ReceiveFetch:
		w.named(e.ClusterID)
		w.directory(x.said.replica)
	case *kraft.ReceiveFetchResponse:
		for i := range e.Batches {
			for k, r := range e.Batches[i].Control {
				w.control(e.Batches[i].Base+kraft.Offset(k), e.Batches[i].Epoch, &r, e.Batches[i].Control)
				w.shown(e.Batches[i].Base+kraft.Offset(k), e.Batches[i].Epoch, &r, e.LeaderEpoch)
			}
		}
		w.safe = w.safe || e.LeaderEpoch == w.shownIn && e.HighWatermark > w.shownAt
	}
}

// shown takes in that a leader has a record of the set of voters that is known.
func (w *world) shown(at kraft.Offset, epoch kraft.Epoch, r *kraft.ControlRecord, in kraft.Epoch) {
	switch r.Type {
	case kraft.VotersRecord:
		if at == w.votersAt && epoch == w.votersEpoch && in > w.shownIn {
			w.shownIn, w.shownAt = in, at
		}
	case kraft.LeaderChangeRecord:
		if epoch > w.shownIn && w.lists(r.VoterIDs) {
			w.shownIn, w.shownAt, w.counted = epoch, at, false
		}
	case kraft.KRaftVersionRecord, kraft.OtherControlRecord:
	}
}

// provenBy begins with a set of voters that a record of a leader shows.
func (w *world) provenBy(epoch kraft.Epoch, at kraft.Offset) {
	w.shownIn, w.shownAt, w.safe, w.counted = epoch, at, false, false
}

// certain reports whether the log of a leader of an epoch holds the set of voters that is known: a change that was not committed is lost
// if the next leader does not have it.
func (w *world) certain(epoch kraft.Epoch) bool { return !w.dynamic || w.safe || epoch == w.shownIn }

// lists reports whether the voters that are known have these ids.
func (w *world) lists(ids []kraft.NodeID) bool {
	if len(ids) != w.voters.Len() {
		return false
	}
	for _, id := range ids {
		if w.voters.Find(id) == nil {
			return false
		}
	}
	return true
}

// name gives the voters their directory ids, once it has come to light that they have any and all are known.
func (w *world) name() {
	w.known = true
	var ids []kraft.NodeID
	for i := range w.voters.Len() {
		id := w.voters.At(i).Key.ID
		ids = append(ids, id)
		w.known = w.known && (!w.dirs[id].IsZero() || id == w.leader)
	}
	if w.known {
		w.list(ids)
	}
}

// nameless reports whether the voters are listed without the directory ids that they have.
func (w *world) nameless() bool {
	if !w.dynamic || w.votersAt >= 0 {
		return false
	}
	for i := range w.voters.Len() {
		key := w.voters.At(i).Key
		if key.DirectoryID.IsZero() || key.DirectoryID == nowhereDisk && !w.dirs[key.ID].IsZero() {
			return true
		}
	}
	return false
}

func (w *world) named(id kraft.ClusterID) {
	if w.cluster == "" && id.Present {
		w.cluster = id.Value
	}
}

// control takes in a control record of the log, and those of its batch.
func (w *world) control(at kraft.Offset, epoch kraft.Epoch, r *kraft.ControlRecord, batch []kraft.ControlRecord) {
	switch r.Type {
	case kraft.VotersRecord:
		w.dynamic = true
		for i := range r.Voters.Len() {
			w.meet(r.Voters.At(i).Key.ID)
		}
		if !w.known || epoch > w.votersEpoch || epoch == w.votersEpoch && at > w.votersAt {
			w.voters, w.votersAt, w.votersEpoch, w.known = r.Voters, at, epoch, true
			w.sets++
			w.provenBy(epoch, at)
		}
	case kraft.LeaderChangeRecord:
		lost := w.dynamic && !w.safe && epoch > w.shownIn && !w.lists(r.VoterIDs)
		if w.known && !lost {
			return
		}
		for i := range batch {
			if batch[i].Type == kraft.VotersRecord {
				return
			}
		}
		w.list(r.VoterIDs)
		w.provenBy(epoch, at)
	case kraft.KRaftVersionRecord:
		w.dynamic = w.dynamic || r.KRaftVersion > 0
	case kraft.OtherControlRecord:
	}
}

// list takes in the ids of the voters, of which nothing else is known.
func (w *world) list(ids []kraft.NodeID) {
	voters := make([]kraft.Voter, 0, len(ids))
	for _, id := range ids {
		w.meet(id)
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: made(id), Versions: kraft.VersionRange{Max: 1}}
		if w.dynamic {
			if v.Key.DirectoryID = w.dirs[id]; v.Key.DirectoryID.IsZero() && id == w.leader {
				v.Key.DirectoryID = nowhereDisk
			}
		}
		voters = append(voters, v)
	}
	w.voters, w.votersAt, w.known = kraft.NewVoterSet(voters...), -1, true
	w.sets++
}

package belief

import (
	"github.com/understudy-kafka/understudy/kraft"
)

// world is what all nodes have in common, as far as it was seen.
type world struct {
	cluster  string
	dirs     map[kraft.NodeID]kraft.DirectoryID
	voters   kraft.VoterSet
	votersAt kraft.Offset // the offset of their record; -1: they were configured
	dynamic  bool         // kraft.version 1: the voters have directory ids
	known    bool
}

func (w *world) directory(key kraft.ReplicaKey) {
	if !key.DirectoryID.IsZero() && key.ID >= 0 && len(w.dirs) < maxNodes {
		w.dirs[key.ID] = key.DirectoryID
	}
}

// learn takes in what a message says about the voters.
func (w *world) learn(x *crossing) {
	switch e := x.event.(type) {
	case *kraft.ReceiveVoteRequest:
		w.named(e.ClusterID)
		w.directory(x.said.replica)
		w.directory(x.said.voter)
		w.dynamic = w.dynamic || !x.said.voter.DirectoryID.IsZero()
	case *kraft.ReceiveBeginQuorumEpoch:
		w.named(e.ClusterID)
		w.dynamic = w.dynamic || !x.said.voter.DirectoryID.IsZero()
	case *kraft.ReceiveFetch:
		w.named(e.ClusterID)
		w.directory(x.said.replica)
	case *kraft.ReceiveFetchResponse:
		for i := range e.Batches {
			for k, r := range e.Batches[i].Control {
				w.control(e.Batches[i].Base+kraft.Offset(k), &r, e.Batches[i].Control)
			}
		}
	}
}

func (w *world) named(id kraft.ClusterID) {
	if w.cluster == "" && id.Present {
		w.cluster = id.Value
	}
}

// control takes in a control record of the log, and those of its batch.
func (w *world) control(at kraft.Offset, r *kraft.ControlRecord, batch []kraft.ControlRecord) {
	switch r.Type {
	case kraft.VotersRecord:
		w.dynamic = true
		if !w.known || at > w.votersAt {
			w.voters, w.votersAt, w.known = r.Voters, at, true
		}
	case kraft.LeaderChangeRecord:
		if w.known {
			return
		}
		for i := range batch {
			if batch[i].Type == kraft.VotersRecord {
				return
			}
		}
		w.list(r.VoterIDs)
	case kraft.KRaftVersionRecord:
		w.dynamic = w.dynamic || r.KRaftVersion > 0
	case kraft.OtherControlRecord:
	}
}

// list takes in the ids of the voters, of which nothing else is known.
func (w *world) list(ids []kraft.NodeID) {
	voters := make([]kraft.Voter, 0, len(ids))
	for _, id := range ids {
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: made(id), Versions: kraft.VersionRange{Max: 1}}
		if w.dynamic {
			v.Key.DirectoryID = w.dirs[id]
		}
		voters = append(voters, v)
	}
	w.voters, w.votersAt, w.known = kraft.NewVoterSet(voters...), -1, true
}

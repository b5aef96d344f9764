package walk

import (
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// disk lets a node find an election state, and perhaps a log, in every combination.
func (h *history) disk(in *oracle.Init) {
	s := &oracle.StoredState{Epoch: int32(h.IntN(5)), Leader: -1, Voted: -1, Version: int16(in.KRaft)}
	if h.chance(600) {
		s.Leader = h.someID()
	}
	if h.chance(400) {
		s.Voted = h.someID()
		if in.KRaft == 1 && h.chance(800) {
			s.VotedDir = h.someDir(s.Voted).String()
		}
	}
	in.Stored = s
	if !h.FileLog && h.chance(400) {
		in.Log = h.someLog(in, kraft.Epoch(1+h.IntN(4)))
	}
}

// someLog is a plausible log of up to a few batches, the same prefix for all nodes with the same number of epochs.
func (h *history) someLog(in *oracle.Init, last kraft.Epoch) []byte {
	var log []byte
	next := kraft.Offset(0)
	for epoch := kraft.Epoch(1); epoch <= last; epoch++ {
		control := []kraft.ControlRecord{{Type: kraft.LeaderChangeRecord, Leader: kraft.NodeID(epoch), VoterIDs: []kraft.NodeID{1, 2}, Granting: []kraft.NodeID{1}}}
		if in.KRaft == 1 && epoch == 1 {
			control = append(control, kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}, kraft.ControlRecord{Type: kraft.VotersRecord, Voters: h.voterSet()})
		}
		log, _ = wire.AppendControlBatch(log, kraft.Batch{Base: next, Epoch: epoch, Control: control}, 1)
		next += kraft.Offset(len(control))
		for range h.IntN(3) {
			values := oracle.Records(1 + h.IntN(3))
			log = wire.AppendDataBatch(log, next, epoch, 1, values...)
			next += kraft.Offset(len(values))
		}
	}
	return log
}

// voterSet is the set that the history began with.
func (h *history) voterSet() kraft.VoterSet {
	var voters []kraft.Voter
	for id := int32(1); id <= h.Voters; id++ {
		voters = append(voters, h.voter(id))
	}
	return kraft.NewVoterSet(voters...)
}

func (h *history) voter(id int32) kraft.Voter {
	list := []kraft.Endpoint{{Name: oracle.Channel, Address: kraft.Address{Host: hostName(id), Port: 9093}}}
	if h.Listeners > 1 {
		list = append(list, kraft.Endpoint{Name: "SECOND", Address: kraft.Address{Host: hostName(id), Port: 9094}})
	}
	return kraft.Voter{
		Key: kraft.ReplicaKey{ID: kraft.NodeID(id), DirectoryID: oracle.DirectoryID(id)}, Endpoints: kraft.NewEndpoints(list...), Versions: kraft.VersionRange{Max: 1},
	}
}

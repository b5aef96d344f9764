package safety_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

func voter(id kraft.NodeID) kraft.Voter {
	return kraft.Voter{
		Key:       kraft.ReplicaKey{ID: id},
		Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: "C", Address: kraft.Address{Host: "h", Port: uint16(9000 + id)}}),
	}
}

// machine is one of three static voters, which the event has made what it is.
func machine(t *testing.T, id kraft.NodeID, log *memlog.Log, stored kraft.QuorumState, voters ...kraft.Voter) *kraft.QuorumStateMachine {
	t.Helper()
	m, err := kraft.New(kraft.Config{
		ID: id, DirectoryID: kraft.DirectoryID{byte(id)}, Listener: "C", StaticVoters: kraft.NewVoterSet(voters...),
		Endpoints: voter(id).Endpoints, Timeouts: kraft.DefaultTimeouts(), Stored: stored, HasStored: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.OnEvent(&kraft.Start{}, log.View(), kraft.Clock{}, &kraft.Actions{})
	return m
}

func logOf(t *testing.T, batches ...kraft.Batch) *memlog.Log {
	t.Helper()
	l := memlog.New()
	if err := l.Append(batches...); err != nil {
		t.Fatal(err)
	}
	l.Flush()
	return l
}

func data(base kraft.Offset, epoch kraft.Epoch, size int32) kraft.Batch {
	return kraft.Batch{Base: base, Last: base, Epoch: epoch, Size: size}
}

func watermark(l *memlog.Log, hw kraft.Offset) *memlog.Log {
	l.AdvanceHighWatermark(hw)
	return l
}

func changes(base kraft.Offset, epoch kraft.Epoch) kraft.Batch {
	b := data(base, epoch, 10)
	b.Control = []kraft.ControlRecord{{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(voter(1), voter(2))}}
	return b
}

func TestStates_EachBrokenInvariantIsNamed(t *testing.T) {
	none := kraft.QuorumState{Leader: kraft.NoNode, Voted: kraft.NoReplica}
	at := func(epoch kraft.Epoch, leader kraft.NodeID) kraft.QuorumState {
		return kraft.QuorumState{Epoch: epoch, Leader: leader, Voted: kraft.NoReplica}
	}
	// Only voters win at once when they start, so two of them, each the only voter of its own set, lead the same epoch.
	alone := func(id kraft.NodeID, log *memlog.Log) safety.Node {
		m := machine(t, id, log, none, voter(id))
		return safety.Node{ID: id, Machine: m, Log: log, Durable: m.QuorumState()}
	}
	down := func(id kraft.NodeID, log *memlog.Log) safety.Node {
		return safety.Node{ID: id, Log: log, Durable: none}
	}
	tests := []struct {
		name  string
		nodes []safety.Node
		want  safety.Invariant
		fine  bool
	}{
		{"one leader", []safety.Node{alone(1, memlog.New()), down(2, memlog.New())}, 0, true},
		{"two leaders of an epoch", []safety.Node{alone(1, memlog.New()), alone(2, memlog.New())}, safety.ElectionSafety, false},
		{"an epoch apart", []safety.Node{alone(1, memlog.New()), alone(2, logOf(t, data(0, 1, 9)))}, 0, true},
		{"equal logs", []safety.Node{
			down(1, watermark(logOf(t, data(0, 1, 9), data(1, 2, 9)), 2)), down(2, watermark(logOf(t, data(0, 1, 9), data(1, 2, 9)), 1)),
		}, 0, true},
		{"a tail that is not committed differs", []safety.Node{
			down(1, watermark(logOf(t, data(0, 1, 9), data(1, 2, 9)), 2)), down(2, watermark(logOf(t, data(0, 1, 9), data(1, 1, 9)), 1)),
		}, 0, true},
		{"different records before the same one", []safety.Node{
			down(1, logOf(t, data(0, 1, 9), data(1, 2, 9))), down(2, logOf(t, data(0, 1, 7), data(1, 2, 9))),
		}, safety.LogMatching, false},
		{"different records committed", []safety.Node{
			down(1, watermark(logOf(t, data(0, 1, 9)), 1)), down(2, watermark(logOf(t, data(0, 2, 9)), 1)),
		}, safety.StateMachineSafety, false},
		{"a role that is not durable", []safety.Node{func() safety.Node {
			n := alone(1, memlog.New())
			n.Durable = at(0, kraft.NoNode)
			return n
		}()}, safety.PersistBeforeSend, false},
		{"two changes of the voters", []safety.Node{func() safety.Node {
			n := alone(1, memlog.New())
			n.Log = logOf(t, changes(0, 1), changes(1, 1))
			return n
		}()}, safety.OneVoterChange, false},
		{"a log that begins behind its end", []safety.Node{func() safety.Node {
			l := memlog.New()
			l.Start = 3
			return down(1, l)
		}()}, safety.MonotoneWatermark, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := safety.States(tt.nodes)
			switch {
			case tt.fine && v != nil:
				t.Errorf("%v", v)
			case !tt.fine && (v == nil || v.Invariant != tt.want || v.Error() == ""):
				t.Errorf("%v, want %v", v, tt.want)
			}
		})
	}
}

func TestStates_ACandidateOutsideTheVotersIsSeen(t *testing.T) {
	log := memlog.New()
	m := machine(t, 1, log, kraft.QuorumState{Epoch: 3, Leader: kraft.NoNode, Voted: kraft.ReplicaKey{ID: 1}}, voter(1), voter(2), voter(3))
	nodes := []safety.Node{{ID: 1, Machine: m, Log: log, Durable: m.QuorumState()}}
	if v := safety.States(nodes); v != nil {
		t.Fatal(v)
	}
	nodes[0].ID = 9
	if v := safety.States(nodes); v == nil || v.Invariant != safety.VotersOnly {
		t.Errorf("%v", v)
	}
}

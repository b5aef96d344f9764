package explore

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// move is an input that a node is open to, and what it costs.
type move struct {
	in   input
	cost [2]int8 // budgets, -1: none
}

const free = -1

// retried marks timers that go with those of all requests and backoffs of the node.
const retried = 1 << 8

// timersOf is the set that an argument of fire stands for. The timers of a node's connections run out together: see the package comment.
func timersOf(arg uint32, m *kraft.QuorumStateMachine) kraft.TimerSet {
	var due kraft.TimerSet
	if kind := kraft.TimerKind(arg & 0xff); kind != kraft.NoTimer {
		due.Add(kraft.Timer{Kind: kind})
		if leader, ok := m.Role().(*kraft.Leader); ok && kind == kraft.BeginQuorumEpochTimer {
			for i := range leader.Voters {
				due.Add(kraft.Timer{Kind: kraft.SilenceTimer, Peer: leader.Voters[i].Key})
			}
		}
	}
	if arg&retried != 0 {
		for _, c := range m.Inspect().Connections {
			kind := kraft.RequestTimer
			if c.BackingOff {
				kind = kraft.BackoffTimer
			}
			due.Add(kraft.PeerTimer(kind, c.ID))
		}
	}
	return due
}

// movesOf lists what may happen to a node whatever the others do.
func (x *explorer) movesOf(l *local) []move {
	var list []move
	add := func(in input, first, second int8) {
		if x.model.Budget[first] > 0 && (second == free || x.model.Budget[second] > 0) {
			list = append(list, move{in, [2]int8{first, second}})
		}
	}
	if l.down {
		add(input{kind: crash}, Crashes, free)
		return list
	}
	timer := func(kind kraft.TimerKind, budget int8) {
		add(input{kind: fire, arg: uint32(kind)}, budget, free)
	}
	inspected := l.machine.Inspect()
	voter := inspected.Voters.IsVoter(l.key())
	connected := l.awaiting|l.backing != 0 && (x.model.Discovery || l.kind != kraft.UnattachedRole)
	switch role := l.machine.Role().(type) {
	case *kraft.Leader:
		x.leaderMoves(role, timer, add)
		if connected {
			add(input{kind: fire, arg: uint32(kraft.BeginQuorumEpochTimer) | retried}, Announces, Retries)
		}
	case *kraft.Follower:
		if voter {
			timer(kraft.FetchTimer, Timeouts)
		}
	case *kraft.Candidate:
		if role.BackingOff {
			timer(kraft.ElectionBackoffTimer, Timeouts)
		} else {
			timer(kraft.ElectionTimer, Timeouts)
		}
	default:
		if voter || l.kind == kraft.ResignedRole {
			timer(kraft.ElectionTimer, Timeouts)
		}
	}
	if connected && l.kind != kraft.LeaderRole {
		add(input{kind: fire, arg: retried}, Retries, free)
	}
	var parked []kraft.RequestID
	for _, f := range inspected.Parked {
		if !slices.Contains(parked, f.Request) {
			parked = append(parked, f.Request)
			add(input{kind: expire, arg: uint32(f.Request)}, Expiries, free)
		}
	}
	if latest, ok := l.log.LatestSnapshot(); l.log.HighWatermark > l.log.Start && (!ok || latest.Offset < l.log.HighWatermark) {
		add(input{kind: snapshot}, Snapshots, free)
	}
	add(input{kind: crash}, Crashes, free)
	if l.log.Flushed() < l.log.End {
		add(input{kind: crash, keep: true}, Crashes, free)
	}
	if l.wipes == 0 {
		add(input{kind: wipe}, Wipes, free)
	}
	return list
}

func (x *explorer) leaderMoves(role *kraft.Leader, timer func(kraft.TimerKind, int8), add func(input, int8, int8)) {
	if len(role.Voters) > 1 {
		timer(kraft.CheckQuorumTimer, Timeouts)
		timer(kraft.BeginQuorumEpochTimer, Announces)
	}
	if role.Change.Kind != kraft.NoChange {
		timer(kraft.VoterChangeTimer, Timeouts)
	}
	add(input{kind: appendOne}, Appends, free)
	add(input{kind: resign}, Resigns, free)
	if x.model.Add > 0 {
		add(input{kind: addVoter}, Changes, free)
	}
	if x.model.Remove > 0 {
		add(input{kind: remove}, Changes, free)
	}
}

package sim

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Stage is where a scenario is played: a quorum without chance. Messages take a millisecond, the favourite draws the shortest timeouts and
// the others the longest, and nothing goes wrong unless the scenario says so.
type Stage struct {
	w *World
}

// newStage formats a quorum and starts it.
func (w *World) newStage(o Options, notes func(Note)) *Stage {
	w.notes, w.hold, w.held, w.told = notes, nil, w.held[:0], [maxNodes][maxNodes]string{}
	w.favourite, w.staged, w.choice, w.slow, w.beforeFlush = 1, true, 0, 0, nil
	w.build(o)
	return &Stage{w: w}
}

// staged are options without any fault.
func staged(voters int, release string) Options {
	p, err := compat.ByRelease(release)
	if err != nil {
		panic(err) // the scenarios are constants
	}
	o := Options{Seed: 1, Voters: voters, LinkDelay: 1000, Wire: true, FaultEvery: 1000, AppendEvery: 1000, AdminEvery: 1000}
	for range maxNodes {
		o.Profiles = append(o.Profiles, p)
	}
	return o
}

// Say puts a remark into the conversation.
func (s *Stage) Say(format string, args ...any) {
	s.w.notes(Note{At: s.w.now, Kind: noteSay, Text: fmt.Sprintf(format, args...)})
}

func (s *Stage) node(id kraft.NodeID) *node { return s.w.nodes[id-1] }

// Run lets so many milliseconds pass.
func (s *Stage) Run(ms int64) {
	end := s.w.now + ms*1000
	for s.w.violation == nil && s.w.nextAt() <= end {
		s.w.step()
	}
	s.w.now = max(s.w.now, end)
}

// stageLimit bounds how long a scenario waits for something, in milliseconds.
const stageLimit = 60_000

// Until runs until the condition holds. That it never does is a violation: the scenario is wrong, or the engine.
func (s *Stage) Until(what string, holds func() bool) {
	limit := s.w.now + stageLimit*1000
	for s.w.violation == nil && !holds() {
		if s.w.now > limit || !s.w.step() {
			s.w.violated(safety.Liveness, s.w.nodes[0], "waited in vain until %s%s", what, s.w.describe())
		}
	}
}

// Elect makes the node the leader and waits until it has committed the beginning of its epoch.
func (s *Stage) Elect(id kraft.NodeID) {
	s.Favour(id)
	s.Until(fmt.Sprintf("node %v leads", id), func() bool {
		l, ok := s.leader(id)
		return ok && l.HighWatermark > l.EpochStart
	})
}

// Begin makes node 1 the leader, which writes a record, and waits until it is committed and these nodes know.
func (s *Stage) Begin(know ...kraft.NodeID) {
	s.Elect(1)
	s.Write(1, 1)
	s.Committed(know...)
}

// Another waits until a node that is none of these leads and has committed the beginning of its epoch.
func (s *Stage) Another(not ...kraft.NodeID) (id kraft.NodeID) {
	s.Until(fmt.Sprintf("another node than %v leads", not), func() bool {
		for i := range s.w.opt.nodes() {
			id = kraft.NodeID(i + 1)
			if l, ok := s.leader(id); ok && l.HighWatermark > l.EpochStart && !slices.Contains(not, id) {
				return true
			}
		}
		return false
	})
	return id
}

// Favour makes the node the one whose timeouts are short. Those of the others that run already are put off.
func (s *Stage) Favour(id kraft.NodeID) {
	s.w.favourite = id
	for _, n := range s.w.nodes[:s.w.opt.nodes()] {
		if n.id == id || !n.up() {
			continue
		}
		n.timers.fixed[kraft.ElectionTimer] += patience
		n.timers.fixed[kraft.FetchTimer] += patience
		n.sleep()
	}
}

// patience is how much longer the timeouts of the others are, in milliseconds.
const patience = 4000

func (s *Stage) leader(id kraft.NodeID) (*kraft.Leader, bool) {
	if !s.node(id).up() {
		return nil, false
	}
	l, ok := s.node(id).machine.Role().(*kraft.Leader)
	return l, ok
}

// Role waits until the node has taken a role.
func (s *Stage) Role(id kraft.NodeID, kind kraft.RoleKind) {
	s.Until(fmt.Sprintf("node %v is %v", id, kind), func() bool { return s.node(id).up() && s.node(id).machine.Role().Kind() == kind })
}

// Append writes records to a leader.
func (s *Stage) Append(id kraft.NodeID, records int32) {
	s.w.note(noteAppend, s.node(id), fmt.Sprint(records))
	s.w.append(s.node(id), records)
}

// Committed waits until the node counts its whole log as committed.
func (s *Stage) Committed(ids ...kraft.NodeID) {
	for _, id := range ids {
		s.Until(fmt.Sprintf("the log of node %v is committed", id), func() bool {
			n := s.node(id)
			return n.up() && n.log.End > 0 && n.log.HighWatermark == n.log.End
		})
	}
}

// Write appends and waits until everything is committed.
func (s *Stage) Write(id kraft.NodeID, records int32) {
	end := s.node(id).log.End
	s.Append(id, records)
	s.Until(fmt.Sprintf("%d records of node %v are committed", records, id), func() bool { return s.node(id).log.HighWatermark >= end+kraft.Offset(records) })
}

// Cut lets nothing pass from one node to another.
func (s *Stage) Cut(from, to kraft.NodeID) {
	s.w.note(noteCut, s.node(from), to.String())
	s.w.links[from-1][to-1].blockedUntil = forever
}

// Isolate cuts nodes off from all others, in both directions.
func (s *Stage) Isolate(ids ...kraft.NodeID) {
	inside := map[kraft.NodeID]bool{}
	for _, id := range ids {
		inside[id] = true
		s.w.note(notePartition, s.node(id), "")
	}
	for i := range s.w.opt.nodes() {
		for j := range s.w.opt.nodes() {
			if inside[kraft.NodeID(i+1)] != inside[kraft.NodeID(j+1)] {
				s.w.links[i][j].blockedUntil = forever
			}
		}
	}
}

// Heal mends all links.
func (s *Stage) Heal() {
	s.w.note(noteHeal, s.w.nodes[0], "")
	for i := range s.w.links {
		for j := range s.w.links[i] {
			s.w.links[i][j].blockedUntil, s.w.links[i][j].cloggedUntil = 0, 0
		}
	}
}

// Crash ends a process; Start begins a new one.
func (s *Stage) Crash(id kraft.NodeID, mode crashMode) { s.w.crash(s.node(id), mode) }

// Start begins a process on what the disk holds.
func (s *Stage) Start(id kraft.NodeID) {
	if n := s.node(id); !n.up() {
		n.start()
	}
}

// remove asks n1, the leader, to remove a voter, whatever may follow from it.
func (s *Stage) remove(id kraft.NodeID) {
	leader := s.node(1)
	_, voters := leader.lastVoters()
	s.w.note(noteRemove, leader, id.String())
	leader.call(&kraft.ReceiveRemoveRaftVoter{Request: s.w.operator(leader), Voter: voters.Find(id).Key})
}

// Wipe loses a disk.
func (s *Stage) Wipe(id kraft.NodeID) { s.w.wipe(s.node(id)) }

// Pause stops a process for so many milliseconds.
func (s *Stage) Pause(id kraft.NodeID, ms int64) {
	n := s.node(id)
	s.w.note(notePause, n, "")
	n.pauseUntil = s.w.now + ms*1000
	n.wakeAt = max(n.wakeAt, n.pauseUntil)
}

// Hold keeps the messages back that the condition names, until Release.
func (s *Stage) Hold(which func(m *message) bool) { s.w.hold = which }

// Release lets what was held go on, in the order of sending, and holds no more.
func (s *Stage) Release() {
	s.w.hold = nil
	for _, m := range s.w.held {
		s.w.queue.push(item{at: s.w.now + 1000, kind: deliver, what: m})
	}
	s.w.held = s.w.held[:0]
}

// holding names requests or responses of an API between two nodes; 0 stands for any node.
func holding(from, to kraft.NodeID, api kraft.APIKey, response bool) func(*message) bool {
	return func(m *message) bool {
		return (from == 0 || m.from.id == from) && (to == 0 || m.to.id == to) && m.api == api && m.response == response
	}
}

// nextAt is when the next thing happens.
func (w *World) nextAt() int64 {
	at := forever
	for _, n := range w.nodes[:w.opt.nodes()] {
		at = min(at, n.wakeAt)
	}
	if len(w.queue.items) > 0 {
		at = min(at, w.queue.items[0].at)
	}
	return at
}

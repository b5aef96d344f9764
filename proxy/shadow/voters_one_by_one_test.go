package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// votersAt is a batch with a voter set.
func votersAt(s *stage, base kraft.Offset, epoch kraft.Epoch, ids ...kraft.NodeID) []byte {
	return control(base, epoch, votersOf(s, ids...))
}

func votersOf(s *stage, ids ...kraft.NodeID) wire.Voters {
	var v wire.Voters
	for _, id := range ids {
		v.Voters = append(v.Voters, wire.Voter{Key: kraft.ReplicaKey{ID: id, DirectoryID: s.dir(id)}})
	}
	return v
}

func start(base kraft.Offset, epoch kraft.Epoch, leader kraft.NodeID, ids ...kraft.NodeID) []byte {
	return leaderChange(base, epoch, leader, ids, ids)
}

func TestVotersOneByOne_TwoAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		next []kraft.NodeID
	}{
		{"two are added", nodes(1, 2, 3, 4, 5)}, {"two are removed", nodes(1)}, {"one is exchanged", nodes(1, 2, 4)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, start(9, 5, 1, 1, 2, 3), votersAt(s, 10, 5, tt.next...)))
			s.diverges("M16", 1)
		})
	}
}

func TestVotersOneByOne_InTwoAnswers(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, start(9, 5, 1, 1, 2, 3), data(10, 5, "a")))
	s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11, data(11, 5, "b"), votersAt(s, 12, 5, 1, 2, 3, 4, 5)))
	s.diverges("M16", 1)
}

func TestVotersOneByOne_WhileOneIsUncommitted(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, start(9, 5, 1, 1, 2, 3)))
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3, 4), votersAt(s, 11, 5, 1, 2, 3, 4, 5)))
	s.diverges("M16", 1)
}

func TestVotersOneByOne_Legal(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(s *stage)
	}{
		{"one after the other is committed", func(s *stage) {
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3, 4)))
			s.ask(2, 1, fetch(5, 11, 5)).answer(served(5, 11, votersAt(s, 11, 5, 1, 2, 3, 4, 5)))
		}},
		{"endpoints of one voter change", func(s *stage) {
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3)))
		}},
		{"what lies between was not seen", func(s *stage) {
			s.ask(2, 1, fetch(5, 30, 5)).answer(served(5, 10, votersAt(s, 30, 5, 1, 2, 3, 4, 5, 6)))
		}},
		{"the next leader writes the set again over one that is uncommitted", func(s *stage) {
			s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3, 4)))
			s.ask(3, 2, fetch(6, 11, 5)).answer(served(6, -1, control(11, 6,
				wire.LeaderChange{Leader: 2, Voters: keysOf(nodes(1, 2, 3, 4)), Granting: keysOf(nodes(2, 3, 4))}, votersOf(s, 1, 2, 3, 4))))
		}},
		{"the next leader replaces one that was never committed", func(s *stage) {
			s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3, 4)))
			s.ask(1, 2, fetch(6, 10, 5)).answer(served(6, -1, start(10, 6, 2, 1, 2, 3), data(11, 6, "a")))
			s.ask(1, 2, fetch(6, 12, 6)).answer(served(6, 12, votersAt(s, 12, 6, 1, 2)))
		}},
		{"it is read twice", func(s *stage) {
			for range 2 {
				s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, votersAt(s, 10, 5, 1, 2, 3, 4), data(11, 5, "x")))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, start(9, 5, 1, 1, 2, 3)))
			tt.play(s)
			s.harmless()
		})
	}
}

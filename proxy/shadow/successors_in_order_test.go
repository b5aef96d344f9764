package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// ahead lets node 2 fetch further than node 3.
func ahead(s *stage) {
	led(s, 3)
	s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10))
	s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a", "b")))
	s.ask(2, 1, fetch(5, 12, 5)).answer(served(5, 12))
}

func TestSuccessorsInOrder_LaggingFirst(t *testing.T) {
	s := newStage(t)
	ahead(s)
	s.ask(3, 1, fetch(5, 10, 5)) // it is parked
	s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
	s.diverges("M20", 1)
}

func TestSuccessorsInOrder_NamesItselfOrTwice(t *testing.T) {
	for _, list := range [][]kraft.NodeID{nodes(1, 2), nodes(2, 3, 2)} {
		s := newStage(t)
		s.ask(1, 2, end(5, list...)).answer(ended(kraft.None, 5, 1))
		s.diverges("M20", 1)
	}
}

func TestSuccessorsInOrder_Legal(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(s *stage)
	}{
		{"the longest first", func(s *stage) {
			ahead(s)
			s.ask(3, 1, fetch(5, 10, 5))
			s.ask(1, 2, end(5, 2, 3)).answer(ended(kraft.None, 5, 1))
		}},
		{"a tie", func(s *stage) {
			led(s, 3)
			s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
		{"an empty list of a restarted leader", func(s *stage) { // museum Q
			ahead(s)
			s.ask(1, 2, end(5)).answer(ended(kraft.None, 5, 1))
		}},
		{"a Fetch that may have been taken", func(s *stage) {
			ahead(s)
			s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 12, data(10, 5, "a", "b"), data(12, 5, "c")))
			s.ask(3, 1, fetch(5, 13, 5))
			s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
		{"a Fetch that was not answered", func(s *stage) {
			led(s, 3)
			s.ask(3, 1, fetch(5, 10, 5)).answer(served(5, 10))
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a", "b")))
			s.ask(2, 1, fetch(5, 12, 5)) // on its way
			s.ask(3, 1, fetch(5, 10, 5))
			s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
		{"a voter that was not heard of any more", func(s *stage) { // it may ask past the observer
			ahead(s)
			s.ask(1, 2, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
		{"a voter under another key", func(s *stage) { // museum M4: the old key still counts, and never fetches
			led(s, 3)
			s.wipe(2)
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a", "b")))
			s.ask(2, 1, fetch(5, 12, 5)).answer(served(5, 12))
			s.ask(3, 1, fetch(5, 10, 5))
			s.ask(1, 3, end(5, 3, 2)).answer(ended(kraft.None, 5, 1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			tt.play(s)
			s.harmless()
		})
	}
}

package belief

import (
	"math/bits"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// In the middle of an epoch nothing names the voters. But the high watermark depends on nothing else than how far the voters are, and every
// Fetch tells that of its sender: each answer rules out sets of voters. When one is left, it is the one.

// census finds the voters of the leader that answers.
type census struct {
	leader kraft.NodeID
	epoch  kraft.Epoch
	began  int64 // nanoseconds since the Unix epoch
	known  bool  // there is a leader
	hw     kraft.Offset
	since  horizon
	ids    []kraft.NodeID
	told   []kraft.Offset // how far each is, by its last answered Fetch
	asked  []kraft.Offset // and by its last Fetch
	open   map[ConnID]poll
	left   []electorate
}

// poll is a Fetch without an answer.
type poll struct {
	who    int
	offset kraft.Offset
	told   []kraft.Offset // by the answers before it
}

// electorate is a set of voters that may be the one.
type electorate struct {
	members uint16 // besides the leader, a bit for each of the census's ids
	absent  int    // and so many that never fetch
}

// The bounds of a census.
const (
	maxEnrolled = 8
	maxAbsent   = 4
	censusNanos = 2_000_000_000 // it takes at least that long
)

// observe takes in a message, and returns the voters once they are known.
func (s *census) observe(x *crossing) []kraft.NodeID {
	if x.key != wire.KeyFetch {
		return nil
	}
	if !x.reply {
		s.enrol(x)
		return nil
	}
	c := &x.said
	if c.top != kraft.None || c.err != kraft.None || c.leader != x.from {
		return nil
	}
	if !s.known || s.leader != x.from || s.epoch != c.epoch {
		*s = census{leader: x.from, epoch: c.epoch, began: x.nanos, known: true, hw: -1, open: map[ConnID]poll{}}
		return nil
	}
	p, ok := s.open[x.conn]
	if delete(s.open, x.conn); !ok || c.hw < 0 {
		return nil
	}
	if c.diverge != nowhere || c.snapshot != nowhere {
		s.known = false
		return nil
	}
	s.count(x, p)
	if len(s.left) == 1 && s.left[0].absent == 0 && s.left[0].members != 0 && x.nanos-s.began >= censusNanos {
		return s.elected(s.left[0])
	}
	return nil
}

// enrol takes in a Fetch.
func (s *census) enrol(x *crossing) {
	q := &x.said
	if !s.known || x.to != s.leader || q.replica.ID < 0 {
		return
	}
	if q.epoch != s.epoch || q.last != s.epoch || q.wrong || x.event == nil {
		s.known = false // it is not told apart what counts of it
		return
	}
	who := slices.Index(s.ids, q.replica.ID)
	if who < 0 {
		if len(s.ids) == maxEnrolled {
			s.known = false
			return
		}
		who = len(s.ids)
		s.ids, s.told, s.asked = append(s.ids, q.replica.ID), append(s.told, -1), append(s.asked, q.offset)
		s.restart()
	}
	if q.offset < s.asked[who] {
		s.known = false // it has lost records
		return
	}
	s.asked[who] = q.offset
	s.open[x.conn] = poll{who: who, offset: q.offset, told: slices.Clone(s.told)}
	if len(s.open) > 4*maxEnrolled {
		s.known = false
	}
}

// restart lists all sets that are possible among those who fetch.
func (s *census) restart() {
	s.left = s.left[:0]
	for members := range uint16(1) << len(s.ids) {
		for absent := range maxAbsent + 1 {
			s.left = append(s.left, electorate{members, absent})
		}
	}
}

// count rules out the sets with which the leader would not have that high watermark.
func (s *census) count(x *crossing, p poll) {
	c := &x.said
	if s.hw < 0 {
		s.hw = c.hw
	}
	s.since.answered(x, s.ids[p.who], p.offset)
	s.told[p.who] = max(s.told[p.who], p.offset)
	least := slices.Clone(p.told)
	for len(least) < len(s.ids) {
		least = append(least, -1)
	}
	least[p.who] = p.offset
	s.left = slices.DeleteFunc(s.left, func(e electorate) bool {
		if e.members == 0 && e.absent == 0 { // alone it commits what it writes
			n := len(c.batches)
			return n > 0 && c.hw <= c.batches[n-1].Last || c.hw < p.offset
		}
		if c.hw < s.majority(e, least) {
			return true
		}
		if e.absent > 0 && !s.ahead(e) {
			return false
		}
		return c.hw > max(s.hw, s.majority(e, s.asked))
	})
}

// ahead reports whether all members are further than anyone who was not heard of can be.
func (s *census) ahead(e electorate) bool {
	for i, at := range s.asked {
		if e.members>>i&1 == 1 && (!s.since.known || at < s.since.end) {
			return false
		}
	}
	return true
}

// majority is how far a majority of a set is, if its members are that far. The leader is further than all.
func (s *census) majority(e electorate, ends []kraft.Offset) kraft.Offset {
	var at [maxEnrolled]kraft.Offset
	n := 0
	for i, end := range ends {
		if e.members>>i&1 == 1 {
			at[n] = end
			n++
		}
	}
	slices.SortFunc(at[:n], func(a, b kraft.Offset) int { return int(b - a) })
	middle := (1+bits.OnesCount16(e.members)+e.absent)/2 - 1 // without the leader
	switch {
	case middle < 0:
		return 0
	case middle >= n:
		return -1
	}
	return at[middle]
}

func (s *census) elected(e electorate) []kraft.NodeID {
	ids := []kraft.NodeID{s.leader}
	for i, id := range s.ids {
		if e.members>>i&1 == 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// end is how far any of those who fetch has come.
func (s *census) end() kraft.Offset {
	end := s.hw
	for _, at := range s.asked {
		end = max(end, at)
	}
	return end
}

// closed forgets a Fetch that is never answered.
func (s *census) closed(conn ConnID) { delete(s.open, conn) }

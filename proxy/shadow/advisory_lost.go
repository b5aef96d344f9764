package shadow

import (
	"fmt"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// These advisories are about nodes that have lost their way: who stands for a seat that it does not have, and who gets records that it cannot use.

var (
	advisoryNoSeat = Rule{
		ID: "A15", Name: "stands-without-a-seat", Source: "KAFKA-17030, KAFKA-17067; KIP-853",
		Says: "who stands for leader is a voter",
		Why:  "a voter that was removed and does not know it raises epochs, or tries to, for as long as it runs",
	}
	advisoryAgain = Rule{
		ID: "A16", Name: "fetches-the-same-again", Source: "KAFKA-17713, KAFKA-18723",
		Says: "a replica that gets records goes on behind them",
		Why:  "it cannot append what the leader serves there: it stays behind for ever, and asks as fast as it can",
	}
)

// The counts and times of these advisories.
const (
	noSeatEpochs = 2
	againTimes   = 20
	againAfter   = int64(5 * time.Second)
)

// lost is what these advisories rest on.
type lost struct {
	stood map[kraft.NodeID]*standing
	again map[kraft.NodeID]*refetch
}

// standing is how often a node stood that had no seat in the voter set.
type standing struct {
	epochs int
	last   kraft.Epoch
	first  ref
}

// refetch counts the answers with records to one and the same Fetch offset.
type refetch struct {
	epoch  kraft.Epoch
	offset kraft.Offset
	times  int
	since  int64
	first  ref
}

// stands takes in a request for a vote.
func (l *lost) stands(c *Checker, m *message) {
	if m.vote.preVote || c.quorum.assumed || len(c.quorum.voters) == 0 || c.quorum.isVoter(m.sender.id) {
		return
	}
	s := l.stood[m.sender.id]
	if s == nil {
		if l.stood == nil {
			l.stood = map[kraft.NodeID]*standing{}
		}
		if len(l.stood) >= maxNodes {
			return
		}
		s = &standing{last: -1, first: c.proof(m)}
		l.stood[m.sender.id] = s
	}
	if m.vote.epoch > s.last {
		s.epochs, s.last = s.epochs+1, m.vote.epoch
	}
}

// seatAdvice tells who stood again and again and has no seat in the latest voter set. A new voter may stand before its seat is seen here.
func (c *Checker) seatAdvice() {
	var ids []kraft.NodeID
	for id := range c.advice.lost.stood {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := c.advice.lost.stood[id]
		if s.epochs >= noSeatEpochs && !c.quorum.isVoter(id) {
			c.concludes(&advisoryNoSeat, id, s.last, "", fmt.Sprintf("node %s stood for %d epochs, and is not in the voter set", id, s.epochs))
		}
	}
}

// served takes in an answer to a Fetch.
func (l *lost) served(c *Checker, m *message) {
	if m.peer == nil || m.failed || m.err != kraft.None || !m.leads || m.fetched.DivergingEpoch >= 0 || m.fetched.SnapshotEpoch >= 0 {
		return
	}
	r := l.again[m.peer.id]
	if r == nil {
		if len(m.batches) == 0 {
			return
		}
		if l.again == nil {
			l.again = map[kraft.NodeID]*refetch{}
		}
		if len(l.again) >= maxNodes {
			return
		}
		r = &refetch{offset: -1}
		l.again[m.peer.id] = r
	}
	if len(m.batches) == 0 || r.epoch != m.epoch || r.offset != m.fetch.Offset {
		*r = refetch{epoch: m.epoch, offset: m.fetch.Offset, since: m.ref.at}
		if len(m.batches) == 0 {
			return
		}
	}
	if r.times++; r.times == 1 {
		r.first = m.ref // not its proof: that takes time, and nearly all replicas go on
	}
	if r.times >= againTimes && m.ref.at-r.since >= againAfter {
		now := c.proof(m)
		c.advise(&advisoryAgain, m.peer.id, m.epoch, "", fmt.Sprintf("node %s got records for its Fetch from offset %d %d times in %s and asks from there again",
			m.peer.id, r.offset, r.times, time.Duration(m.ref.at-r.since).Round(time.Second)), c.evidence(&r.first, "with records"), c.evidence(&now, ""))
	}
}

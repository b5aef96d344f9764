package kraft

import (
	"fmt"
	"strings"
)

// VoteState is what is known of one voter in an election.
type VoteState uint8

// The states of a vote.
const (
	Unrecorded VoteState = iota
	Granted
	Rejected
)

// Vote is one voter of an election.
type Vote struct {
	Voter ReplicaKey
	State VoteState
}

// Tally counts the votes of an election (Kafka: EpochElection). It is made of the voter set at the time and never looks at the
// set again.
type Tally []Vote

// reset begins an election among the voters. It is not ok if self, which has granted its own vote, is not one of them.
func (t Tally) reset(voters VoterSet, self NodeID) (Tally, bool) {
	t = t[:0]
	for i := range voters.Len() {
		t = append(t, Vote{Voter: voters.At(i).Key})
	}
	return t, t.record(self, Granted)
}

func (t Tally) find(id NodeID) *Vote {
	for i := range t {
		if t[i].Voter.ID == id {
			return &t[i]
		}
	}
	return nil
}

// record notes a vote, whatever was noted before. It is not ok for a node that is not among the voters.
func (t Tally) record(id NodeID, state VoteState) bool {
	v := t.find(id)
	if v == nil {
		return false
	}
	v.State = state
	return true
}

func (t Tally) count(state VoteState) int {
	n := 0
	for i := range t {
		if t[i].State == state {
			n++
		}
	}
	return n
}

func (t Tally) majority() int { return len(t)/2 + 1 }

// IsGranted reports whether a majority has granted its vote.
func (t Tally) IsGranted() bool { return t.count(Granted) >= t.majority() }

// IsRejected reports whether no majority can be reached any more.
func (t Tally) IsRejected() bool { return t.count(Granted)+t.count(Unrecorded) < t.majority() }

func (t Tally) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range t {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%v%c", v.Voter.ID, "?+-"[v.State])
	}
	b.WriteByte(']')
	return b.String()
}

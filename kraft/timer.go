package kraft

import (
	"fmt"
	"slices"
	"strings"
)

// TimerKind names what a timer is for. All timers run in the driver; the engine only resets them and is told which have
// run out.
type TimerKind uint8

// The timers. The first group exists once per machine, the others once per peer.
const (
	NoTimer TimerKind = iota

	ElectionTimer         // Unattached, Prospective, Candidate, Resigned
	FetchTimer            // Follower: the leader has not answered
	UpdateVoterTimer      // Follower: time to compare the own description with the voter set (KIP-853)
	CheckQuorumTimer      // Leader: no majority has fetched (KAFKA-15489)
	BeginQuorumEpochTimer // Leader: time to announce the leadership again
	LingerTimer           // Leader: prepared records are released
	VoterChangeTimer      // Leader: the pending AddRaftVoter or RemoveRaftVoter
	ElectionBackoffTimer  // Candidate of Kafka 4.0: backs off after a rejected election (KAFKA-18345)
	ShutdownTimer         // graceful shutdown

	RequestTimer    // per connection record: the request in flight
	BackoffTimer    // per connection record: pause after a failure
	SilenceTimer    // per replica, on the leader: has not fetched for half a fetch timeout (KAFKA-16926)
	SessionTimer    // per observer, on the leader: forgotten by DescribeQuorum
	CaughtUpTimer   // per observer, on the leader: fetched within the last hour (AddRaftVoter)
	timerKinds      // the number of kinds
	firstPeerTimer  = RequestTimer
	fixedTimersMask = 1<<firstPeerTimer - 1
)

var timerNames = [timerKinds]string{
	"none", "election", "fetch", "update-voter", "check-quorum", "begin-quorum-epoch", "linger", "voter-change",
	"election-backoff", "shutdown", "request", "backoff", "silence", "session", "caught-up",
}

func (k TimerKind) String() string { return timerNames[k] }

// Timer names one timer. Peer is the connection record of the kinds that exist per record, and a whole replica key for
// SilenceTimer, SessionTimer and CaughtUpTimer, since an id may fetch with several directory ids.
type Timer struct {
	Kind TimerKind
	Peer ReplicaKey
}

// PeerTimer is the timer of that kind for a connection record or voter.
func PeerTimer(kind TimerKind, id NodeID) Timer { return Timer{Kind: kind, Peer: ReplicaKey{ID: id}} }

func (t Timer) String() string {
	if t.Kind < firstPeerTimer {
		return t.Kind.String()
	}
	return fmt.Sprintf("%v(%v)", t.Kind, t.Peer)
}

// TimerSet is a set of timers. The zero value is empty. A copy shares the peer timers with the original: add and remove
// through one of them only.
type TimerSet struct {
	fixed uint32
	peers []Timer
}

// Timers is the set of the given timers.
func Timers(timers ...Timer) TimerSet {
	var s TimerSet
	for _, t := range timers {
		s.Add(t)
	}
	return s
}

// Has reports whether the timer is in the set.
func (s *TimerSet) Has(t Timer) bool {
	if t.Kind < firstPeerTimer {
		return s.fixed&(1<<t.Kind) != 0
	}
	for i := range s.peers {
		if s.peers[i] == t {
			return true
		}
	}
	return false
}

// Add puts the timer into the set.
func (s *TimerSet) Add(t Timer) {
	if t.Kind < firstPeerTimer {
		s.fixed |= 1 << t.Kind
	} else if !s.Has(t) {
		s.peers = append(s.peers, t)
	}
}

// AddAbsent is Add for a timer that is known not to be in the set: it need not be searched.
func (s *TimerSet) AddAbsent(t Timer) {
	if t.Kind < firstPeerTimer {
		s.fixed |= 1 << t.Kind
	} else {
		s.peers = append(s.peers, t)
	}
}

// Remove takes the timer out of the set.
func (s *TimerSet) Remove(t Timer) {
	if t.Kind < firstPeerTimer {
		s.fixed &^= 1 << t.Kind
	} else if i := slices.Index(s.peers, t); i >= 0 {
		s.peers[i] = s.peers[len(s.peers)-1]
		s.peers = s.peers[:len(s.peers)-1]
	}
}

// Clear empties the set and keeps its storage.
func (s *TimerSet) Clear() { s.fixed, s.peers = 0, s.peers[:0] }

// Empty reports whether there is no timer in the set.
func (s *TimerSet) Empty() bool { return s.fixed == 0 && len(s.peers) == 0 }

// Each calls f for every timer of the set.
func (s *TimerSet) Each(f func(Timer)) {
	for k := NoTimer + 1; k < firstPeerTimer; k++ {
		if s.fixed&(1<<k) != 0 {
			f(Timer{Kind: k})
		}
	}
	for _, t := range s.peers {
		f(t)
	}
}

func (s TimerSet) String() string {
	var names []string
	s.Each(func(t Timer) { names = append(names, t.String()) })
	slices.Sort(names)
	return "{" + strings.Join(names, " ") + "}"
}

// Clock is what a driver tells with every event: the time, and which timers have run out by then. The engine adds to Now
// and stores it; it never compares it. A timer that the engine resets in a call is no longer due in that call. Timers that
// the role does not care about are ignored.
type Clock struct {
	Now Instant
	Due TimerSet
}

func (c Clock) String() string { return fmt.Sprintf("t=%d due=%v", c.Now, c.Due) }

package sim

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// Hazard is a way in which Kafka's own rules end a process, or mislead it, though all its peers are correct. A run goes on: the process
// begins anew a little later. They are counted, so that a test can show that they happen. docs/NON_OBVIOUS.md tells what they mean for an
// operator.
type Hazard uint8

// The hazards.
const (
	NoHazard Hazard = iota
	// RestartsOutsideTheVoters: a node that has voted for itself and is no voter any more, because its log has got a set of voters
	// without it since, ends whenever it starts (Kafka: QuorumState.initialize).
	RestartsOutsideTheVoters
	// ToldThatItLeads: a node that has lost its disk is told that it leads the epoch that it led before, and ends, until there is another
	// leader (Kafka: KafkaRaftClient.maybeTransition; QuorumState.transitionToFollower where the answer to its own Vote says so).
	ToldThatItLeads
	// StrangerLeads: a node learns of a leader that is not in its set of voters from a message without endpoints, and ends (Kafka:
	// QuorumState.transitionToFollower). EndQuorumEpoch never has endpoints, and an Unattached that knows the leader has none to tell.
	StrangerLeads
	// AnswerOfARemovedVoter: a leader gets the answer to a BeginQuorumEpoch from a voter that it has removed in the meantime, and ends
	// (Kafka: LeaderState.addAcknowledgementFrom).
	AnswerOfARemovedVoter
	// AsksTheUnknownLeader: a node that knows who leads its epoch, but not where, asks a bootstrap server that turns out to be that leader,
	// gets a good answer, and ends (Kafka: KafkaRaftClient.handleFetchResponse).
	AsksTheUnknownLeader
	// CandidateAgain: a node that voted for itself, lost, and followed the winner is a Candidate of that epoch again when it restarts. Its
	// log has records of the epoch by then, so whoever does not know the leader calls its request invalid, and it ends (Kafka:
	// QuorumState.initialize, KafkaRaftClient.handleVoteRequest).
	CandidateAgain
	// FetchesTwice: the update timer of a follower of 4.0 runs out while a Fetch to a bootstrap server is in flight. It fetches from the
	// leader as well, which may be that server, and the records that come second begin below the log end; it ends (Kafka:
	// KafkaRaftClient.pollFollowerAsVoter; mended by KAFKA-16538).
	FetchesTwice
	// StaleVoters: a node goes on with a set of voters that its log has replaced (see node.knowsItsVoters).
	StaleVoters
	hazards
)

var hazardNames = [hazards]string{
	"none", "restarts outside the voters", "is told that it leads", "a stranger leads", "answer of a removed voter",
	"asks the unknown leader", "candidate again", "fetches twice", "stale voters",
}

func (h Hazard) String() string { return hazardNames[h] }

// ended: the machine says that Kafka's process would exit. Unless that is a known hazard, it must not happen among correct peers.
func (w *World) ended(n *node, reason kraft.FatalReason) {
	w.note(noteFatal, n, reason.String())
	h := w.hazard(n, reason)
	w.hazards[h]++
	if h == NoHazard {
		w.violated(safety.NoFatal, n, "%v at %v", reason, n.event)
	}
	w.halt(n)
	w.restartLog(n, keepsAll)
	if h == RestartsOutsideTheVoters {
		n.dead = true
		w.lost = append(w.lost, n.replicaKey())
		return
	}
	w.comesBack(n, 3_000_000)
}

func (w *World) hazard(n *node, reason kraft.FatalReason) Hazard {
	_, voters := n.lastVoters()
	_, starting := n.event.(*kraft.Start)
	switch reason {
	case kraft.FatalNotAVoter:
		if starting {
			return RestartsOutsideTheVoters
		}
		if r, ok := n.event.(*kraft.ReceiveBeginQuorumEpochResponse); ok && voters.Find(r.From) == nil {
			return AnswerOfARemovedVoter
		}
	case kraft.FatalInconsistentLeader, kraft.FatalInvalidTransition:
		_, vote := n.event.(*kraft.ReceiveVoteResponse)
		if w.hasLost(n.id) && (reason == kraft.FatalInconsistentLeader || vote && leaderIn(n.event) == n.id) {
			return ToldThatItLeads
		}
	case kraft.FatalUnknownEndpoints:
		if voters.Find(leaderIn(n.event)) == nil {
			return StrangerLeads
		}
	case kraft.FatalUnexpectedRole:
		u, unattached := n.machine.Role().(*kraft.Unattached)
		if _, answer := n.event.(*kraft.ReceiveFetchResponse); answer && unattached && u.Leader >= 0 {
			return AsksTheUnknownLeader
		}
	case kraft.FatalInvalidRequest:
		if _, vote := n.event.(*kraft.ReceiveVoteResponse); vote && n.log.EndOffset().LastEpoch >= n.stored.Epoch {
			return CandidateAgain
		}
	case kraft.FatalUnexpectedOffset:
		if n.hasFetchedTwice() {
			return FetchesTwice
		}
	default:
	}
	return NoHazard
}

// hasFetchedTwice: a follower whose release can have two Fetches in flight gets records that its log has already.
func (n *node) hasFetchedTwice() bool {
	r, ok := n.event.(*kraft.ReceiveFetchResponse)
	if !ok || n.profile.Rules.UpdateVoterRestartIfSent || n.machine.Role().Kind() != kraft.FollowerRole || len(r.Batches) == 0 {
		return false
	}
	first := &r.Batches[0]
	l, ok := n.chain.Holding(first.Base)
	return ok && l.Epoch == first.Epoch
}

// leaderIn is the leader that a message names.
func leaderIn(ev kraft.Event) kraft.NodeID {
	switch e := ev.(type) {
	case *kraft.ReceiveEndQuorumEpoch:
		return e.LeaderID
	case *kraft.ReceiveFetchResponse:
		return e.LeaderID
	case *kraft.ReceiveVoteResponse:
		return e.LeaderID
	case *kraft.ReceiveFetchSnapshotResponse:
		return e.LeaderID
	case *kraft.ReceiveBeginQuorumEpochResponse:
		return e.LeaderID
	case *kraft.ReceiveEndQuorumEpochResponse:
		return e.LeaderID
	}
	return kraft.NoNode
}

// hasLost reports whether a disk of the node was lost.
func (w *World) hasLost(id kraft.NodeID) bool {
	return slices.ContainsFunc(w.lost, func(key kraft.ReplicaKey) bool { return key.ID == id })
}

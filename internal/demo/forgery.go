package demo

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Forgery is a vote answer that a fault rule turns from a refusal into a grant, by a voter that has voted for somebody else in
// the same epoch already: the one thing that a voter must never do.
type Forgery struct {
	Voter, Candidate, VotedFor kraft.NodeID
	Epoch                      kraft.Epoch
	Rule                       string // the fault rule that does it
}

// FindForgery looks for the first answer of a recording that can become a second vote.
func FindForgery(src recordings.Source) (Forgery, error) {
	f := forger{
		pairs: map[uint64]*wire.Pairer{}, votes: map[ballot]kraft.NodeID{}, answers: map[[2]kraft.NodeID]int{},
	}
	var o recordings.Observation
	for {
		err := src.Next(&o)
		if errors.Is(err, io.EOF) {
			return Forgery{}, errors.New("the recording has no vote that was refused because of another vote")
		}
		if err != nil {
			return Forgery{}, err
		}
		if o.Kind != recordings.KindFrame {
			continue
		}
		if forgery, ok := f.frame(&o); ok {
			return forgery, nil
		}
	}
}

type ballot struct {
	voter kraft.NodeID
	epoch kraft.Epoch
}

// forger keeps who voted for whom, and how many vote answers went from one node to another.
type forger struct {
	decoder wire.Decoder
	pairs   map[uint64]*wire.Pairer
	votes   map[ballot]kraft.NodeID
	answers map[[2]kraft.NodeID]int
}

func (f *forger) frame(o *recordings.Observation) (Forgery, bool) {
	pairer := f.pairs[o.Conn.ID]
	if pairer == nil {
		pairer = &wire.Pairer{}
		f.pairs[o.Conn.ID] = pairer
	}
	if o.Dir == wire.Request {
		header, body, err := wire.ParseRequestHeader(o.Frame.Bytes)
		if err == nil {
			pairer.Request(header, body, o.At, o.Seq)
			f.request(header, body)
		}
		return Forgery{}, false
	}
	x, err := pairer.Response(o.Frame.Bytes, o.At)
	if err != nil {
		return Forgery{}, false
	}
	defer pairer.Release(x)
	return f.response(o.Conn.Node, x)
}

// request notes that a candidate votes for itself.
func (f *forger) request(h wire.RequestHeader, body []byte) {
	if v, ok := f.vote(h, body); ok && !v.PreVote {
		f.votes[ballot{kraft.NodeID(v.CandidateID), kraft.Epoch(v.CandidateEpoch)}] = kraft.NodeID(v.CandidateID)
	}
}

// vote is what a Vote request asks for.
func (f *forger) vote(h wire.RequestHeader, body []byte) (kmsg.VoteRequestTopicPartition, bool) {
	if h.Key != wire.KeyVote {
		return kmsg.VoteRequestTopicPartition{}, false
	}
	m, err := f.decoder.Request(h.Key, h.Version, body)
	if err != nil {
		return kmsg.VoteRequestTopicPartition{}, false
	}
	r := m.(*kmsg.VoteRequest)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return kmsg.VoteRequestTopicPartition{}, false
	}
	return r.Topics[0].Partitions[0], true
}

func (f *forger) response(voter kraft.NodeID, x *wire.Exchange) (Forgery, bool) {
	asked, ok := f.vote(x.Header, x.Request)
	if !ok {
		return Forgery{}, false
	}
	candidate := clientNode(x.Header.ClientID)
	way := [2]kraft.NodeID{voter, candidate}
	f.answers[way]++
	m, err := f.decoder.Response(x.Header.Key, x.Header.Version, x.Response)
	if err != nil || asked.PreVote {
		return Forgery{}, false
	}
	r := m.(*kmsg.VoteResponse)
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		return Forgery{}, false
	}
	vote := ballot{voter, kraft.Epoch(asked.CandidateEpoch)}
	if r.Topics[0].Partitions[0].VoteGranted {
		f.votes[vote] = candidate
		return Forgery{}, false
	}
	votedFor, voted := f.votes[vote]
	if !voted || votedFor == candidate || candidate != kraft.NodeID(asked.CandidateID) {
		return Forgery{}, false
	}
	return Forgery{
		Voter: voter, Candidate: candidate, VotedFor: votedFor, Epoch: vote.epoch,
		Rule: fmt.Sprintf("mutate Vote response from %s to %s nth %d field VoteGranted=true", voter, candidate, f.answers[way]),
	}, true
}

// clientNode reads the node id out of a raft client's client id (Kafka: KafkaRaftManager, "raft-client-" + nodeId).
func clientNode(clientID []byte) kraft.NodeID {
	n, err := strconv.ParseInt(strings.TrimPrefix(string(clientID), "raft-client-"), 10, 32)
	if err != nil {
		return kraft.NoNode
	}
	return kraft.NodeID(n)
}

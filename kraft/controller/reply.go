package controller

import (
	"encoding/binary"
	"math"
	"net"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// request is one that waits for the machine's reply. Its connection has it until it is sent to the loop, and again when done has said
// so.
type request struct {
	id       kraft.RequestID
	header   wire.RequestHeader
	body     []byte
	peer     net.Addr
	software string // of its client
	sender   kraft.NodeID
	response []byte    // the frame with its size
	done     chan bool // capacity 1; false: the connection is to be closed
}

// reply answers a request. The bytes of the log or of the snapshot are read now, behind all that the actions before this one have done.
func (l *loop) reply(id kraft.RequestID, action kraft.Action) {
	r, ok := l.requests[id]
	if !ok {
		return
	}
	l.spare(action, r.sender)
	data, err := l.replyData(action)
	if err == nil {
		r.response = beginResponse(r.response, &r.header)
		r.response, err = wire.AppendReply(r.response, action, wire.ReplyTo{Version: r.header.Version, Body: r.body}, data)
	}
	if err != nil { // what cannot be answered must not be answered wrongly: Kafka's clients end on a malformed response
		l.cfg.Log.Error().Err(err).Stringer("reply", action).Stringer("peer", r.peer).Msg("no answer can be made; the connection is closed")
		l.settle(id, nil)
		return
	}
	l.settle(id, endResponse(r.response))
}

// spare keeps an answer from telling its receiver that it leads itself, though it does not. Kafka says so where a node has forgotten that it led, or a stranger has
// spoken in its name, and the process that hears it ends (KafkaRaftClient.maybeTransition). Without a leader it takes the epoch over, and the
// next election heals it.
func (l *loop) spare(action kraft.Action, receiver kraft.NodeID) {
	if receiver == l.id {
		return
	}
	if u, is := action.(*kraft.ReplyUpdateRaftVoter); is && u.LeaderID == receiver {
		u.LeaderID, u.LeaderEndpoint = kraft.NoNode, kraft.Address{}
	}
	if p, ok := toOneThatDoesNotLead(action); ok && p.LeaderID == receiver {
		p.LeaderID, p.HasEndpoint = kraft.NoNode, false
	}
}

// toOneThatDoesNotLead is what an answer says about the partition, if it goes to a node that has shown that it does not lead, by what it asks or
// by being refused.
func toOneThatDoesNotLead(action kraft.Action) (p *kraft.PartitionReply, ok bool) {
	switch a := action.(type) {
	case *kraft.ReplyVote:
		return &a.PartitionReply, true // whoever asks for a vote does not lead, and hears of its epoch even if it gets it
	case *kraft.ReplyBeginQuorumEpoch:
		p = &a.PartitionReply
	case *kraft.ReplyEndQuorumEpoch:
		p = &a.PartitionReply
	case *kraft.ReplyFetch:
		p = &a.PartitionReply
	case *kraft.ReplyDivergingEpoch:
		p = &a.PartitionReply
	case *kraft.ReplyFetchSnapshot:
		p = &a.PartitionReply
	default:
		return nil, false
	}
	return p, p.PartitionError != kraft.None
}

// senderOf is who sent a request, as it says itself.
func senderOf(ev kraft.Event) kraft.NodeID {
	switch e := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		return e.Candidate
	case *kraft.ReceiveBeginQuorumEpoch:
		return e.LeaderID
	case *kraft.ReceiveEndQuorumEpoch:
		return e.LeaderID
	case *kraft.ReceiveFetch:
		return e.Replica.ID
	case *kraft.ReceiveFetchSnapshot:
		return e.Replica.ID
	case *kraft.ReceiveUpdateRaftVoter:
		return e.Voter.ID
	}
	return kraft.NoNode
}

func (l *loop) replyData(action kraft.Action) (data []byte, err error) {
	switch a := action.(type) {
	case *kraft.ReplyFetch:
		if a.Error == kraft.None && a.From < a.UpTo {
			l.scratch, err = l.log.Read(l.scratch[:0], a.From, a.UpTo, l.atMost(a.MaxBytes))
			return l.scratch, err
		}
	case *kraft.ReplyFetchSnapshot:
		if a.Error == kraft.None && a.PartitionError == kraft.None && a.Position < a.Size {
			return l.log.ReadSnapshot(a.ID, a.Position, l.atMost(a.MaxBytes))
		}
	}
	return nil, nil
}

// atMost is how much of what a peer would take it gets in one answer: it may ask for two gigabytes.
func (l *loop) atMost(asked int32) int32 {
	return min(asked, int32(min(l.cfg.Limits.AnswerBytes/2, math.MaxInt32)))
}

// settle gives a request back to its connection, with the response or to be closed.
func (l *loop) settle(id kraft.RequestID, response []byte) {
	r, ok := l.requests[id]
	if !ok {
		return
	}
	delete(l.requests, id)
	delete(l.parked, id)
	r.response = response
	r.done <- response != nil
}

// beginResponse is a response frame up to its body; endResponse fills in the size.
func beginResponse(dst []byte, h *wire.RequestHeader) []byte {
	dst = append(dst[:0], 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	if wire.Flexible(h.Key, h.Version) && h.Key != wire.KeyAPIVersions {
		dst = append(dst, 0) // no tagged fields
	}
	return dst
}

func endResponse(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

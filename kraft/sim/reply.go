package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
	"github.com/understudy-kafka/understudy/wire"
)

// reply answers a request, if the action is an answer.
func (n *node) reply(action kraft.Action) bool {
	switch a := action.(type) {
	case *kraft.ReplyFetch:
		n.replyFetch(action, &a.FetchAnswer)
	case *kraft.ReplyDivergingEpoch:
		n.replyFetch(action, &a.FetchAnswer)
	case *kraft.ReplyVote:
		n.replyVote(a)
	case *kraft.ReplyBeginQuorumEpoch:
		n.told(&a.PartitionReply, a.Error)
		if m := n.answer(a.Request); m != nil {
			m.begun = kraft.ReceiveBeginQuorumEpochResponse{Response: m.responseHead(a.Error), PartitionAnswer: answerOf(&a.PartitionReply)}
			m.event = &m.begun
			n.w.respond(m, action, nil)
		}
	case *kraft.ReplyEndQuorumEpoch:
		n.told(&a.PartitionReply, a.Error)
		if m := n.answer(a.Request); m != nil {
			m.ended = kraft.ReceiveEndQuorumEpochResponse{Response: m.responseHead(a.Error), PartitionAnswer: answerOf(&a.PartitionReply)}
			m.event = &m.ended
			n.w.respond(m, action, nil)
		}
	case *kraft.ReplyFetchSnapshot:
		n.replyFetchSnapshot(a)
	case *kraft.ReplyUpdateRaftVoter:
		if m := n.answer(a.Request); m != nil {
			m.updated = kraft.ReceiveUpdateRaftVoterResponse{
				Response: m.responseHead(a.Error), LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch, LeaderEndpoint: a.LeaderEndpoint,
			}
			m.event = &m.updated
			n.w.respond(m, action, nil)
		}
	case *kraft.ReplyAddRaftVoter:
		if m := n.answer(a.Request); m != nil {
			m.added = kraft.ReceiveAddRaftVoterResponse{Response: m.responseHead(a.Error)}
			m.event = &m.added
			n.w.respond(m, action, nil)
		}
	case *kraft.ReplyRemoveRaftVoter:
		if m := n.answer(a.Request); m != nil {
			m.removed = kraft.ReceiveRemoveRaftVoterResponse{Response: m.responseHead(a.Error)}
			m.event = &m.removed
			n.w.respond(m, action, nil)
		}
	default:
		return false
	}
	return true
}

// told holds what an answer says of epoch and leader against the history.
func (n *node) told(p *kraft.PartitionReply, top kraft.ErrorCode) {
	if top == kraft.None {
		n.w.fail(n.w.history.Told(n.key, n.id, p.LeaderEpoch, p.LeaderID, &n.stored))
	}
}

// answer begins the message of a response. Nil: nobody waits for it any more, or an operator does.
func (n *node) answer(id kraft.RequestID) *message {
	c := n.settle(id)
	if c == nil || c.from == nil || !c.from.up() || c.from.life != c.life {
		return nil
	}
	m := n.w.message()
	m.from, m.to, m.fromLife, m.toLife, m.response = n, c.from, n.life, c.life, true
	m.api, m.version, m.record, m.correlation = c.api, c.version, c.record, c.correlation
	m.preVote, m.candidate, m.second = c.preVote, c.candidate, c.second
	m.body = append(m.body[:0], c.body...)
	return m
}

func (m *message) responseHead(code kraft.ErrorCode) kraft.Response {
	return kraft.Response{From: m.record, CorrelationID: m.correlation, Error: code}
}

func answerOf(p *kraft.PartitionReply) kraft.PartitionAnswer {
	return kraft.PartitionAnswer{
		Error: p.PartitionError, LeaderID: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HasEndpoint: p.HasEndpoint,
		LeaderEndpoint: p.LeaderEndpoint,
	}
}

func (n *node) replyVote(a *kraft.ReplyVote) {
	w := n.w
	n.told(&a.PartitionReply, a.Error)
	if slot := int(uint32(a.Request)); a.VoteGranted && slot < len(n.clients) && !n.clients[slot].preVote {
		w.fail(w.history.Voted(n.key, n.id, n.clients[slot].candidate, a.LeaderEpoch, &n.stored))
	}
	m := n.answer(a.Request)
	if m == nil {
		return
	}
	m.voted = kraft.ReceiveVoteResponse{
		Response: m.responseHead(a.Error), PartitionAnswer: answerOf(&a.PartitionReply), VoteGranted: a.VoteGranted,
	}
	m.event = &m.voted
	w.respond(m, a, nil)
}

func (n *node) replyFetch(action kraft.Action, a *kraft.FetchAnswer) {
	w := n.w
	if a.Error == kraft.None { // the answer of an expired Fetch may name the epoch in which it arrived
		w.fail(w.history.Named(n.id, a.LeaderID, a.LeaderEpoch))
		if a.LeaderEpoch > n.stored.Epoch {
			w.violated(safety.PersistBeforeSend, n, "tells of epoch %d, durable is %v", a.LeaderEpoch, n.stored)
		}
	}
	m := n.answer(a.Request)
	if m == nil {
		return
	}
	batches := m.fetched.Batches[:0]
	if a.From < a.UpTo {
		read := n.log.Batches(a.From, a.UpTo, max(a.MaxBytes, 1))
		batches = append(batches, read...)
		if len(read) > 0 {
			m.links = append(m.links[:0], n.chain.From(read[0].Last)[:len(read)]...)
		}
	}
	m.fetched = kraft.ReceiveFetchResponse{
		Response: m.responseHead(a.Error), PartitionAnswer: answerOf(&a.PartitionReply), HighWatermark: a.HighWatermark,
		LogStart: a.LogStart, Diverging: a.Diverging, Snapshot: a.Snapshot, RecordsSize: int32(len(batches)), Batches: batches,
	}
	m.event = &m.fetched
	w.respond(m, action, batches)
}

func (n *node) replyFetchSnapshot(a *kraft.ReplyFetchSnapshot) {
	if a.HasLeader {
		n.told(&a.PartitionReply, a.Error)
	}
	m := n.answer(a.Request)
	if m == nil {
		return
	}
	contents, _ := n.log.Contents(a.ID)
	bytes := int32(max(0, min(int64(a.MaxBytes), a.Size-a.Position)))
	m.snapshotPiece = kraft.ReceiveFetchSnapshotResponse{
		Response: m.responseHead(a.Error), PartitionAnswer: answerOf(&a.PartitionReply), SnapshotID: a.ID, Size: a.Size,
		Position: a.Position, Bytes: bytes, Contents: contents,
	}
	m.link = n.snapshotLink(a.ID)
	m.event = &m.snapshotPiece
	n.w.respond(m, a, nil)
}

func (n *node) snapshotLink(id kraft.SnapshotID) safety.Link {
	for i := range n.snapshots {
		if n.snapshots[i].id == id {
			return n.snapshots[i].link
		}
	}
	return safety.Link{Last: -1}
}

// respond sends a response, through its real bytes where the run asks for them.
func (w *World) respond(m *message, action kraft.Action, batches []kraft.Batch) {
	if w.opt.Wire {
		w.responseThroughBytes(m, action, batches)
	}
	if w.opt.Broken == MixesAnswers && w.network.chance(30) {
		if other := w.nodes[w.network.pick(w.opt.nodes())]; other.up() {
			m.to, m.toLife = other, other.life
		}
	}
	w.post(m)
}

func (w *World) responseThroughBytes(m *message, action kraft.Action, batches []kraft.Batch) {
	var data []byte
	var err error
	piece, isPiece := action.(*kraft.ReplyFetchSnapshot)
	if isPiece {
		data = make([]byte, m.snapshotPiece.Bytes) // a snapshot's own bytes are not made: its contents travel beside them
	} else if data, err = w.dataOf(batches, m.links); err != nil {
		w.violated(safety.NoFatal, m.from, "%v through bytes: %v", action, err)
		return
	}
	body, err := wire.AppendReply(w.buffer[:0], action, wire.ReplyTo{Version: m.version, Body: m.body}, data)
	w.buffer = body
	if err == nil {
		m.event, err = w.decoder.KRaftResponse(int16(m.api), m.version, body, kraft.Response{From: m.record, CorrelationID: m.correlation})
	}
	if err != nil {
		w.violated(safety.NoFatal, m.from, "%v through bytes: %v", action, err)
		return
	}
	switch e := m.event.(type) {
	case *kraft.ReceiveFetchResponse:
		m.links = contentsOf(m.links[:0], data)
	case *kraft.ReceiveFetchSnapshotResponse:
		if isPiece && piece.PartitionError == kraft.None && piece.Error == kraft.None {
			e.Contents = m.snapshotPiece.Contents
		}
	}
}

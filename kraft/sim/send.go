package sim

import (
	"math"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
	"github.com/understudy-kafka/understudy/wire"
)

// What a machine sends becomes an event of another one. Before it leaves it is held against the history: what it says must be durable.

// send puts the request that an action asks for on its way, or reports that it asks for none.
func (n *node) send(action kraft.Action) bool {
	switch action.(type) {
	case *kraft.SendFetch, *kraft.SendVoteRequest, *kraft.SendBeginQuorumEpoch, *kraft.SendEndQuorumEpoch, *kraft.SendFetchSnapshot,
		*kraft.SendAPIVersions, *kraft.SendUpdateVoter, *kraft.SendAddRaftVoter, *kraft.SendRemoveRaftVoter:
	default:
		return false
	}
	for i := range n.copies() {
		if m := n.build(action); m != nil {
			m.second = i > 0
			n.w.post(m)
		}
	}
	return true
}

// build makes the message of a request.
func (n *node) build(action kraft.Action) *message {
	m := n.fill(action)
	if m == nil {
		return nil
	}
	if n.w.opt.Wire && !m.askAPIVersions {
		n.w.throughBytes(m, action)
	}
	return m
}

func (n *node) fill(action kraft.Action) *message {
	switch a := action.(type) {
	case *kraft.SendFetch:
		n.checkFetch(a)
		m := n.newRequest(&a.Destination, kraft.FetchAPI, 0)
		if m == nil {
			return nil
		}
		m.fetch = kraft.ReceiveFetch{
			Request: m.head(), Replica: a.Replica, FetchEpoch: a.Epoch, FetchOffset: a.FetchOffset,
			LastFetchedEpoch: a.LastFetchedEpoch, HighWatermark: a.HighWatermark, MaxWaitMs: a.MaxWaitMs, MaxBytes: a.MaxBytes,
		}
		if m.version < 18 {
			m.fetch.HighWatermark = math.MaxInt64
		}
		m.event, m.request = &m.fetch, &m.fetch.Request
		return m
	case *kraft.SendVoteRequest:
		return n.fillVote(a)
	case *kraft.SendBeginQuorumEpoch:
		n.w.fail(n.w.history.Told(n.key, n.id, a.Epoch, a.Leader, &n.stored))
		m := n.newRequest(&a.Destination, kraft.BeginQuorumEpochAPI, 0)
		if m == nil {
			return nil
		}
		m.begin = kraft.ReceiveBeginQuorumEpoch{
			Request: m.head(), VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, LeaderID: a.Leader, LeaderEpoch: a.Epoch,
			LeaderEndpoints: a.Endpoints,
		}
		m.event, m.request = &m.begin, &m.begin.Request
		return m
	case *kraft.SendEndQuorumEpoch:
		n.w.fail(n.w.history.Told(n.key, n.id, a.Epoch, a.Leader, &n.stored))
		m := n.newRequest(&a.Destination, kraft.EndQuorumEpochAPI, 0)
		if m == nil {
			return nil
		}
		successors := append(m.end.Successors[:0], a.Successors...)
		m.end = kraft.ReceiveEndQuorumEpoch{Request: m.head(), LeaderID: a.Leader, LeaderEpoch: a.Epoch, Successors: successors}
		m.event, m.request = &m.end, &m.end.Request
		return m
	}
	return n.fillSeldom(action)
}

// checkFetch: a Fetch acknowledges everything before its offset. What counts for a majority must be on the disk.
func (n *node) checkFetch(a *kraft.SendFetch) {
	if !n.broker && a.FetchOffset > n.log.Flushed() {
		n.w.violated(safety.PersistBeforeSend, n, "acknowledges its log up to %d, durable are %d", a.FetchOffset, n.log.Flushed())
	}
	n.w.fail(n.w.history.Told(n.key, n.id, a.Epoch, kraft.NoNode, &n.stored))
}

func (n *node) fillVote(a *kraft.SendVoteRequest) *message {
	w := n.w
	if a.PreVote {
		if w.opt.Broken == BumpsPreVote {
			a.Epoch++
		}
		w.fail(w.history.Told(n.key, n.id, a.Epoch, kraft.NoNode, &n.stored))
	} else {
		w.fail(w.history.Voted(n.key, n.id, n.id, a.Epoch, &n.stored))
	}
	needs := int16(0)
	if a.PreVote {
		needs = 2
	}
	m := n.newRequest(&a.Destination, kraft.VoteAPI, needs)
	if m == nil {
		return nil
	}
	m.vote = kraft.ReceiveVoteRequest{
		Request: m.head(), VoterID: a.Voter.ID, VoterDirectoryID: a.Voter.DirectoryID, CandidateEpoch: a.Epoch,
		Candidate: a.Candidate.ID, CandidateDirectoryID: a.Candidate.DirectoryID, CandidateLogEnd: a.LogEnd, PreVote: a.PreVote,
	}
	m.event, m.request, m.preVote, m.candidate = &m.vote, &m.vote.Request, a.PreVote, a.Candidate.ID
	return m
}

func (n *node) fillSeldom(action kraft.Action) *message {
	switch a := action.(type) {
	case *kraft.SendFetchSnapshot:
		m := n.newRequest(&a.Destination, kraft.FetchSnapshotAPI, 0)
		if m == nil {
			return nil
		}
		m.fetchSnapshot = kraft.ReceiveFetchSnapshot{
			Request: m.head(), Replica: a.Replica, FetchEpoch: a.Epoch, SnapshotID: a.ID, Position: a.Position, MaxBytes: a.MaxBytes,
		}
		m.event, m.request = &m.fetchSnapshot, &m.fetchSnapshot.Request
		return m
	case *kraft.SendAPIVersions:
		m := n.newRequest(&a.Destination, kraft.APIVersionsAPI, 0)
		if m != nil {
			m.askAPIVersions = true
		}
		return m
	case *kraft.SendUpdateVoter:
		m := n.newRequest(&a.Destination, kraft.UpdateRaftVoterAPI, 0)
		if m == nil {
			return nil
		}
		m.update = kraft.ReceiveUpdateRaftVoter{
			Request: m.head(), FetchEpoch: a.Epoch, Voter: a.Voter.Key, Endpoints: a.Voter.Endpoints, Versions: a.Voter.Versions,
		}
		m.event, m.request = &m.update, &m.update.Request
		return m
	case *kraft.SendAddRaftVoter:
		m := n.newRequest(&a.Destination, kraft.AddRaftVoterAPI, 1) // AckWhenCommitted = false cannot be sent in version 0
		if m == nil {
			return nil
		}
		m.add = kraft.ReceiveAddRaftVoter{Request: m.head(), Voter: a.Voter, Endpoints: a.Endpoints}
		m.event, m.request = &m.add, &m.add.Request
		return m
	case *kraft.SendRemoveRaftVoter:
		m := n.newRequest(&a.Destination, kraft.RemoveRaftVoterAPI, 0)
		if m == nil {
			return nil
		}
		m.remove = kraft.ReceiveRemoveRaftVoter{Request: m.head(), Voter: a.Voter}
		m.event, m.request = &m.remove, &m.remove.Request
		return m
	}
	return nil
}

// throughBytes replaces the event of a request by what its real bytes say.
func (w *World) throughBytes(m *message, action kraft.Action) {
	body, err := w.sender.AppendSend(w.buffer[:0], action, m.version)
	w.buffer = body
	if err == nil {
		m.body = append(m.body[:0], body...)
		m.event, err = w.decoder.KRaftRequest(int16(m.api), m.version, m.body, m.head())
	}
	if err != nil {
		w.violated(safety.NoFatal, m.from, "%v through bytes: %v", action, err)
		return
	}
	m.request = requestOf(m.event)
}

func requestOf(ev kraft.Event) *kraft.Request {
	switch e := ev.(type) {
	case *kraft.ReceiveFetch:
		return &e.Request
	case *kraft.ReceiveVoteRequest:
		return &e.Request
	case *kraft.ReceiveBeginQuorumEpoch:
		return &e.Request
	case *kraft.ReceiveEndQuorumEpoch:
		return &e.Request
	case *kraft.ReceiveFetchSnapshot:
		return &e.Request
	case *kraft.ReceiveUpdateRaftVoter:
		return &e.Request
	case *kraft.ReceiveAddRaftVoter:
		return &e.Request
	case *kraft.ReceiveRemoveRaftVoter:
		return &e.Request
	}
	return nil
}

// dataOf are the records of batches as bytes: the content of a batch is the value of its first record.
func (w *World) dataOf(batches []kraft.Batch, links []safety.Link) (data []byte, err error) {
	for i := range batches {
		b := &batches[i]
		if len(b.Control) > 0 {
			if data, err = wire.AppendControlBatch(data, *b, 1); err != nil {
				return nil, err
			}
			continue
		}
		values := make([][]byte, b.Last-b.Base+1)
		for j := range values {
			values[j] = contentBytes(links[i].Content + uint64(j))
		}
		data = wire.AppendDataBatch(data, b.Base, b.Epoch, 1, values...)
	}
	return data, nil
}

func contentBytes(c uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(c >> (8 * i))
	}
	return b
}

// contentsOf reads the contents back.
func contentsOf(dst []safety.Link, records []byte) []safety.Link {
	for len(records) > 0 {
		b, rest, err := wire.NextBatch(records)
		if err != nil {
			return dst
		}
		var l safety.Link
		l.Last = b.LastOffset()
		if !b.Control() {
			first := true
			_ = b.Each(func(r wire.Record) error {
				if first {
					for i, c := range r.Value {
						l.Content |= uint64(c) << (8 * i)
					}
				}
				first = false
				return nil
			})
		}
		dst, records = append(dst, l), rest
	}
	return dst
}

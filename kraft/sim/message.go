package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// message is a request or a response on its way. It holds the storage of every event that it may bring, so that a message that is used
// again allocates nothing.
type message struct {
	from, to         *node
	fromLife, toLife uint32 // toLife is that of whom a response is for: connections die with the process
	response         bool
	api              kraft.APIKey
	version          int16
	record           kraft.NodeID // of the sender
	correlation      int32
	second           bool // copy of a request, or the answer to it
	preVote          bool
	candidate        kraft.NodeID
	departs          int64
	event            kraft.Event
	request          *kraft.Request // of the event, if it is a request
	links            []safety.Link  // of the batches of a Fetch response
	link             safety.Link    // of a snapshot
	body             []byte

	vote           kraft.ReceiveVoteRequest
	begin          kraft.ReceiveBeginQuorumEpoch
	end            kraft.ReceiveEndQuorumEpoch
	fetch          kraft.ReceiveFetch
	fetchSnapshot  kraft.ReceiveFetchSnapshot
	update         kraft.ReceiveUpdateRaftVoter
	add            kraft.ReceiveAddRaftVoter
	remove         kraft.ReceiveRemoveRaftVoter
	voted          kraft.ReceiveVoteResponse
	begun          kraft.ReceiveBeginQuorumEpochResponse
	ended          kraft.ReceiveEndQuorumEpochResponse
	fetched        kraft.ReceiveFetchResponse
	snapshotPiece  kraft.ReceiveFetchSnapshotResponse
	versions       kraft.ReceiveAPIVersionsResponse
	updated        kraft.ReceiveUpdateRaftVoterResponse
	added          kraft.ReceiveAddRaftVoterResponse
	removed        kraft.ReceiveRemoveRaftVoterResponse
	failed         kraft.RequestFailed
	askAPIVersions bool // the request is ApiVersions, which the host answers
}

func (w *World) message() *message {
	if n := len(w.free); n > 0 {
		m := w.free[n-1]
		w.free = w.free[:n-1]
		return m
	}
	return &message{}
}

func (w *World) release(m *message) {
	m.event, m.request, m.links, m.body = nil, nil, m.links[:0], m.body[:0]
	m.response, m.preVote, m.askAPIVersions, m.second = false, false, false, false
	w.free = append(w.free, m)
}

// link is the way from one node to another.
type link struct {
	blockedUntil int64 // a partition
	cloggedUntil int64
	last         int64 // arrival of the message before
}

// newRequest begins a request of the node. Nil: the peer does not know the version that it needs, or there is nobody at the address.
func (n *node) newRequest(d *kraft.Destination, api kraft.APIKey, needs int16) *message {
	to := n.w.at(d.Address)
	if to == nil {
		n.fails(d.Record, d.CorrelationID, api, kraft.BrokerNotAvailable)
		return nil
	}
	version := min(n.highest[api], to.highest[api])
	if n.w.opt.Broken == SendsNewest {
		if version = n.highest[api]; version > to.highest[api] { // who gets it closes the connection
			n.fails(d.Record, d.CorrelationID, api, kraft.BrokerNotAvailable)
			return nil
		}
	}
	if version < needs {
		n.fails(d.Record, d.CorrelationID, api, kraft.UnsupportedVersion)
		return nil
	}
	m := n.w.message()
	m.from, m.to, m.fromLife, m.toLife = n, to, n.life, 0
	m.api, m.version, m.record, m.correlation = api, version, d.Record, d.CorrelationID
	if api == kraft.FetchAPI && n.w.opt.Broken == TakesSecondAnswer {
		n.asked[to.index] = kraft.Response{From: d.Record, CorrelationID: d.CorrelationID}
	}
	return m
}

func (m *message) head() kraft.Request {
	return kraft.Request{Version: m.version, Listener: listener, From: m.from.id, ClusterID: presentClusterID}
}

var presentClusterID = kraft.ClusterID{Value: clusterID, Present: true}

// fails tells the node, a little later, that its request got no answer.
func (n *node) fails(record kraft.NodeID, correlation int32, api kraft.APIKey, code kraft.ErrorCode) {
	w := n.w
	m := w.message()
	m.from, m.to, m.toLife, m.response, m.departs = n, n, n.life, true, w.now
	m.failed = kraft.RequestFailed{Response: kraft.Response{From: record, CorrelationID: correlation, Error: code}, API: api}
	m.event = &m.failed
	w.queue.push(item{at: w.now + w.network.between(200, 5000), kind: deliver, what: m})
}

// copies is how often a request is sent: not at all if it gets lost, twice if it is repeated on another connection.
func (n *node) copies() int {
	w := n.w
	if !w.calm && w.opt.Kinds.Has(Duplicate) && w.network.chance(w.opt.DuplicatePerMille) {
		return 2
	}
	return 1
}

// post puts a message into the network.
func (w *World) post(m *message) {
	from, to := m.from, m.to
	m.departs = max(w.now, from.busyUntil)
	if w.hold != nil && w.hold(m) {
		w.held = append(w.held, m)
		return
	}
	l := &w.links[from.index][to.index]
	if l.blockedUntil > w.now || w.broken(m) || !w.calm && w.opt.Kinds.Has(Loss) && w.network.chance(w.opt.LossPerMille) {
		w.lose(m)
		return
	}
	at := m.departs + w.network.between(100, w.opt.LinkDelay)
	if !w.calm && w.opt.Kinds.Has(Delay) && w.network.chance(w.opt.SlowPerMille) {
		at += w.network.between(20_000, 3_000_000)
	}
	at = max(at, l.cloggedUntil)
	if w.calm || !w.opt.Kinds.Has(Reorder) {
		at = max(at, l.last)
	}
	l.last = max(l.last, at)
	w.queue.push(item{at: at, kind: deliver, what: m})
}

func (w *World) broken(m *message) bool {
	switch w.opt.Broken {
	case NeverFetches:
		return m.api == kraft.FetchAPI && !m.response
	case NeverVotes:
		return m.api == kraft.VoteAPI && !m.response
	default:
		return false
	}
}

// lose: a connection that breaks tells who waits for an answer, one that is cut does not.
func (w *World) lose(m *message) {
	if w.notes != nil {
		w.noteLost(m)
	}
	waits, life, cut := m.from, m.fromLife, w.links[m.from.index][m.to.index].blockedUntil > w.now
	if m.response {
		waits, life = m.to, m.toLife
	}
	if !cut && w.network.chance(500) && waits.up() && waits.life == life && m.event != &m.failed {
		waits.fails(m.record, m.correlation, m.api, kraft.BrokerNotAvailable)
	}
	w.release(m)
}

// delivered hands a message to its node.
func (w *World) delivered(m *message) {
	to := m.to
	switch {
	case m.response && (!to.up() || to.life != m.toLife):
		w.release(m)
	case !to.up():
		if m.from.up() && m.from.life == m.fromLife {
			m.from.fails(m.record, m.correlation, m.api, kraft.BrokerNotAvailable)
		}
		w.release(m)
	case m.askAPIVersions:
		w.answerAPIVersions(m)
	default:
		if w.notes != nil {
			w.noteArrived(m)
		}
		to.arrives(m)
	}
}

// answerAPIVersions is done by the host: a machine has nothing to say about it.
func (w *World) answerAPIVersions(m *message) {
	r := w.message()
	r.from, r.to, r.toLife, r.response = m.to, m.from, m.fromLife, true
	r.api, r.record, r.correlation = m.api, m.record, m.correlation
	r.versions = kraft.ReceiveAPIVersionsResponse{
		Response: kraft.Response{From: m.record, CorrelationID: m.correlation}, HasKRaftVersion: true, KRaftVersions: kraft.VersionRange{Max: 1},
	}
	r.event = &r.versions
	w.release(m)
	w.post(r)
}

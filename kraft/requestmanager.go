package kraft

import (
	"fmt"
	"slices"
	"strconv"
)

// Connection is what is known of the one request that may be in flight to a node (Kafka: RequestManager.ConnectionState). There
// is none for a node that is ready.
type Connection struct {
	ID            NodeID
	BackingOff    bool  // the last request failed; else one is in flight
	CorrelationID int32 // of the request in flight
	hash          uint32
}

func (c Connection) String() string {
	if c.BackingOff {
		return fmt.Sprintf("%v backing off", c.ID)
	}
	return fmt.Sprintf("%v awaiting %d", c.ID, c.CorrelationID)
}

// requestManager keeps the connections (Kafka: RequestManager).
//
// Expired ones are forgotten lazily: only by the walks below, and a walk stops at the first request that is really in flight. A
// late answer is accepted for as long as its record exists. So the order of the walk decides. In Kafka it is that of a
// HashMap<String, …> keyed by the decimal node id: by bucket, and within a bucket the youngest first, since
// computeIfAbsent puts a new entry in front. connections stands in that order.
type requestManager struct {
	connections     []Connection
	capacity        uint32 // of Kafka's table; it doubles when it is more than three quarters full and never shrinks
	nextCorrelation int32
}

const initialCapacity = 16

// stringHash is Java's String.hashCode of the decimal id, spread as HashMap does.
func stringHash(id NodeID) uint32 {
	var digits [11]byte
	var h uint32
	for _, c := range strconv.AppendInt(digits[:0], int64(id), 10) {
		h = 31*h + uint32(c)
	}
	return h ^ h>>16
}

func (r *requestManager) index(id NodeID) int {
	for i := range r.connections {
		if r.connections[i].ID == id {
			return i
		}
	}
	return -1
}

func (r *requestManager) remove(id NodeID) {
	if i := r.index(id); i >= 0 {
		r.connections = slices.Delete(r.connections, i, i+1)
	}
}

// awaiting notes a request in flight.
func (r *requestManager) awaiting(id NodeID, correlation int32) {
	if i := r.index(id); i >= 0 {
		r.connections[i].BackingOff, r.connections[i].CorrelationID = false, correlation
		return
	}
	r.insert(Connection{ID: id, CorrelationID: correlation, hash: stringHash(id)})
}

func (r *requestManager) insert(c Connection) {
	if r.capacity == 0 {
		r.capacity = initialCapacity
	}
	if uint32(len(r.connections)) > r.capacity/4*3 {
		r.capacity *= 2
		slices.SortStableFunc(r.connections, func(a, b Connection) int { return int(r.bucket(a)) - int(r.bucket(b)) })
	}
	at := len(r.connections)
	for at > 0 && r.bucket(r.connections[at-1]) >= r.bucket(c) {
		at--
	}
	r.connections = slices.Insert(r.connections, at, c)
}

func (r *requestManager) bucket(c Connection) uint32 { return c.hash & (r.capacity - 1) }

// expects reports whether an answer is still waited for.
func (r *requestManager) expects(id NodeID, correlation int32) bool {
	i := r.index(id)
	return i >= 0 && !r.connections[i].BackingOff && r.connections[i].CorrelationID == correlation
}

// expired reports whether the request has timed out or the backoff is over.
func (m *QuorumStateMachine) expired(c *Connection) bool {
	if c.BackingOff {
		return m.due(PeerTimer(BackoffTimer, c.ID))
	}
	return m.due(PeerTimer(RequestTimer, c.ID))
}

// hasRequestTimedOut looks at one record and does not touch it.
func (m *QuorumStateMachine) hasRequestTimedOut(id NodeID) bool {
	i := m.requests.index(id)
	return i >= 0 && !m.requests.connections[i].BackingOff && m.expired(&m.requests.connections[i])
}

// isBackingOff looks at one record and does not touch it.
func (m *QuorumStateMachine) isBackingOff(id NodeID) bool {
	i := m.requests.index(id)
	return i >= 0 && m.requests.connections[i].BackingOff && !m.expired(&m.requests.connections[i])
}

// isReady reports whether a request can be sent to the node, and forgets its expired record.
func (m *QuorumStateMachine) isReady(id NodeID) bool {
	i := m.requests.index(id)
	if i < 0 {
		return true
	}
	if !m.expired(&m.requests.connections[i]) {
		return false
	}
	m.requests.connections = slices.Delete(m.requests.connections, i, i+1)
	return true
}

// hasAnyInflight walks the records up to the first request in flight and forgets the expired ones on its way.
func (m *QuorumStateMachine) hasAnyInflight() bool {
	_, inflight := m.walk()
	return inflight
}

// walk forgets expired records up to the first request in flight, which it returns.
func (m *QuorumStateMachine) walk() (NodeID, bool) {
	r := &m.requests
	for i := 0; i < len(r.connections); {
		c := &r.connections[i]
		switch {
		case m.expired(c):
			r.connections = slices.Delete(r.connections, i, i+1)
		case !c.BackingOff:
			return c.ID, true
		default:
			i++
		}
	}
	return NoNode, false
}

// bootstrapServer is one of the nodes of first contact: the bootstrap servers under the ids -2, -3, …, or else the static
// voters under their own.
func (m *QuorumStateMachine) bootstrapServer(i int) (NodeID, Address) {
	if len(m.cfg.BootstrapServers) > 0 {
		return NodeID(-2 - i), m.cfg.BootstrapServers[i]
	}
	v := m.cfg.StaticVoters.At(i)
	address, _ := v.Endpoints.Address(m.cfg.Listener)
	return v.Key.ID, address
}

func (m *QuorumStateMachine) bootstrapServers() int {
	if n := len(m.cfg.BootstrapServers); n > 0 {
		return n
	}
	return m.cfg.StaticVoters.Len()
}

// findReadyBootstrapServer begins with the chosen server and takes the first ready one, if nothing is in flight anywhere
// (Kafka: RequestManager.findReadyBootstrapServer).
func (m *QuorumStateMachine) findReadyBootstrapServer() (int, bool) {
	if m.hasAnyInflight() {
		return 0, false
	}
	n := m.bootstrapServers()
	slot(m, &m.turn.out.chooseBootstrap).Servers = int32(n)
	for i := range n {
		at := (m.turn.choice%n + n + i) % n
		if id, _ := m.bootstrapServer(at); m.isReady(id) {
			return at, true
		}
	}
	return 0, false
}

// waitForBootstrapServer bounds the wait by the time until a bootstrap server may be asked, and forgets expired records as it
// looks (Kafka: RequestManager.backoffBeforeAvailableBootstrapServer).
func (m *QuorumStateMachine) waitForBootstrapServer() {
	id, inflight := m.walk()
	if inflight {
		m.waitFor(PeerTimer(RequestTimer, id))
		return
	}
	for i := range m.bootstrapServers() {
		if id, _ := m.bootstrapServer(i); m.isReady(id) {
			m.waitAtMost(0)
			return
		}
	}
	m.waitAtMost(int64(m.cfg.Timeouts.RetryBackoffMs))
	for i := range m.requests.connections {
		m.waitFor(PeerTimer(BackoffTimer, m.requests.connections[i].ID))
	}
}

// trySend makes the record of a node await an answer if the node is ready. Whether it is or not, the wait is bounded by the
// timer of its record (Kafka: KafkaRaftClient.maybeSendRequest).
func (m *QuorumStateMachine) trySend(id NodeID, address Address) (Destination, bool) {
	if m.isBackingOff(id) {
		m.waitFor(PeerTimer(BackoffTimer, id))
		return Destination{}, false
	}
	m.waitFor(PeerTimer(RequestTimer, id))
	if !m.isReady(id) {
		return Destination{}, false
	}
	return m.send(id, address), true
}

func (m *QuorumStateMachine) send(id NodeID, address Address) Destination {
	correlation := m.requests.nextCorrelation
	m.requests.nextCorrelation++
	m.requests.awaiting(id, correlation)
	m.resetTimer(PeerTimer(RequestTimer, id), m.cfg.Timeouts.RequestMs)
	return Destination{Record: id, Address: address, CorrelationID: correlation}
}

// settle ends a request: the node is ready again after a success and backs off after a failure. Nothing happens if the handler
// of the answer has reset the connections (Kafka: RequestManager.onResponseResult).
func (m *QuorumStateMachine) settle(r *Response, success bool) {
	if !m.requests.expects(r.From, r.CorrelationID) {
		return
	}
	if success {
		m.requests.remove(r.From)
		return
	}
	c := &m.requests.connections[m.requests.index(r.From)]
	c.BackingOff, c.CorrelationID = true, 0
	m.resetTimer(PeerTimer(BackoffTimer, r.From), m.cfg.Timeouts.RetryBackoffMs)
}

// resetConnections makes every node ready: answers to earlier requests are ignored from now on.
func (m *QuorumStateMachine) resetConnections() { m.requests.connections = m.requests.connections[:0] }

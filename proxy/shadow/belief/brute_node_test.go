package belief

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/wire"
)

// The brute force that the search is held against: a node as it is, with nothing left open. What it has written lies in queues until it is
// seen, what was seen on its way to it lies in queues until it takes it. There is one state for each thing that may have happened.

// bruteMessage is an observation: a message that crossed the wire, or the end of a connection.
type bruteMessage struct {
	conn          ConnID
	from, to      kraft.NodeID
	reply, closes bool
	key, version  int16
	body          []byte
	id            kraft.RequestID // of a request
	event         kraft.Event     // as its receiver takes it
	record        kraft.NodeID    // of a request: the connection record of its sender, which only the sender knows
	correlation   int32
}

func (m *bruteMessage) String() string {
	if m.closes {
		return fmt.Sprintf("connection %d ends", m.conn.ID)
	}
	return fmt.Sprintf("connection %d %v>%v %v", m.conn.ID, m.from, m.to, m.event)
}

// bruteQuorum is what all nodes of a quorum, and all states of a node, share.
type bruteQuorum struct {
	profile compat.Profile
	dynamic bool
	actions kraft.Actions
	sender  wire.Sender
	records map[string][]byte // of data batches
	ids     []kraft.NodeID
	shown   map[string]int // how often the requests that a window shows are in it, while it is looked at
}

// bruteNode is one state of a node.
type bruteNode struct {
	q      *bruteQuorum
	id     kraft.NodeID
	config *kraft.Config
	m      *kraft.QuorumStateMachine
	log    *memlog.Log
	shared bool // the log, with other states: to be copied before it changes
	stored kraft.QuorumState
	soon   []kraft.Timer // were set to run out at once
	came   []bruteCame   // on its way to the machine, in order of arrival
	asked  []bruteAsked  // requests to the node whose connections are open and that are not answered
	said   []bruteSaid   // answers that were written and not seen
	unsent bruteQueue    // requests that were built and not seen, in order
	flying []bruteFlight // requests that were seen and not answered
	links  []bruteLink   // its connections to others
	ended  bool          // the process
	gap    int           // before which message of the window it is
}

// bruteCame is a request to the node, or what became of one of its own.
type bruteCame struct {
	message *bruteMessage // nil: there will be no answer
	flight  bruteFlight
	reply   bool
}

type bruteAsked struct {
	message  *bruteMessage
	parkedHW kraft.Offset // of a Fetch that waits, as it began to; -2: it does not
}

type bruteSaid struct {
	asked *bruteMessage
	body  []byte
	short [][]byte // what it may be instead, with fewer batches: a segment of the log may end before the others
}

// may reports whether an answer may be this.
func (s *bruteSaid) may(body []byte) bool {
	return bytes.Equal(s.body, body) || slices.ContainsFunc(s.short, func(b []byte) bool { return bytes.Equal(b, body) })
}

type bruteSend struct {
	action      kraft.Action
	key         int16
	record      kraft.NodeID
	correlation int32
	to          kraft.NodeID
	body        []byte
	gap         int // before which message of the window it was built; what is older is below zero
}

// bruteQueue holds the requests to one node in the order in which they were built.
type bruteQueue []bruteSend

type bruteFlight struct {
	conn        ConnID
	record      kraft.NodeID
	correlation int32
	key         int16
}

type bruteLink struct {
	record kraft.NodeID
	conn   ConnID
}

func (n *bruteNode) clone() *bruteNode {
	return n.cloneInto(&bruteNode{m: new(kraft.QuorumStateMachine)})
}

// cloneInto makes a copy that uses the storage of another state, which is not needed any more.
func (n *bruteNode) cloneInto(o *bruteNode) *bruteNode {
	n.shared = true
	old := *o
	*o = *n
	o.m = old.m
	n.m.CopyInto(o.m)
	o.soon, o.came, o.asked, o.said = append(old.soon[:0], n.soon...), append(old.came[:0], n.came...), append(old.asked[:0], n.asked...), append(old.said[:0], n.said...)
	o.unsent, o.flying, o.links = append(old.unsent[:0], n.unsent...), append(old.flying[:0], n.flying...), append(old.links[:0], n.links...)
	return o
}

// key tells states apart. Nothing is left out because the search thinks that it does not matter: only the numbers of requests, which
// serve to tell those that are waited for from those that are not, and instants.
func (n *bruteNode) key() string {
	k := bruteKey{make([]byte, 0, 512)}
	about := n.m.Inspect()
	k.num(int64(n.m.QuorumState().Epoch), int64(bit(n.ended)), int64(bit(about.ShuttingDown)))
	k.role(n.m.Role())
	for _, c := range about.Connections {
		k.num(-1, int64(c.ID), int64(bit(c.BackingOff)))
	}
	for _, p := range about.Parked {
		k.num(-2, int64(p.Request))
	}
	k.num(int64(n.log.Start), int64(n.log.End), int64(n.log.HighWatermark))
	for _, e := range n.log.Epochs {
		k.num(int64(e.Epoch), int64(e.Start))
	}
	for _, one := range n.log.Batches(n.log.Start, n.log.End, 1<<30) {
		k.num(int64(one.Base), int64(one.Epoch), int64(len(one.Control)))
		for i := range one.Control {
			k.nodes(one.Control[i].Granting)
		}
	}
	for _, t := range n.soon {
		k.num(-3, int64(t.Kind), int64(t.Peer.ID))
	}
	for i := range n.came {
		c := &n.came[i]
		k.num(-4, int64(c.flight.record), int64(bit(c.reply)))
		if c.message != nil {
			k.num(int64(c.message.id), int64(c.message.conn.ID))
		}
	}
	for i := range n.asked {
		k.num(-5, int64(n.asked[i].message.id))
	}
	for i := range n.said {
		k.num(-6, int64(n.said[i].asked.id), int64(len(n.said[i].body)))
		k.b = append(k.b, n.said[i].body...)
	}
	for i := range n.unsent {
		s := &n.unsent[i]
		k.num(-7, int64(s.record), int64(s.to), int64(bit(n.m.Awaits(s.record, s.correlation))), int64(s.gap), int64(len(s.body)))
		k.b = append(k.b, s.body...)
	}
	for _, s := range n.flying {
		k.num(-8, int64(s.conn.ID), int64(s.record), int64(bit(n.m.Awaits(s.record, s.correlation))))
	}
	for _, l := range n.links {
		k.num(-9, int64(l.record), int64(l.conn.ID))
	}
	return string(k.b)
}

// bruteKey is a list of numbers in the making.
type bruteKey struct{ b []byte }

func (k *bruteKey) num(list ...int64) {
	for _, v := range list {
		k.b = binary.AppendVarint(k.b, v)
	}
}

func (k *bruteKey) nodes(ids []kraft.NodeID) {
	k.num(int64(len(ids)))
	for _, id := range ids {
		k.num(int64(id))
	}
}

func (k *bruteKey) replica(r kraft.ReplicaKey) { k.num(int64(r.ID), int64(r.DirectoryID[1])) }

func (k *bruteKey) tally(t kraft.Tally) {
	for i := range t {
		k.num(int64(t[i].Voter.ID), int64(t[i].State))
	}
}

func (k *bruteKey) role(role kraft.Role) {
	k.num(int64(role.Kind()))
	switch r := role.(type) {
	case *kraft.Unattached:
		k.num(int64(r.Leader), int64(r.HighWatermark))
		k.replica(r.Voted)
	case *kraft.Prospective:
		k.num(int64(r.Leader), int64(r.HighWatermark), int64(r.Retries), int64(r.LeaderEndpoints.Len()))
		k.replica(r.Voted)
		k.tally(r.Tally)
	case *kraft.Candidate:
		k.num(int64(r.HighWatermark), int64(r.Retries), int64(bit(r.BackingOff)))
		k.tally(r.Tally)
	case *kraft.Follower:
		k.num(int64(r.Leader), int64(r.HighWatermark), int64(bit(r.FetchedFromLeader)), int64(bit(r.UpdatedLeader)), int64(r.LeaderEndpoints.Len()))
		k.replica(r.Voted)
	case *kraft.Resigned:
		k.nodes(r.Voters)
		k.nodes(r.Unacked)
		for _, s := range r.Successors {
			k.replica(s)
		}
	case *kraft.Leader:
		k.num(int64(r.EpochStart), int64(r.HighWatermark), int64(bit(r.ResignRequested)))
		for _, list := range [][]kraft.Replica{r.Voters, r.Observers} {
			for i := range list {
				k.replica(list[i].Key)
				k.num(int64(list[i].End), int64(bit(list[i].LastFetch >= 0)))
			}
		}
		k.nodes(r.Granting)
		k.num(int64(r.Accumulator.NextOffset), int64(bit(r.Accumulator.Lingering)), int64(len(r.Accumulator.Completed)))
		if r.HasVolatileVoters {
			for i := range r.VolatileVoters.Len() {
				k.replica(r.VolatileVoters.At(i).Key)
			}
		}
	}
}

// handle lets the machine handle an event, and carries out what it asks for.
func (n *bruteNode) handle(ev kraft.Event, due kraft.TimerSet) {
	if n.ended {
		return
	}
	defer n.tidy()
	for _, a := range n.m.OnEvent(ev, n.log.View(), kraft.Clock{Now: bruteNow, Due: due}, &n.q.actions) {
		if n.shared && durable(a) || n.shared && views(a) {
			n.log, n.shared = n.log.Clone(), false
		}
		done, err := n.log.Execute(a, ev)
		if err != nil {
			n.ended = true
		}
		if !done && !n.ended {
			n.execute(a)
		}
		if n.ended {
			return
		}
	}
}

// views reports whether an action changes what a log knows besides its records.
func views(action kraft.Action) bool {
	switch action.(type) {
	case *kraft.AssignEpoch, *kraft.AdvanceHighWatermark, *kraft.BeginSnapshotFetch, *kraft.AbandonSnapshotFetch, *kraft.AppendSnapshot:
		return true
	}
	return false
}

// tidy forgets what nobody can tell any more: answers that the machine would not look at, and requests that are not waited for and
// that the window does not show, or not so often. What is in no order, as it is on different connections, it brings into one.
func (n *bruteNode) tidy() {
	n.came = slices.DeleteFunc(n.came, func(c bruteCame) bool { return c.reply && !n.m.Awaits(c.flight.record, c.flight.correlation) })
	slices.SortStableFunc(n.came, func(a, b bruteCame) int { return cmp.Compare(a.place(), b.place()) })
	slices.SortStableFunc(n.unsent, func(a, b bruteSend) int { return cmp.Compare(a.record, b.record) })
	slices.SortStableFunc(n.said, func(a, b bruteSaid) int { return cmp.Compare(a.asked.id, b.asked.id) })
	slices.SortStableFunc(n.asked, func(a, b bruteAsked) int { return cmp.Compare(a.message.id, b.message.id) })
	if n.q.shown == nil {
		return
	}
	kept := n.unsent[:0]
	for _, s := range n.unsent {
		often := n.q.shown[string(s.body)]
		if !n.m.Awaits(s.record, s.correlation) && kept.repeats(&s) >= often {
			continue
		}
		kept = append(kept, s)
	}
	n.unsent = kept
}

// repeats is how many requests at the end of a queue are just like one, built between the same two messages: older ones are overtaken earlier.
func (q bruteQueue) repeats(s *bruteSend) (n int) {
	for i := len(q) - 1; i >= 0 && q[i].record == s.record && q[i].gap == s.gap && bytes.Equal(q[i].body, s.body); i-- {
		n++
	}
	return n
}

// place puts what came on one connection side by side.
func (c *bruteCame) place() uint64 {
	if c.reply {
		return c.flight.conn.ID<<1 | 1
	}
	return c.message.conn.ID << 1
}

// bruteNow is always the same: the engine compares no instants.
const bruteNow = 1000

func (n *bruteNode) execute(action kraft.Action) {
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		n.stored = a.State
	case *kraft.ResetTimer:
		n.soon = slices.DeleteFunc(n.soon, func(t kraft.Timer) bool { return t == a.Timer })
		if a.Window == 0 && a.Deadline <= bruteNow {
			n.soon = append(n.soon, a.Timer)
		}
	case *kraft.CancelTimer:
		n.soon = slices.DeleteFunc(n.soon, func(t kraft.Timer) bool { return t == a.Timer })
	case *kraft.Park:
		for i := range n.asked {
			if n.asked[i].message.id == a.Request {
				n.asked[i].parkedHW = n.m.Role().(*kraft.Leader).HighWatermark
			}
		}
	case *kraft.Fatal, *kraft.ShutdownDone:
		n.ended = true
	default:
		if key, to, ok := wire.SendKey(action); ok {
			n.send(action, key, to)
		} else if _, id, ok := wire.ReplyKey(action); ok {
			n.answer(action, id)
		}
	}
}

func (n *bruteNode) send(action kraft.Action, key int16, to kraft.Destination) {
	if e, ok := action.(*kraft.SendEndQuorumEpoch); ok { // those with equal progress are in any order
		slices.SortFunc(e.Successors, func(a, b kraft.ReplicaKey) int { return int(a.ID - b.ID) })
	}
	r, _ := n.q.profile.Range(kraft.APIKey(key))
	body, err := n.q.sender.AppendSend(nil, action, r.Max)
	if err != nil {
		panic(err)
	}
	for _, id := range n.q.ids {
		if simAddress(id) == to.Address {
			n.unsent = append(n.unsent, bruteSend{copyOfSend(action), key, to.Record, to.CorrelationID, id, body, n.gap})
		}
	}
}

func copyOfSend(action kraft.Action) kraft.Action {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		c := *a
		return &c
	case *kraft.SendBeginQuorumEpoch:
		c := *a
		return &c
	case *kraft.SendEndQuorumEpoch:
		c := *a
		return &c
	case *kraft.SendFetch:
		c := *a
		return &c
	case *kraft.SendUpdateVoter:
		c := *a
		return &c
	}
	panic(fmt.Sprintf("%v is not sent by these quorums", action))
}

func (n *bruteNode) answer(action kraft.Action, id kraft.RequestID) {
	i := slices.IndexFunc(n.asked, func(a bruteAsked) bool { return a.message.id == id })
	if i < 0 {
		return // its connection has ended
	}
	asked := n.asked[i].message
	n.asked = slices.Delete(n.asked, i, i+1)
	said := bruteSaid{asked: asked}
	write := func(data []byte) {
		if said.body != nil {
			said.short = append(said.short, said.body)
		}
		var err error
		if said.body, err = wire.AppendReply(nil, action, wire.ReplyTo{Version: asked.version, Body: asked.body}, data); err != nil {
			panic(err)
		}
	}
	var data []byte
	if a, ok := action.(*kraft.ReplyFetch); ok && a.From < a.UpTo {
		for _, b := range n.log.Batches(a.From, a.UpTo, a.MaxBytes) {
			data = append(data, n.q.bytes(&b)...)
			write(data)
		}
	}
	if len(data) == 0 {
		write(nil)
	}
	n.said = append(n.said, said)
}

// bytes are the records of a batch: its place and epoch say all of a data batch.
func (q *bruteQuorum) bytes(b *kraft.Batch) []byte {
	if len(b.Control) > 0 {
		raw, err := wire.AppendControlBatch(nil, *b, 1)
		if err != nil {
			panic(err)
		}
		return raw
	}
	at := fmt.Sprint(b.Base, b.Last, b.Epoch)
	raw := q.records[at]
	if raw == nil {
		var values [][]byte
		for o := b.Base; o <= b.Last; o++ {
			values = append(values, fmt.Appendf(nil, "%d of %d", o, b.Epoch))
		}
		raw = wire.AppendDataBatch(nil, b.Base, b.Epoch, 1, values...)
		q.records[at] = raw
	}
	return raw
}

// comes takes in an observation that is not the node's own message, and returns what may be then.
func (n *bruteNode) comes(m *bruteMessage) []*bruteNode {
	switch {
	case m.closes:
		return n.closed(m.conn)
	case !m.reply:
		n.asked = append(n.asked, bruteAsked{m, -2})
		n.came = append(n.came, bruteCame{message: m})
	default:
		for i := len(n.flying) - 1; i >= 0; i-- {
			if f := n.flying[i]; f.conn == m.conn {
				n.flying = slices.Delete(n.flying, i, i+1)
				n.came = append(n.came, bruteCame{message: m, flight: f, reply: true})
				break
			}
		}
	}
	return []*bruteNode{n}
}

// closed ends a connection. A request on it may have reached the node, and what it waited for on it may have come or not.
func (n *bruteNode) closed(conn ConnID) []*bruteNode {
	n.asked = slices.DeleteFunc(n.asked, func(a bruteAsked) bool { return a.message.conn == conn })
	n.said = slices.DeleteFunc(n.said, func(s bruteSaid) bool { return s.asked.conn == conn })
	n.links = slices.DeleteFunc(n.links, func(l bruteLink) bool { return l.conn == conn })
	for i := 0; i < len(n.flying); i++ {
		if f := n.flying[i]; f.conn == conn {
			n.flying = slices.Delete(n.flying, i, i+1)
			n.came = append(n.came, bruteCame{flight: f, reply: true})
			i--
		}
	}
	all := []*bruteNode{n}
	for i := range n.came {
		if c := &n.came[i]; c.reply && c.message != nil && c.message.conn == conn {
			for _, o := range slices.Clone(all) {
				lost := o.clone()
				lost.came[i].message = nil
				all = append(all, lost)
			}
		}
	}
	return all
}

// leaves takes in that a message of the node was seen, and returns what may be then: nothing if the node has not written it. Each is
// told with whether the node would take an answer to it. Which of its connection records a connection is for nobody can see; nor in which
// order requests were built that were built between the same two messages, so they may leave in any.
func (n *bruteNode) leaves(m *bruteMessage) (list []*bruteNode, awaited bool) {
	if m.reply {
		i := slices.IndexFunc(n.said, func(s bruteSaid) bool { return s.asked.conn == m.conn })
		if i < 0 || !n.said[i].may(m.body) {
			return nil, false
		}
		next := n.clone()
		next.said = slices.Delete(next.said, i, i+1)
		return []*bruteNode{next}, true
	}
	at := slices.IndexFunc(n.links, func(l bruteLink) bool { return l.conn == m.conn })
	for i := range n.unsent {
		s := &n.unsent[i]
		if s.key != m.key || s.to != m.to || !bytes.Equal(s.body, m.body) || !n.first(i) || n.occupied(m.conn) {
			continue
		}
		next := n.clone()
		next.unsent = slices.DeleteFunc(next.unsent, func(o bruteSend) bool {
			return o.record == s.record && (o.correlation == s.correlation || o.gap < s.gap && !n.m.Awaits(o.record, o.correlation))
		})
		next.flying = append(next.flying, bruteFlight{m.conn, s.record, s.correlation, s.key})
		if at < 0 {
			next.links = append(next.links, bruteLink{s.record, m.conn})
		}
		list, awaited = append(list, next), awaited || n.m.Awaits(s.record, s.correlation)
	}
	return list, awaited
}

// occupied reports whether the node has yet to take the answer to a request that it sent on a connection.
func (n *bruteNode) occupied(conn ConnID) bool {
	waits := func(f *bruteFlight) bool { return f.conn == conn && n.m.Awaits(f.record, f.correlation) }
	return slices.ContainsFunc(n.flying, func(f bruteFlight) bool { return waits(&f) }) ||
		slices.ContainsFunc(n.came, func(c bruteCame) bool { return c.reply && waits(&c.flight) })
}

// first reports whether all that stands before a request in its queue may have been given up by now: nobody waits for it.
func (n *bruteNode) first(i int) bool {
	for k := range i {
		if s := &n.unsent[k]; s.record == n.unsent[i].record && n.m.Awaits(s.record, s.correlation) {
			return false
		}
	}
	return true
}

package twin

import (
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Log is part of kraft.Host.
func (n *node) Log() *kraft.LogView { return n.log.View() }

// Actions is part of kraft.Host.
func (n *node) Actions() *kraft.Actions { return &n.actions }

// Due is part of kraft.Host.
func (n *node) Due(at kraft.Instant) kraft.TimerSet {
	var due kraft.TimerSet
	for t, deadline := range n.timers {
		if deadline <= at {
			due.Add(t)
		}
	}
	return due
}

// Choice is the oracle's draw of a bootstrap server.
func (n *node) Choice() int {
	servers := int64(n.servers())
	if !n.scripted {
		return int(n.seeded(0, servers))
	}
	bounds := bounds(0, servers)
	for _, d := range n.draws {
		if d.bounds == bounds {
			return int(d.value)
		}
	}
	return 0
}

func (n *node) servers() int {
	if len(n.init.BootstrapServers) > 0 {
		return len(n.init.BootstrapServers)
	}
	return len(n.init.Voters)
}

// Next takes a message, after the clock has moved as far as the command says.
func (n *node) Next(atMost int64, timers kraft.TimerSet) (kraft.Event, kraft.Instant) {
	wait := atMost
	timers.Each(func(t kraft.Timer) {
		deadline, ok := n.timers[t]
		if before, kept := n.before[t.Kind]; kept {
			deadline, ok = before, true
		}
		if ok {
			wait = min(wait, max(0, int64(deadline-n.now)))
		}
	})
	if n.now >= n.cleaner {
		n.effect("clean")
		n.cleaner = n.now + cleanerPeriod
	}
	n.out.waits = append(n.out.waits, min(wait, int64(n.cleaner-n.now)))
	n.now += kraft.Instant(n.during)
	n.meanwhile()
	if len(n.queue) == 0 {
		return nil, n.now
	}
	n.hand = n.queue[0]
	n.queue = n.queue[1:]
	if e, ok := n.hand.event.(*kraft.ReceiveFetchSnapshotResponse); ok && e.Position == int64(len(n.partial)) && e.Position+int64(e.Bytes) == e.Size {
		if contents, err := wire.SnapshotContents(slices.Concat(n.partial, n.hand.chunk)); err == nil {
			e.Contents = contents
		}
	}
	n.coverage.event(n.m, n.hand.event)
	return n.hand.event, n.now
}

// attempt reports whether a storage operation succeeds.
func (n *node) attempt(operation string) bool {
	at, ok := n.failAt[operation]
	if !ok {
		return true
	}
	if at > 1 {
		n.failAt[operation] = at - 1
		return true
	}
	delete(n.failAt, operation)
	n.out.fatal, n.dead = "injected failure of "+operation, true
	return false
}

// Execute is part of kraft.Host.
func (n *node) Execute(actions []kraft.Action) bool {
	n.reserve()
	for _, a := range actions {
		n.coverage.action(a)
		if !n.execute(a) {
			return false
		}
	}
	if view := n.m.View(); !view.Equal(n.log.View()) {
		n.out.problem("the machine's view of the log is %v, the log %v", view, n.log.View())
	}
	return true
}

func (n *node) execute(action kraft.Action) bool {
	if _, _, ok := wire.SendKey(action); ok {
		n.effect("pending", len(n.pending))
		n.pending = append(n.pending, clone(action))
		return true
	}
	if key, id, ok := wire.ReplyKey(action); ok {
		n.reply(action, key, id)
		return true
	}
	switch a := action.(type) {
	case *kraft.ResetTimer:
		n.resetTimer(a)
	case *kraft.CancelTimer:
		delete(n.timers, a.Timer)
	case *kraft.ChooseBootstrap:
		n.draw(0, int64(a.Servers))
	case *kraft.PersistQuorumState:
		return n.persist(a)
	case *kraft.AppendLeaderChange:
		return n.appendControl(a.Batch)
	case *kraft.AppendControl:
		return n.appendControl(a.Batch)
	case *kraft.AppendRecords:
		return n.appendRecords(a.Batch)
	case *kraft.AppendFetched:
		return n.appendFetched(a)
	case *kraft.Park:
		n.parked = append(n.parked, parkedFetch{a.Request, a.Until})
	case *kraft.Accepted:
		n.out.offset = a.LastOffset
	case *kraft.Refused:
		n.out.refused = a.Reason != kraft.AlreadyLeaving // which Kafka only logs
	case *kraft.ShutdownDone:
		n.finished = true
		n.effect("shutdown", map[bool]string{true: "ok", false: "TimeoutException"}[a.OK])
		return false
	case *kraft.Fatal:
		n.out.fatal, n.dead = a.Reason.String(), true
		return false
	case *kraft.TransitionedTo:
	default:
		return n.executeOnLog(action)
	}
	return true
}

func (n *node) executeOnLog(action kraft.Action) bool {
	switch a := action.(type) {
	case *kraft.AssignEpoch:
		if !n.attempt("epoch") {
			return false
		}
		n.log.assignEpoch(a.Epoch)
		n.effect("epoch", a.Epoch, a.Start)
	case *kraft.FlushLog:
		if !n.attempt("flush") {
			return false
		}
		n.effect("flush", n.log.View().End)
		n.log.flush()
	case *kraft.TruncateTo:
		if !n.attempt("truncate") {
			return false
		}
		n.effect("truncate", a.Offset)
		n.log.truncate(a.Offset)
	case *kraft.AdvanceHighWatermark:
		n.log.View().AdvanceHighWatermark(a.Offset)
		n.effect("hw", a.Offset)
	case *kraft.BeginSnapshotFetch:
		n.partial = []byte{}
	case *kraft.AppendSnapshot:
		if int64(len(n.partial)) != a.Position || int(a.Bytes) != len(n.hand.chunk) {
			n.out.problem("%v with %d bytes held and a chunk of %d", a, len(n.partial), len(n.hand.chunk))
		}
		n.partial = append(n.partial, n.hand.chunk...)
	case *kraft.AbandonSnapshotFetch:
		n.partial = nil
	case *kraft.InstallSnapshot:
		if a.Size != int64(len(n.partial)) {
			n.out.problem("%v with %d bytes held", a, len(n.partial))
		}
		n.effect("freeze", a.ID.Offset, a.ID.Epoch, int64(len(n.partial)))
		held := n.partial
		n.partial = nil
		if n.log.install(a.ID, held) {
			n.effect("truncateToSnapshot", n.log.View().Start, n.log.View().Snapshots[0].ID.Epoch)
		}
	default:
		n.out.problem("no driver for %v", action)
	}
	return true
}

// resetTimer draws as Kafka does for that timer.
func (n *node) resetTimer(a *kraft.ResetTimer) {
	deadline := a.Deadline
	switch {
	case a.Kind == kraft.ElectionBackoffTimer:
		deadline += kraft.Instant(n.backoff(a.Retries))
	case a.Window > 0:
		deadline += kraft.Instant(n.draw(0, int64(a.Window)))
	}
	n.timers[a.Timer] = deadline
}

// backoff is what a losing Candidate of Kafka 4.0 waits.
func (n *node) backoff(retries int32) int64 {
	rule := n.profile.Rules.ElectionBackoff
	low, high := rule.Bounds(retries)
	first := n.draw(int64(low), int64(high))
	second := int64(0)
	if rule == kraft.BackoffFrom50 {
		second = n.draw(0, 50)
	}
	return int64(rule.Milliseconds(int32(first), int32(second), timeouts(n.init.Config).ElectionBackoffMaxMs))
}

func (n *node) persist(a *kraft.PersistQuorumState) bool {
	if !n.attempt("persist") {
		return false
	}
	n.log.persist(a)
	state := a.State
	n.stored, n.version = &state, min(a.KRaftVersion, 1)
	n.effect("persist", n.storedList())
	return true
}

// storedList is the quorum-state file as the oracle shows it.
func (n *node) storedList() []any {
	if n.stored == nil {
		return nil
	}
	var dir any
	if n.version > 0 {
		dir = n.stored.Voted.DirectoryID.String()
	}
	return []any{int64(n.stored.Epoch), int64(n.stored.Leader), int64(n.stored.Voted.ID), dir, int64(n.version)}
}

// reserve notes when offsets were reserved. It looks at them behind each event.
func (n *node) reserve() {
	l, ok := n.m.Role().(*kraft.Leader)
	if !ok {
		return
	}
	if epoch := n.m.QuorumState().Epoch; epoch != n.bornEpoch {
		n.bornEpoch, n.bornNext = epoch, l.EpochStart
	}
	for ; n.bornNext < l.Accumulator.NextOffset; n.bornNext++ {
		n.born[n.bornNext] = n.now
	}
}

// stamp is the time stamp of a batch of this leader: when its first offset was reserved (Kafka: BatchAccumulator,
// startNewBatch and appendControlMessages).
func (n *node) stamp(base kraft.Offset) int64 {
	at, ok := n.born[base]
	if !ok {
		n.out.problem("append at offset %d, which nobody reserved", base)
	}
	return int64(at)
}

func (n *node) appendControl(b kraft.Batch) bool {
	raw, err := wire.AppendControlBatch(nil, b, n.stamp(b.Base))
	if err != nil {
		n.out.problem("%v: %v", b, err)
		return true
	}
	return n.appendLeader(b, raw)
}

func (n *node) appendRecords(b kraft.Batch) bool {
	var values [][]byte
	for o := b.Base; o <= b.Last; o++ {
		v, ok := n.prepared[o]
		if !ok {
			n.out.problem("append of offset %d, which nobody prepared", o)
		}
		delete(n.prepared, o)
		values = append(values, v)
	}
	return n.appendLeader(b, wire.AppendDataBatch(nil, b.Base, b.Epoch, n.stamp(b.Base), values...))
}

func (n *node) appendLeader(b kraft.Batch, raw []byte) bool {
	if !n.attempt("append") {
		return false
	}
	n.log.append(b, raw)
	n.effect("append", "leader", b.Base, b.Last, []any{[]any{int64(b.Base), int64(b.Epoch), int64(len(raw)), stamped(raw)}})
	return true
}

// stamped is the highest time stamp of a batch, which stands behind its first 35 bytes.
func stamped(batch []byte) int64 { return int64(binary.BigEndian.Uint64(batch[35:])) }

func (n *node) appendFetched(a *kraft.AppendFetched) bool {
	if !n.attempt("append") {
		return false
	}
	added, err := appendAll(n.log, n.hand.records, a.Take)
	if err != nil || len(added) == 0 {
		n.out.problem("%v: %v", a, err)
		return true
	}
	var batches []any
	records := n.hand.records
	for _, e := range added {
		batches = append(batches, []any{int64(e.Base), int64(e.Epoch), int64(e.Size), stamped(records)})
		records = records[e.Size:]
	}
	n.effect("append", "follower", added[0].Base, added[len(added)-1].Last, batches)
	return true
}

// reply encodes an answer now: the log may change with the next action.
func (n *node) reply(action kraft.Action, key int16, id kraft.RequestID) {
	r, ok := n.requests[id]
	if !ok || r.key != key {
		n.out.problem("reply %v to a request that is not there", action)
		return
	}
	delete(n.requests, id)
	n.parked = slices.DeleteFunc(n.parked, func(p parkedFetch) bool { return p.request == id })
	var data []byte
	switch a := action.(type) {
	case *kraft.ReplyFetch:
		data = n.log.read(a.From, a.UpTo, a.MaxBytes)
	case *kraft.ReplyFetchSnapshot:
		if bytes := n.log.snapshot(a.ID); a.PartitionError == kraft.None && a.Error == kraft.None {
			data = bytes[a.Position:min(int64(len(bytes)), a.Position+min(int64(a.MaxBytes), int64(len(bytes))))]
		}
	}
	body, err := wire.AppendReply(nil, action, wire.ReplyTo{Version: r.version, Body: r.body}, data)
	if err != nil {
		n.out.problem("%v: %v", action, err)
		return
	}
	n.effect("reply", int64(id), key, r.version, base64.StdEncoding.EncodeToString(body))
}

// request puts a request into the queue.
func (n *node) request(c oracle.Command) {
	arrival := c.Listener
	if arrival == "" {
		arrival = channel(&n.init)
	}
	id := kraft.RequestID(c.Corr)
	ev, err := n.decoder.KRaftRequest(c.API, c.Version, c.Body, kraft.Request{ID: id, Listener: arrival})
	if err != nil {
		n.out.problem("request %d: %v", c.Corr, err)
		return
	}
	n.requests[id] = request{c.API, c.Version, c.Body}
	n.queue = append(n.queue, message{event: ev})
}

// response puts the answer to a request of this node into the queue.
func (n *node) response(c oracle.Command) {
	f, ok := n.inFlight[c.Corr]
	if !ok {
		n.out.problem("response to request %d, which is not in flight", c.Corr)
		return
	}
	delete(n.inFlight, c.Corr)
	about := kraft.Response{From: f.to.Record, CorrelationID: f.to.CorrelationID}
	if c.Error != "" {
		about.Error = map[string]kraft.ErrorCode{
			"disconnect": kraft.BrokerNotAvailable, "auth": kraft.NetworkException, "unsupported": kraft.UnsupportedVersion,
			"CLUSTER_AUTHORIZATION_FAILED": kraft.ClusterAuthorizationFailed,
		}[c.Error]
		n.queue = append(n.queue, message{event: &kraft.RequestFailed{Response: about, API: kraft.APIKey(f.key)}})
		return
	}
	ev, err := n.decoder.KRaftResponse(f.key, c.Version, c.Body, about)
	if err != nil {
		n.out.problem("response %d: %v", c.Corr, err)
		return
	}
	m := message{event: ev}
	_, resp, _ := oracle.Decode(oracle.Message{Response: true, API: f.key, Version: c.Version, Body: c.Body})
	m.records, m.chunk = payload(resp)
	n.queue = append(n.queue, m)
}

// flushSends numbers the requests of this turn: each run of consecutive ones by destination and api, as the oracle does.
func (n *node) flushSends() {
	if len(n.pending) == 0 {
		return
	}
	for i := 0; i < len(n.out.effects); {
		j := i
		for j < len(n.out.effects) && n.out.effects[j].Kind == "pending" {
			j++
		}
		if i == j {
			i++
			continue
		}
		run := slices.Clone(n.out.effects[i:j])
		slices.SortStableFunc(run, func(a, b oracle.Effect) int {
			ka, ta, _ := wire.SendKey(n.pending[a.Int(0)])
			kb, tb, _ := wire.SendKey(n.pending[b.Int(0)])
			if ta.Record != tb.Record {
				return int(ta.Record - tb.Record)
			}
			return int(ka - kb)
		})
		for k, e := range run {
			n.out.effects[i+k] = n.sent(n.pending[e.Int(0)])
		}
		i = j
	}
	n.pending = n.pending[:0]
}

func (n *node) sent(action kraft.Action) oracle.Effect {
	key, to, _ := wire.SendKey(action)
	version := maxVersion(&n.profile, key)
	if limit, ok := n.maxVersions[key]; ok {
		version = min(version, limit)
	}
	var body any
	if raw, err := n.sender.AppendSend(nil, action, version); err == nil {
		body = base64.StdEncoding.EncodeToString(raw)
	}
	number := n.nextSend
	n.nextSend++
	n.inFlight[number] = flight{key, version, to}
	return oracle.Effect{Kind: "send", Args: []any{int64(number), int64(to.Record), to.Address.String(), int64(key), int64(version), body}}
}

// clone keeps a send beyond the event that asked for it.
func clone(action kraft.Action) kraft.Action {
	switch a := action.(type) {
	case *kraft.SendVoteRequest:
		c := *a
		return &c
	case *kraft.SendBeginQuorumEpoch:
		c := *a
		return &c
	case *kraft.SendEndQuorumEpoch:
		c := *a
		c.Successors = slices.Clone(a.Successors)
		return &c
	case *kraft.SendFetch:
		c := *a
		return &c
	case *kraft.SendFetchSnapshot:
		c := *a
		return &c
	case *kraft.SendAPIVersions:
		c := *a
		return &c
	case *kraft.SendUpdateVoter:
		c := *a
		return &c
	case *kraft.SendAddRaftVoter:
		c := *a
		return &c
	case *kraft.SendRemoveRaftVoter:
		c := *a
		return &c
	}
	return action
}

package shadow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// An advisory is a remark about the health of the quorum. What it tells of is legal, if mostly unwelcome, so it never
// changes a verdict. Advisories speak of times and of silence, which the rules must not.

// advisoryRules are the kinds of advisory. They are rules in form only.
var (
	advisoryTwoDisks = Rule{
		ID: "A1", Name: "two-directory-ids", Source: "KIP-853; KAFKA-14205",
		Says: "a voter is an id with a directory id; one that comes back on another disk is another replica, while its old key still counts for majorities",
		Why:  "with few more failures no majority of live keys is left, although as many processes run",
	}
	advisoryUnreached = Rule{
		ID: "A2", Name: "unreached-endpoint", Source: "KAFKA-20661; Kafka UpdateVoterHandler",
		Says: "somebody connects to each endpoint that the voter set names",
		Why:  "followers pull, so a wrong endpoint shows only at the next election, when candidates cannot reach that voter",
	}
	advisoryStorm = Rule{
		ID: "A3", Name: "election-storm", Source: "KAFKA-18345",
		Says: "an election ends with a leader within a few epochs",
		Why:  "candidates that retry in step split the votes again and again",
	}
	advisoryStuck = Rule{
		ID: "A4", Name: "watermark-stands-still", Source: "KIP-595; KAFKA-19400",
		Says: "the high watermark follows the log",
		Why:  "nothing is committed while too few voters fetch: writes wait, and the leader gives up in the end",
	}
	advisoryWrongTurn = Rule{
		ID: "A5", Name: "does-not-go-to-the-leader", Source: "KAFKA-19354",
		Says: "a replica that was told who leads fetches there",
		Why:  "it serves ever older metadata, while its process looks alive",
	}
	advisoryCrash = Rule{
		ID: "A6", Name: "gone-after-a-message", Source: "Kafka KafkaRaftClientDriver (any exception on the raft thread ends the process)",
		Says: "no message makes a controller end",
		Why:  "a peer, or a tool, sent what Kafka's raft thread does not survive; it will end again when that is repeated",
	}
	advisoryPause = Rule{
		ID: "A7", Name: "paused", Source: "KAFKA-17793",
		Says: "a running controller answers within seconds",
		Why:  "a process that stands still loses leadership and fences brokers that were healthy",
	}
	advisoryNoPreVote = Rule{
		ID: "A8", Name: "no-pre-vote", Source: "KIP-996; KAFKA-17641",
		Says: "all voters know pre-votes (Vote v2)",
		Why:  "one voter that does not makes every candidate skip them, so a node that was cut off deposes the leader when it returns",
	}
	advisoryForeign = Rule{
		ID: "A9", Name: "foreign-cluster", Source: "KAFKA-12465",
		Says: "who asks this quorum belongs to its cluster",
		Why:  "a node that was formatted with another cluster id asks for ever, and nothing but a log line says so",
	}
	advisoryItself = Rule{
		ID: "A10", Name: "talks-to-itself", Source: "strimzi/test-container 122",
		Says: "each voter's endpoint leads to that voter",
		Why:  "messages for another voter come back to their sender: it never gets a majority",
	}
)

// Advisories lists the kinds of advisory.
func Advisories() []Rule {
	return []Rule{
		advisoryTwoDisks, advisoryUnreached, advisoryStorm, advisoryStuck, advisoryWrongTurn, advisoryCrash, advisoryPause, advisoryNoPreVote,
		advisoryForeign, advisoryItself, advisoryTwins, advisoryNames, advisoryRegistration, advisoryFeatures,
		advisoryNoSeat, advisoryAgain,
	}
}

// The times, in nanoseconds of the stream, and counts from which on something is remarked on.
const (
	stuckAfter     = int64(10 * time.Second)
	wrongTurnAfter = int64(5 * time.Second)
	wrongTurns     = 10
	pausedAfter    = int64(4 * time.Second) // twice the request timeout
	crashWithin    = int64(time.Second)
	crashSettles   = int64(time.Second)
	stormEpochs    = 5
	foreignTimes   = 3
)

// adviser gathers what advisories rest on.
type adviser struct {
	list findingList // found on the way
	end  findingList // what only the end shows

	setup setup
	lost  lost

	stuckSince int64 // since when the log is longer than the watermark, and that does not move
	stuckAt    kraft.Offset
	stuckIn    kraft.Epoch
	turns      map[kraft.NodeID]*wrongTurn
	poison     map[kraft.NodeID]poisoned
	crashes    []crash // not told yet: the traffic must go on
	foreign    map[string]int
}

// wrongTurn counts how often a replica was told where the leader is and asked elsewhere.
type wrongTurn struct {
	epoch  kraft.Epoch
	leader kraft.NodeID
	since  int64
	times  int
	first  ref
}

// poisoned is a message that Kafka's raft thread may not survive.
type poisoned struct {
	at   int64
	what string
	ref  ref
	from kraft.NodeID
}

// crash is that all connections of a node ended after a message that it may not have survived.
type crash struct {
	node  kraft.NodeID
	at    int64
	text  string
	proof ref
}

// advise files an advisory.
func (c *Checker) advise(r *Rule, n kraft.NodeID, e kraft.Epoch, about, text string, proof ...Evidence) {
	if c.scouting {
		return
	}
	f := c.found(r, n, e, about, text, proof...)
	f.order = c.order
	if c.advice.list.add(f) {
		c.emit(Event{Kind: EventAdvisory, At: f.Last, Node: n, Epoch: e, Finding: &f})
	}
}

// observe looks at a message after the monitors have.
func (a *adviser) observe(c *Checker, m *message) {
	a.crashed(c, m.ref.at)
	a.setup.waits(c, m.ref.at)
	switch m.kind {
	case KindFetchRequest:
		if t := a.turns[m.sender.id]; t != nil && (m.epoch > t.epoch || m.peer != nil && m.peer.id == t.leader) {
			delete(a.turns, m.sender.id)
		}
	case KindFetchResponse:
		a.directed(c, m)
		a.moves(c, m)
		a.setup.served(c, m)
		a.setup.written(m)
		a.lost.served(c, m)
	case KindVoteRequest, KindBeginRequest:
		if m.kind == KindVoteRequest {
			a.lost.stands(c, m)
		}
		if m.peer == m.sender {
			now := c.proof(m)
			c.advise(&advisoryItself, m.sender.id, m.epoch, "", fmt.Sprintf("node %s sends a message for node %s to itself", m.sender.id, nodeName(m.meant())), c.evidence(&now, ""))
		}
	}
	if m.kind%2 == 1 {
		a.late(c, m)
		if m.peer != nil && m.ref.at-m.askedRef.at < pausedAfter {
			if what := poisonOf(m); what != "" {
				a.poisons(m.peer.id, poisoned{m.ref.at, what, c.proof(m), m.sender.id})
			}
		}
	}
}

// meant is whom a request is addressed to.
func (m *message) meant() kraft.NodeID {
	if m.kind == KindVoteRequest {
		return m.vote.voterKey.ID
	}
	return m.begun.voterKey.ID
}

// poisonOf says why an answer may end the Java controller that gets it; "" if it does not.
func poisonOf(m *message) string {
	switch {
	case m.failed && m.err == kraft.ClusterAuthorizationFailed:
		return "a top-level CLUSTER_AUTHORIZATION_FAILED"
	case !m.failed && m.err == kraft.InvalidRequest && m.epoch == m.asked:
		return "INVALID_REQUEST of the partition"
	case !m.failed && m.err != kraft.None && m.names() && m.peer != nil && m.leader == m.peer.id && m.peer.view.Role != RoleLeader && m.peer.view.Role != RoleResigned:
		return "an error that names the receiver as the leader"
	case m.kind == KindFetchResponse && m.fetched.DivergingEpoch >= 0 && m.peer != nil && m.fetched.DivergingEnd < m.peer.view.Watermark:
		return "an order to truncate below the high watermark"
	}
	return ""
}

func (a *adviser) poisons(id kraft.NodeID, p poisoned) {
	if a.poison == nil {
		a.poison = map[kraft.NodeID]poisoned{}
	}
	if len(a.poison) < maxNodes {
		a.poison[id] = p
	}
}

// shapeless takes in a request of the raft layer that is not about the one metadata partition. Up to 4.3.1 Kafka looks at the first topic of a
// FetchSnapshot before it looks whether there is one. Another topic, or several, it refuses.
func (a *adviser) shapeless(c *Checker, m *message) {
	if m.kind != KindSnapshotRequest || !m.noTopic || m.peer == nil || c.scouting {
		return
	}
	m.ref.line = "FetchSnapshot without a topic"
	a.poisons(m.peer.id, poisoned{m.ref.at, "a FetchSnapshot without a topic", m.ref, m.ref.from})
}

// left takes in that all connections of a node have ended.
func (a *adviser) left(n *node, at int64) {
	p, ok := a.poison[n.id]
	if !ok {
		return
	}
	delete(a.poison, n.id)
	if at-p.at > crashWithin {
		return
	}
	if len(a.crashes) < maxNodes {
		a.crashes = append(a.crashes, crash{n.id, at, fmt.Sprintf("node %s closed all its connections %s after it got %s from node %s",
			n.id, time.Duration(at-p.at).Round(time.Millisecond), p.what, nodeName(p.from)), p.ref})
	}
}

// crashed tells of crashes, once the others are seen to go on: when the observer ends, or the whole quorum, all connections end.
func (a *adviser) crashed(c *Checker, at int64) {
	for len(a.crashes) > 0 && at-a.crashes[0].at > crashSettles {
		x := &a.crashes[0]
		c.advise(&advisoryCrash, x.node, -1, "", x.text, c.evidence(&x.proof, ""))
		a.crashes = a.crashes[1:]
	}
}

// late looks at how long an answer took. A Fetch is parked for as long as it asks to.
func (a *adviser) late(c *Checker, m *message) {
	took := m.ref.at - m.askedRef.at
	if m.kind == KindFetchResponse {
		took -= int64(m.fetch.MaxWaitMs) * int64(time.Millisecond)
	}
	if took < pausedAfter || m.kind == KindVoterResponse || m.conn.holes {
		return
	}
	now := c.proof(m)
	c.advise(&advisoryPause, m.sender.id, m.epoch, "", fmt.Sprintf("node %s stood still: it answers %s after it was due", m.sender.id,
		time.Duration(took).Round(time.Millisecond)), c.asked(m), c.evidence(&now, ""))
}

// directed counts answers that send a replica to the leader.
func (a *adviser) directed(c *Checker, m *message) {
	if m.peer == nil || m.failed || m.err != kraft.NotLeaderOrFollower || !m.names() || m.leader == m.peer.id || m.leader == m.sender.id || m.epoch != m.asked {
		return
	}
	if a.turns == nil {
		a.turns = map[kraft.NodeID]*wrongTurn{}
	}
	t := a.turns[m.peer.id]
	if t == nil || t.epoch != m.epoch || t.leader != m.leader {
		if len(a.turns) >= maxNodes {
			return
		}
		a.turns[m.peer.id] = &wrongTurn{m.epoch, m.leader, m.ref.at, 1, c.proof(m)}
		return
	}
	if t.times++; t.times < wrongTurns || m.ref.at-t.since < wrongTurnAfter {
		return
	}
	now := c.proof(m)
	c.advise(&advisoryWrongTurn, m.peer.id, m.epoch, "", fmt.Sprintf("node %s was told %d times in %s that node %s leads epoch %d, and does not fetch there",
		m.peer.id, t.times, time.Duration(m.ref.at-t.since).Round(time.Second), m.leader, m.epoch), c.evidence(&t.first, ""), c.evidence(&now, ""))
}

// moves looks whether the watermark moves while the log is longer.
func (a *adviser) moves(c *Checker, m *message) {
	if !m.hasHW {
		return
	}
	end := m.sender.view.LogEnd
	if n := len(m.batches); n > 0 {
		end = max(end, m.batches[n-1].last+1)
	}
	if m.epoch != a.stuckIn || m.watermark > a.stuckAt || m.watermark >= end || a.stuckSince == 0 {
		a.stuckIn, a.stuckAt, a.stuckSince = m.epoch, m.watermark, m.ref.at
		return
	}
	if d := m.ref.at - a.stuckSince; d >= stuckAfter {
		now := c.proof(m)
		c.advise(&advisoryStuck, m.sender.id, m.epoch, known(int64(m.watermark)), fmt.Sprintf("the high watermark of leader %s stands at %s for %s, its log reaches to %d",
			m.sender.id, known(int64(m.watermark)), time.Duration(d).Round(time.Second), end), c.evidence(&now, ""))
	}
}

// stranger counts the requests of another cluster.
func (a *adviser) stranger(c *Checker, m *message) {
	if m.sender == nil || len(m.cluster) == 0 || c.cluster == "" || string(m.cluster) == c.cluster || m.conn.ep.foreign(c) {
		return
	}
	if a.foreign == nil {
		a.foreign = map[string]int{}
	}
	key := m.sender.id.String() + "/" + string(m.cluster)
	if len(a.foreign) >= maxNodes && a.foreign[key] == 0 {
		return
	}
	if a.foreign[key]++; a.foreign[key] >= foreignTimes {
		now := c.proof(m)
		c.advise(&advisoryForeign, m.sender.id, -1, string(m.cluster), fmt.Sprintf("node %s of cluster %s, at %s, asks a listener of cluster %s",
			m.sender.id, m.cluster, m.conn.from, c.cluster), c.evidence(&now, ""))
	}
}

// advisories are those found on the way, and those that only the end shows.
func (c *Checker) advisories() []Finding {
	c.advice.end = findingList{}
	c.disksAdvice()
	c.endpointAdvice()
	c.stormAdvice()
	c.preVoteAdvice()
	c.nameAdvice()
	c.featureAdvice()
	c.seatAdvice()
	return append(c.advice.list.list(), c.advice.end.list()...)
}

// concludes files an advisory that is about the stream as a whole.
func (c *Checker) concludes(r *Rule, n kraft.NodeID, e kraft.Epoch, about, text string) {
	f := c.found(r, n, e, about, text)
	f.Proof, f.Last = []Evidence{}, c.last
	c.advice.end.add(f)
}

// disksAdvice tells of ids that were seen under several directory ids, and of the margin that is left.
func (c *Checker) disksAdvice() {
	for _, n := range c.nodeList {
		var seen []kraft.DirectoryID
		for _, d := range n.disks {
			if !d.id.IsZero() && !slices.Contains(seen, d.id) {
				seen = append(seen, d.id)
			}
		}
		if len(seen) < 2 || !c.quorum.isVoter(n.id) || c.quorum.assumed {
			continue
		}
		now := n.disks[len(n.disks)-1].id
		live, keyed := 0, 0
		for _, v := range c.quorum.voters {
			if v.DirectoryID.IsZero() {
				continue
			}
			keyed++
			if o := c.nodes[v.ID]; o != nil && len(o.conns) > 0 && len(o.disks) > 0 && o.disks[len(o.disks)-1].id == v.DirectoryID {
				live++
			}
		}
		text := fmt.Sprintf("node %s was seen under %d directory ids, the last one being %s", n.id, len(seen), now)
		if keyed == len(c.quorum.voters) && keyed > 0 {
			text += fmt.Sprintf("; %d of %d voter keys are live, %d more may fail", live, keyed, live-keyed/2-1)
		}
		c.concludes(&advisoryTwoDisks, n.id, -1, now.String(), text)
	}
}

// endpointAdvice tells of endpoints in the voter set that nobody connected to.
func (c *Checker) endpointAdvice() {
	reached := 0
	var missed []string
	var who []kraft.NodeID
	for _, v := range c.quorum.endpoints {
		e := c.endpoints[v.name]
		switch {
		case e != nil && e.conns > 0:
			reached++
		case c.nodes[v.node] != nil && len(c.nodes[v.node].conns) > 0:
			missed, who = append(missed, v.name), append(who, v.node)
		}
	}
	if reached == 0 {
		return // the observer sees none of them: it looks at other addresses
	}
	for i, name := range missed {
		c.concludes(&advisoryUnreached, who[i], -1, name, fmt.Sprintf("the voter set says that node %s is at %s, where nobody connected to; %d of %d voters can be reached at an election",
			who[i], name, reached, len(c.quorum.endpoints)))
	}
}

// stormAdvice tells of epochs in a row without a leader.
func (c *Checker) stormAdvice() {
	run := []Election{}
	flush := func() {
		if len(run) >= stormEpochs {
			var gaps []string
			for i := 1; i < len(run); i++ {
				gaps = append(gaps, time.Duration(run[i].Began-run[i-1].Began).Round(10*time.Millisecond).String())
			}
			c.concludes(&advisoryStorm, kraft.NoNode, run[0].Epoch, "", fmt.Sprintf("epochs %d to %d, %d in a row, have candidates and no leader; time between them: %s",
				run[0].Epoch, run[len(run)-1].Epoch, len(run), strings.Join(gaps, ", ")))
		}
		run = run[:0]
	}
	for i := range c.quorum.elections {
		e := &c.quorum.elections[i]
		stood := slices.ContainsFunc(e.Candidates, func(x Candidate) bool { return !x.PreVote })
		if e.Leader >= 0 || !stood {
			flush()
			continue
		}
		run = append(run, *e)
	}
	flush()
}

// preVoteAdvice tells of voters that do not know pre-votes, where others do.
func (c *Checker) preVoteAdvice() {
	var old []kraft.NodeID
	others := false
	for _, e := range c.endpointList {
		if e.node == nil || e.offer == nil || !e.raft || !c.quorum.isVoter(e.node.id) {
			continue
		}
		if e.offer[wire.KeyVote].max < 2 {
			old = append(old, e.node.id)
		} else {
			others = true
		}
	}
	for _, id := range old {
		if others {
			c.concludes(&advisoryNoPreVote, id, -1, "", fmt.Sprintf("node %s offers Vote up to v1, so all voters stand without pre-votes", id))
		}
	}
}

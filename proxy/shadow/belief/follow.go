package belief

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// comes takes in a message on its way to the node.
func (j *judge) comes(x *crossing) {
	w := &j.wire
	if _, known := w.conns[x.conn]; !known {
		w.conns[x.conn] = false
	}
	if !x.reply {
		if x.event == nil {
			return // it never arrives
		}
		w.asked = append(w.asked, x)
		if len(w.asked) > maxWaiting {
			w.asked = w.asked[1:]
			j.end("too many requests without an answer")
		}
	}
	if x.reply {
		_, known := w.out[x.conn]
		delete(w.out, x.conn)
		if !known && len(j.set) > 0 {
			j.end("an answer to a request that was not seen")
		}
	}
	if len(j.set) == 0 {
		if x.reply {
			j.anchorAtAnswer(x)
		} else {
			w.fetch = nil
		}
		return
	}
	j.advance(step{kind: stepOffered, x: x})
}

const maxWaiting = 512

// saw takes in a message of the node.
func (j *judge) saw(x *crossing) {
	w := &j.wire
	j.stats.Messages++
	if w.gone {
		w.gone = false
		j.revived()
	}
	j.opens = false
	if !w.conns[x.conn] {
		j.opens = !x.reply
		w.conns[x.conn] = true
		w.alive++
	}
	var asked *crossing
	if x.reply {
		for i, q := range w.asked {
			if q.conn == x.conn {
				asked = q
				w.asked = append(w.asked[:i:i], w.asked[i+1:]...)
				break
			}
		}
	}
	if x.reply {
		w.stated = max(w.stated, x.said.epoch)
	} else {
		w.out[x.conn] = x
	}
	if _, ok := j.c.profile(j.id); !ok {
		j.unjudged(NoProfile)
		return
	}
	if j.c.world.voters.Len() < 2 {
		j.unjudged("a quorum of one voter")
		return
	}
	if !x.reply && (x.key == wire.KeyAddRaftVoter || x.key == wire.KeyRemoveRaftVoter) {
		j.blind("a voter that adds or removes itself", x.nanos)
	}
	j.identified(x)
	switch {
	case len(j.set) > 0:
	case !x.reply:
		j.anchorAtRequest(x)
	case asked != nil && x.key == wire.KeyFetch:
		j.unjudged(j.why)
		j.rules(x, asked)
		return
	}
	if x.reply && asked == nil && len(j.set) > 0 {
		j.end("an answer to a request that was not seen")
	}
	if len(j.set) == 0 {
		j.unjudged(j.why)
		return
	}
	j.explainSeen(x, asked)
}

// identified takes in which disk the node has. On another one it knows nothing of what it did before.
func (j *judge) identified(x *crossing) {
	key := x.said.replica
	if x.reply || key.ID != j.id || key.DirectoryID.IsZero() {
		return
	}
	if len(j.set) > 0 && key.DirectoryID != j.config.DirectoryID {
		why := "the node has another disk"
		if j.config.DirectoryID == nowhereDisk { // of a leader that judging began with
			why = "its directory id has come to light"
		}
		j.end(why)
	}
	j.wire.restarted = false
}

func (j *judge) unjudged(why string) {
	if len(j.stats.Unjudged) < 64 || j.stats.Unjudged[why] > 0 {
		j.stats.Unjudged[why]++
	}
}

// explainSeen judges a message of the node.
func (j *judge) explainSeen(x *crossing, asked *crossing) {
	s := step{kind: stepSeen, x: x, asked: asked, old: j.mayBeOld(x), opens: j.opens}
	j.window.push(j, s)
	before := j.set
	if j.refusing = j.refusing[:0]; s.refuses() {
		j.refusing = append(j.refusing, asked)
	}
	j.set = j.follow(before, s, effort{})
	if len(j.set) == 0 && !j.trial {
		j.stats.Searches++
		j.set = j.window.search(j)
	}
	switch {
	case len(j.set) > 0 && j.window.restarted:
		j.end("the ends of its connections were not seen")
		j.missed(x.nanos)
		j.unjudged(j.why)
	case len(j.set) > 0:
		j.steps++
		j.drawn = max(0, j.drawn-paid)
		j.stats.Judged++
		j.stats.Beliefs += uint64(len(j.set))
		j.stats.MostBelef = max(j.stats.MostBelef, len(j.set))
		j.proven(x, asked, s.old)
		if slices.ContainsFunc(j.set, func(h *hypothesis) bool { return h.blind }) {
			j.end("what went before judging began, or a snapshot whose contents were not seen")
		}
	case x.reply && j.wire.restarted:
		j.end("a node that may have another disk since it was started")
		j.unjudged(j.why)
	case describesLeader(x):
		j.end("a leader that describes itself anew")
		j.unjudged(j.why)
	case before[0].reigned && changesVoters(x):
		j.end("a change of the voters that began before judging did")
		j.unjudged(j.why)
	case !x.reply && x.key == wire.KeyUpdateRaftVoter:
		j.end("a node that describes itself anew")
		j.unjudged(j.why)
	case j.trial || j.settling(x.nanos):
		j.end("not anchored yet")
		j.unjudged(j.why)
	case j.steps < j.lossyAt:
		j.end(TooMany)
		j.unjudged(j.why)
	default:
		j.diverged(x, asked, before)
		j.end("after a divergence")
	}
	for _, h := range before {
		if !s.old {
			j.free(h)
		}
	}
}

// enoughProofs is how many answers of a leader that was known by its answers only have to be explained.
const enoughProofs = 8

// proven takes in that a message is explained. A guess that judging began with is confirmed by a Fetch of a follower, or by answers of a
// leader to requests that came since.
func (j *judge) proven(x, asked *crossing, old bool) {
	switch {
	case !j.trial || x.key != wire.KeyFetch || old:
	case !x.reply:
		j.trial = false
	case asked != nil && j.wire.began != nil && asked.id > j.wire.began.id:
		j.wire.proofs++
		j.trial = j.wire.proofs < enoughProofs
	}
}

// describesLeader reports whether a leader has begun its epoch by writing the voters anew: it does if it can be reached elsewhere than
// recorded, which nobody but itself knows.
func describesLeader(x *crossing) bool {
	for i := range x.said.batches {
		if c := x.said.batches[i].Control; len(c) > 1 && c[0].Type == kraft.LeaderChangeRecord {
			return true
		}
	}
	return false
}

// changesVoters reports whether an answer shows a set of voters, or what becomes of a request to change it.
func changesVoters(x *crossing) bool {
	if x.reply && (x.key == wire.KeyAddRaftVoter || x.key == wire.KeyRemoveRaftVoter || x.key == wire.KeyUpdateRaftVoter) {
		return true
	}
	for i := range x.said.batches {
		if slices.ContainsFunc(x.said.batches[i].Control, func(r kraft.ControlRecord) bool { return r.Type == kraft.VotersRecord }) {
			return true
		}
	}
	return false
}

// mayBeOld reports whether a request may have waited since before judging began, behind another one to the same node.
func (j *judge) mayBeOld(x *crossing) bool {
	w := &j.wire
	if w.began == nil || x.reply || x.nanos > w.began.nanos+int64(j.c.options.Settle) || w.drained[x.conn] {
		return false
	}
	if x.said.epoch > w.began.said.epoch || x.said.offset > w.began.said.offset {
		w.drained[x.conn] = true
		return false
	}
	return true
}

// maxShown bounds the hypotheses that a report shows.
const maxShown = 4

func (j *judge) diverged(x, asked *crossing, before []*hypothesis) {
	j.stats.Diverged++
	d := Divergence{Node: j.id, Key: x.key, Epoch: x.said.epoch, Number: x.number, Conn: x.conn, At: x.nanos, Said: x.words()}
	if asked != nil {
		d.Asked = asked.number
		d.Said += ", asked " + asked.words()
	}
	for _, h := range before[:min(len(before), maxShown)] {
		d.Wanted = append(d.Wanted, h.words(x))
	}
	if j.c.options.Found != nil {
		j.c.options.Found(d)
	}
}

// advance takes the set over a step that asks for no explanation.
func (j *judge) advance(s step) {
	j.window.push(j, s)
	j.set = j.follow(j.set, s, effort{})
	if len(j.set) == 0 {
		j.end("no state is left after a restart")
	}
}

// closed takes in the end of a connection.
func (j *judge) closed(conn ConnID) {
	w := &j.wire
	if _, known := w.conns[conn]; !known {
		return
	}
	for i := 0; i < len(w.asked); i++ {
		if w.asked[i].conn == conn {
			w.reign.closedUnanswered(w.asked[i])
			w.asked = append(w.asked[:i:i], w.asked[i+1:]...)
			i--
		}
	}
	w.fetch = nil
	delete(w.out, conn)
	if w.conns[conn] {
		w.alive--
		if w.gone = w.gone || w.alive == 0; w.gone {
			delete(j.c.preVotes, j.id) // it may come back as another release
		}
	}
	delete(w.conns, conn)
	if len(j.set) > 0 {
		j.advance(step{kind: stepClosed, conn: conn})
	}
}

func (j *judge) revived() {
	j.wire.unclear, j.wire.restarted, j.wire.stated, j.wire.reign = false, true, 0, reign{}
	if len(j.set) > 0 {
		j.advance(step{kind: stepRevived})
	}
}

// blind takes in that something was missed.
func (j *judge) blind(why string, at int64) {
	j.missed(at)
	j.wire.reign = reign{}
	if len(j.set) > 0 {
		j.end(why)
	}
}

// words is a message for people.
func (x *crossing) words() string {
	c := &x.said
	s := wire.Name(x.key)
	if x.key == wire.KeyVote && c.preVote {
		s = "PreVote"
	}
	if !x.reply {
		switch x.key {
		case wire.KeyFetch:
			return fmt.Sprintf("%s(replica %v epoch %d offset %d last epoch %d high watermark %d)", s, c.replica.ID, c.epoch, c.offset, c.last, c.hw)
		case wire.KeyVote:
			return fmt.Sprintf("%s(candidate %v epoch %d log %d@%d)", s, c.leader, c.epoch, c.offset, c.last)
		case wire.KeyEndQuorumEpoch:
			return fmt.Sprintf("%s(to %v leader %v epoch %d successors %v)", s, x.to, c.leader, c.epoch, ids(c.heirs))
		}
		return fmt.Sprintf("%s(to %v leader %v epoch %d)", s, x.to, c.leader, c.epoch)
	}
	return s + " answer " + c.words(x.key)
}

func ids(keys []kraft.ReplicaKey) (list []kraft.NodeID) {
	for _, k := range keys {
		list = append(list, k.ID)
	}
	return list
}

func (c *content) words(key int16) string {
	if c.top != kraft.None {
		return c.top.String()
	}
	s := fmt.Sprintf("%v leader %v epoch %d", c.err, c.leader, c.epoch)
	switch key {
	case wire.KeyVote:
		s += fmt.Sprintf(" granted %t", c.granted)
	case wire.KeyFetch:
		s += fmt.Sprintf(" high watermark %d", c.hw)
		if c.diverge != nowhere {
			s += fmt.Sprintf(" diverging %v", c.diverge)
		}
		if c.snapshot != nowhere {
			s += fmt.Sprintf(" snapshot %v", c.snapshot)
		}
		if len(c.batches) > 0 {
			s += fmt.Sprintf(" records to %d", c.batches[len(c.batches)-1].Last)
		}
	}
	return s
}

// words is what a hypothesis knows, and what it would have explained in place of the message.
func (h *hypothesis) words(x *crossing) string {
	s := fmt.Sprintf("epoch %d %v, %v", h.m.QuorumState().Epoch, h.m.Role(), &h.view)
	if h.dead {
		s += ", dead"
	}
	for i := range h.open {
		s += fmt.Sprintf("; %s to %v answered %t failed %t", wire.Name(h.open[i].key), h.open[i].record, h.open[i].answer != nil, h.open[i].failed)
	}
	if x.reply {
		if i := h.askedOn(x.conn); i >= 0 {
			s += fmt.Sprintf("; taken %t", h.asked[i].taken)
			for k := range h.asked[i].could {
				s += "; could answer " + h.asked[i].could[k].said.words(x.key)
			}
		}
		return s
	}
	for i := range h.sent {
		o := &h.sent[i]
		s += fmt.Sprintf("; has built %s to %v (epoch %d offset %d high watermark %d)", wire.Name(o.key), o.record, o.said.epoch, o.said.offset, o.said.hw)
		if o.key == wire.KeyEndQuorumEpoch {
			s += fmt.Sprintf(" successors %v", ids(o.said.heirs))
		}
	}
	return s
}

package shadow

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// watermarkHasMajority is M10. A leader may hold an offset for committed once it has it itself and enough other voters have
// fetched from it, and once that covers a record of its own epoch.
//
// Every Fetch that was offered counts, whether or not the leader has taken it. A change of the voter set that was
// appended and not served yet may have taken one voter away or added one, so only floor((n-1)/2) of the n voters known must be
// seen to have fetched so far; for odd n that is what a majority needs.
//
// A voter may also reach the leader past the observer. So a suspicion waits until enough voters have fetched again:
// one whose log has grown by nothing but what the leader was seen to send it has no other way.
type watermarkHasMajority struct{}

var watermarkHasMajorityRule = Rule{
	ID: "M10", Name: "watermark-has-majority",
	Says:   "a leader's high watermark is above the start of its epoch and at most what a majority of the voters has fetched up to",
	Source: "KIP-595; Kafka LeaderState.maybeUpdateHighWatermark",
	Why:    "records are held for committed that a minority has: the next leader may lack them",
	across: true,
}

func (watermarkHasMajority) rule() *Rule { return &watermarkHasMajorityRule }
func (watermarkHasMajority) hears() []Kind {
	return []Kind{KindFetchRequest, KindFetchResponse, KindDescribeResponse}
}

// overrun is a watermark that no majority was seen to have reached.
type overrun struct {
	watermark kraft.Offset
	need      int
	ref       ref
	below     []kraft.NodeID // the voters that certainly were not that far
}

func (watermarkHasMajority) observe(c *Checker, m *message) {
	var before tenureFollower // as it was when this Fetch was built
	if m.kind == KindFetchRequest && m.peer != nil {
		before.offered = -1
		if t := c.memory.tenures.of(m.epoch, m.peer.id, m.ref.stream); t != nil {
			if f := t.follower(m.sender.id); f != nil {
				before = *f
			}
		}
	}
	t := c.memory.tenures.observe(c, m)
	if t == nil {
		return
	}
	if t.blind || t.epoch <= c.memory.floor {
		t.suspect = nil
	}
	if m.kind == KindFetchRequest {
		t.confirm(c, m, &before)
		return
	}
	if m.watermark >= 0 && (t.least < 0 || m.watermark < t.least) {
		t.least, t.leastRef = m.watermark, c.proof(m)
	}
	if t.start >= 0 && t.least >= 0 && t.least <= t.start {
		text := fmt.Sprintf("leader %s answers high watermark %d in epoch %d, which begins at offset %d: no record of the epoch is committed",
			m.sender.id, t.least, t.epoch, t.start)
		f := c.found(&watermarkHasMajorityRule, m.sender.id, t.epoch, "start", text, c.evidence(&t.startRef, ""), c.evidence(&t.leastRef, ""))
		f.across = false // it is the leader's own word on both sides
		c.report(f)
		return
	}
	if m.watermark >= 0 && t.suspect == nil && !t.blind && t.epoch > c.memory.floor {
		t.judge(c, m)
	}
}

// judge looks whether enough voters have fetched up to the watermark.
func (t *tenure) judge(c *Checker, m *message) {
	need := (len(t.voters) - 1) / 2
	if len(t.voters) < 2 || need < 1 {
		return
	}
	for _, id := range t.voters {
		if f := t.follower(id); id != t.leader && f != nil && (f.offered >= m.watermark || f.elsewhere) {
			need--
		}
	}
	if need > 0 {
		t.suspect = &overrun{watermark: m.watermark, need: (len(t.voters) - 1) / 2, ref: c.proof(m)}
	}
}

// confirm takes in the next Fetch of a voter while a watermark is suspected.
func (t *tenure) confirm(c *Checker, m *message, before *tenureFollower) {
	s := t.suspect
	if s == nil || !slices.Contains(t.voters, m.sender.id) || slices.Contains(s.below, m.sender.id) {
		return
	}
	certain := before.offered >= 0 && before.offered < s.watermark && !before.elsewhere && m.fetch.Offset <= max(before.delivered, before.offered)
	if !certain || m.ref.at <= s.ref.at {
		t.suspect = nil
		return
	}
	s.below = append(s.below, m.sender.id)
	possible := 0
	for _, id := range t.voters {
		if id != t.leader && !slices.Contains(s.below, id) {
			possible++
		}
	}
	if possible >= s.need {
		return
	}
	t.suspect = nil
	proof := []Evidence{}
	for _, id := range s.below {
		if f := t.follower(id); f != nil {
			proof = append(proof, c.evidence(&f.offer, fmt.Sprintf("fetch offset %d", f.offered)))
		}
	}
	text := fmt.Sprintf("leader %s answers high watermark %d in epoch %d with voters %v; of the others %v had not fetched up to there",
		t.leader, s.watermark, t.epoch, t.voters, s.below)
	c.report(c.found(&watermarkHasMajorityRule, t.leader, t.epoch, "majority", text, append(proof, c.evidence(&s.ref, ""))...))
}

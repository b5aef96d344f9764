package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// wireDiscipline is M19. A Kafka server answers the requests of a connection one after the other. A client uses only
// versions that the server offered on the connection. And what an answer says of epoch and leader fits its error
// code, since both are of one moment:
//
//   - Vote, BeginQuorumEpoch and EndQuorumEpoch fence a request of an older epoch and enter a newer one before they
//     decide, so whatever they decide is said in the epoch of the request.
//   - Fetch and FetchSnapshot succeed only at the leader of the request's epoch; a parked Fetch that expires gets the
//     answer made when it came, which fits as well.
//   - FENCED_LEADER_EPOCH says that the request's epoch is older, UNKNOWN_LEADER_EPOCH that it is newer.
type wireDiscipline struct{}

var wireDisciplineRule = Rule{
	ID: "M19", Name: "wire-discipline",
	Says:   "answers come in the order of the requests, in versions that were offered, with error codes that fit the epochs they state",
	Source: "Kafka protocol; KafkaRaftClient.validateVoterOnlyRequest, validateLeaderOnlyRequest",
	Why:    "a Java peer ends on some of it (museum P1-P8), and acts wrongly on the rest",
}

func (*wireDiscipline) rule() *Rule   { return &wireDisciplineRule }
func (*wireDiscipline) hears() []Kind { return everyKind() }

func (w *wireDiscipline) observe(c *Checker, m *message) {
	if m.kind%2 == 0 {
		w.version(c, m)
		return
	}
	if m.failed || m.kind == KindDescribeResponse {
		return
	}
	text := ""
	switch m.kind {
	case KindVoteResponse, KindBeginResponse, KindEndResponse:
		text = voterAnswer(m)
	case KindFetchResponse, KindSnapshotResponse:
		text = leaderAnswer(m)
	case KindVoterResponse:
		text = fits(m)
	}
	if text == "" {
		return
	}
	now := c.proof(m)
	c.report(c.found(&wireDisciplineRule, m.sender.id, m.epoch, "answer "+wire.Name(m.key), "node "+m.sender.id.String()+" "+text, c.asked(m), c.evidence(&now, "")))
}

// fits checks an error that compares epochs, as far as the answer states one.
func fits(m *message) string {
	if m.epoch < 0 || m.asked < 0 {
		return ""
	}
	switch {
	case m.err == kraft.FencedLeaderEpoch && m.asked >= m.epoch:
		return fmt.Sprintf("fences a request of epoch %d in epoch %d", m.asked, m.epoch)
	case m.err == kraft.UnknownLeaderEpoch && m.asked <= m.epoch:
		return fmt.Sprintf("does not know epoch %d in epoch %d", m.asked, m.epoch)
	}
	return ""
}

// voterAnswer checks an answer that every voter gives.
func voterAnswer(m *message) string {
	if m.kind == KindVoteResponse && m.vote.granted && m.err != kraft.None {
		return fmt.Sprintf("grants a vote together with %s", m.err)
	}
	if m.epoch < 0 {
		return ""
	}
	switch m.err {
	case kraft.None, kraft.InvalidVoterKey:
		if m.epoch != m.asked {
			return fmt.Sprintf("decides on a request of epoch %d in epoch %d", m.asked, m.epoch)
		}
		if m.err == kraft.InvalidVoterKey && m.leader == kraft.NoNode {
			return "" // a node of understudy never tells its receiver that it leads, once it has refused it
		}
		if m.kind != KindVoteResponse && m.leader != m.begun.leader {
			return fmt.Sprintf("takes node %s for the leader of epoch %d and names %s", m.begun.leader, m.epoch, nodeName(m.leader))
		}
	case kraft.FencedLeaderEpoch:
		return fits(m)
	case kraft.InvalidRequest, kraft.InconsistentVoterSet:
	case kraft.UnknownServerError, kraft.ClusterAuthorizationFailed:
	default:
		return fmt.Sprintf("answers %s to %s", m.err, wire.Name(m.key))
	}
	return ""
}

// leaderAnswer checks an answer that only a leader gives.
func leaderAnswer(m *message) string {
	switch m.err {
	case kraft.None:
		if m.epoch >= 0 && m.epoch != m.asked {
			return fmt.Sprintf("serves a request of epoch %d in epoch %d", m.asked, m.epoch)
		}
	case kraft.NotLeaderOrFollower:
		if m.epoch >= 0 && m.asked > m.epoch {
			return fmt.Sprintf("answers NOT_LEADER_OR_FOLLOWER in epoch %d to a request of epoch %d", m.epoch, m.asked)
		}
	case kraft.InvalidVoterKey, kraft.DuplicateVoter, kraft.VoterNotFound, kraft.InconsistentClusterID, kraft.InconsistentVoterSet:
		return fmt.Sprintf("answers %s to %s", m.err, wire.Name(m.key))
	case kraft.SnapshotNotFound, kraft.PositionOutOfRange:
		if m.kind == KindFetchResponse {
			return fmt.Sprintf("answers %s to %s", m.err, wire.Name(m.key))
		}
	}
	return fits(m)
}

// version checks that a request's version was offered.
func (w *wireDiscipline) version(c *Checker, m *message) {
	v := m.conn.versions
	if v == nil || m.key < 0 || m.key >= wireKeys {
		return
	}
	offered := v[m.key]
	if offered.min <= m.version && m.version <= offered.max {
		return
	}
	text := fmt.Sprintf("node %s sends %s v%d, the server offered v%d to v%d", m.sender.id, wire.Name(m.key), m.version, offered.min, offered.max)
	now := c.proof(m)
	c.report(c.found(&wireDisciplineRule, m.sender.id, m.epoch, "version "+wire.Name(m.key), text, c.evidence(&now, "")))
}

// impostor reports a raft client whose request speaks for another node.
func (w *wireDiscipline) impostor(c *Checker, m *message) {
	text := fmt.Sprintf("the raft client of node %s sends a %s request of node %s", m.sender.id, wire.Name(m.key), m.claimed)
	now := c.proof(m)
	c.report(c.found(&wireDisciplineRule, m.sender.id, m.epoch, "impostor", text, c.evidence(&now, "")))
}

// outOfOrder reports an answer that came before that of an older request.
func (w *wireDiscipline) outOfOrder(c *Checker, k *conn, x *wire.Exchange, r ref) {
	n := c.server(k)
	if n == nil || !k.ep.raft {
		return
	}
	r.from = n.id
	text := fmt.Sprintf("node %s answers correlation id %d before an older request of the connection", n.id, x.Header.CorrelationID)
	c.report(c.found(&wireDisciplineRule, n.id, -1, "order", text, c.evidence(&r, "")))
}

// stray reports an answer that no request belongs to.
func (w *wireDiscipline) stray(c *Checker, k *conn, r ref) {
	n := c.server(k)
	if n == nil || !k.ep.raft {
		return
	}
	r.from = n.id
	c.report(c.found(&wireDisciplineRule, n.id, -1, "stray",
		fmt.Sprintf("node %s sends an answer to no request", n.id), c.evidence(&r, "")))
}

package belief

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// alter changes one thing of a window, and says what. It reports false if there was nothing to change.
func (w *bruteWindow) alter(t testing.TB, r *rand.Rand) bool {
	w.seen = slices.Clone(w.seen)
	switch r.IntN(6) {
	case 0:
		return w.swap(t, r)
	case 1:
		return w.remove(r)
	}
	return w.change(t, r)
}

// ends reports whether the answer is one that only a node writes that is about to end. Which of the Fetches that wait are refused so is up to
// its threads, and the enumeration knows one of them only.
func (m *bruteMessage) ends() bool {
	e, ok := m.event.(*kraft.ReceiveFetchResponse)
	return ok && m.reply && e.PartitionAnswer.Error == kraft.BrokerNotAvailable
}

// written reports whether the node had written an answer with records before the window begins. What records are in it the search cannot
// be given: it takes a leader's log to be as long as its answers show.
func (w *bruteWindow) written(i int) bool {
	m := w.seen[i]
	if e, ok := m.event.(*kraft.ReceiveFetchResponse); !ok || len(e.Batches) == 0 {
		return false
	}
	on := func(o *bruteMessage) bool { return o.conn == m.conn }
	return slices.ContainsFunc(w.start.said, func(s bruteSaid) bool { return on(s.asked) }) && !slices.ContainsFunc(w.seen[:i], on)
}

// places are those of the window in the order in which they are tried. It begins in the first third: all that the node may have done before
// has to be enumerated, if the window cannot be explained.
func (w *bruteWindow) places(r *rand.Rand) (list []int) {
	from := r.IntN(len(w.seen)/3 + 1)
	for i := range w.seen {
		list = append(list, (from+i)%len(w.seen))
	}
	return list
}

// swap exchanges two answers to requests of one kind that the node has written.
func (w *bruteWindow) swap(t testing.TB, r *rand.Rand) bool {
	for _, i := range w.places(r) {
		for _, k := range w.places(r) {
			a, b := w.seen[i], w.seen[k]
			if a.ends() || b.ends() || w.written(i) || w.written(k) {
				continue
			}
			if a.reply && b.reply && a.from == w.start.id && b.from == w.start.id && a.key == b.key && !bytes.Equal(a.body, b.body) {
				w.replace(t, i, b.body)
				w.replace(t, k, a.body)
				w.altered = "two answers are swapped"
				return true
			}
		}
	}
	return false
}

func (w *bruteWindow) replace(t testing.TB, i int, body []byte) {
	m := *w.seen[i]
	m.body = body
	m.decode(t)
	w.seen[i] = &m
}

// remove takes out an answer to the node, or a request to it with its answer.
func (w *bruteWindow) remove(r *rand.Rand) bool {
	for _, i := range w.places(r) {
		m := w.seen[i]
		if m.closes || m.to != w.start.id {
			continue
		}
		if m.reply {
			w.seen = slices.Delete(w.seen, i, i+1)
			w.altered = "an answer is removed"
			return true
		}
		answer := slices.IndexFunc(w.seen[i:], func(a *bruteMessage) bool { return a.reply && a.conn == m.conn })
		if answer < 0 {
			continue
		}
		w.seen = slices.Delete(w.seen, i+answer, i+answer+1)
		w.seen = slices.Delete(w.seen, i, i+1)
		w.altered = "a request is removed, and its answer"
		return true
	}
	return false
}

// change changes a field of a message, more often of one that the node has written.
func (w *bruteWindow) change(t testing.TB, r *rand.Rand) bool {
	for _, i := range w.places(r) {
		m := w.seen[i]
		if m.closes || m.to == w.start.id && r.IntN(4) > 0 {
			continue
		}
		var d wire.Decoder
		var body []byte
		if m.reply {
			decoded, err := d.Response(m.key, m.version, m.body)
			if err != nil {
				t.Fatal(err)
			}
			if !changeAnswer(decoded, r) {
				continue
			}
			body = decoded.AppendTo(nil)
		} else {
			decoded, err := d.Request(m.key, m.version, m.body)
			if err != nil {
				t.Fatal(err)
			}
			if !changeRequest(decoded, r) {
				continue
			}
			body = decoded.AppendTo(nil)
		}
		if bytes.Equal(body, m.body) {
			continue
		}
		w.replace(t, i, body)
		w.altered = "a field is changed: " + w.seen[i].String()
		return true
	}
	return false
}

func moved[T int32 | int64](v *T, r *rand.Rand) {
	if *v += 1; r.IntN(2) == 0 && *v >= 2 {
		*v -= 2
	}
}

func another(id *int32, r *rand.Rand) {
	*id = []int32{-1, 1, 2, 3}[r.IntN(4)]
}

// reached makes an answer say where its leader can be reached, as it would: that is not compared by the search, which does not know it.
func reached(a kmsg.Response, leader int32) {
	at := simAddress(kraft.NodeID(leader))
	switch a := a.(type) {
	case *kmsg.VoteResponse:
		if a.NodeEndpoints = nil; leader >= 0 {
			a.NodeEndpoints = []kmsg.VoteResponseNodeEndpoint{{NodeID: leader, Host: at.Host, Port: at.Port}}
		}
	case *kmsg.BeginQuorumEpochResponse:
		if a.NodeEndpoints = nil; leader >= 0 {
			a.NodeEndpoints = []kmsg.BeginQuorumEpochResponseNodeEndpoint{{NodeID: leader, Host: at.Host, Port: at.Port}}
		}
	case *kmsg.EndQuorumEpochResponse:
		if a.NodeEndpoints = nil; leader >= 0 {
			a.NodeEndpoints = []kmsg.EndQuorumEpochResponseNodeEndpoint{{NodeID: leader, Host: at.Host, Port: at.Port}}
		}
	case *kmsg.FetchResponse:
		if a.Brokers = nil; leader >= 0 {
			a.Brokers = []kmsg.FetchResponseBroker{{NodeID: leader, Host: at.Host, Port: int32(at.Port)}}
		}
	}
}

func changeRequest(q kmsg.Request, r *rand.Rand) bool {
	switch q := q.(type) {
	case *kmsg.VoteRequest:
		p := &q.Topics[0].Partitions[0]
		switch r.IntN(4) {
		case 0:
			moved(&p.CandidateEpoch, r)
		case 1:
			moved(&p.LastOffset, r)
		case 2:
			moved(&p.LastOffsetEpoch, r)
		default:
			p.PreVote = !p.PreVote && q.Version >= 2
		}
	case *kmsg.BeginQuorumEpochRequest:
		moved(&q.Topics[0].Partitions[0].LeaderEpoch, r)
	case *kmsg.EndQuorumEpochRequest:
		moved(&q.Topics[0].Partitions[0].LeaderEpoch, r)
	case *kmsg.FetchRequest:
		p := &q.Topics[0].Partitions[0]
		switch r.IntN(3) {
		case 0:
			moved(&p.FetchOffset, r)
		case 1:
			moved(&p.CurrentLeaderEpoch, r)
		default:
			moved(&p.LastFetchedEpoch, r)
		}
	default:
		return false
	}
	return true
}

func changeAnswer(a kmsg.Response, r *rand.Rand) bool {
	state := func(code *int16, leader, epoch *int32) {
		switch r.IntN(3) {
		case 0:
			*code = []int16{int16(kraft.None), int16(kraft.FencedLeaderEpoch), int16(kraft.NotLeaderOrFollower), int16(kraft.BrokerNotAvailable)}[r.IntN(4)]
		case 1:
			another(leader, r)
			reached(a, *leader)
		default:
			moved(epoch, r)
		}
	}
	switch a := a.(type) {
	case *kmsg.VoteResponse:
		if p := &a.Topics[0].Partitions[0]; r.IntN(2) == 0 {
			p.VoteGranted = !p.VoteGranted
		} else {
			state(&p.ErrorCode, &p.LeaderID, &p.LeaderEpoch)
		}
	case *kmsg.BeginQuorumEpochResponse:
		p := &a.Topics[0].Partitions[0]
		state(&p.ErrorCode, &p.LeaderID, &p.LeaderEpoch)
	case *kmsg.EndQuorumEpochResponse:
		p := &a.Topics[0].Partitions[0]
		state(&p.ErrorCode, &p.LeaderID, &p.LeaderEpoch)
	case *kmsg.FetchResponse:
		p := &a.Topics[0].Partitions[0]
		switch r.IntN(4) {
		case 0:
			state(&p.ErrorCode, &p.CurrentLeader.LeaderID, &p.CurrentLeader.LeaderEpoch)
		case 1:
			p.RecordBatches = []byte{}
		case 2:
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = p.CurrentLeader.LeaderEpoch-1, max(0, p.HighWatermark)
		default:
			moved(&p.HighWatermark, r)
		}
	default:
		return false
	}
	return true
}

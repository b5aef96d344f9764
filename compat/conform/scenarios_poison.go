package conform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// errEnded says that the target did not live through what it was given.
var errEnded = errors.New("the target has ended")

// poison is what a peer gives the target once; given is called when it has left.
type poison struct {
	name, says string
	kills      *killer
	give       func(w *own, given func()) error
}

// poisonScenarios are what a follower must live through of its leader's answers, and what ends those of Kafka.
func poisonScenarios(compat.Profile) (list []Scenario) {
	for _, x := range append(strangeAnswers(), deadlyAnswers()...) {
		group, source := "hostile/answers/", "Kafka: KafkaRaftClient.handleResponse; a message that is no answer is passed over"
		if x.kills != nil {
			group, source = "hostile/killers/", "Kafka: "+x.kills.issue
			x.says += ". " + x.kills.explain()
		}
		s := scenario(group+x.name, x.says, "follow voter a, and give the target this once", source, following(func(w *own) error { return w.livesThrough(&x) }))
		s.kills, s.hostile = x.kills, true
		list = append(list, s)
	}
	return list
}

// livesThrough gives the poison and waits for the target's end, or for it to go on.
func (w *own) livesThrough(x *poison) error {
	old, err := newWitness(w.ctx, &w.o.Options, w.t)
	if err != nil {
		return err
	}
	defer old.client.close()
	gone := make(chan struct{}, 1)
	given := func() {
		if w.o.poisoned != nil {
			w.o.poisoned()
		}
		select {
		case gone <- struct{}{}:
		default:
		}
	}
	if err := x.give(w, given); err != nil {
		return err
	}
	select {
	case <-gone:
	case <-time.After(arrival):
		return fmt.Errorf("the target did not ask for it within %v", arrival)
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	old.lingers(w.o.dying())
	w.peers.drain()
	var r *request
	for end := time.Now().Add(arrival); ; {
		if err := old.speaks(); err != nil {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		r, err = w.heard("go on", arrival/50, func(r *request) bool {
			return r.message.Key() == wire.KeyFetch || r.message.Key() == wire.KeyVote || r.message.Key() == wire.KeyFetchSnapshot
		})
		if err == nil {
			break
		}
		if w.ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
	return w.expect(r.message, r.version, "clusterId=$cluster")
}

// answering gives a spoilt answer to the next Fetch, by what is known when it is prepared: it leaves on another goroutine, while more is
// learnt.
func answering(spoil func(known facts, a *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition)) func(*own, func()) error {
	return func(w *own, given func()) error {
		known := maps.Clone(w.facts)
		w.peers.set(func(p *peers) {
			p.fetch = func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
				a, part := p.emptyFetch(version)
				spoil(known, a, part)
				given()
				return a
			}
		})
		return nil
	}
}

// refusing gives an error code of the whole answer.
func refusing(code kraft.ErrorCode) func(*own, func()) error {
	return answering(func(_ facts, a *kmsg.FetchResponse, _ *kmsg.FetchResponseTopicPartition) {
		a.ErrorCode, a.Topics = int16(code), nil
	})
}

// strangeAnswers are those that Kafka's nodes live through.
func strangeAnswers() []poison {
	type part = *kmsg.FetchResponseTopicPartition
	return []poison{
		{"null-records", "a Fetch answer without records, where there may be none, is passed over", nil, answering(func(_ facts, _ *kmsg.FetchResponse, p part) { p.RecordBatches = nil })},
		{"invalid-request", "an answer that refuses the request as a whole is passed over", nil, refusing(kraft.InvalidRequest)},
		{"unknown-server-error", "an answer with UNKNOWN_SERVER_ERROR is passed over", nil, refusing(kraft.UnknownServerError)},
		{"inconsistent-cluster-id", "an answer that another cluster was meant is passed over", nil, refusing(kraft.InconsistentClusterID)},
		{"unknown-leader-epoch", "an answer that the epoch is not known is passed over", nil, answering(func(_ facts, _ *kmsg.FetchResponse, p part) { p.ErrorCode = int16(kraft.UnknownLeaderEpoch) })},
		{"another-leader-of-a-good-answer", "a good answer that names another leader of the epoch changes nothing", nil, answering(func(known facts, _ *kmsg.FetchResponse, p part) {
			p.CurrentLeader.LeaderID = int32(known["b"].(int64))
		})},
		{"itself-as-leader-of-a-good-answer", "a good answer that names the target as the leader changes nothing", nil, answering(func(known facts, _ *kmsg.FetchResponse, p part) {
			p.CurrentLeader.LeaderID = int32(known["node"].(int64))
		})},
		{"no-topic", "a Fetch answer without a topic is passed over", nil, answering(func(_ facts, a *kmsg.FetchResponse, _ part) { a.Topics = nil })},
		{"two-topics", "a Fetch answer with two topics is passed over", nil, answering(func(_ facts, a *kmsg.FetchResponse, _ part) { a.Topics = append(a.Topics, a.Topics[0]) })},
		{"other-partition", "a Fetch answer about another partition is passed over", nil, answering(func(_ facts, _ *kmsg.FetchResponse, p part) { p.Partition = 7 })},
		{"no-answer", "a connection that ends instead of an answer is opened again", nil, func(w *own, given func()) error {
			w.peers.set(func(p *peers) {
				p.fetch = func(*kmsg.FetchRequest, int16) kmsg.Response { given(); return nil }
			})
			return nil
		}},
	}
}

// raw lets the next answer to a Fetch leave with other bytes.
func raw(spoil func(frame []byte) []byte) func(*own, func()) error {
	return func(w *own, given func()) error {
		w.peers.set(func(p *peers) {
			p.spoil = func(frame []byte) []byte { given(); return spoil(frame) }
		})
		return nil
	}
}

// deadlyAnswers end nodes of Kafka.
func deadlyAnswers() []poison {
	type part = *kmsg.FetchResponseTopicPartition
	handling := func(method string) *killer { return &killer{"KafkaRaftClient." + method, every} }
	sending := &killer{"InterBrokerSendThread.pollOnce, which lets no exception pass", every}
	return []poison{
		{"answer/invalid-request-at-the-partition", "an answer that refuses the partition as invalid is passed over", handling("maybeHandleCommonResponse"), answering(func(_ facts, _ *kmsg.FetchResponse, p part) {
			p.ErrorCode = int16(kraft.InvalidRequest)
		})},
		{"answer/cluster-authorization-failed", "an answer with CLUSTER_AUTHORIZATION_FAILED is passed over", handling("handleTopLevelError"), refusing(kraft.ClusterAuthorizationFailed)},
		{"answer/a-stranger-leads", "an answer that names an unknown leader of a newer epoch, without an endpoint, is passed over", handling("maybeTransition"), answering(func(known facts, a *kmsg.FetchResponse, p part) {
			p.ErrorCode, a.Brokers = int16(kraft.FencedLeaderEpoch), nil
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 77, int32(known["epoch"].(int64))+1
		})},
		{"answer/it-leads-itself", "an error that names the target as the leader is passed over", handling("maybeTransition"), answering(func(known facts, _ *kmsg.FetchResponse, p part) {
			p.ErrorCode, p.CurrentLeader.LeaderID = int16(kraft.NotLeaderOrFollower), int32(known["node"].(int64))
		})},
		{"answer/another-leads", "an error that names another leader of the epoch is passed over", handling("maybeTransition"), answering(func(known facts, _ *kmsg.FetchResponse, p part) {
			p.ErrorCode, p.CurrentLeader.LeaderID = int16(kraft.NotLeaderOrFollower), int32(known["b"].(int64))
		})},
		{"answer/truncation-below-the-high-watermark", "an answer that would take back what is committed is not followed", handling("handleFetchResponse"), committed(func(p part) {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 0
		})},
		{"answer/falling-high-watermark", "a high watermark below the known one is not followed", handling("updateFollowerHighWatermark"), committed(func(p part) { p.HighWatermark = 0 })},
		{"answer/snapshot-without-a-topic", "a FetchSnapshot answer without a topic is passed over", &killer{"MINOR #23185", func(p compat.Profile) bool { return !p.Rules.FetchSnapshotStrictShape }}, func(w *own, given func()) error {
			w.peers.set(func(p *peers) {
				p.snapshot = func(m *kmsg.FetchSnapshotRequest) kmsg.Response {
					given()
					return m.ResponseKind()
				}
			})
			return answering(func(known facts, _ *kmsg.FetchResponse, p part) {
				p.SnapshotID.EndOffset, p.SnapshotID.Epoch = known["end"].(int64)+100, int32(known["endEpoch"].(int64))
			})(w, func() {})
		}},
		{"answer/cut-short", "an answer that ends too early costs its connection, no more", sending, raw(func(frame []byte) []byte {
			return resized(frame[:len(frame)/2])
		})},
		{"answer/other-correlation-id", "an answer to what was not asked costs its connection, no more", sending, raw(func(frame []byte) []byte {
			frame[7] ^= 0x55
			return frame
		})},
		{"answer/empty", "an answer without a correlation id costs its connection, no more", sending, raw(func([]byte) []byte { return []byte{0, 0, 0, 0} })},
		{"answer/noise", "an answer that is none costs its connection, no more", sending, raw(func(frame []byte) []byte {
			for i := 8; i < len(frame); i++ {
				frame[i] = byte(i * 37)
			}
			return frame
		})},
		{"answer/huge", "an answer that claims two thousand million bytes costs its connection, no more", sending, raw(func(frame []byte) []byte {
			binary.BigEndian.PutUint32(frame, 1<<31-1)
			return frame
		})},
		{"vote-for-itself", "a Vote in the target's own name is refused", handling("handleVoteRequest, QuorumState.unattachedAddVotedState"), func(w *own, given func()) error {
			if err := w.fresh(); err != nil {
				return err
			}
			req := baseline(wire.KeyVote, 2)
			if err := w.facts.edit(req, "p.replicaId=$node p.replicaEpoch=$epoch "+bestLog, 2); err != nil {
				return err
			}
			frame, _ := w.conn.frame(req, header{})
			given()
			_, err := w.conn.conn.Write(frame)
			w.conn.close() // the answer, if it comes, is of no interest
			return err
		}},
	}
}

// committed tells the target a high watermark and then gives it an answer that contradicts it.
func committed(spoil func(p *kmsg.FetchResponseTopicPartition)) func(*own, func()) error {
	return func(w *own, given func()) error {
		then := func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
			a, part := w.peers.emptyFetch(version)
			spoil(part)
			given()
			return a
		}
		w.peers.set(func(p *peers) {
			p.fetch = func(f *kmsg.FetchRequest, version int16) kmsg.Response {
				a, part := p.emptyFetch(version)
				part.HighWatermark = 1
				if known := f.Topics[0].Partitions[0].HighWatermark; version >= 18 && known > 1 && known < 1<<62 {
					part.HighWatermark = known
				}
				p.set(func(p *peers) { p.fetch = then })
				return a
			}
		})
		return nil
	}
}

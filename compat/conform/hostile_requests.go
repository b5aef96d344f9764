package conform

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

const requestSource = "Kafka: RequestContext.parseRequest, the generated classes of org.apache.kafka.common.message"

// framed puts the size in front.
func framed(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// rawRequest is a frame of an api with any body; the header is well-formed.
func rawRequest(key, version int16, body []byte) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(key))
	p = binary.BigEndian.AppendUint16(p, uint16(version))
	p = append(p, 0, 0, 0, 1, 0, 1, 'x')
	if wire.Flexible(key, version) {
		p = append(p, 0)
	}
	return framed(append(p, body...))
}

// headerAttacks are about request headers.
func headerAttacks() (all []Attack) {
	add := func(name, says string, payload ...byte) {
		all = append(all, Attack{
			Case:   Case{ID: "header/" + name, Says: says, Does: says, Source: "Kafka: RequestHeader.parse"},
			strike: func(s *striker) error { return s.throw(framed(payload), true) },
		})
	}
	describe := []byte{0, 55, 0, 2, 0, 0, 0, 1}
	with := func(rest ...byte) []byte { return append(describe[:len(describe):len(describe)], rest...) }
	add("client-id/length-below-null", "the client id's length is -2", with(0xff, 0xfe, 0)...)
	add("client-id/longest", "the client id claims 32767 bytes that are not there", with(0x7f, 0xff, 'x')...)
	add("client-id/not-utf-8", "the client id is no UTF-8", with(0, 3, 0xff, 0xfe, 0xc0, 0, 1, 0)...)
	add("tags/claims-many", "the header claims two thousand million tagged fields", with(0, 0, 0xff, 0xff, 0xff, 0xff, 7)...)
	add("tags/claims-long", "a tagged field of the header claims two thousand million bytes", with(0, 0, 1, 9, 0xff, 0xff, 0xff, 0xff, 7)...)
	add("tags/negative", "a tagged field of the header has a length of -1", with(0, 0, 1, 9, 0xff, 0xff, 0xff, 0xff, 0xf)...)
	add("tags/endless-number", "a number of the header goes on and on", append(with(0, 0), filled(20, 0x80)...)...)
	add("tags/twice", "a tagged field of the header is there twice", with(0, 0, 2, 9, 0, 9, 0, 1, 0)...)
	add("tags/falling", "the tagged fields of the header are not in order", with(0, 0, 2, 9, 0, 3, 0, 1, 0)...)
	add("version/lowest", "the version is -32768", 0, 55, 0x80, 0, 0, 0, 0, 1, 0, 0, 0)
	add("version/highest", "the version is 32767", 0, 55, 0x7f, 0xff, 0, 0, 0, 1, 0, 0, 0)
	all = append(all, Attack{
		Case: Case{ID: "header/every-key", Says: "each api key up to 200 comes without a body", Does: "each on its own connection", Source: "Kafka: SocketServer.Processor, ApiKeys"},
		strike: func(s *striker) error {
			for key := int16(-2); key < 200; key++ {
				if err := s.throw(rawRequest(key, 0, nil), true); err != nil {
					return fmt.Errorf("api key %d: %w", key, err)
				}
			}
			return nil
		},
	})
	return all
}

// served are the requests of the raft layer that the suite has a baseline for, and their lowest and highest version.
func served(p compat.Profile, visit func(key, version int16)) {
	for _, api := range p.APIs {
		if baseline(int16(api.API), api.Min) == nil {
			continue
		}
		visit(int16(api.API), api.Min)
		if api.Max != api.Min {
			visit(int16(api.API), api.Max)
		}
	}
}

// bodyAttacks are about bodies that do not follow the schema.
func bodyAttacks(p compat.Profile) (all []Attack) {
	served(p, func(key, version int16) {
		all = append(all, Attack{
			Case: Case{
				ID: fmt.Sprintf("body/v%d/%s", version, wire.Name(key)), Source: requestSource,
				Says: "the body is empty, cut off anywhere, random, all ones, or followed by more",
				Does: "each on its own connection",
			},
			strike: func(s *striker) error {
				for _, body := range s.bodies(key, version) {
					if err := s.throw(rawRequest(key, version, body), true); err != nil {
						return fmt.Errorf("a body of %d bytes: %w", len(body), err)
					}
				}
				return nil
			},
		})
	})
	return all
}

// bodies spoil a harmless body. Whatever of it still reads as a request is harmless too.
func (s *striker) bodies(key, version int16) [][]byte {
	whole := baseline(key, version).AppendTo(nil)
	list := [][]byte{nil, filled(200, 0xff), append(whole[:len(whole):len(whole)], s.noise(100)...)}
	for i := range 12 {
		list = append(list, whole[:len(whole)*i/12])
	}
	for range 12 {
		list = append(list, s.noise(1+s.random.IntN(300)))
	}
	return list
}

// listAttacks are about lists that are long, or say so.
func listAttacks(p compat.Profile) (all []Attack) {
	add := func(key, version int16, name, ask, says string) {
		step := Step{Key: key, Version: version, Ask: ask}
		all = append(all, Attack{
			Case:   Case{ID: fmt.Sprintf("lists/v%d/%s/%s", version, name, wire.Name(key)), Says: says, Source: requestSource, Steps: []Step{step}},
			strike: func(s *striker) error { return s.send(step) },
		})
	}
	for _, api := range p.APIs {
		switch api.API {
		case kraft.VoteAPI, kraft.BeginQuorumEpochAPI, kraft.EndQuorumEpochAPI, kraft.DescribeQuorumAPI, kraft.FetchAPI:
			add(int16(api.API), api.Max, "long", "topics.len=20000", "a list of topics has twenty thousand entries")
			add(int16(api.API), api.Max, "deep", "topics[0].partitions.len=100 topics.len=300", "a list of three hundred topics has a hundred partitions each")
		case kraft.AddRaftVoterAPI, kraft.UpdateRaftVoterAPI:
			add(int16(api.API), api.Max, "long", "listeners.len=100", "a list of listeners has a hundred entries, all of one name") // Kafka takes seconds for a thousand
		}
	}
	served(p, func(key, version int16) {
		all = append(all, Attack{
			Case: Case{
				ID: fmt.Sprintf("lists/v%d/claims-much/%s", version, wire.Name(key)), Source: requestSource,
				Says: "a list or text claims two thousand million entries, at each place of the body where one may be", Does: "each on its own connection",
			},
			strike: func(s *striker) error {
				whole := baseline(key, version).AppendTo(nil)
				claim, places := []byte{0xff, 0xff, 0xff, 0xff, 7}, len(whole)+1 // as a number of flexible versions
				if !wire.Flexible(key, version) {
					claim, places = []byte{0x7f, 0xff, 0xff, 0xff}, max(1, len(whole)-4) // at its end it would be an epoch
				}
				for i := range places {
					if err := s.throw(rawRequest(key, version, append(whole[:i:i], claim...)), true); err != nil {
						return fmt.Errorf("at byte %d: %w", i, err)
					}
				}
				return nil
			},
		})
	})
	return all
}

// send makes a step's request on a connection of its own.
func (s *striker) send(step Step) error {
	req, err := step.request(s.t.facts)
	if err != nil {
		return err
	}
	frame, _ := (&client{}).frame(req, step.Header)
	return s.throw(frame, true)
}

// valueAttacks are requests that follow the schema and say what nobody would.
func valueAttacks(p compat.Profile) (all []Attack) {
	for _, x := range []struct {
		name, says string
		key        int16
		asks       string
	}{
		{"fetch/lowest", "a Fetch asks for the lowest of everything", wire.KeyFetch, "maxWaitMs=-2147483648 minBytes=-2147483648 maxBytes=-2147483648 p.fetchOffset=-9223372036854775808 p.currentLeaderEpoch=-2147483648 p.lastFetchedEpoch=-2147483648 p.partitionMaxBytes=-2147483648 replicaState.id=-2147483648"},
		{"fetch/highest", "a Fetch asks for the highest of everything", wire.KeyFetch, "minBytes=2147483647 maxBytes=2147483647 p.fetchOffset=$max p.currentLeaderEpoch=2147483647 p.lastFetchedEpoch=2147483647 p.partitionMaxBytes=2147483647 replicaState.id=2147483647"},
		{"fetch/offset-below-zero", "a Fetch of the leader's epoch asks for an offset below zero", wire.KeyFetch, "p.currentLeaderEpoch=$epoch p.fetchOffset=-5 p.lastFetchedEpoch=$epoch"},
		{"fetch/offset-behind-all", "a Fetch of the leader's epoch asks for the highest offset", wire.KeyFetch, "p.currentLeaderEpoch=$epoch p.fetchOffset=$max p.lastFetchedEpoch=$epoch maxWaitMs=1"},
		{"fetch/epoch-of-the-future", "a Fetch says that it has records of a later epoch", wire.KeyFetch, "p.currentLeaderEpoch=$epoch p.fetchOffset=1 p.lastFetchedEpoch=2147483647 maxWaitMs=1"},
		{"fetch/as-the-leader", "a Fetch comes in the leader's own name", wire.KeyFetch, "p.currentLeaderEpoch=$epoch replicaState.id=$leader p.fetchOffset=0 maxWaitMs=1"},
		{"fetch-snapshot/lowest", "a FetchSnapshot asks for the lowest of everything", wire.KeyFetchSnapshot, "maxBytes=-2147483648 p.position=-9223372036854775808 p.currentLeaderEpoch=$epoch p.snapshotId.endOffset=-9223372036854775808 p.snapshotId.epoch=-2147483648"},
		{"fetch-snapshot/highest", "a FetchSnapshot asks for the highest of everything", wire.KeyFetchSnapshot, "maxBytes=2147483647 p.position=$max p.currentLeaderEpoch=$epoch p.snapshotId.endOffset=$max p.snapshotId.epoch=2147483647"},
		{"vote/lowest", "a Vote says the lowest of everything", wire.KeyVote, "voterId=-2147483648 p.replicaId=-2147483648 p.replicaEpoch=-2147483648 p.lastOffset=-9223372036854775808 p.lastOffsetEpoch=-2147483648"},
		{"vote/log-of-the-future", "a Vote of an older epoch has the highest log end", wire.KeyVote, "p.replicaEpoch=0 p.lastOffset=$max p.lastOffsetEpoch=2147483647"},
		{"begin/lowest", "a BeginQuorumEpoch says the lowest of everything", wire.KeyBeginQuorumEpoch, "voterId=-2147483648 p.leaderId=-2147483648 p.leaderEpoch=-2147483648"},
		{"end/lowest", "an EndQuorumEpoch says the lowest of everything", wire.KeyEndQuorumEpoch, "p.leaderId=-2147483648 p.leaderEpoch=-2147483648"},
		{"end/candidates", "an EndQuorumEpoch of an older epoch prefers twenty thousand candidates", wire.KeyEndQuorumEpoch, "p.leaderEpoch=0 p.preferredCandidates.len=20000"},
		{"cluster-id/long", "a cluster id has thirty thousand letters", wire.KeyFetch, "clusterId=" + strings.Repeat("c", 30000)},
		{"topic/long", "a topic's name has thirty thousand letters", wire.KeyDescribeQuorum, "topics[0].topicName=" + strings.Repeat("t", 30000)},
	} {
		r, ok := p.Range(kraft.APIKey(x.key))
		if !ok {
			continue
		}
		step := Step{Key: x.key, Version: min(r.Max, 17), Ask: x.asks}
		all = append(all, Attack{
			Case:   Case{ID: "values/" + x.name, Says: x.says, Source: "Kafka: KafkaRaftClient.handleInboundMessage", Steps: []Step{step}},
			strike: func(s *striker) error { return s.send(step) },
		})
	}
	for _, api := range p.APIs {
		key := int16(api.API)
		if api.Flexible > api.Max || baseline(key, api.Max) == nil {
			continue
		}
		all = append(all, Attack{
			Case: Case{
				ID: "values/tags/" + wire.Name(key), Says: "a request ends in a thousand unknown tagged fields, or in one that is there twice, or in the wrong order",
				Does: "each on its own connection", Source: "KIP-482; " + requestSource,
			},
			strike: func(s *striker) error {
				whole := baseline(key, api.Max).AppendTo(nil)
				many := []byte{0xe8, 7} // a thousand
				for tag := 1000; tag < 2000; tag++ {
					many = append(binary.AppendUvarint(many, uint64(tag)), 1, 0)
				}
				for _, tags := range [][]byte{many, {2, 100, 0, 100, 0}, {2, 100, 0, 99, 0}, {1, 0, 0x7f}, {1, 100, 0xff, 0xff, 0xff, 0xff, 0xf}} {
					if err := s.throw(rawRequest(key, api.Max, append(whole[:len(whole)-1:len(whole)-1], tags...)), true); err != nil {
						return err
					}
				}
				return nil
			},
		})
	}
	return all
}

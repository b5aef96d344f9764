package conform

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/wire"
)

// killerAttacks end nodes of Kafka: what is thrown on the raft thread ends the process.
func killerAttacks(compat.Profile) (all []Attack) {
	add := func(name, says, source string, kills killer, role Role, step Step) {
		all = append(all, Attack{
			Case:   Case{ID: "killers/" + name, Says: says, Source: source, Role: role, Steps: []Step{step}, kills: &kills},
			strike: func(s *striker) error { return s.send(step) },
		})
	}
	const leads = "Kafka: KafkaRaftClient.maybeTransition, QuorumState.transitionToFollower"
	impossible := killer{"KafkaRaftClient.maybeTransition", every}
	for v := range int16(2) {
		add(fmt.Sprintf("v%d/fetch-snapshot-without-a-topic", v), "a FetchSnapshot without a topic is refused", "MINOR #23185; Kafka: RaftUtil.hasValidTopicPartition",
			killer{"MINOR #23185", func(p compat.Profile) bool { return !p.Rules.FetchSnapshotStrictShape }}, AnyRole,
			Step{Key: wire.KeyFetchSnapshot, Version: v, Ask: "topics.len=0"})
	}
	add("begin-of-another-leader", "a BeginQuorumEpoch in the name of another leader of the same epoch is refused", leads, impossible, AnyRole,
		Step{Key: wire.KeyBeginQuorumEpoch, Version: 0, Ask: "p.leaderEpoch=$epoch"})
	add("end-of-another-leader", "an EndQuorumEpoch in the name of another leader of the same epoch is refused", leads, impossible, AnyRole,
		Step{Key: wire.KeyEndQuorumEpoch, Version: 0, Ask: "p.leaderEpoch=$epoch"})
	add("begin-of-itself", "a BeginQuorumEpoch that says to a follower that it leads is refused", leads, impossible, Follower,
		Step{Key: wire.KeyBeginQuorumEpoch, Version: 0, Ask: "p.leaderEpoch=$epoch p.leaderId=$node"})
	add("begin-without-an-endpoint", "a BeginQuorumEpoch of a newer epoch that does not say where its leader is, whom nobody knows, is refused", leads, impossible, AnyRole,
		Step{Key: wire.KeyBeginQuorumEpoch, Version: 0, Ask: "p.leaderEpoch=$epoch+1"})
	add("fetch-snapshot-as-the-leader", "a FetchSnapshot in the leader's own name is refused, or answered", "Kafka: KafkaRaftClient.handleFetchSnapshotRequest, LeaderState.updateCheckQuorumForFollowingVoter",
		killer{"LeaderState.updateCheckQuorumForFollowingVoter", every}, Leader,
		Step{Key: wire.KeyFetchSnapshot, Version: 1, Ask: "replicaId=$leader p.currentLeaderEpoch=$epoch p.snapshotId.endOffset=$snapshotEnd p.snapshotId.epoch=$snapshotEpoch"})
	all = append(all, Attack{
		Case: Case{
			ID: "killers/claims-all-memory", Says: "many frames that claim socket.request.max.bytes and stay away take no memory", Does: "hold 24 connections, each with a frame that claims 100 MiB",
			Source: "KIP-72; Kafka: NetworkReceive, MemoryPool (queued.max.request.bytes, which has no limit by default)",
			kills:  &killer{"KIP-72: queued.max.request.bytes has no limit by default, and memory is taken as a frame claims it", every},
		},
		strike: func(s *striker) error {
			return s.each(24, func(c net.Conn) error {
				return wrote(c, append(binary.BigEndian.AppendUint32(nil, 100<<20), 0, 1))
			})
		},
	})
	return all
}

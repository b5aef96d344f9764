package walk

import (
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// clusterID is mostly the right one.
func (h *history) clusterID() *string {
	id := oracle.ClusterID
	switch h.IntN(25) {
	case 0:
		return nil
	case 1:
		id = "other"
	}
	return &id
}

// epoch is one near the node's.
func (h *history) epoch(id int32) int32 {
	e := h.State(id).Epoch
	switch h.IntN(10) {
	case 0:
		return max(0, e-1)
	case 1:
		return e + 1
	case 2:
		return e + 1 + int32(h.IntN(2))
	case 3:
		if h.chance(100) {
			return -1
		}
	}
	return e
}

// offset is one near the node's log end.
func (h *history) offset(id int32) int64 {
	s := h.State(id)
	switch h.IntN(8) {
	case 0:
		return 0
	case 1:
		return s.End + 1
	case 2:
		return max(0, s.End-1)
	case 3:
		return s.Start + h.Int64N(max(1, s.End-s.Start+1))
	case 4:
		if h.chance(100) {
			return -1
		}
	}
	return s.End
}

func (h *history) topic() string {
	if h.chance(20) {
		return "other"
	}
	return wire.MetadataTopic
}

func (h *history) partitionIndex() int32 {
	if h.chance(20) {
		return 1
	}
	return 0
}

func (h *history) version(highest int16) int16 {
	if h.chance(250) {
		return int16(h.IntN(int(highest) + 1))
	}
	return highest
}

// craft makes up a request that some peer, or somebody who should not, could send.
func (h *history) craft(id int32) {
	for _, other := range h.ids { // there is more to see at a leader
		if h.State(other).Role == "Leader" && h.chance(500) {
			id = other
		}
	}
	if !h.alive(id) {
		return
	}
	var req kmsg.Request
	switch draw := h.IntN(100); {
	case draw < 30:
		req = h.craftVote(id)
	case draw < 50:
		req = h.craftFetch(id)
	case draw < 65:
		req = h.craftFetchSnapshot(id)
	case draw < 73:
		req = h.craftDescribe()
	case draw < 83:
		req = h.craftEnd(id)
	default:
		req = h.craftBegin(id)
	}
	h.request(id, req)
}

// request puts a made-up request before a node, on either of its listeners.
func (h *history) request(id int32, req kmsg.Request) {
	c := h.turns()
	if h.chance(150) {
		c.Listener = "SECOND"
	}
	h.Request(oracle.Message{To: id, API: req.Key(), Version: req.GetVersion(), Body: req.AppendTo(nil)}, c)
}

func (h *history) craftVote(id int32) kmsg.Request {
	r := kmsg.NewPtrVoteRequest()
	r.SetVersion(h.version(2))
	r.ClusterID, r.VoterID = h.clusterID(), id
	if h.chance(80) {
		r.VoterID = h.someID()
	}
	candidate := h.someID()
	if candidate == id && !h.Hostile && h.chance(900) {
		candidate = id%5 + 1
	}
	p := kmsg.NewVoteRequestTopicPartition()
	p.Partition, p.CandidateEpoch, p.CandidateID = h.partitionIndex(), h.epoch(id), candidate
	p.CandidateDirectoryID, p.VoterDirectoryID = h.someDir(candidate), h.someDir(r.VoterID)
	p.LastOffset, p.LastOffsetEpoch = h.offset(id), h.State(id).LastEpoch
	if h.chance(300) {
		p.LastOffsetEpoch = max(0, p.CandidateEpoch-int32(h.IntN(3)))
	}
	p.PreVote = r.Version >= 2 && h.chance(500)
	t := kmsg.NewVoteRequestTopic()
	t.Topic, t.Partitions = h.topic(), append(t.Partitions, p)
	if h.chance(10) {
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// leaderOf is whom a request may name as leader of an epoch. Only a hostile history contradicts what the node knows, which
// ends it.
func (h *history) leaderOf(id, epoch int32) int32 {
	s := h.State(id)
	if h.Hostile && h.chance(300) {
		return h.someID()
	}
	if epoch == s.Epoch && s.Leader >= 0 {
		return s.Leader
	}
	leader := h.someID()
	for leader == id || leader > 5 || leader < 0 {
		leader = 1 + int32(h.IntN(int(max(2, h.Voters))))
	}
	return leader
}

func (h *history) craftBegin(id int32) kmsg.Request {
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.SetVersion(h.version(1))
	r.ClusterID, r.VoterID = h.clusterID(), id
	if h.chance(80) {
		r.VoterID = h.someID()
	}
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.Partition, p.VoterDirectoryID, p.LeaderEpoch = h.partitionIndex(), h.someDir(r.VoterID), h.epoch(id)
	p.LeaderID = h.leaderOf(id, p.LeaderEpoch)
	t := kmsg.NewBeginQuorumEpochRequestTopic()
	t.Topic, t.Partitions = h.topic(), append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	if h.chance(900) || !h.Hostile {
		r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.BeginQuorumEpochRequestLeaderEndpoint{Name: oracle.Channel, Host: hostName(p.LeaderID), Port: 9093})
	}
	if h.chance(200) {
		r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.BeginQuorumEpochRequestLeaderEndpoint{Name: "Second", Host: hostName(p.LeaderID), Port: 9094})
	}
	return r
}

func (h *history) craftEnd(id int32) kmsg.Request {
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.SetVersion(h.version(1))
	r.ClusterID = h.clusterID()
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.Partition, p.LeaderEpoch = h.partitionIndex(), h.epoch(id)
	p.LeaderID = h.leaderOf(id, p.LeaderEpoch)
	for range h.IntN(4) {
		c := h.someID()
		p.PreferredSuccessors = append(p.PreferredSuccessors, c)
		p.PreferredCandidates = append(p.PreferredCandidates, kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{CandidateID: c, CandidateDirectoryID: h.someDir(c)})
	}
	t := kmsg.NewEndQuorumEpochRequestTopic()
	t.Topic, t.Partitions = h.topic(), append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	if h.chance(700) || p.LeaderEpoch > h.State(id).Epoch && !h.Hostile {
		r.LeaderEndpoints = append(r.LeaderEndpoints, kmsg.EndQuorumEpochRequestLeaderEndpoint{Name: oracle.Channel, Host: hostName(p.LeaderID), Port: 9093})
	}
	return r
}

func (h *history) craftFetch(id int32) kmsg.Request {
	r := kmsg.NewPtrFetchRequest()
	version := h.maxFetch() - int16(h.IntN(2))
	if h.chance(200) {
		version = 12 + int16(h.IntN(6))
	}
	r.SetVersion(version)
	r.ClusterID, r.MaxWaitMillis, r.MinBytes = h.clusterID(), []int32{0, 100, 500, 500, 500}[h.IntN(5)], 0
	r.MaxBytes = []int32{1 << 20, 8 << 20, 100, 1}[h.IntN(4)]
	if h.chance(20) {
		r.MaxWaitMillis = -1
	}
	replica := h.someID()
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = h.partitionIndex(), h.epoch(id), h.offset(id)
	p.LastFetchedEpoch = h.State(id).LastEpoch
	if h.chance(200) {
		p.LastFetchedEpoch = max(0, p.LastFetchedEpoch-1)
	}
	if h.chance(30) {
		p.LastFetchedEpoch += 2
	}
	if version >= 15 {
		r.ReplicaState.ID = replica
	} else {
		r.ReplicaID = replica
	}
	if version >= 17 {
		p.ReplicaDirectoryID = h.someDir(replica)
	}
	p.HighWatermark = math.MaxInt64
	if version >= 18 {
		p.HighWatermark = []int64{-1, h.State(id).HighWatermark, h.State(id).HighWatermark - 1, math.MaxInt64, 0}[h.IntN(5)]
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = h.topic(), wire.MetadataTopicID, append(t.Partitions, p)
	if h.chance(20) {
		t.TopicID = [16]byte{1}
	}
	r.Topics = append(r.Topics, t)
	return r
}

func (h *history) craftFetchSnapshot(id int32) kmsg.Request {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.SetVersion(h.version(1))
	replica := h.someID()
	if replica == id && !h.Hostile {
		replica = 9
	}
	r.ClusterID, r.ReplicaID, r.MaxBytes = h.clusterID(), replica, []int32{1 << 20, 50, 1}[h.IntN(3)]
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Position = h.partitionIndex(), h.epoch(id), []int64{0, 0, 10, 100, 5000, -1}[h.IntN(6)]
	if s := h.State(id).Snapshots; len(s) > 0 && h.chance(800) {
		last := s[h.IntN(len(s))]
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = last[0], int32(last[1])
	} else {
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = h.offset(id), h.State(id).LastEpoch
	}
	if r.Version >= 1 {
		p.ReplicaDirectoryID = h.someDir(replica)
	}
	t := kmsg.NewFetchSnapshotRequestTopic()
	t.Topic, t.Partitions = h.topic(), append(t.Partitions, p)
	if h.chance(20) {
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	if h.chance(20) {
		r.Topics = append(r.Topics, t)
	}
	if h.Hostile && h.chance(20) {
		r.Topics = nil
	}
	return r
}

func (h *history) craftDescribe() kmsg.Request {
	r := kmsg.NewPtrDescribeQuorumRequest()
	r.SetVersion(h.version(2))
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic, t.Partitions = h.topic(), append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: h.partitionIndex()})
	r.Topics = append(r.Topics, t)
	if h.chance(20) {
		r.Topics = append(r.Topics, t)
	}
	return r
}

// changeVoters asks for a voter change, mostly of the leader.
func (h *history) changeVoters(id int32) {
	for _, other := range h.ids {
		if h.State(other).Role == "Leader" && h.chance(800) {
			id = other
		}
	}
	if !h.alive(id) {
		return
	}
	voter := h.someID()
	dir := h.someDir(voter)
	kind := h.IntN(3)
	if h.chance(600) { // what an administrator would ask for
		s := h.State(id)
		var keys []string
		if kind = h.IntN(3); kind == 0 {
			for _, o := range s.Observers {
				keys = append(keys, o.Key)
			}
		} else {
			for _, v := range s.Voters {
				keys = append(keys, v.Key)
			}
		}
		if len(keys) > 0 {
			voter, dir = parseKey(keys[h.IntN(len(keys))])
		}
	}
	switch kind {
	case 0:
		r := kmsg.NewPtrAddRaftVoterRequest()
		r.SetVersion(h.version(h.maxAddVoter()))
		r.ClusterID, r.TimeoutMillis, r.VoterID, r.VoterDirectoryID = h.clusterID(), 1000, voter, dir
		r.AckWhenCommitted = r.Version == 0 || h.chance(500)
		for _, l := range h.listeners(voter) {
			r.Listeners = append(r.Listeners, kmsg.AddRaftVoterRequestListener{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		h.request(id, r)
	case 1:
		r := kmsg.NewPtrRemoveRaftVoterRequest()
		r.ClusterID, r.VoterID, r.VoterDirectoryID = h.clusterID(), voter, dir
		h.request(id, r)
	default:
		if voter == id && !h.Hostile {
			return // ends the leader
		}
		r := kmsg.NewPtrUpdateRaftVoterRequest()
		r.ClusterID, r.CurrentLeaderEpoch, r.VoterID, r.VoterDirectoryID = h.clusterID(), h.near(h.State(id).Epoch), voter, dir
		r.KRaftVersionFeature.MaxSupportedVersion = int16(h.IntN(20) / 2 % 3)
		if h.chance(700) {
			r.KRaftVersionFeature.MaxSupportedVersion = 1
		}
		if h.chance(30) {
			r.KRaftVersionFeature.MinSupportedVersion = int16(h.IntN(3) - 1)
		}
		for _, l := range h.listeners(voter) {
			r.Listeners = append(r.Listeners, kmsg.UpdateRaftVoterRequestListener{Name: l.Name, Host: l.Host, Port: l.Port})
		}
		h.request(id, r)
	}
}

// parseKey reads a replica key as states show it: id/directory id.
func parseKey(key string) (int32, kraft.DirectoryID) {
	text, dirText, _ := strings.Cut(key, "/")
	id, _ := strconv.Atoi(text)
	dir, _ := kraft.ParseDirectoryID(dirText)
	return int32(id), dir
}

type listener struct {
	Name, Host string
	Port       uint16
}

// listeners are those of a node, now and then with another port or without the channel listener.
func (h *history) listeners(id int32) []listener {
	var list []listener
	if h.chance(950) {
		list = append(list, listener{oracle.Channel, hostName(id), 9093})
	}
	if h.Listeners > 1 && h.chance(800) {
		list = append(list, listener{"SECOND", hostName(id), 9094})
	}
	if len(list) > 0 && h.chance(100) {
		list[0].Port = 9999
	}
	return list
}

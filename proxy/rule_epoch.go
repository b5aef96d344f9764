package proxy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// epochField names where a message states its epoch, for its request and its response; "" where it states none.
var epochField = map[int16][2]string{
	wire.KeyFetch:            {"Topics.Partitions.CurrentLeaderEpoch", "Topics.Partitions.CurrentLeader.LeaderEpoch"},
	wire.KeyVote:             {"Topics.Partitions.CandidateEpoch", "Topics.Partitions.LeaderEpoch"},
	wire.KeyBeginQuorumEpoch: {"Topics.Partitions.LeaderEpoch", "Topics.Partitions.LeaderEpoch"},
	wire.KeyEndQuorumEpoch:   {"Topics.Partitions.LeaderEpoch", "Topics.Partitions.LeaderEpoch"},
	wire.KeyFetchSnapshot:    {"Topics.Partitions.CurrentLeaderEpoch", "Topics.Partitions.CurrentLeader.LeaderEpoch"},
	wire.KeyUpdateRaftVoter:  {"CurrentLeaderEpoch", "CurrentLeader.LeaderEpoch"},
}

// epochMessages lists the messages that state an epoch.
func epochMessages() string {
	var names []string
	for key := range epochField {
		names = append(names, wire.Name(key))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// statedEpoch reads the epoch that a message states, of its first partition; -1 if it states none or cannot be read.
func statedEpoch(d *wire.Decoder, key, version int16, dir wire.Direction, body []byte) kraft.Epoch {
	path := epochField[key][dir]
	if path == "" {
		return -1
	}
	var m any
	var err error
	if dir == wire.Request {
		m, err = d.Request(key, version, body)
	} else {
		m, err = d.Response(key, version, body)
	}
	if err != nil {
		return -1
	}
	v := reflect.ValueOf(m).Elem()
	for part := range strings.SplitSeq(path, ".") {
		for v.Kind() == reflect.Slice {
			if v.Len() == 0 {
				return -1
			}
			v = v.Index(0)
		}
		v = v.FieldByName(part)
	}
	return kraft.Epoch(v.Int())
}

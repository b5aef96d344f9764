package shadow

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

// alterations are lies of a controller that keep every shape.
var alterations = []alteration{
	{"watermark raised", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 0 {
			return false
		}
		p.HighWatermark += 3
		return true
	})},
	{"watermark lowered", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.HighWatermark -= 3
		return true
	})},
	{"watermark forgotten", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.HighWatermark = -1
		return true
	})},
	{"a divergence invented", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || len(p.RecordBatches) > 0 {
			return false
		}
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 0
		return true
	})},
	{"another leader named", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 {
			return false
		}
		p.CurrentLeader.LeaderID = p.CurrentLeader.LeaderID%3 + 1
		return true
	})},
	{"a later epoch named", wire.KeyFetch, 6, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		p.CurrentLeader.LeaderEpoch++
		return true
	})},
	{"leadership denied", wire.KeyFetch, 0, fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.ErrorCode, p.HighWatermark, p.RecordBatches = 74, -1, nil
		return true
	})},
	{"vote turned round", wire.KeyVote, 0, func(c *alteredAnswer) bool {
		r := kmsg.NewPtrVoteResponse()
		r.SetVersion(c.version)
		if r.ReadFrom(c.body) != nil || len(r.Topics) == 0 {
			return false
		}
		p := &r.Topics[0].Partitions[0]
		p.VoteGranted = !p.VoteGranted
		c.out = r.AppendTo(nil)
		return true
	}},
	{"vote in a later epoch", wire.KeyVote, 0, func(c *alteredAnswer) bool {
		r := kmsg.NewPtrVoteResponse()
		r.SetVersion(c.version)
		if r.ReadFrom(c.body) != nil || len(r.Topics) == 0 {
			return false
		}
		r.Topics[0].Partitions[0].LeaderEpoch += 2
		c.out = r.AppendTo(nil)
		return true
	}},
	{"announcement refused", wire.KeyBeginQuorumEpoch, 0, func(c *alteredAnswer) bool {
		r := kmsg.NewPtrBeginQuorumEpochResponse()
		r.SetVersion(c.version)
		if r.ReadFrom(c.body) != nil || len(r.Topics) == 0 {
			return false
		}
		r.Topics[0].Partitions[0].ErrorCode = 74
		c.out = r.AppendTo(nil)
		return true
	}},
}

func fetchLie(change func(*kmsg.FetchResponseTopicPartition) bool) func(c *alteredAnswer) bool {
	return func(c *alteredAnswer) bool {
		r := kmsg.NewPtrFetchResponse()
		r.SetVersion(c.version)
		if r.ReadFrom(c.body) != nil || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].TopicID != wire.MetadataTopicID {
			return false
		}
		if !change(&r.Topics[0].Partitions[0]) {
			return false
		}
		c.out = r.AppendTo(nil)
		return true
	}
}

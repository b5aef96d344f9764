package shadow

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

// alterations are lies of a controller that keep every shape.
var alterations = []alteration{
	{name: "watermark raised", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 0 {
			return false
		}
		p.HighWatermark += 3
		return true
	})},
	{name: "watermark lowered", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.HighWatermark -= 3
		return true
	})},
	{name: "watermark forgotten", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.HighWatermark = -1
		return true
	})},
	{name: "a divergence invented", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || len(p.RecordBatches) > 0 {
			return false
		}
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 0
		return true
	})},
	{name: "another leader named", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 {
			return false
		}
		p.CurrentLeader.LeaderID = p.CurrentLeader.LeaderID%3 + 1
		return true
	})},
	{name: "a later epoch named", key: wire.KeyFetch, skip: 6, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		p.CurrentLeader.LeaderEpoch++
		return true
	})},
	{name: "leadership denied", key: wire.KeyFetch, change: fetchLie(func(p *kmsg.FetchResponseTopicPartition) bool {
		if p.ErrorCode != 0 || p.HighWatermark < 4 {
			return false
		}
		p.ErrorCode, p.HighWatermark, p.RecordBatches = 74, -1, nil
		return true
	})},
	{name: "vote turned round", key: wire.KeyVote, change: func(c *alteredAnswer) bool {
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
	{name: "vote in a later epoch", key: wire.KeyVote, change: func(c *alteredAnswer) bool {
		r := kmsg.NewPtrVoteResponse()
		r.SetVersion(c.version)
		if r.ReadFrom(c.body) != nil || len(r.Topics) == 0 {
			return false
		}
		r.Topics[0].Partitions[0].LeaderEpoch += 2
		c.out = r.AppendTo(nil)
		return true
	}},
	{name: "announcement refused", key: wire.KeyBeginQuorumEpoch, change: func(c *alteredAnswer) bool {
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

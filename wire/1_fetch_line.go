package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// line prints the request, "epoch 3, from 48@2, hw 46".
func (f *FetchRequest) line(version int16, l line) line {
	l = l.add("epoch ").num(int64(f.Epoch)).add(", from ").logEnd(int64(f.Offset), int32(f.LastFetchedEpoch))
	switch f.HighWatermark {
	case NoHighWatermark:
	case -1:
		l = l.add(", hw unknown")
	default:
		l = l.add(", hw ").num(int64(f.HighWatermark))
	}
	if f.ReplicaID < 0 {
		l = l.add(", not a replica")
	}
	if version >= 13 && f.TopicID != MetadataTopicID {
		l = l.add(", topic ").uuid(f.TopicID)
	}
	return l
}

// line prints the answer: an error, a diverging epoch, a snapshot id, or records and high watermark; then the leader.
func (f *FetchResponse) line(l line) line {
	if f.ErrorCode != kraft.None {
		return l.code(int16(f.ErrorCode))
	}
	switch {
	case f.PartitionError != kraft.None:
		l = l.code(int16(f.PartitionError))
	case f.DivergingEpoch >= 0:
		l = l.add("diverging ").logEnd(int64(f.DivergingEnd), int32(f.DivergingEpoch))
	case f.SnapshotEnd >= 0 || f.SnapshotEpoch >= 0:
		l = l.add("snapshot ").logEnd(int64(f.SnapshotEnd), int32(f.SnapshotEpoch))
	default:
		if f.HighWatermark == -1 {
			l = l.add("hw unknown")
		} else {
			l = l.add("hw ").num(int64(f.HighWatermark))
		}
		l = l.records(f.Records)
	}
	l = l.leader(int32(f.LeaderID), int32(f.LeaderEpoch))
	if f.Endpoints > 0 && f.PartitionError != kraft.None {
		l = appendHost(l.add(" at "), f.Host, int64(f.Port))
	}
	return l
}

// records prints the offsets of the batches, "records 48..50".
func (l line) records(b []byte) line {
	if len(b) == 0 {
		return l.add(", no records")
	}
	first, last, whole, state := batchOffsets(b)
	l = l.add(", records ")
	if whole > 0 {
		l = l.num(int64(first)).add("..").num(int64(last))
	}
	switch {
	case state == batchCut && whole > 0:
		l = l.add(" and a cut batch")
	case state == batchCut:
		l = l.add("cut within the first batch")
	case state == batchBad && whole > 0:
		l = l.add(" and a malformed batch")
	case state == batchBad:
		l = l.add("malformed")
	}
	return l
}

func fetchRequestLine(l line, m *kmsg.FetchRequest) line {
	return l.add("not of KRaft's shape: ").num(int64(len(m.Topics))).add(" topics, session ").num(int64(m.SessionID))
}

func fetchResponseLine(l line, m *kmsg.FetchResponse) line {
	return l.add("not of KRaft's shape: ").num(int64(len(m.Topics))).add(" topics, session ").num(int64(m.SessionID))
}

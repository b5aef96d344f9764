package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// The frames below are what Kafka 4.2's own encoders write, without the size.
const (
	goldenFetchV17 = `0001 0011 00000008 000d726166742d636c69656e742d32 00
		000001f4 00000000 00800000 00 00000000 ffffffff 02 00000000000000000000000000000001 02
		00000000 00000005 0000000000000064 00000004 ffffffffffffffff 00000000 01 00 10 22222222222222222222222222222222
		00 01 01 02 00 17 1741414141414141414141414141414141414141414151 01 0d 00000002 ffffffffffffffff 00`
	goldenFetchV18 = `0001 0012 00000008 000d726166742d636c69656e742d32 00
		000001f4 00000000 00800000 00 00000000 ffffffff 02 00000000000000000000000000000001 02
		00000000 00000005 0000000000000064 00000004 ffffffffffffffff 00000000 02 00 10 22222222222222222222222222222222
		01 08 0000000000000063
		00 01 01 02 00 17 1741414141414141414141414141414141414141414151 01 0d 00000002 ffffffffffffffff 00`
	goldenFetchedV17 = `00000008 00 00000000 0000 00000000 02 00000000000000000000000000000001 02 00000000 0006
		ffffffffffffffff ffffffffffffffff 0000000000000000 01 ffffffff 01 01 01 09 00000001 00000005 00
		00 01 00 0e 02 00000001 036331 00002385 00 00`
)

func goldenFetch(t testing.TB, frame string) (RequestHeader, []byte) {
	h, body, err := ParseRequestHeader(unhex(t, frame))
	if err != nil {
		t.Fatal(err)
	}
	return h, body
}

func TestFetchRequest_GoldenBytes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame string
		hw    kraft.Offset
	}{
		{"v17", goldenFetchV17, NoHighWatermark},
		{"v18", goldenFetchV18, 99},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, body := goldenFetch(t, tt.frame)
			var f FetchRequest
			if err := f.Parse(h.Version, body); err != nil {
				t.Fatal(err)
			}
			if string(h.ClientID) != "raft-client-2" || h.Key != KeyFetch {
				t.Errorf("header %+v", h)
			}
			if string(f.ClusterID) != "AAAAAAAAAAAAAAAAAAAAAQ" || f.TopicID != MetadataTopicID {
				t.Errorf("cluster %q, topic %x", f.ClusterID, f.TopicID)
			}
			f.ClusterID = nil
			want := FetchRequest{
				ReplicaID: 2, ReplicaEpoch: -1, DirectoryID: dirD2, TopicID: MetadataTopicID, MaxWaitMs: 500,
				MaxBytes: 8388608, Epoch: 5, Offset: 100, LastFetchedEpoch: 4, LogStartOffset: -1, HighWatermark: tt.hw,
			}
			if got, want := dump(f), dump(want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestFetchResponse_GoldenBytes(t *testing.T) {
	_, body, err := ParseResponseHeader(unhex(t, goldenFetchedV17), KeyFetch, 17)
	if err != nil {
		t.Fatal(err)
	}
	var f FetchResponse
	if err := f.Parse(17, body); err != nil {
		t.Fatal(err)
	}
	if f.PartitionError != kraft.NotLeaderOrFollower || f.LeaderID != 1 || f.LeaderEpoch != 5 || f.HighWatermark != -1 ||
		f.EndpointNode != 1 || string(f.Host) != "c1" || f.Port != 9093 || f.Endpoints != 1 || !f.HasPartition {
		t.Errorf("%+v", f)
	}
	if f.Records == nil || len(f.Records) != 0 {
		t.Errorf("records %v, want empty but not null", f.Records)
	}
}

func TestFetch_RefusesOtherShapes(t *testing.T) {
	twoTopics := kmsg.NewFetchRequest()
	twoTopics.Topics = make([]kmsg.FetchRequestTopic, 2)
	twoPartitions := kmsg.NewFetchRequest()
	twoPartitions.Topics = []kmsg.FetchRequestTopic{{Partitions: make([]kmsg.FetchRequestTopicPartition, 2)}}
	none := kmsg.NewFetchRequest()
	for name, req := range map[string]kmsg.FetchRequest{"two topics": twoTopics, "two partitions": twoPartitions, "no topic": none} {
		for _, version := range []int16{4, 12, 17} {
			req.Version = version
			var f FetchRequest
			if err := f.Parse(version, req.AppendTo(nil)); !errors.Is(err, ErrShape) {
				t.Errorf("%s, v%d: %v", name, version, err)
			}
		}
	}
	resp := kmsg.NewFetchResponse()
	for _, version := range []int16{4, 12, 17} {
		resp.Version = version
		var f FetchResponse
		if err := f.Parse(version, resp.AppendTo(nil)); !errors.Is(err, ErrShape) {
			t.Errorf("response without topics, v%d: %v", version, err)
		}
	}
}

func TestFetchResponse_TopLevelErrorHasNoPartition(t *testing.T) {
	resp := kmsg.NewFetchResponse()
	resp.Version, resp.ErrorCode = 17, int16(kraft.InconsistentClusterID)
	var f FetchResponse
	if err := f.Parse(17, resp.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if f.HasPartition || f.ErrorCode != kraft.InconsistentClusterID {
		t.Errorf("%+v", f)
	}
}

func TestFetch_ParseDoesNotAllocate(t *testing.T) {
	h, request := goldenFetch(t, goldenFetchV18)
	_, response, _ := ParseResponseHeader(unhex(t, goldenFetchedV17), KeyFetch, 17)
	var req FetchRequest
	var resp FetchResponse
	if n := testing.AllocsPerRun(100, func() {
		if req.Parse(h.Version, request) != nil || resp.Parse(17, response) != nil {
			t.Fatal("does not parse")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFetchRequest_Parse(b *testing.B) {
	h, body := goldenFetch(b, goldenFetchV18)
	var f FetchRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Parse(h.Version, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFetchResponse_Parse(b *testing.B) {
	frame := bytes.Clone(unhex(b, goldenFetchedV17))
	_, body, _ := ParseResponseHeader(frame, KeyFetch, 17)
	var f FetchResponse
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Parse(17, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFetchRequest_Line(b *testing.B) {
	h, body := goldenFetch(b, goldenFetchV18)
	var d Decoder
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = d.AppendRequestLine(dst[:0], h, body)
	}
}

func BenchmarkFetchResponse_Line(b *testing.B) {
	_, body, _ := ParseResponseHeader(unhex(b, goldenFetchedV17), KeyFetch, 17)
	var d Decoder
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = d.AppendResponseLine(dst[:0], KeyFetch, 17, body)
	}
}

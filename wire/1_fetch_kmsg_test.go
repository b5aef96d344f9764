package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// viaKmsg is what Parse should find, through kmsg; ErrShape where kmsg finds another shape.
func (f *FetchRequest) viaKmsg(version int16, body []byte) error {
	m := kmsg.NewFetchRequest()
	m.Version = version
	if err := m.ReadFrom(body); err != nil {
		return ErrMalformed
	}
	if len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1 {
		return ErrShape
	}
	topic, p := &m.Topics[0], &m.Topics[0].Partitions[0]
	*f = FetchRequest{
		ReplicaID: kraft.NodeID(m.ReplicaID), ReplicaEpoch: -1, DirectoryID: p.ReplicaDirectoryID, TopicID: topic.TopicID,
		Partition: p.Partition, MaxWaitMs: m.MaxWaitMillis, MinBytes: m.MinBytes, MaxBytes: m.MaxBytes,
		Epoch: kraft.Epoch(p.CurrentLeaderEpoch), Offset: kraft.Offset(p.FetchOffset),
		LastFetchedEpoch: kraft.Epoch(p.LastFetchedEpoch), LogStartOffset: kraft.Offset(p.LogStartOffset),
		HighWatermark: kraft.Offset(p.HighWatermark), MaxPartition: p.PartitionMaxBytes,
	}
	if version < 13 {
		f.Topic = []byte(topic.Topic)
	}
	if m.ClusterID != nil {
		f.ClusterID = []byte(*m.ClusterID)
	}
	if version >= 15 {
		f.ReplicaID, f.ReplicaEpoch = kraft.NodeID(m.ReplicaState.ID), m.ReplicaState.Epoch
	}
	return nil
}

func (f *FetchResponse) viaKmsg(version int16, body []byte) error {
	m := kmsg.NewFetchResponse()
	m.Version = version
	if err := m.ReadFrom(body); err != nil {
		return ErrMalformed
	}
	*f = FetchResponse{
		ThrottleMs: m.ThrottleMillis, ErrorCode: kraft.ErrorCode(m.ErrorCode), Endpoints: len(m.Brokers),
		HighWatermark: -1, LogStartOffset: -1, DivergingEpoch: -1, DivergingEnd: -1,
		LeaderID: -1, LeaderEpoch: -1, SnapshotEnd: -1, SnapshotEpoch: -1, EndpointNode: -1,
	}
	if len(m.Brokers) > 0 {
		b := &m.Brokers[0]
		f.EndpointNode, f.Host, f.Port = kraft.NodeID(b.NodeID), []byte(b.Host), b.Port
	}
	switch {
	case len(m.Topics) == 0 && m.ErrorCode != 0:
		return nil
	case len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1:
		return ErrShape
	}
	topic, p := &m.Topics[0], &m.Topics[0].Partitions[0]
	f.HasPartition, f.TopicID, f.Partition, f.PartitionError = true, topic.TopicID, p.Partition, kraft.ErrorCode(p.ErrorCode)
	f.HighWatermark, f.LogStartOffset = kraft.Offset(p.HighWatermark), kraft.Offset(p.LogStartOffset)
	f.DivergingEpoch, f.DivergingEnd = kraft.Epoch(p.DivergingEpoch.Epoch), kraft.Offset(p.DivergingEpoch.EndOffset)
	f.LeaderID, f.LeaderEpoch = kraft.NodeID(p.CurrentLeader.LeaderID), kraft.Epoch(p.CurrentLeader.LeaderEpoch)
	f.SnapshotEnd, f.SnapshotEpoch = kraft.Offset(p.SnapshotID.EndOffset), kraft.Epoch(p.SnapshotID.Epoch)
	f.Records = p.RecordBatches
	return nil
}

// randomFetch is a random message, more often than not of KRaft's shape.
func randomFetch(r *rand.Rand, m any, version int16) {
	fill(r, reflect.ValueOf(m).Elem(), true)
	shaped := r.IntN(5) > 0
	switch m := m.(type) {
	case *kmsg.FetchRequest:
		m.Version = version
		if shaped {
			m.Topics = make([]kmsg.FetchRequestTopic, 1)
			fill(r, reflect.ValueOf(&m.Topics[0]).Elem(), true)
			m.Topics[0].Partitions = make([]kmsg.FetchRequestTopicPartition, 1)
			fill(r, reflect.ValueOf(&m.Topics[0].Partitions[0]).Elem(), true)
		}
	case *kmsg.FetchResponse:
		m.Version = version
		if shaped {
			m.Topics = make([]kmsg.FetchResponseTopic, 1)
			fill(r, reflect.ValueOf(&m.Topics[0]).Elem(), true)
			m.Topics[0].Partitions = make([]kmsg.FetchResponseTopicPartition, 1)
			fill(r, reflect.ValueOf(&m.Topics[0].Partitions[0]).Elem(), true)
			if r.IntN(2) == 0 {
				m.Topics[0].Partitions[0].AbortedTransactions = nil
			}
		}
	}
}

// same checks one body: either both readers refuse it for the same reason, or both find the same.
func sameFetchRequest(t *testing.T, version int16, body []byte) {
	t.Helper()
	var got, want FetchRequest
	gotErr, wantErr := got.Parse(version, body), want.viaKmsg(version, body)
	if !sameOutcome(gotErr, wantErr) {
		t.Fatalf("v%d %x: %v, kmsg %v", version, body, gotErr, wantErr)
	}
	if gotErr == nil && dump(got) != dump(want) {
		t.Fatalf("v%d %x:\ngot  %+v\nkmsg %+v", version, body, got, want)
	}
}

func sameFetchResponse(t *testing.T, version int16, body []byte) {
	t.Helper()
	var got, want FetchResponse
	gotErr, wantErr := got.Parse(version, body), want.viaKmsg(version, body)
	if !sameOutcome(gotErr, wantErr) {
		t.Fatalf("v%d %x: %v, kmsg %v", version, body, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if got.Records != nil && !bytes.Equal(body[got.RecordsStart:][:len(got.Records)], got.Records) {
		t.Fatalf("v%d %x: records do not start at %d", version, body, got.RecordsStart)
	}
	if (got.Records == nil) != (want.Records == nil) {
		t.Fatalf("v%d %x: records %v, kmsg %v", version, body, got.Records, want.Records)
	}
	got.RecordsStart = 0
	if dump(got) != dump(want) {
		t.Fatalf("v%d %x:\ngot  %+v\nkmsg %+v", version, body, got, want)
	}
}

// sameOutcome lets the shape be refused before a defect further on is seen.
func sameOutcome(got, want error) bool {
	if errors.Is(got, ErrShape) {
		return want != nil
	}
	return (got == nil) == (want == nil)
}

func TestFetch_ReadsWhatKmsgReads(t *testing.T) {
	r := random(t)
	n := 20000
	if testing.Short() {
		n = 3000
	}
	shaped := 0
	for range n {
		version := int16(4 + r.IntN(15))
		var req kmsg.FetchRequest
		randomFetch(r, &req, version)
		body := req.AppendTo(nil)
		sameFetchRequest(t, version, body)
		sameFetchRequest(t, version, mutate(r, body))

		var resp kmsg.FetchResponse
		randomFetch(r, &resp, version)
		body = resp.AppendTo(nil)
		sameFetchResponse(t, version, body)
		sameFetchResponse(t, version, mutate(r, body))
		if new(FetchResponse).Parse(version, body) == nil {
			shaped++
		}
	}
	if shaped < n/2 {
		t.Errorf("only %d of %d responses had KRaft's shape", shaped, n)
	}
}

// TestFetch_OldVersionsHaveTheReplicaInAField: a tag that v15 has brought says nothing in v12 to v14.
func TestFetch_OldVersionsHaveTheReplicaInAField(t *testing.T) {
	for version := int16(12); version <= 14; version++ {
		req := kmsg.NewFetchRequest()
		req.Version, req.ReplicaID = version, 3
		topic := kmsg.NewFetchRequestTopic()
		topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		req.Topics = append(req.Topics, topic)
		body := req.AppendTo(nil)
		body[len(body)-1] = 1                                             // there is a tag:
		body = append(body, 1, 13, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0) // ReplicaState {9, 7}
		sameFetchRequest(t, version, body)
		var f FetchRequest
		if err := f.Parse(version, body); err != nil || f.ReplicaID != 3 || f.ReplicaEpoch != -1 {
			t.Errorf("v%d: replica %d, epoch %d, %v", version, f.ReplicaID, f.ReplicaEpoch, err)
		}
	}
}

func TestFetch_UnsupportedVersions(t *testing.T) {
	for _, version := range []int16{-1, 0, 3, 19, 32767} {
		if err := new(FetchRequest).Parse(version, nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("request v%d: %v", version, err)
		}
		if err := new(FetchResponse).Parse(version, nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("response v%d: %v", version, err)
		}
	}
}

func FuzzFetch(f *testing.F) {
	h, body := goldenFetch(f, goldenFetchV18)
	f.Add(h.Version, body)
	_, body, _ = ParseResponseHeader(unhex(f, goldenFetchedV17), KeyFetch, 17)
	f.Add(int16(17), body)
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		version = 4 + version&0x7fff%15
		sameFetchRequest(t, version, body)
		sameFetchResponse(t, version, body)
	})
}

package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

func (f *FetchSnapshotResponse) viaKmsg(version int16, body []byte) error {
	m := kmsg.NewFetchSnapshotResponse()
	m.Version = version
	if err := m.ReadFrom(body); err != nil {
		return ErrMalformed
	}
	*f = FetchSnapshotResponse{ErrorCode: kraft.ErrorCode(m.ErrorCode)}
	switch {
	case len(m.Topics) == 0 && m.ErrorCode != 0:
		return nil
	case len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1:
		return ErrShape
	}
	p := &m.Topics[0].Partitions[0]
	f.HasPartition, f.Topic, f.Partition, f.PartitionError = true, []byte(m.Topics[0].Topic), p.Partition, kraft.ErrorCode(p.ErrorCode)
	f.SnapshotEnd, f.SnapshotEpoch = kraft.Offset(p.SnapshotID.EndOffset), kraft.Epoch(p.SnapshotID.Epoch)
	f.Size, f.Position, f.Bytes = p.Size, p.Position, p.Bytes
	f.LeaderID, f.LeaderEpoch = kraft.NodeID(p.CurrentLeader.LeaderID), kraft.Epoch(p.CurrentLeader.LeaderEpoch)
	return nil
}

func TestFetchSnapshot_ReadsWhatKmsgReads(t *testing.T) {
	r := random(t)
	shaped := 0
	const n = 4000
	for i := range n {
		version := int16(r.IntN(2))
		var m kmsg.FetchSnapshotResponse
		fill(r, reflect.ValueOf(&m).Elem(), true)
		m.Version = version
		if r.IntN(4) > 0 {
			m.Topics = make([]kmsg.FetchSnapshotResponseTopic, 1)
			m.Topics[0].Partitions = make([]kmsg.FetchSnapshotResponseTopicPartition, 1)
			fill(r, reflect.ValueOf(&m.Topics[0].Partitions[0]).Elem(), true)
		}
		body := m.AppendTo(nil)
		if i%2 == 1 {
			body = mutate(r, body)
		}
		var got, want FetchSnapshotResponse
		gotErr, wantErr := got.Parse(version, body), want.viaKmsg(version, body)
		if wantErr == nil && gotErr != nil && m.UnknownTags.Len() == 0 && i%2 == 0 || gotErr == nil && wantErr != nil && !errors.Is(wantErr, ErrMalformed) {
			t.Fatalf("v%d %x: %v, kmsg %v", version, body, gotErr, wantErr)
		}
		if gotErr != nil || wantErr != nil {
			continue
		}
		shaped++
		if !bytes.Equal(body[got.BytesStart:][:len(got.Bytes)], got.Bytes) {
			t.Fatalf("v%d %x: the chunk does not start at %d", version, body, got.BytesStart)
		}
		got.BytesStart = 0
		if dump(got) != dump(want) {
			t.Fatalf("v%d %x:\ngot  %+v\nkmsg %+v", version, body, got, want)
		}
	}
	if shaped < n/3 {
		t.Errorf("only %d of %d had KRaft's shape", shaped, n)
	}
}

func TestFetchSnapshot_RefusesOtherShapes(t *testing.T) {
	var f FetchSnapshotResponse
	if err := f.Parse(2, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("v2: %v", err)
	}
	none := responseAs(1, func(*kmsg.FetchSnapshotResponse) {})
	if err := f.Parse(1, none.AppendTo(nil)); !errors.Is(err, ErrShape) {
		t.Errorf("no topic: %v", err)
	}
	two := responseAs(1, func(m *kmsg.FetchSnapshotResponse) {
		m.Topics = []kmsg.FetchSnapshotResponseTopic{{Partitions: make([]kmsg.FetchSnapshotResponseTopicPartition, 2)}}
	})
	if err := f.Parse(1, two.AppendTo(nil)); !errors.Is(err, ErrShape) {
		t.Errorf("two partitions: %v", err)
	}
	refused := responseAs(1, func(m *kmsg.FetchSnapshotResponse) { m.ErrorCode = 104 })
	if err := f.Parse(1, refused.AppendTo(nil)); err != nil || f.HasPartition || f.ErrorCode != kraft.InconsistentClusterID {
		t.Errorf("top-level error: %v %+v", err, f)
	}
}

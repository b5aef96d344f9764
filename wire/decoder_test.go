package wire

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestDecoder_IsTheSameUsedAgain decodes random messages with one decoder that is used all the time, and with kmsg on
// fresh structs.
func TestDecoder_IsTheSameUsedAgain(t *testing.T) {
	r := random(t)
	n := 20000
	if testing.Short() {
		n = 4000
	}
	var d Decoder
	for range n {
		s, version, dir, body := randomMessage(r)
		if dir == Request {
			fresh := kmsg.RequestForKey(s.key)
			fresh.SetVersion(version)
			freshErr := fresh.ReadFrom(body)
			m, err := d.Request(s.key, version, body)
			if err != nil || freshErr != nil {
				t.Fatalf("%s v%d: %v, fresh %v", s.name, version, err, freshErr)
			}
			if !bytes.Equal(m.AppendTo(nil), fresh.AppendTo(nil)) || m.GetVersion() != version {
				t.Fatalf("%s v%d: used again it is another message", s.name, version)
			}
			continue
		}
		if s.key == KeyAPIVersions {
			continue // the error code chooses the layout
		}
		fresh := kmsg.ResponseForKey(s.key)
		fresh.SetVersion(version)
		freshErr := fresh.ReadFrom(body)
		m, err := d.Response(s.key, version, body)
		if err != nil || freshErr != nil {
			t.Fatalf("%s v%d: %v, fresh %v", s.name, version, err, freshErr)
		}
		if !bytes.Equal(m.AppendTo(nil), fresh.AppendTo(nil)) {
			t.Fatalf("%s v%d: used again it is another message", s.name, version)
		}
	}
}

func TestDecoder_NamesKeyAndVersion(t *testing.T) {
	var d Decoder
	for _, tt := range []struct {
		key, version int16
		body         []byte
		want         error
		text         string
	}{
		{KeyVote, 3, nil, ErrUnsupported, "Vote v3"},
		{400, 0, nil, ErrUnsupported, "ApiKey 400 v0"},
		{-7, 0, nil, ErrUnsupported, "ApiKey -7 v0"},
		{KeyVote, 2, []byte{1, 2, 3}, ErrMalformed, "Vote v2"},
		{KeyVote, 2, make([]byte, 2<<20), ErrTooBig, "Vote v2"},
	} {
		_, err := d.Request(tt.key, tt.version, tt.body)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("request: %v, want %v naming %s", err, tt.want, tt.text)
		}
		_, err = d.Response(tt.key, tt.version, tt.body)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("response: %v, want %v naming %s", err, tt.want, tt.text)
		}
	}
}

func TestDecoder_RefusedApiVersionsHasTheLayoutOfV0(t *testing.T) {
	var d Decoder
	m, err := d.Response(KeyAPIVersions, 5, unhex(t, `0023 00000001 0012 0000 0004`))
	if err != nil {
		t.Fatal(err)
	}
	v := m.(*kmsg.ApiVersionsResponse)
	if v.Version != 0 || kraft.ErrorCode(v.ErrorCode) != kraft.UnsupportedVersion || len(v.ApiKeys) != 1 || v.ApiKeys[0].MaxVersion != 4 {
		t.Errorf("%+v", v)
	}
	if _, err := d.Response(KeyAPIVersions, 99, unhex(t, `0000 00000000`)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a version not known without a refusal: %v", err)
	}
}

// TestDecoder_BigRecordsAreNotTooBig lets through what is big only by bytes that stay one slice.
func TestDecoder_BigRecordsAreNotTooBig(t *testing.T) {
	var d Decoder
	big := make([]byte, 8<<20)
	fetch := fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = big })
	snapshot := responseAs(1, func(m *kmsg.FetchSnapshotResponse) {
		m.Topics = []kmsg.FetchSnapshotResponseTopic{{Partitions: []kmsg.FetchSnapshotResponseTopicPartition{{Bytes: big}}}}
	})
	envelope := responseAs(0, func(m *kmsg.EnvelopeResponse) { m.ResponseData = big })
	for _, m := range []kmsg.Response{fetch, snapshot, envelope} {
		if _, err := d.Response(m.Key(), m.GetVersion(), m.AppendTo(nil)); err != nil {
			t.Error(err)
		}
	}
	request := requestAs(0, func(m *kmsg.EnvelopeRequest) { m.RequestData = big })
	if _, err := d.Request(KeyEnvelope, 0, request.AppendTo(nil)); err != nil {
		t.Error(err)
	}
}

// TestDecoder_BoundsMemory feeds arrays of the smallest elements, which a decoder turns into far more memory.
func TestDecoder_BoundsMemory(t *testing.T) {
	r := random(t)
	var d Decoder
	most := uint64(0)
	for _, list := range [][]schema{requestSchemas, responseSchemas} {
		for i := range list {
			s := &list[i]
			version := s.valid.end - 1
			for _, size := range []int{1 << 16, 1 << 17, 1 << 21} {
				body := amplified(s, version, size)
				if r.IntN(2) == 0 {
					body = append(body, 0)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var err error
				if &list[0] == &requestSchemas[0] {
					_, err = d.Request(s.key, version, body)
				} else {
					_, err = d.Response(s.key, version, body)
				}
				runtime.ReadMemStats(&after)
				used := after.TotalAlloc - before.TotalAlloc
				most = max(most, used)
				if used > 2*decodeBudget {
					t.Errorf("%s v%d of %d bytes: %d bytes of memory (%v)", s.name, version, size, used, err)
				}
			}
		}
	}
	if most < 1<<17 {
		t.Errorf("at most %d bytes of memory: the bodies do not amplify", most)
	}
}

// amplified is a body whose first array claims as many elements as there are bytes behind it.
func amplified(s *schema, version int16, size int) []byte {
	flexible := s.flexible.has(version)
	var b []byte
	for i := range s.fields {
		f := &s.fields[i]
		if !f.in.has(version) || flexible && f.tagged.has(version) {
			continue
		}
		if f.array {
			n := size - len(b) - 8
			if flexible {
				b = appendUvarint(b, n/64)
			} else {
				b = appendInt32(b, int32(n/64))
			}
			break
		}
		b = f.appendDefault(b, version)
	}
	return append(b, bytes.Repeat([]byte{1}, size-len(b))...)
}

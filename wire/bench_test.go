package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchPair is a Fetch request and its answer with a small batch, as they cross most often.
func fetchPair(tb testing.TB) (version int16, request, response []byte) {
	h, request := goldenFetch(tb, goldenFetchV18)
	m := fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
		p.HighWatermark = 48
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		p.RecordBatches = AppendBatch(nil, NewBatch(48, 3, goldenTime), Record{Value: []byte{1, 20, 0, 0}})
	})
	m.SetVersion(h.Version)
	return h.Version, request, m.AppendTo(nil)
}

func BenchmarkCanonical_FetchPair(b *testing.B) {
	version, request, response := fetchPair(b)
	if found := append(Canonical(KeyFetch, version, Request, request), Canonical(KeyFetch, version, Response, response)...); len(found) > 0 {
		b.Fatal(found)
	}
	b.ReportAllocs()
	for b.Loop() {
		Canonical(KeyFetch, version, Request, request)
		Canonical(KeyFetch, version, Response, response)
	}
}

func BenchmarkJSON_FetchPair(b *testing.B) {
	version, request, response := fetchPair(b)
	h := RequestHeader{Key: KeyFetch, Version: version}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendRequestJSON(dst[:0], h, request, JSONOptions{})
		dst = AppendResponseJSON(dst, KeyFetch, version, response, JSONOptions{})
	}
}

// BenchmarkDecode_FetchPair compares the ways into a body.
func BenchmarkDecode_FetchPair(b *testing.B) {
	version, request, response := fetchPair(b)
	b.Run("in place", func(b *testing.B) {
		var req FetchRequest
		var resp FetchResponse
		b.ReportAllocs()
		for b.Loop() {
			if req.Parse(version, request) != nil || resp.Parse(version, response) != nil {
				b.Fatal("does not parse")
			}
		}
	})
	b.Run("decoder", func(b *testing.B) {
		var d Decoder
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Request(KeyFetch, version, request); err != nil {
				b.Fatal(err)
			}
			if _, err := d.Response(KeyFetch, version, response); err != nil {
				b.Fatal(err)
			}
		}
	})
}

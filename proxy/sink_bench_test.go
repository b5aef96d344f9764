package proxy

import (
	"io"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func BenchmarkRecordingSink(b *testing.B) {
	for name, opts := range map[string]recordings.Options{"redacted": {}, "full": {IncludeRecords: true}} {
		b.Run(name, func(b *testing.B) {
			w, err := recordings.NewWriter(io.Discard, opts)
			if err != nil {
				b.Fatal(err)
			}
			conn := &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:9093"}
			req := fetchFrame(b)
			resp := response(8, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00d\x00\x00\x00\x00\x00\x00\x00d\x00\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00")
			o := recordings.Observation{Conn: conn}
			_ = w.Write(&o)
			b.ReportAllocs()
			for i := range b.N {
				at := int64(i) * 1000
				o = recordings.Observation{Kind: recordings.KindFrame, Conn: conn, Seq: uint64(i), At: wire.Stamp{Seen: at, Forwarded: at + 500}, Frame: wire.Frame{Bytes: req[4:], Size: len(req) - 4}}
				_ = w.Write(&o)
				o.Dir, o.Frame = wire.Response, wire.Frame{Bytes: resp[4:], Size: len(resp) - 4}
				_ = w.Write(&o)
			}
		})
	}
}

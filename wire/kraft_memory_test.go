package wire

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestKRaft_EventsTakeMemoryInProportionToTheBody writes lies about lengths into every place of each consensus message, with 20 KB behind them
// that a decoder could take for elements. Neither the event nor its text may take much more than the body.
func TestKRaft_EventsTakeMemoryInProportionToTheBody(t *testing.T) {
	const most = 100 // bytes of memory for one of the body; kmsg's structs take 68
	measure := func(m seedMessage, read func(d *Decoder, body []byte) (kraft.Event, error)) {
		if !slices.Contains(kraftKeys, m.Key()) {
			return
		}
		body := m.AppendTo(nil)
		for at := 0; at < len(body); at += 3 {
			for _, lie := range [][]byte{{0xff, 0x7f}, {0, 0, 0x4f, 0xff}} {
				lying := slices.Concat(body[:at], lie, bytes.Repeat([]byte{1}, 20_000))
				var d Decoder
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if ev, err := read(&d, lying); err == nil {
					_ = ev.String()
				}
				runtime.ReadMemStats(&after)
				if used := after.TotalAlloc - before.TotalAlloc; used > most*uint64(len(lying)) {
					t.Errorf("%s v%d, %x at %d: %d bytes of memory for a body of %d", Name(m.Key()), m.GetVersion(), lie, at, used, len(lying))
				}
			}
		}
	}
	for _, tt := range lineRequests {
		measure(tt.message, func(d *Decoder, body []byte) (kraft.Event, error) {
			return d.KRaftRequest(tt.message.Key(), tt.message.GetVersion(), body, kraft.Request{})
		})
	}
	for _, tt := range lineResponses {
		measure(tt.message, func(d *Decoder, body []byte) (kraft.Event, error) {
			return d.KRaftResponse(tt.message.Key(), tt.message.GetVersion(), body, kraft.Response{From: 2})
		})
	}
}

package recordings

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// observations draws a history of a few connections.
func observations(t *rapid.T) []Observation {
	addr := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		port := rapid.Uint16().Draw(t, "port")
		switch rapid.IntRange(0, 3).Draw(t, "family") {
		case 0:
			return netip.AddrPort{}
		case 1:
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6"))), port)
		default:
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4"))), port)
		}
	})
	withheld := func(size int) (list []Withheld) {
		for range rapid.IntRange(0, 3).Draw(t, "withheld") {
			start := rapid.IntRange(0, size).Draw(t, "start")
			w := Withheld{Start: start, End: rapid.IntRange(start, size).Draw(t, "end"), CRCValid: rapid.Bool().Draw(t, "crc")}
			copy(w.SHA256[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
			list = append(list, w)
		}
		return list
	}
	frame := func() []byte {
		n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(59_000, 61_000), rapid.IntRange(100_000, 200_000)).Draw(t, "size")
		b := make([]byte, n)
		copy(b, rapid.SliceOfN(rapid.Byte(), min(n, 16), min(n, 40)).Draw(t, "head"))
		return b
	}
	conns := make([]*Conn, rapid.IntRange(1, 4).Draw(t, "conns"))
	for i := range conns {
		conns[i] = &Conn{
			ID: uint64(i + 1), Node: kraft.NodeID(rapid.Int32Range(-1, 9).Draw(t, "node")),
			Endpoint: rapid.SampledFrom([]string{"", "localhost:9093", "c2:9093"}).Draw(t, "endpoint"),
			Client:   addr.Draw(t, "client"), Server: addr.Draw(t, "server"),
			Stream: rapid.IntRange(0, 3).Draw(t, "stream"), Midway: rapid.Bool().Draw(t, "midway"),
		}
	}
	var list []Observation
	at := rapid.Int64Range(0, 1<<60).Draw(t, "at")
	for _, c := range conns {
		list = append(list, Observation{Kind: KindOpen, Conn: c, At: wire.Stamp{Seen: at, Forwarded: at}})
	}
	for range rapid.IntRange(0, 30).Draw(t, "observations") {
		at += rapid.Int64Range(-5, 50_000_000).Draw(t, "later")
		o := Observation{
			Conn: rapid.SampledFrom(conns).Draw(t, "conn"), Dir: wire.Direction(rapid.IntRange(0, 1).Draw(t, "dir")),
			At: wire.Stamp{Seen: at, Forwarded: at + rapid.Int64Range(-3, 9_000).Draw(t, "forwarded")},
		}
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			o.Kind = KindGap
			o.Gap = &Gap{
				Reason: rapid.SampledFrom([]string{"", "tap overflow"}).Draw(t, "reason"),
				Bytes:  rapid.Int64Range(-1, 1<<40).Draw(t, "bytes"), Frames: rapid.Int64Range(-1, 1<<40).Draw(t, "frames"),
				Fatal: rapid.Bool().Draw(t, "fatal"),
			}
			list = append(list, o)
			continue
		}
		o.Kind = KindFrame
		o.Seq = rapid.Uint64().Draw(t, "seq")
		o.Frame.Bytes = frame()
		o.Frame.Size = len(o.Frame.Bytes)
		if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
			o.Frame.Cut = true
			o.Frame.Size += rapid.IntRange(1, wire.MaxFrameSize-o.Frame.Size).Draw(t, "missing")
		}
		o.Withheld = withheld(len(o.Frame.Bytes))
		if rapid.IntRange(0, 4).Draw(t, "fault") == 0 {
			o.Fault = &Fault{Rule: rapid.StringN(0, 20, 40).Draw(t, "rule"), Delivered: rapid.Bool().Draw(t, "delivered")}
			if rapid.Bool().Draw(t, "sent") {
				o.Fault.Sent = frame()
				o.Fault.Withheld = withheld(len(o.Fault.Sent))
			}
			if !o.Fault.Delivered {
				o.Frame, o.Withheld = wire.Frame{}, nil
			}
		}
		list = append(list, o)
	}
	for _, c := range conns {
		if rapid.Bool().Draw(t, "close") {
			list = append(list, Observation{
				Kind: KindClose, Conn: c, At: wire.Stamp{Seen: at, Forwarded: at}, Reset: rapid.Bool().Draw(t, "reset"),
			})
		}
	}
	return list
}

// keep copies what an observation points to but for its connection, in one form for what is equal.
func keep(o Observation) Observation {
	o.Frame.Bytes = append([]byte{}, o.Frame.Bytes...)
	o.Withheld = append([]Withheld{}, o.Withheld...)
	if o.Fault != nil {
		f := *o.Fault
		if f.Sent != nil {
			f.Sent = append([]byte{}, f.Sent...)
		}
		f.Withheld = append([]Withheld{}, f.Withheld...)
		o.Fault = &f
	}
	if o.Gap != nil {
		g := *o.Gap
		o.Gap = &g
	}
	return o
}

// brief prints an observation without the bytes of long frames.
func brief(o Observation) string {
	fault, gap := "", ""
	if f := o.Fault; f != nil {
		fault = fmt.Sprintf("%q sent %v %.40x (%d bytes) delivered %v withheld %d", f.Rule, f.Sent != nil, f.Sent, len(f.Sent), f.Delivered, len(f.Withheld))
	}
	if o.Gap != nil {
		gap = fmt.Sprintf("%+v", *o.Gap)
	}
	return fmt.Sprintf("%s #%d conn %+v %s seq %d at %+v frame %.40x (%d of %d bytes, cut %v) withheld %d fault [%s] gap [%s] reset %v",
		o.Kind, o.Number, *o.Conn, o.Dir, o.Seq, o.At, o.Frame.Bytes, len(o.Frame.Bytes), o.Frame.Size, o.Frame.Cut,
		len(o.Withheld), fault, gap, o.Reset)
}

func readAll(src Source) (list []Observation, err error) {
	for {
		var o Observation
		if err := src.Next(&o); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return list, err
		}
		list = append(list, keep(o))
	}
}

func TestRecording_RoundTripOfEveryKind(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := filepath.Join(t.TempDir(), "run")
		opts := Options{
			IncludeRecords: true, ChunkSize: rapid.SampledFrom([]int{1, 4096, 0}).Draw(rt, "chunk"),
			SegmentSize: rapid.SampledFrom([]int64{0, 1, 2000}).Draw(rt, "segment"),
			Background:  rapid.Bool().Draw(rt, "background"),
			Haste:       rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "haste"),
		}
		want := observations(rt)
		w, err := Create(base, opts)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range want {
			if err := w.Write(&want[i]); err != nil {
				rt.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		r, err := Open(base)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := readAll(r)
		if err != nil {
			rt.Fatal(err)
		}
		if d := r.Damage(); len(d) > 0 {
			rt.Fatalf("damage: %v", d)
		}
		if len(got) != len(want) {
			rt.Fatalf("%d observations, want %d", len(got), len(want))
		}
		for i := range want {
			got[i].Number = 0
			if want := keep(want[i]); !reflect.DeepEqual(got[i], want) {
				rt.Fatalf("observation %d:\n got %s\nwant %s", i, brief(got[i]), brief(want))
			}
		}
	})
}

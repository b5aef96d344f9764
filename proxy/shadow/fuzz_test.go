package shadow

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// script is a stream of observations written as bytes: each step is a byte that says what happens, one for the
// connection, and for a frame its length and bytes.
func script(l loaded, most int) []byte {
	var b []byte
	ids := map[uint64]byte{}
	for i := range l {
		o := &l[i]
		id, ok := ids[o.Conn.ID]
		if !ok {
			id = byte(len(ids))
			ids[o.Conn.ID] = id
		}
		if len(b) > most {
			break
		}
		b = append(b, byte(o.Kind)|byte(o.Dir)<<2, id)
		if o.Kind == recordings.KindFrame {
			b = binary.BigEndian.AppendUint16(b, uint16(len(o.Frame.Bytes)))
			b = append(b, o.Frame.Bytes...)
		}
	}
	return b
}

// play observes what a script says and returns the report.
func play(b []byte, options Options, named bool) (*Checker, *Report) {
	c := New(options)
	conns := map[byte]*recordings.Conn{}
	at, number := int64(1_000_000_000), uint64(0)
	for len(b) >= 2 {
		what, id := b[0], b[1]
		b = b[2:]
		conn := conns[id]
		if conn == nil {
			conn = &recordings.Conn{ID: uint64(id), Node: kraft.NoNode, Endpoint: "127.0.0.1:" + string('0'+rune(id%3)), Midway: what&8 != 0}
			if named {
				conn.Node = kraft.NodeID(id % 3)
			}
			conns[id] = conn
		}
		at += int64(what>>4) * 1000
		number++
		o := recordings.Observation{
			Kind: recordings.Kind(what & 3), Conn: conn, Number: number, Dir: wire.Direction(what >> 2 & 1), At: wire.Stamp{Seen: at, Forwarded: at},
		}
		switch o.Kind {
		case recordings.KindFrame:
			if len(b) < 2 {
				return c, c.Finish()
			}
			n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
			o.Frame = wire.Frame{Bytes: b[2 : 2+n : 2+n], Size: n}
			b = b[2+n:]
			switch what >> 5 {
			case 1:
				o.Fault = &recordings.Fault{Delivered: true}
			case 2:
				o.Fault = &recordings.Fault{Sent: o.Frame.Bytes}
				o.Frame = wire.Frame{}
			case 3:
				o.Frame.Cut = true
			}
		case recordings.KindGap:
			o.Gap = &recordings.Gap{Reason: "fuzz", Bytes: -1, Frames: int64(what >> 5), Fatal: what&16 != 0}
		case recordings.KindOpen:
		case recordings.KindClose:
			delete(conns, id)
		}
		c.Observe(&o)
	}
	return c, c.Finish()
}

// bounded checks what must hold of any stream.
func bounded(t *testing.T, c *Checker, r *Report) {
	t.Helper()
	if r.Judged > r.Decisions {
		t.Fatalf("judged %d of %d", r.Judged, r.Decisions)
	}
	if len(r.Findings) > maxFindings || len(r.Notes) > maxNotes+maxNodes || len(c.nodes) > maxNodes || len(r.Quorum.Elections) > maxElections {
		t.Fatal("a bound is broken")
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; len(f.Proof) == 0 || f.Text == "" {
			t.Fatalf("a finding without proof: %+v", f)
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.Len() == 0 {
		t.Fatal(err)
	}
}

// FuzzShadow: whatever comes, no panic, bounded memory, and a report that can be written.
func FuzzShadow(f *testing.F) {
	for _, name := range captures {
		l := load(f, name)
		for i := range 6 { // short ones, from all parts: the fuzzer shortens what it finds, byte by byte
			f.Add(script(l[i*len(l)/6:], 2_000), byte(i))
		}
	}
	f.Add([]byte{1, 0, 0, 4, 0, 52, 0, 2}, byte(3))
	f.Fuzz(func(t *testing.T, b []byte, mode byte) {
		o := Options{FaultAsPeer: mode&1 != 0}
		if mode&4 != 0 {
			o.Events = func(Event) {}
		}
		c, r := play(b, o, mode&2 != 0)
		bounded(t, c, r)
	})
}

// TestGarbage_NeverDiverges: bytes that are no quorum's prove nothing.
func TestGarbage_NeverDiverges(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	runs := 3000
	if testing.Short() {
		runs = 300
	}
	for range runs {
		b := make([]byte, r.IntN(3000))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 { // frames with plausible headers and nonsense behind
			b = b[:0]
			for range r.IntN(60) {
				n := 4 + r.IntN(60)
				b = append(b, byte(1|r.IntN(2)<<2), byte(r.IntN(4)), 0, byte(n+10))
				b = append(b, 0, []byte{1, 18, 52, 53, 54, 55, 59, 80, 81, 82}[r.IntN(10)], 0, byte(r.IntN(19)), 0, 0, 0, byte(r.IntN(8)), 0xff, 0xff)
				for range n {
					b = append(b, byte(r.Uint32()&r.Uint32()>>8)) // few bits set
				}
			}
		}
		c, rep := play(b, Options{FaultAsPeer: r.IntN(2) == 0}, r.IntN(2) == 0)
		bounded(t, c, rep)
		if rep.Verdict == Diverges {
			t.Fatalf("seed %d: %+v", seed, rep.Findings)
		}
	}
}

package recordings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// maxFuzzed bounds the observations that an input of n bytes may become. A connection that is open gets two gaps for
// each damaged place, and a zstd frame may inflate.
func maxFuzzed(n int) int { return 100_000 + 200*n }

// drain reads a source to its end and checks each observation.
func drain(t *testing.T, src Source, n int) (list []Observation) {
	t.Helper()
	var o Observation
	for count := 0; ; count++ {
		if err := src.Next(&o); err != nil {
			return list
		}
		if !o.valid() {
			t.Fatalf("invalid observation %s", brief(o))
		}
		for _, w := range o.Withheld {
			if w.Start < 0 || w.End < w.Start || w.End > len(o.Frame.Bytes) {
				t.Fatalf("withheld %d to %d of %d", w.Start, w.End, len(o.Frame.Bytes))
			}
		}
		if count > maxFuzzed(n) {
			t.Fatalf("no end after %d observations of %d bytes", count, n)
		}
		if count < 1000 {
			list = append(list, keep(o))
		}
	}
}

// FuzzRecording reads anything as a recording: compressed frames as they are, and their content as blocks.
func FuzzRecording(f *testing.F) {
	base := tempBase(f)
	s := newStory(1).votes(3)
	s.add(Observation{Kind: KindGap, Gap: &Gap{Reason: "tap overflow", Bytes: 5, Frames: 1}})
	s.frame(1, make([]byte, 70_000)).Fault = &Fault{Rule: "drop", Sent: []byte("sent"), Delivered: true}
	s.add(Observation{Kind: KindClose})
	writeAll(f, base, Options{ChunkSize: 600}, s.list)
	b, err := os.ReadFile(segmentName(base, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	plain := inflated(f, segmentName(base, 1))
	f.Add(plain[:2000])
	f.Add(plain[len(plain)-400:])
	f.Add([]byte(nil))
	head := plain[:binary.LittleEndian.Uint32(plain[4:])]
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, append(bytes.Clone(head), b...)} {
			r, err := NewReader(bytes.NewReader(in), "fuzz")
			if err != nil {
				continue
			}
			drain(t, r, len(in))
			if len(r.Damage()) > maxDamages {
				t.Fatal("unbounded damage")
			}
		}
		// Whatever follows a whole chunk, the observations of that chunk are there.
		whole := append(bytes.Clone(plain), b...)
		r, err := NewReader(bytes.NewReader(whole), "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		if list := drain(t, r, len(whole)); len(list) < len(s.list) {
			t.Fatalf("%d observations, %d were written before the rest", len(list), len(s.list))
		}
	})
}

// FuzzCapture reads anything as a capture: as it is, and as the payload of segments of a connection.
func FuzzCapture(f *testing.F) {
	k := newTalk().open()
	k.send(0, requestFrame(52, 2, 0, voteBody), 30)
	k.send(1, responseFrame(52, 2, 0, voteBody), 5)
	k.close()
	file := k.pcap(f, k.packets)
	f.Add(file)
	f.Add(k.blocks(f, binary.BigEndian, blockPacket, nil, func(at time.Time) uint64 { return uint64(at.UnixMicro()) }))
	f.Add(k.blocks(f, binary.LittleEndian, blockSimple, nil, nil))
	f.Add([]byte("\x16\x03\x01"))
	f.Add(append(binary.BigEndian.AppendUint32(nil, 40), requestFrame(1, 17, 7, make([]byte, 12))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := NewCapture(bytes.NewReader(b), "fuzz"); err == nil {
			drain(t, c, len(b))
		}
		// The same bytes as a stream, cut into segments whose order and sequence numbers they choose themselves.
		k := newTalk().open()
		for rest := b; len(rest) > 2; {
			n := min(int(rest[0])+1, len(rest)-2)
			dir, jump := rest[1]&1, uint32(rest[1]>>1)
			k.next[dir] = k.next[dir] + jump%8 - 3
			k.packet(wire.Direction(dir), tcpAck, rest[2:2+n])
			rest = rest[2+n:]
		}
		k.close()
		list, err := NewCapture(bytes.NewReader(k.pcap(t, k.packets)), "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		drain(t, list, len(b))
		if err := list.Next(new(Observation)); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		// What was whole before garbage is there.
		whole := append(bytes.Clone(file), b...)
		c, err := NewCapture(bytes.NewReader(whole), "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		if frames := sortOut(drain(t, c, len(whole))).frames; len(frames) < 2 {
			t.Fatalf("%d frames of 2 before the rest", len(frames))
		}
	})
}

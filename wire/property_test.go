package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-kafka/understudy/kraft"
)

// However a stream is cut, its frames are what was put into it.
func TestSplitter_EqualsThePayloads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var payloads [][]byte
		for range rapid.IntRange(0, 5).Draw(t, "frames") {
			payloads = append(payloads, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"))
		}
		var chunks [][]byte
		for rest := stream(payloads...); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		var s Splitter
		frames, err := split(&s, chunks...)
		if err != nil || len(frames) != len(payloads) || s.Pending() != 0 {
			t.Fatalf("%d frames of %d, %d bytes pending, %v", len(frames), len(payloads), s.Pending(), err)
		}
		for i := range frames {
			if !bytes.Equal(frames[i].Bytes, payloads[i]) {
				t.Fatalf("frame %d is %x, want %x", i, frames[i].Bytes, payloads[i])
			}
		}
	})
}

// Kafka's varints are those of encoding/binary, as far as 32 bits go.
func TestReader_VarintsEqualTheStandardLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint32().Draw(t, "unsigned")
		i := rapid.Int32().Draw(t, "signed")
		l := rapid.Int64().Draw(t, "long")
		b := binary.AppendUvarint(nil, uint64(u))
		b = binary.AppendVarint(b, int64(i))
		b = binary.AppendVarint(b, l)
		r := reader{b: b}
		if gu, gi, gl := r.uvarint(), r.varint(), r.varlong(); gu != u || gi != i || gl != l || r.bad || r.rest() != 0 {
			t.Fatalf("%x is read as %d %d %d, want %d %d %d", b, gu, gi, gl, u, i, l)
		}
		if cut := (reader{b: b[:len(b)-1]}); cut.uvarint() != u || cut.varint() != i || cut.varlong() != 0 || !cut.bad {
			t.Fatalf("%x cut at its end is fine", b)
		}
	})
}

// What is written into a batch comes out of it, record by record.
func TestBatch_RecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		optional := func(name string) []byte {
			if rapid.Bool().Draw(t, name+" is null") {
				return nil
			}
			return rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, name)
		}
		base := kraft.Offset(rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		head := NewBatch(base, kraft.Epoch(rapid.Int32Range(0, 1<<30).Draw(t, "epoch")), rapid.Int64Range(0, 1<<41).Draw(t, "time"))
		var want []Record
		for range rapid.IntRange(1, 6).Draw(t, "records") {
			want = append(want, Record{Key: optional("key"), Value: optional("value")})
		}
		raw := AppendBatch([]byte("before"), head, want...)
		b, rest, err := NextBatch(raw[len("before"):])
		if err != nil || len(rest) != 0 || !b.CRCValid() || b.BaseOffset != base || b.LastOffset() != base+kraft.Offset(len(want))-1 {
			t.Fatalf("%v, %d left, %v", &b, len(rest), err)
		}
		n := 0
		err = b.Each(func(r Record) error {
			if !bytes.Equal(r.Key, want[n].Key) || !bytes.Equal(r.Value, want[n].Value) || (r.Key == nil) != (want[n].Key == nil) ||
				(r.Value == nil) != (want[n].Value == nil) || r.Offset != base+kraft.Offset(n) {
				t.Fatalf("record %d is %+v, want %+v", n, r, want[n])
			}
			n++
			return nil
		})
		if err != nil || n != len(want) {
			t.Fatalf("%d of %d, %v", n, len(want), err)
		}
		raw[len(raw)-1] ^= 1
		if b, _, err := NextBatch(raw[len("before"):]); err == nil && b.CRCValid() {
			t.Fatal("a changed byte is not noticed")
		}
	})
}

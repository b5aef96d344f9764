package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// deflate compresses as Kafka's clients do; xerial is snappy in the framing of snappy-java.
var deflate = map[string]struct {
	codec int16
	pack  func(t testing.TB, b []byte) []byte
}{
	"none": {CodecNone, func(_ testing.TB, b []byte) []byte { return b }},
	"gzip": {CodecGzip, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		return written(t, &out, gzip.NewWriter(&out), b)
	}},
	"snappy": {CodecSnappy, func(_ testing.TB, b []byte) []byte { return s2.EncodeSnappy(nil, b) }},
	"xerial": {CodecSnappy, func(_ testing.TB, b []byte) []byte {
		out := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
		for len(b) > 0 {
			n := min(len(b), 1000)
			block := s2.EncodeSnappy(nil, b[:n])
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
			b = b[n:]
		}
		return out
	}},
	"lz4": {CodecLZ4, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		return written(t, &out, lz4.NewWriter(&out), b)
	}},
	"zstd": {CodecZstd, func(t testing.TB, b []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	}},
}

func written(t testing.TB, out *bytes.Buffer, w io.WriteCloser, b []byte) []byte {
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packed is a batch of n records of the same value, compressed.
func packed(t testing.TB, name string, n int, value []byte) []byte {
	var raw []byte
	for i := range n {
		raw = AppendRecord(raw, &Record{OffsetDelta: int32(i), Value: value})
	}
	head := NewBatch(40, 2, goldenTime)
	head.Attributes = deflate[name].codec
	head.Count, head.LastOffsetDelta, head.Records = int32(n), int32(n-1), deflate[name].pack(t, raw)
	return AppendRawBatch(nil, head)
}

func TestEach_EveryCompression(t *testing.T) {
	for name := range deflate {
		t.Run(name, func(t *testing.T) {
			value := bytes.Repeat([]byte("metadata "), 100)
			b, _, err := NextBatch(packed(t, name, 50, value))
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			if err := b.Each(func(r Record) error {
				if !bytes.Equal(r.Value, value) || int(r.Offset) != 40+i {
					t.Errorf("record %d: offset %d, %d bytes", i, r.Offset, len(r.Value))
				}
				i++
				return nil
			}); err != nil || i != 50 {
				t.Errorf("%d records, %v", i, err)
			}
			if want := name; name != "xerial" && b.Codec() != want {
				t.Errorf("codec %s", b.Codec())
			}
		})
	}
}

func TestEach_BoundsWhatItInflatesTo(t *testing.T) {
	bomb := make([]byte, MaxInflated+1)
	for name, d := range deflate {
		if name == "none" {
			continue
		}
		pack := d.pack
		if name == "xerial" {
			pack = func(_ testing.TB, b []byte) []byte {
				out := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
				block := s2.EncodeSnappy(nil, b[:len(b)/2+1])
				for range 2 {
					out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
				}
				return out
			}
		}
		head := NewBatch(0, 1, 0)
		head.Attributes, head.Count, head.Records = d.codec, 1, pack(t, bomb)
		b, _, err := NextBatch(AppendRawBatch(nil, head))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Each(func(Record) error { return nil }); !errors.Is(err, ErrInflated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEach_DamagedCompressionIsMalformed(t *testing.T) {
	for name := range deflate {
		if name == "none" {
			continue
		}
		whole := packed(t, name, 20, bytes.Repeat([]byte("metadata "), 100))
		for _, keep := range []int{0, 3, 18, 20, len(whole) - BatchOverhead - 1} {
			b, _, _ := NextBatch(whole)
			b.Records = b.Records[:keep]
			if err := b.Each(func(Record) error { return nil }); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s, %d bytes kept: %v", name, keep, err)
			}
		}
	}
	b := Batch{Attributes: 6, Count: 1}
	if err := b.Each(func(Record) error { return nil }); !errors.Is(err, ErrUnsupported) || b.Codec() != "codec 6" {
		t.Errorf("%v, %s", err, b.Codec())
	}
}

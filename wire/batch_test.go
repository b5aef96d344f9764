package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestNextBatch_CutAnywhereIsCut(t *testing.T) {
	whole := unhex(t, goldenBatches[0].bytes)
	for n := range len(whole) {
		b, rest, err := NextBatch(whole[:n])
		if !errors.Is(err, ErrCut) || len(rest) != n || b.Bytes != nil {
			t.Fatalf("%d of %d bytes: %v, rest %d", n, len(whole), err, len(rest))
		}
		if n > 16 && b.Epoch != 1 {
			t.Errorf("%d bytes: epoch %d", n, b.Epoch)
		}
	}
	two := append(bytes.Clone(whole), whole...)
	if b, rest, err := NextBatch(two); err != nil || len(rest) != len(whole) || len(b.Bytes) != len(whole) {
		t.Errorf("two batches: rest %d, %v", len(rest), err)
	}
}

func TestNextBatch_RefusesWhatIsNone(t *testing.T) {
	whole := unhex(t, goldenBatches[0].bytes)
	for _, tt := range []struct {
		name   string
		change func([]byte)
		text   string
	}{
		{"magic 1", func(b []byte) { b[16] = 1 }, "offset 0: format (magic) 1"},
		{"length below the header", func(b []byte) { binary.BigEndian.PutUint32(b[8:], 48) }, "length 48"},
		{"negative length", func(b []byte) { b[8] = 0x80 }, "length -"},
	} {
		b := bytes.Clone(whole)
		tt.change(b)
		if _, _, err := NextBatch(b); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestCRC_SeesEveryChangedByteItCovers(t *testing.T) {
	whole := unhex(t, goldenBatches[0].bytes)
	for i := range whole {
		if i >= 8 && i < 12 || i == 16 {
			continue // length and magic: no longer a batch
		}
		changed := bytes.Clone(whole)
		changed[i] ^= 0x40
		b, _, err := NextBatch(changed)
		if err != nil {
			t.Fatal(err)
		}
		if outside := i < 17; b.CRCValid() != outside {
			t.Errorf("byte %d changed: checksum valid %v", i, b.CRCValid())
		}
	}
	if (&Batch{}).CRCValid() {
		t.Error("no batch at all has a valid checksum")
	}
}

func TestBatch_AgreesWithKmsg(t *testing.T) {
	r := random(t)
	for range 2000 {
		head := NewBatch(kraft.Offset(r.Int64N(1e12)), kraft.Epoch(r.Int32()), r.Int64N(1e13))
		head.ProducerID, head.ProducerEpoch, head.BaseSequence = r.Int64(), int16(r.Uint32()), r.Int32()
		records := make([]Record, 1+r.IntN(5))
		for i := range records {
			records[i] = Record{Key: randomBytes(r, 20), Value: randomBytes(r, 200), TimestampDelta: int64(r.Uint64()) >> r.IntN(64), Attributes: int8(r.Uint32())}
			if r.IntN(3) == 0 {
				records[i].Key = nil
			}
		}
		raw := AppendBatch(nil, head, records...)
		var theirs kmsg.RecordBatch
		if err := theirs.ReadFrom(raw); err != nil {
			t.Fatal(err)
		}
		if again := theirs.AppendTo(nil); !bytes.Equal(again, raw) {
			t.Fatalf("kmsg writes %x, here %x", again, raw)
		}
		b, _, err := NextBatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		if b.CRC != uint32(theirs.CRC) || int64(b.BaseOffset) != theirs.FirstOffset || b.ProducerID != theirs.ProducerID ||
			b.Count != theirs.NumRecords || b.MaxTimestamp != theirs.MaxTimestamp || b.BaseSequence != theirs.FirstSequence {
			t.Fatalf("%+v, kmsg %+v", b, theirs)
		}
		rest := theirs.Records
		err = b.Each(func(got Record) error {
			var want kmsg.Record
			if err := want.ReadFrom(rest); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) || got.TimestampDelta != want.TimestampDelta64 ||
				got.OffsetDelta != want.OffsetDelta || (got.Key == nil) != (want.Key == nil) || got.Attributes != want.Attributes {
				t.Fatalf("%+v, kmsg %+v", got, want)
			}
			if size := AppendRecord(nil, &got); !bytes.Equal(size, rest[:len(size)]) {
				t.Fatalf("written again %x, was %x", size, rest[:len(size)])
			}
			rest = rest[len(AppendRecord(nil, &got)):]
			return nil
		})
		if err != nil || len(rest) > 0 {
			t.Fatal(err, len(rest))
		}
	}
}

func TestRecord_KeepsHeaders(t *testing.T) {
	k := kmsg.Record{Value: []byte("v"), Headers: []kmsg.Header{{Key: "a", Value: []byte("1")}, {Key: "b"}}}
	body := k.AppendTo(nil)[1:]
	raw := append(binary.AppendVarint(nil, int64(len(body))), body...)
	head := NewBatch(0, 1, 0)
	head.Records, head.Count = raw, 1
	b, _, err := NextBatch(AppendRawBatch(nil, head))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Each(func(r Record) error {
		if r.HeaderCount != 2 || !bytes.Equal(AppendRecord(nil, &r), raw) {
			t.Errorf("%+v", r)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestEach_RefusesWhatIsNoRecord(t *testing.T) {
	good := AppendRecord(nil, &Record{Value: []byte("v")})
	for _, tt := range []struct {
		name    string
		count   int32
		records []byte
	}{
		{"more bytes than records", 1, append(bytes.Clone(good), good...)},
		{"more records than bytes", 2, good},
		{"negative count", -1, nil},
		{"length below the content", 1, append([]byte{good[0] - 2}, good[1:]...)},
		{"length above the content", 1, append(append([]byte{good[0] + 2}, good[1:]...), 0)},
		{"negative header count", 1, append(bytes.Clone(good[:len(good)-1]), 1)},
		{"header without a key", 1, append([]byte{good[0] + 4}, append(bytes.Clone(good[1:len(good)-1]), 2, 1, 1)...)},
		{"length too long to be a varint", 1, bytes.Repeat([]byte{0xff}, 12)},
	} {
		head := NewBatch(5, 1, 0)
		head.Count, head.Records = tt.count, tt.records
		b, _, err := NextBatch(AppendRawBatch(nil, head))
		if err != nil {
			t.Fatal(err)
		}
		err = b.Each(func(Record) error { return nil })
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "offset 5") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestEach_StopsWithTheVisitorsError(t *testing.T) {
	b, _, err := NextBatch(AppendBatch(nil, NewBatch(0, 1, 0), make([]Record, 3)...))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	n := 0
	if err := b.Each(func(Record) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d records", err, n)
	}
}

func TestBatch_LogAppendTimeCounts(t *testing.T) {
	head := NewBatch(0, 1, 1000)
	head.Attributes, head.MaxTimestamp = AttrLogAppendTime, 5000
	b, _, _ := NextBatch(AppendBatch(nil, head, Record{TimestampDelta: 7}))
	_ = b.Each(func(r Record) error {
		if r.Timestamp != 5000 {
			t.Errorf("timestamp %d", r.Timestamp)
		}
		return nil
	})
}

func TestBatch_PrintsOnOneLine(t *testing.T) {
	b, _, _ := NextBatch(unhex(t, goldenBatches[1].bytes))
	if got := b.String(); got != "control 0..2@0, 3 records, 204 bytes" {
		t.Error(got)
	}
	b, _, _ = NextBatch(unhex(t, goldenBatches[3].bytes))
	if got := b.String(); got != "data 7..7@1, 1 records, 91 bytes" || b.LastOffset() != 7 {
		t.Error(got)
	}
}

package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// Record is one record of a batch. Key, Value and Headers are parts of the batch, or of what it was inflated to.
type Record struct {
	Offset         kraft.Offset
	Timestamp      int64 // ms since the Unix epoch
	Attributes     int8
	TimestampDelta int64
	OffsetDelta    int32
	Key            []byte // nil if null
	Value          []byte // nil if null
	HeaderCount    int32
	Headers        []byte // encoded headers; the metadata log has none
}

// Each calls visit for each record in order and stops at the first error, which it returns. Compressed records
// are inflated to at most [MaxInflated] bytes. The record is valid during the call.
func (b *Batch) Each(visit func(Record) error) error {
	body := b.Records
	if codec := b.Attributes & AttrCompression; codec != 0 {
		var err error
		if body, err = inflate(codec, body); err != nil {
			return fmt.Errorf("batch at offset %d: %w", b.BaseOffset, err)
		}
	}
	r := reader{b: body}
	for i := int32(0); i < b.Count; i++ {
		record, ok := nextRecord(&r)
		if !ok {
			return fmt.Errorf("batch at offset %d: record %d of %d: %w", b.BaseOffset, i, b.Count, ErrMalformed)
		}
		record.Offset = b.BaseOffset + kraft.Offset(record.OffsetDelta)
		record.Timestamp = b.BaseTimestamp + record.TimestampDelta
		if b.Attributes&AttrLogAppendTime != 0 {
			record.Timestamp = b.MaxTimestamp
		}
		if err := visit(record); err != nil {
			return err
		}
	}
	if r.rest() > 0 || b.Count < 0 {
		return fmt.Errorf("batch at offset %d: %d bytes behind %d records: %w", b.BaseOffset, r.rest(), b.Count, ErrMalformed)
	}
	return nil
}

// nextRecord reads one record; its length field must match its content.
func nextRecord(r *reader) (record Record, ok bool) {
	size := int(r.varint())
	start := r.at
	r.skip(size)
	if r.bad {
		return record, false
	}
	in := reader{b: r.b[:r.at], at: start}
	record.Attributes = in.int8()
	record.TimestampDelta = in.varlong()
	record.OffsetDelta = in.varint()
	record.Key = in.varblob()
	record.Value = in.varblob()
	record.HeaderCount = in.varint()
	headers := in.at
	if record.HeaderCount < 0 {
		return record, false
	}
	for n := record.HeaderCount; n > 0 && !in.bad; n-- {
		if key := in.varblob(); key == nil {
			in.fail()
		}
		in.varblob()
	}
	if in.bad || in.rest() > 0 {
		return record, false
	}
	record.Headers = in.b[headers:in.at]
	return record, true
}

// varblob reads a byte field with a zigzag length; a negative one is null (nil).
func (r *reader) varblob() []byte {
	n := int(r.varint())
	if r.bad || n < 0 {
		return nil
	}
	return r.span(n)
}

// AppendRecord appends a record with its length.
func AppendRecord(dst []byte, r *Record) []byte {
	size := 1 + varlongSize(r.TimestampDelta) + varlongSize(int64(r.OffsetDelta)) + varblobSize(r.Key) +
		varblobSize(r.Value) + varlongSize(int64(r.HeaderCount)) + len(r.Headers)
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, byte(r.Attributes))
	dst = binary.AppendVarint(dst, r.TimestampDelta)
	dst = binary.AppendVarint(dst, int64(r.OffsetDelta))
	dst = appendVarblob(dst, r.Key)
	dst = appendVarblob(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(r.HeaderCount))
	return append(dst, r.Headers...)
}

func appendVarblob(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

func varblobSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varlongSize(int64(len(b))) + len(b)
}

func varlongSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

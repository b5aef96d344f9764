package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/understudy-kafka/understudy/kraft"
)

// BatchOverhead is the size of a batch without its records, bytes.
const BatchOverhead = 61

// batchCounted is how many bytes of a batch its length field does not count: base offset and length.
const batchCounted = 12

// Bits of Batch.Attributes (Kafka: DefaultRecordBatch).
const (
	AttrCompression   = 0x07
	AttrLogAppendTime = 0x08
	AttrTransactional = 0x10
	AttrControl       = 0x20
	AttrDeleteHorizon = 0x40
)

// ErrCut marks a batch of which only the first part is there. A Fetch answer or a snapshot chunk may end so.
var ErrCut = errors.New("record batch is cut off")

// Batch is one record batch of format v2. Its bytes belong to the buffer that it was read from.
type Batch struct {
	BaseOffset      kraft.Offset
	Length          int32       // bytes behind this field
	Epoch           kraft.Epoch // partition leader epoch; outside the CRC
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms since the Unix epoch
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32

	Bytes   []byte // the whole batch
	Records []byte // as on the wire, compressed if Attributes say so
}

// NextBatch reads the batch at the start of b and returns what follows it. A batch that b does not hold
// entirely is [ErrCut]; of it the fields that are there are set, and rest is b. A batch of another format
// than v2, or with a length that cannot be, is [ErrMalformed].
func NextBatch(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) < batchCounted {
		return batch, b, fmt.Errorf("%d bytes: %w", len(b), ErrCut)
	}
	batch.BaseOffset = kraft.Offset(binary.BigEndian.Uint64(b))
	batch.Length = int32(binary.BigEndian.Uint32(b[8:]))
	if batch.Length < BatchOverhead-batchCounted {
		return batch, b, fmt.Errorf("batch at offset %d: length %d below that of a header: %w", batch.BaseOffset, batch.Length, ErrMalformed)
	}
	if len(b) > 16 {
		batch.Epoch = kraft.Epoch(binary.BigEndian.Uint32(b[12:]))
		batch.Magic = int8(b[16])
		if batch.Magic != 2 {
			return batch, b, fmt.Errorf("batch at offset %d: format (magic) %d is not 2: %w", batch.BaseOffset, batch.Magic, ErrMalformed)
		}
	}
	if len(b) >= BatchOverhead {
		batch.header(b)
	}
	if total := batchCounted + int(batch.Length); len(b) >= total {
		batch.Bytes, batch.Records = b[:total:total], b[BatchOverhead:total:total]
		return batch, b[total:], nil
	}
	return batch, b, fmt.Errorf("batch at offset %d: %d of %d bytes: %w", batch.BaseOffset, len(b), batchCounted+int(batch.Length), ErrCut)
}

// header reads the fields behind the magic.
func (b *Batch) header(raw []byte) {
	_ = raw[BatchOverhead-1]
	b.CRC = binary.BigEndian.Uint32(raw[17:])
	b.Attributes = int16(binary.BigEndian.Uint16(raw[21:]))
	b.LastOffsetDelta = int32(binary.BigEndian.Uint32(raw[23:]))
	b.BaseTimestamp = int64(binary.BigEndian.Uint64(raw[27:]))
	b.MaxTimestamp = int64(binary.BigEndian.Uint64(raw[35:]))
	b.ProducerID = int64(binary.BigEndian.Uint64(raw[43:]))
	b.ProducerEpoch = int16(binary.BigEndian.Uint16(raw[51:]))
	b.BaseSequence = int32(binary.BigEndian.Uint32(raw[53:]))
	b.Count = int32(binary.BigEndian.Uint32(raw[57:]))
}

// LastOffset is the offset of the batch's last record.
func (b *Batch) LastOffset() kraft.Offset { return b.BaseOffset + kraft.Offset(b.LastOffsetDelta) }

// Control reports whether the batch holds control records.
func (b *Batch) Control() bool { return b.Attributes&AttrControl != 0 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRCValid reports whether the checksum is right: CRC-32C of everything behind it.
func (b *Batch) CRCValid() bool {
	return len(b.Bytes) >= BatchOverhead && crc32.Checksum(b.Bytes[21:], castagnoli) == b.CRC
}

// String is the batch on one line.
func (b *Batch) String() string {
	kind := "data"
	if b.Control() {
		kind = "control"
	}
	return fmt.Sprintf("%s %d..%d@%d, %d records, %d bytes", kind, b.BaseOffset, b.LastOffset(), b.Epoch, b.Count, batchCounted+int(b.Length))
}

// NewBatch is the head of an uncompressed batch without producer, as Kafka writes to the metadata log.
func NewBatch(base kraft.Offset, epoch kraft.Epoch, timestamp int64) Batch {
	return Batch{
		BaseOffset: base, Epoch: epoch, Magic: 2, BaseTimestamp: timestamp, MaxTimestamp: timestamp,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
}

// AppendBatch appends a batch with these records. Of head it takes all but what follows from the records: Length,
// CRC, Count, LastOffsetDelta. Of a record it takes Attributes, TimestampDelta, Key, Value and Headers; offsets count up
// from the base offset. The records are not compressed, so head must not say so.
func AppendBatch(dst []byte, head Batch, records ...Record) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, BatchOverhead)...)
	for i := range records {
		records[i].OffsetDelta = int32(i)
		dst = AppendRecord(dst, &records[i])
	}
	head.Count, head.LastOffsetDelta = int32(len(records)), int32(len(records)-1)
	head.seal(dst[start:])
	return dst
}

// AppendRawBatch appends a batch whose records are encoded, perhaps compressed, in head.Records. Length and CRC are
// computed, all else is taken from head.
func AppendRawBatch(dst []byte, head Batch) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, BatchOverhead)...)
	dst = append(dst, head.Records...)
	head.seal(dst[start:])
	return dst
}

// seal writes the header over the first bytes of raw, which holds the records behind it.
func (b *Batch) seal(raw []byte) {
	binary.BigEndian.PutUint64(raw, uint64(b.BaseOffset))
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchCounted))
	binary.BigEndian.PutUint32(raw[12:], uint32(b.Epoch))
	raw[16] = byte(b.Magic)
	binary.BigEndian.PutUint16(raw[21:], uint16(b.Attributes))
	binary.BigEndian.PutUint32(raw[23:], uint32(b.LastOffsetDelta))
	binary.BigEndian.PutUint64(raw[27:], uint64(b.BaseTimestamp))
	binary.BigEndian.PutUint64(raw[35:], uint64(b.MaxTimestamp))
	binary.BigEndian.PutUint64(raw[43:], uint64(b.ProducerID))
	binary.BigEndian.PutUint16(raw[51:], uint16(b.ProducerEpoch))
	binary.BigEndian.PutUint32(raw[53:], uint32(b.BaseSequence))
	binary.BigEndian.PutUint32(raw[57:], uint32(b.Count))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
}

// How a run of batches ends.
const (
	batchWhole = iota // with a whole batch
	batchCut          // within a batch
	batchBad          // with something that is no batch
)

// batchOffsets looks only at the headers of a run of batches: the first offset and the last one, how many batches
// are whole, and how the run ends. It allocates nothing.
func batchOffsets(b []byte) (first, last kraft.Offset, whole, end int) {
	for len(b) > 0 {
		if len(b) < batchCounted {
			return first, last, whole, batchCut
		}
		length := int(int32(binary.BigEndian.Uint32(b[8:])))
		if length < BatchOverhead-batchCounted || len(b) > 16 && b[16] != 2 {
			return first, last, whole, batchBad
		}
		if len(b) < batchCounted+length {
			return first, last, whole, batchCut
		}
		base := kraft.Offset(binary.BigEndian.Uint64(b))
		if whole == 0 {
			first = base
		}
		last = base + kraft.Offset(int32(binary.BigEndian.Uint32(b[23:])))
		whole++
		b = b[batchCounted+length:]
	}
	return first, last, whole, batchWhole
}

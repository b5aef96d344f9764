package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxInflated bounds what the records of one batch may be inflated to, bytes. A raft batch has at most 8 MiB.
const MaxInflated = 64 << 20

// ErrInflated marks compressed records that would exceed MaxInflated.
var ErrInflated = errors.New("records inflate to more than 64 MiB")

// Compression codecs in Batch.Attributes (Kafka: CompressionType).
const (
	CodecNone = iota
	CodecGzip
	CodecSnappy
	CodecLZ4
	CodecZstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Codec is the name of the batch's compression.
func (b *Batch) Codec() string {
	if codec := int(b.Attributes & AttrCompression); codec < len(codecNames) {
		return codecNames[codec]
	}
	return fmt.Sprintf("codec %d", b.Attributes&AttrCompression)
}

func inflate(codec int16, b []byte) ([]byte, error) {
	var out []byte
	var err error
	switch codec {
	case CodecGzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = readBounded(r)
		}
	case CodecSnappy:
		out, err = inflateSnappy(b)
	case CodecLZ4:
		out, err = readBounded(lz4.NewReader(bytes.NewReader(b)))
	case CodecZstd:
		out, err = zstdDecoder().DecodeAll(b, nil)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			err = ErrInflated
		}
	default:
		return nil, fmt.Errorf("compression codec %d: %w", codec, ErrUnsupported)
	}
	if err != nil && !errors.Is(err, ErrInflated) {
		return nil, fmt.Errorf("%s records: %w: %w", codecNames[codec], ErrMalformed, err)
	}
	return out, err
}

// zstdDecoder is shared; DecodeAll may be called concurrently.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxInflated))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

func readBounded(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, MaxInflated+1))
	if err == nil && len(out) > MaxInflated {
		return nil, ErrInflated
	}
	return out, err
}

// xerialMagic begins the framing of the snappy-java library, which Kafka's Java clients write: magic, two
// versions, then blocks with their size.
var xerialMagic = []byte("\x82SNAPPY\x00")

const xerialHead = 16

func inflateSnappy(b []byte) ([]byte, error) {
	if len(b) < xerialHead || !bytes.HasPrefix(b, xerialMagic) {
		return snappyBlock(nil, b)
	}
	var out []byte
	for b = b[xerialHead:]; len(b) > 0; {
		if len(b) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		size := binary.BigEndian.Uint32(b)
		if b = b[4:]; uint64(size) > uint64(len(b)) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = snappyBlock(out, b[:size]); err != nil {
			return nil, err
		}
		b = b[size:]
	}
	return out, nil
}

// snappyBlock appends one inflated block.
func snappyBlock(out, block []byte) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if n > MaxInflated-len(out) {
		return nil, ErrInflated
	}
	plain, err := s2.Decode(nil, block)
	if err != nil {
		return nil, err
	}
	return append(out, plain...), nil
}

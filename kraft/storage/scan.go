package storage

import (
	"errors"
	"fmt"
	"io"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// scanChunk is how much of a file is read at once.
const scanChunk = 1 << 20

// maxBatch is beyond every batch of a metadata log: a leader writes 8 MiB at most (KafkaRaftClient.MAX_BATCH_SIZE_BYTES), and no
// request above 100 MiB is taken. A length beyond it is none, and must not cost memory.
const maxBatch = 128 << 20

// Damage is why a file of batches cannot be read beyond a position.
type Damage struct {
	Position int64 // of the first byte that is not part of a whole batch
	Size     int64 // of the file
	Err      error // wire.ErrCut: the file ends within a batch
}

func (d *Damage) Error() string {
	return fmt.Sprintf("at byte %d of %d: %v", d.Position, d.Size, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Scanner reads the batches of a log segment or a snapshot one after the other, in memory bounded by the largest batch.
type Scanner struct {
	f        io.ReaderAt
	size     int64
	buf      []byte
	at       int64 // of buf in the file
	rest     []byte
	position int64
	batch    wire.Batch

	// Unchecked leaves out the checksums.
	Unchecked bool
}

// NewScanner reads batches from the position up to size.
func NewScanner(f io.ReaderAt, from, size int64) *Scanner {
	return &Scanner{f: f, size: size, at: from, position: from}
}

// Next is the next batch, which is valid until the next call, and its position. At the end it is io.EOF; where no whole and right
// batch follows it is a *Damage; other errors are those of the reader.
func (s *Scanner) Next() (*wire.Batch, int64, error) {
	for {
		b, rest, err := wire.NextBatch(s.rest)
		if err == nil {
			if !s.Unchecked && !b.CRCValid() {
				return nil, s.position, s.damage(fmt.Errorf("batch at offset %d: the checksum is wrong: %w", b.BaseOffset, ErrCorrupt))
			}
			if b.LastOffsetDelta < 0 || b.BaseOffset < 0 {
				return nil, s.position, s.damage(fmt.Errorf("batch at offset %d ends at %d: %w", b.BaseOffset, b.LastOffset(), ErrCorrupt))
			}
			at := s.position
			s.batch, s.rest, s.position = b, rest, at+int64(len(b.Bytes))
			return &s.batch, at, nil
		}
		if !errors.Is(err, wire.ErrCut) {
			return nil, s.position, s.damage(err)
		}
		if s.at >= s.size {
			if len(s.rest) == 0 {
				return nil, s.position, io.EOF
			}
			return nil, s.position, s.damage(err)
		}
		if err := s.fill(b.Length); err != nil {
			return nil, s.position, err
		}
	}
}

func (s *Scanner) damage(err error) error {
	return &Damage{Position: s.position, Size: s.size, Err: err}
}

// fill reads on. A batch that says to be longer than the file is damage, and not read.
func (s *Scanner) fill(length int32) error {
	want := int64(scanChunk)
	if total := int64(length) + 12; length > 0 {
		if s.position+total > s.size {
			return s.damage(fmt.Errorf("a batch of %d bytes, %d are left: %w", total, s.size-s.position, wire.ErrCut))
		}
		if total > maxBatch {
			return s.damage(fmt.Errorf("a batch of %d bytes, above the %d that any can have: %w", total, maxBatch, ErrCorrupt))
		}
		want = max(want, total)
	}
	held := len(s.rest)
	if int64(len(s.buf)) < want {
		grown := make([]byte, min(want, int64(held)+s.size-s.at))
		copy(grown, s.rest)
		s.buf = grown
	} else {
		copy(s.buf, s.rest)
	}
	n := min(int64(len(s.buf)-held), s.size-s.at)
	read, err := s.f.ReadAt(s.buf[held:int64(held)+n], s.at)
	if err != nil && (!errors.Is(err, io.EOF) || read == 0) {
		if errors.Is(err, io.EOF) { // the file is shorter than it was
			s.size = s.at
			s.rest = s.buf[:held]
			return nil
		}
		return fmt.Errorf("read at %d: %w", s.at, err)
	}
	s.rest = s.buf[:held+read]
	s.at += int64(read)
	return nil
}

// end is the offset behind the batch.
func end(b *wire.Batch) kraft.Offset { return b.LastOffset() + 1 }

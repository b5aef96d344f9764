package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// firstRead is what is taken for a frame before its bytes arrive.
const firstRead = 4 << 10

// ReadFrame reads one frame, without its size, into the storage of dst, which may be nil. Memory grows with what arrives, not with what the
// size claims. The error is io.EOF where no byte came, io.ErrUnexpectedEOF where the stream ended within the frame, and ErrMalformed for
// a size that is negative or above the limit.
func ReadFrame(r io.Reader, dst []byte, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if size < 0 || size > limit {
		return nil, fmt.Errorf("%w: a frame of %d bytes, want 0 to %d", ErrMalformed, size, limit)
	}
	frame := dst[:0]
	for len(frame) < size {
		if len(frame) == cap(frame) {
			frame = append(frame, make([]byte, min(size-len(frame), max(firstRead, len(frame))))...)[:len(frame)]
		}
		n, err := io.ReadFull(r, frame[len(frame):min(cap(frame), size)])
		frame = frame[:len(frame)+n]
		if err == io.EOF { //nolint:errorlint // io.ReadFull returns it bare
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return frame, nil
}

// AppendFrame appends a frame with its size.
func AppendFrame(dst, frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(frame))), frame...)
}

package secure

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// maxFrame bounds a frame before the peer is authenticated (sasl.server.max.receive.size).
const maxFrame = 512 << 10

// readFrame reads one frame. Memory grows with what arrives, not with what the size claims.
func readFrame(conn net.Conn, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 0 || int(size) > limit {
		return nil, fmt.Errorf("a frame of %d bytes before authentication: at most %d are taken", size, limit)
	}
	frame := make([]byte, 0, min(int(size), 4<<10))
	for len(frame) < int(size) {
		if len(frame) == cap(frame) {
			frame = append(frame, 0)[:len(frame)]
		}
		n, err := conn.Read(frame[len(frame):min(cap(frame), int(size))])
		frame = frame[:len(frame)+n]
		if err != nil && len(frame) < int(size) {
			return nil, unexpected(err)
		}
	}
	return frame, nil
}

func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // io.Reader returns it bare
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFrame sends a payload behind its size.
func writeFrame(conn net.Conn, payload []byte) error {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(payload)), uint32(len(payload)))
	_, err := conn.Write(append(frame, payload...))
	return err
}

package secure

import (
	"errors"
	"fmt"
	"net"

	"github.com/understudy-kafka/understudy/wire"
)

// maxFrame bounds a frame before the peer is authenticated (sasl.server.max.receive.size).
const maxFrame = 512 << 10

// readFrame reads one frame of a peer that is not authenticated yet.
func readFrame(conn net.Conn) ([]byte, error) {
	frame, err := wire.ReadFrame(conn, nil, maxFrame)
	if errors.Is(err, wire.ErrMalformed) {
		return nil, fmt.Errorf("before authentication: %w", err)
	}
	return frame, err
}

// writeFrame sends a payload behind its size.
func writeFrame(conn net.Conn, payload []byte) error {
	_, err := conn.Write(wire.AppendFrame(nil, payload))
	return err
}

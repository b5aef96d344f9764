package replay

import (
	"bufio"
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// readFrame reads a frame and returns it without its size. Memory grows with what arrives.
func readFrame(in *bufio.Reader) ([]byte, error) { return wire.ReadFrame(in, nil, wire.MaxFrameSize) }

func sized(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame))), frame...)
}

// requestFrame is a recorded request in a version.
func requestFrame(x *exchange, version int16) ([]byte, error) {
	if !x.readable || version == x.header.Version {
		return x.frame, nil
	}
	body, err := inVersion(x.header.Key, x.header.Version, version, wire.Request, x.request)
	if err != nil {
		return nil, err
	}
	h := x.header
	f := binary.BigEndian.AppendUint16(nil, uint16(h.Key))
	f = binary.BigEndian.AppendUint16(f, uint16(version))
	f = binary.BigEndian.AppendUint32(f, uint32(h.CorrelationID))
	if h.ClientID == nil {
		f = binary.BigEndian.AppendUint16(f, 0xffff)
	} else {
		f = append(binary.BigEndian.AppendUint16(f, uint16(len(h.ClientID))), h.ClientID...)
	}
	if wire.Flexible(h.Key, version) {
		f = append(f, 0)
	}
	return append(f, body...), nil
}

// responseFrame is the answer to a request of the node.
func responseFrame(h *wire.RequestHeader, body []byte) []byte {
	f := binary.BigEndian.AppendUint32(nil, uint32(h.CorrelationID))
	if h.Key != wire.KeyAPIVersions && wire.Flexible(h.Key, h.Version) { // the header of its answer is always v0
		f = append(f, 0)
	}
	return append(f, body...)
}

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrShort marks a frame that ends before the field being read.
var ErrShort = errors.New("frame ends too early")

// RequestHeader is the head of a request frame: header v1, or v2 (with tagged fields) for a flexible
// version. Kafka: RequestHeader.json.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      []byte // part of the frame; nil if null
}

// keyControlledShutdown is the only key with a version (0) whose request header has no client id (header v0).
const keyControlledShutdown int16 = 7

// ParseRequestHeader reads a request's header and returns the body behind it. It needs no knowledge of the
// key: where the key or version is unknown, the header is taken as v1 and the body starts behind the client id.
func ParseRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < 8 {
		return h, nil, fmt.Errorf("request header of %d bytes: %w", len(frame), ErrShort)
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	if h.Key == keyControlledShutdown && h.Version == 0 {
		return h, frame[8:], nil
	}
	if len(frame) < 10 {
		return h, nil, fmt.Errorf("request header of %d bytes: %w", len(frame), ErrShort)
	}
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[10:]
	if n >= 0 {
		if n > len(body) {
			return h, nil, fmt.Errorf("client id of %d bytes: %w", n, ErrShort)
		}
		h.ClientID = body[:n:n]
		body = body[n:]
	}
	if Flexible(h.Key, h.Version) {
		if body = skipTags(body); body == nil {
			return h, nil, fmt.Errorf("request header tags: %w", ErrShort)
		}
	}
	return h, body, nil
}

// ParseResponseHeader reads the header of the response to a request of this key and version: v0, or v1
// (with tagged fields) for a flexible version. ApiVersions answers always carry v0.
func ParseResponseHeader(frame []byte, key, version int16) (correlationID int32, body []byte, err error) {
	if len(frame) < 4 {
		return 0, nil, fmt.Errorf("response header of %d bytes: %w", len(frame), ErrShort)
	}
	correlationID = int32(binary.BigEndian.Uint32(frame))
	body = frame[4:]
	if key != int16(kmsg.ApiVersions) && Flexible(key, version) {
		if body = skipTags(body); body == nil {
			return correlationID, nil, fmt.Errorf("response header tags: %w", ErrShort)
		}
	}
	return correlationID, body, nil
}

// noFlexible stands for a key that has no flexible version.
const noFlexible = 1 << 14

var firstFlexible = func() (first [128]int16) {
	for key := range first {
		first[key] = noFlexible
		req := kmsg.RequestForKey(int16(key))
		if req == nil {
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			if req.IsFlexible() {
				first[key] = v
				break
			}
		}
	}
	return first
}()

// Flexible reports whether requests of this key and version use the flexible encoding (KIP-482).
func Flexible(key, version int16) bool {
	return key >= 0 && int(key) < len(firstFlexible) && version >= firstFlexible[key]
}

// skipTags passes over a section of tagged fields; nil means that it does not end.
func skipTags(b []byte) []byte {
	r := reader{b: b, flex: true}
	if r.tags(); r.bad {
		return nil
	}
	return b[r.at:]
}

package recordings

import (
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// A stream that was joined midway, or that lacks a stretch, is picked up again where a frame can begin.

const (
	requestHead  = 4 + 10 // size field and the fixed part of a request header
	responseHead = 4 + 4
	maxClientID  = 512 // longer ones are not looked for
	maxAPIKey    = 128
	maxKnownVers = 40
)

// beginsRequest reports whether a request frame begins at b: a size, a plausible key and version, and a whole client id
// of printable characters. Java clients always send one.
func beginsRequest(b []byte) bool {
	if len(b) < requestHead {
		return false
	}
	size := int32(binary.BigEndian.Uint32(b))
	key, version := int16(binary.BigEndian.Uint16(b[4:])), int16(binary.BigEndian.Uint16(b[6:]))
	n := int(int16(binary.BigEndian.Uint16(b[12:])))
	// Produce is key 0: it would be seen in any run of zeros, and controllers do not take it.
	if size < 10 || size > wire.MaxFrameSize || key <= 0 || key >= maxAPIKey || version < 0 || version > maxKnownVers ||
		n < 1 || n > maxClientID || int(size) < 10+n || len(b) < requestHead+n {
		return false
	}
	for _, c := range b[requestHead : requestHead+n] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// findRequest returns where the first request begins in b, or -1. A request is believed if what lies behind it in b
// begins another one.
func findRequest(b []byte) int {
	for i := 0; i+requestHead <= len(b); i++ {
		if !beginsRequest(b[i:]) {
			continue
		}
		end := i + 4 + int(binary.BigEndian.Uint32(b[i:]))
		if end+requestHead+maxClientID > len(b) || beginsRequest(b[end:]) {
			return i
		}
	}
	return -1
}

// beginsResponse reports whether a response to one of the requests can begin at b.
func beginsResponse(b []byte, pairs *requests) bool {
	if len(b) < responseHead {
		return false
	}
	if size := int32(binary.BigEndian.Uint32(b)); size < 4 || size > wire.MaxFrameSize {
		return false
	}
	return pairs.has(int32(binary.BigEndian.Uint32(b[4:])))
}

// isTLS reports whether a stream begins with a TLS handshake record.
func isTLS(b []byte) bool {
	return len(b) >= 3 && b[0] == 0x16 && b[1] == 3 && b[2] <= 4
}

package recordings

import (
	"encoding/binary"
	"slices"
)

// wiresharkBuffer is the size of the buffer that Wireshark reads a compressed file through (ZSTD_DStreamInSize of
// libzstd). Where a zstd frame has ended, Wireshark looks for the next one's magic number at the start of that buffer,
// not where it is in it (wiretap/file_wrappers.c, check_for_zstd_compression; 4.0 to 4.4). So a file of several frames opens
// only if each buffer that a frame begins in has a frame's magic as its first bytes.
const wiresharkBuffer = 131075

// skippableHead is the size of a skippable frame's header (RFC 8878, section 3.1.2).
const skippableHead = 8

// emptyZstd is a zstd frame without content.
var emptyZstd = []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0}

// emptyBlocks are zstd blocks without content: as many as move the end of a frame past what filling cannot reach.
var emptyBlocks = make([]byte, 6*3)

// place appends a zstd frame to what will be written at the offset, and before it the filling that it needs: a frame
// does not cross the end of a buffer, or, where it is too large for that, ends with one. What is left of a
// buffer is never too small for a skippable frame.
func place(to []byte, offset int64, frame []byte) []byte {
	at := int((offset + int64(len(to))) % wiresharkBuffer)
	if fits(at, len(frame)) {
		return append(to, frame...)
	}
	if fits(0, len(frame)) {
		return append(appendFilling(to, wiresharkBuffer-at), frame...)
	}
	filling := endsWithBuffer(at, len(frame))
	if filling == 0 || at > 0 && filling >= skippableHead && at+filling < wiresharkBuffer {
		return append(appendFilling(to, filling), frame...)
	}
	if at > 0 {
		to = appendFilling(to, wiresharkBuffer-at)
	}
	to = append(to, emptyZstd...) // filling cannot come first in a buffer
	filling = endsWithBuffer(len(emptyZstd), len(frame))
	if filling > 0 && filling < skippableHead || len(emptyZstd)+filling >= wiresharkBuffer {
		head := 5 + zstdHeaderRest(frame[4])
		frame = slices.Concat(frame[:head], emptyBlocks, frame[head:])
		filling = endsWithBuffer(len(emptyZstd), len(frame))
	}
	return append(appendFilling(to, filling), frame...)
}

// fits reports whether a frame of this size may begin at a place in a buffer: it ends in it, and leaves room for
// filling or none.
func fits(at, size int) bool {
	end := at + size
	return end == wiresharkBuffer || end <= wiresharkBuffer-skippableHead
}

// endsWithBuffer is how much filling lets a frame end where a buffer ends.
func endsWithBuffer(at, size int) int {
	return (wiresharkBuffer - (at+size)%wiresharkBuffer) % wiresharkBuffer
}

// appendFilling appends a skippable frame of a size in all; 0 is none.
func appendFilling(to []byte, size int) []byte {
	if size == 0 {
		return to
	}
	to = binary.LittleEndian.AppendUint32(to, 0x184D2A50)
	to = binary.LittleEndian.AppendUint32(to, uint32(size-skippableHead))
	return append(to, make([]byte, size-skippableHead)...)
}

package recordings

import "encoding/binary"

// What this package writes of the pcapng format (IETF draft-ietf-opsawg-pcapng): little-endian sections with
// interfaces in nanoseconds.
const (
	blockSection   = 0x0A0D0D0A
	blockInterface = 1
	blockPacketOld = 2
	blockSimple    = 3
	blockPacket    = 6

	byteOrderMagic = 0x1A2B3C4D

	optEnd     = 0
	optComment = 1
	optName    = 2    // of an interface
	optDescr   = 3    // of an interface
	optUserApp = 4    // of a section
	optTsresol = 9    // of an interface
	optTsoff   = 14   // of an interface
	optCustom  = 2989 // binary, may be copied to another file

	// enterpriseNumber marks the custom options of this program. 32473 is reserved for documentation and
	// examples (RFC 5612), so it belongs to nobody.
	enterpriseNumber = 32473

	linkRaw = 101 // LINKTYPE_RAW: the packet begins with its IP header

	// maxOption bounds what one custom option carries; the format ends at 65,535.
	maxOption = 60_000
)

// beginBlock starts a block; endBlock with the position it returned completes it.
func beginBlock(b []byte, kind uint32) ([]byte, int) {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(b, 0, 0, 0, 0), at
}

func endBlock(b []byte, at int) []byte {
	n := uint32(len(b) - at + 4)
	binary.LittleEndian.PutUint32(b[at+4:], n)
	return binary.LittleEndian.AppendUint32(b, n)
}

// appendOption adds an option of text or bytes.
func appendOption[T string | []byte](b []byte, code uint16, value T) []byte {
	value = value[:min(len(value), maxOption)]
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return pad4(b, len(value))
}

// beginCustom starts a custom option of this program; endCustom completes it.
func beginCustom(b []byte) ([]byte, int) {
	b = binary.LittleEndian.AppendUint16(b, optCustom)
	at := len(b)
	b = append(b, 0, 0)
	return binary.LittleEndian.AppendUint32(b, enterpriseNumber), at
}

func endCustom(b []byte, at int) []byte {
	n := len(b) - at - 2
	binary.LittleEndian.PutUint16(b[at:], uint16(n))
	return pad4(b, n)
}

func endOptions(b []byte) []byte { return append(b, 0, 0, 0, 0) }

var zeros [4]byte

// pad4 pads what has a length of n to 32 bits.
func pad4(b []byte, n int) []byte { return append(b, zeros[:-n&3]...) }

func padded(n int) int { return n + -n&3 }

// appendSection writes a section header. info is for machines, the comment for people.
func appendSection(b []byte, app, comment string, info []byte) []byte {
	b, at := beginBlock(b, blockSection)
	b = binary.LittleEndian.AppendUint32(b, byteOrderMagic)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint64(b, ^uint64(0)) // length not stated
	b = appendOption(b, optUserApp, app)
	if comment != "" {
		b = appendOption(b, optComment, comment)
	}
	b, opt := beginCustom(b)
	b = append(b, info[:min(len(info), maxOption)]...)
	b = endCustom(b, opt)
	return endBlock(endOptions(b), at)
}

func appendInterface(b []byte, name, description string) []byte {
	b, at := beginBlock(b, blockInterface)
	b = binary.LittleEndian.AppendUint16(b, linkRaw)
	b = append(b, 0, 0, 0, 0, 0, 0) // reserved, no snap length
	b = appendOption(b, optName, name)
	b = appendOption(b, optDescr, description)
	b = appendOption(b, optTsresol, []byte{9})
	return endBlock(endOptions(b), at)
}

// appendPacketHead writes the fixed part of an enhanced packet block. The packet of size bytes, original bytes
// before it was cut, follows.
func appendPacketHead(b []byte, iface uint32, at int64, size, original int) []byte {
	b = binary.LittleEndian.AppendUint32(b, iface)
	b = binary.LittleEndian.AppendUint32(b, uint32(uint64(at)>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	return binary.LittleEndian.AppendUint32(b, uint32(original))
}

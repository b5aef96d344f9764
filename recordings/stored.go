package recordings

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Under load the processor that compresses may be the one that forwards. Chunks that fill in no time are therefore
// stored: as zstd frames of raw blocks, which every decoder reads and which cost a copy and a checksum.

// hastyBlocks is how many packet blocks a chunk must have to be stored: fewer are large, and what is large compresses
// fast and well.
const hastyBlocks = 64

// appendStored appends b as a zstd frame of raw blocks (RFC 8878, section 3.1.1).
func appendStored(to, b []byte) []byte {
	to = append(to, zstdMagic...)
	to = append(to, 2<<6|1<<5|1<<2) // size in four bytes, single segment, checksum
	to = binary.LittleEndian.AppendUint32(to, uint32(len(b)))
	sum := uint32(xxhash.Sum64(b))
	for {
		block := b[:min(len(b), maxZstdBlock)]
		b = b[len(block):]
		head := len(block) << 3
		if len(b) == 0 {
			head |= 1 // the last one
		}
		to = append(to, byte(head), byte(head>>8), byte(head>>16))
		to = append(to, block...)
		if len(b) == 0 {
			return binary.LittleEndian.AppendUint32(to, sum)
		}
	}
}

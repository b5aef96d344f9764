package recordings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var (
	zstdMagic     = []byte{0x28, 0xB5, 0x2F, 0xFD}
	errIncomplete = errors.New("zstd frame is not complete")
	errNotZstd    = errors.New("not a zstd frame")
	errTooBig     = errors.New("zstd frame is too big")
)

const (
	// maxZstdFrame bounds a compressed frame, and its content: the largest Kafka frame with what a
	// fault rule made of it, and the machine fields.
	maxZstdFrame = 320 << 20
	maxZstdBlock = 128 << 10
	readAhead    = 64 << 10
)

// zstdFrames reads independent zstd frames one by one, so that the end of the last whole one is known and a damaged
// one can be passed over.
type zstdFrames struct {
	in     io.Reader
	buf    []byte // read and not used yet
	offset int64  // of buf in the file
	space  []byte // that buf lies in
	out    []byte
	eof    bool
	failed error // of the reader below
}

// frameDecoder decompresses single frames, for any number of readers at once.
var frameDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxZstdFrame))
	if err != nil {
		panic(err) // these options are valid
	}
	return d
})

func newZstdFrames(in io.Reader) *zstdFrames { return &zstdFrames{in: in} }

// next decompresses the next frame. The bytes are valid until the following call. At the end it returns io.EOF, and
// errIncomplete when the bytes end inside a frame; both may be tried again when the file has grown. Other errors
// are damage: skip goes on behind it.
func (z *zstdFrames) next() ([]byte, error) {
	for {
		n, skippable, err := z.frame()
		if err != nil && z.failed != nil {
			return nil, z.failed
		}
		if err != nil {
			return nil, err
		}
		frame := z.buf[:n]
		if skippable {
			z.use(n)
			continue
		}
		z.out, err = frameDecoder().DecodeAll(frame, z.out[:0])
		if err != nil {
			return nil, err
		}
		z.use(n)
		return z.out, nil
	}
}

// use passes over n bytes.
func (z *zstdFrames) use(n int) {
	z.buf = z.buf[n:]
	z.offset += int64(n)
}

// have reads until n bytes are there.
func (z *zstdFrames) have(n int) bool {
	for len(z.buf) < n {
		if z.eof {
			return false
		}
		z.more(n)
	}
	return true
}

// more reads once, with space for n bytes in all. Space grows with what is really there, not with what a
// header claims.
func (z *zstdFrames) more(n int) {
	if cap(z.buf)-len(z.buf) < readAhead/4 {
		if want := min(n, 2*len(z.buf)) + readAhead; len(z.space) < want {
			z.space = make([]byte, want)
		}
		z.buf = z.space[:copy(z.space, z.buf)]
	}
	got, err := z.in.Read(z.buf[len(z.buf):cap(z.buf)])
	z.buf = z.buf[:len(z.buf)+got]
	if err != nil {
		z.eof = true
		if !errors.Is(err, io.EOF) {
			z.failed = err
		}
	}
}

// frame measures the frame at the head of buf without decompressing it (RFC 8878, section 3.1).
func (z *zstdFrames) frame() (n int, skippable bool, err error) {
	if !z.have(4) {
		if len(z.buf) == 0 {
			return 0, false, io.EOF
		}
		return 0, false, errIncomplete
	}
	if magic := binary.LittleEndian.Uint32(z.buf); magic&^0xF == 0x184D2A50 {
		if !z.have(8) {
			return 0, false, errIncomplete
		}
		n := int64(binary.LittleEndian.Uint32(z.buf[4:])) + 8
		if n > maxZstdFrame {
			return 0, false, errTooBig
		}
		if !z.have(int(n)) {
			return 0, false, errIncomplete
		}
		return int(n), true, nil
	}
	if !bytes.Equal(z.buf[:4], zstdMagic) {
		return 0, false, errNotZstd
	}
	if !z.have(5) {
		return 0, false, errIncomplete
	}
	descriptor := z.buf[4]
	head := 5 + zstdHeaderRest(descriptor)
	n = head
	most := uint64(0) // that the blocks can become
	for last := false; !last; {
		most += maxZstdBlock
		if n > maxZstdFrame {
			return 0, false, errTooBig
		}
		if !z.have(n + 3) {
			return 0, false, errIncomplete
		}
		b := uint32(z.buf[n]) | uint32(z.buf[n+1])<<8 | uint32(z.buf[n+2])<<16
		last = b&1 == 1
		size := int(b >> 3)
		switch b >> 1 & 3 {
		case 1:
			size = 1
		case 3:
			return 0, false, fmt.Errorf("%w: reserved block type", errNotZstd)
		}
		n += 3 + size
	}
	if descriptor&4 != 0 {
		n += 4
	}
	if !z.have(n) {
		return 0, false, errIncomplete
	}
	if size := zstdContentSize(z.buf[:head]); size > most || size > maxZstdFrame {
		return 0, false, fmt.Errorf("%w: it claims %d bytes", errTooBig, size)
	}
	return n, false, nil
}

// zstdContentSize is the size that a frame header states, or 0. The decoder makes space for it before it looks further.
func zstdContentSize(head []byte) uint64 {
	descriptor := head[4]
	switch flag := descriptor >> 6; {
	case flag == 3:
		return binary.LittleEndian.Uint64(head[len(head)-8:])
	case flag == 2:
		return uint64(binary.LittleEndian.Uint32(head[len(head)-4:]))
	case flag == 1:
		return uint64(binary.LittleEndian.Uint16(head[len(head)-2:])) + 256
	case descriptor>>5&1 == 1:
		return uint64(head[len(head)-1])
	}
	return 0
}

// zstdHeaderRest is the size of a frame header behind its descriptor.
func zstdHeaderRest(descriptor byte) int {
	single := descriptor>>5&1 == 1
	n := [...]int{0, 1, 2, 4}[descriptor&3] // dictionary id
	if !single {
		n++ // window
	}
	switch descriptor >> 6 { // content size
	case 0:
		if single {
			n++
		}
	case 1:
		n += 2
	case 2:
		n += 4
	case 3:
		n += 8
	}
	return n
}

// skip goes on behind a damaged frame: to the next place where one could begin. It reports false at the end.
func (z *zstdFrames) skip() bool {
	z.have(1)
	if len(z.buf) == 0 {
		return false
	}
	z.use(1)
	for {
		if i := bytes.Index(z.buf, zstdMagic); i >= 0 {
			z.use(i)
			return true
		}
		z.use(max(0, len(z.buf)-3))
		if !z.have(4) {
			z.use(len(z.buf))
			return false
		}
	}
}

// retry makes ready to read again behind the last whole frame. What was read of the next one is forgotten if the file
// can be read again: a recorder whose disk was full cuts it off and writes anew.
func (z *zstdFrames) retry() error {
	z.eof = false
	if err := z.restart(); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// restart reads again from offset on.
func (z *zstdFrames) restart() error {
	seeker, ok := z.in.(io.Seeker)
	if !ok {
		return errors.ErrUnsupported
	}
	if _, err := seeker.Seek(z.offset, io.SeekStart); err != nil {
		return err
	}
	z.buf, z.eof = z.buf[:0], false
	return nil
}

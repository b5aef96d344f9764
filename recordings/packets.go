package recordings

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The magic numbers of capture files, as their first four bytes read little-endian.
const (
	magicMicros        = 0xa1b2c3d4
	magicNanos         = 0xa1b23c4d
	magicMicrosSwapped = 0xd4c3b2a1
	magicNanosSwapped  = 0x4d3cb2a1
)

// maxPacket bounds a packet or block of a capture. tcpdump's largest snap length is 262,144; a pcapng block may
// carry long options.
const maxPacket = 16 << 20

// packet is one packet of a capture. Its bytes are valid until the next one is read.
type packet struct {
	number uint64 // from 1, as Wireshark counts
	at     int64  // nanoseconds since the Unix epoch
	link   uint32 // LINKTYPE
	data   []byte
	wire   int // bytes on the wire; more than data has if the capture cut it
}

// packetReader reads the packets of a capture.
type packetReader interface {
	next(p *packet) error
	// offset is where the block or record begins that was read last, bytes of the decompressed file.
	offset() int64
}

// errPacket marks a capture that does not follow its format.
var errPacket = errors.New("damaged capture")

// blockInput reads a capture piece by piece.
type blockInput struct {
	in    *bufio.Reader
	pos   int64
	start int64
	buf   []byte
}

func (b *blockInput) offset() int64 { return b.start }

// take returns the next n bytes, valid until the following call. It returns io.EOF if there are none, and ErrCut
// if there are fewer.
func (b *blockInput) take(n int) ([]byte, error) {
	if n <= b.in.Size() { // in place
		p, err := b.in.Peek(n)
		if err == nil {
			_, _ = b.in.Discard(n)
			b.pos += int64(n)
			return p, nil
		}
		return nil, cutAt(err, len(p))
	}
	if cap(b.buf) < n {
		b.buf = make([]byte, n)
	}
	got, err := io.ReadFull(b.in, b.buf[:n])
	if err != nil {
		return nil, cutAt(err, got)
	}
	b.pos += int64(n)
	return b.buf[:n], nil
}

func cutAt(err error, got int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if got == 0 {
			return io.EOF
		}
		return ErrCut
	}
	return err
}

// pcapReader reads classic pcap.
type pcapReader struct {
	blockInput
	order binary.ByteOrder
	nanos bool
	link  uint32
	count uint64
}

func newPcapReader(in *bufio.Reader) (*pcapReader, error) {
	r := &pcapReader{blockInput: blockInput{in: in}, order: binary.LittleEndian}
	head, err := r.take(24)
	if err != nil {
		return nil, fmt.Errorf("pcap header: %w", ErrCut)
	}
	switch binary.LittleEndian.Uint32(head) {
	case magicNanos:
		r.nanos = true
	case magicMicrosSwapped:
		r.order = binary.BigEndian
	case magicNanosSwapped:
		r.order, r.nanos = binary.BigEndian, true
	}
	r.link = r.order.Uint32(head[20:]) & 0xffff // the rest tells about frame check sequences
	return r, nil
}

func (r *pcapReader) next(p *packet) error {
	r.start = r.pos
	head, err := r.take(16)
	if err != nil {
		return err
	}
	seconds, fraction := int64(r.order.Uint32(head)), int64(r.order.Uint32(head[4:]))
	size, whole := r.order.Uint32(head[8:]), r.order.Uint32(head[12:])
	if !r.nanos {
		fraction *= 1000
	}
	if size > maxPacket {
		return fmt.Errorf("packet of %d bytes: %w", size, errPacket)
	}
	data, err := r.take(int(size))
	if errors.Is(err, io.EOF) {
		return ErrCut
	}
	if err != nil {
		return err
	}
	r.count++
	*p = packet{
		number: r.count, at: seconds*1e9 + fraction, link: r.link, data: data,
		wire: int(max(min(whole, math.MaxInt32), size)),
	}
	return nil
}

// captureInterface is an interface of a pcapng section.
type captureInterface struct {
	link   uint32
	units  uint64 // of a timestamp, per second
	offset int64  // seconds
}

// pcapngReader reads pcapng of either byte order.
type pcapngReader struct {
	blockInput
	order      binary.ByteOrder
	interfaces []captureInterface
	count      uint64
	last       int64 // instant of the packet before
}

// maxInterfaces bounds the memory that interface blocks take.
const maxInterfaces = 65536

func (r *pcapngReader) next(p *packet) error {
	for {
		kind, body, err := r.block()
		if err != nil {
			return err
		}
		ok := false
		switch kind {
		case blockSection:
			r.interfaces = r.interfaces[:0]
		case blockInterface:
			err = r.addInterface(body)
		case blockPacket, blockPacketOld:
			ok, err = r.packet(kind, body, p)
		case blockSimple:
			ok, err = r.simple(body, p)
		}
		if err != nil || ok {
			return err
		}
	}
}

// block reads a block and returns its body.
func (r *pcapngReader) block() (kind uint32, body []byte, err error) {
	r.start = r.pos
	head, err := r.in.Peek(12)
	if err != nil {
		return 0, nil, cutAt(err, len(head))
	}
	kind = binary.LittleEndian.Uint32(head)
	if kind == blockSection {
		switch binary.LittleEndian.Uint32(head[8:]) {
		case byteOrderMagic:
			r.order = binary.LittleEndian
		case 0x4D3C2B1A:
			r.order = binary.BigEndian
		default:
			return 0, nil, fmt.Errorf("section without byte order: %w", errPacket)
		}
	}
	if r.order == nil {
		return 0, nil, fmt.Errorf("no section header: %w", errPacket)
	}
	kind = r.order.Uint32(head)
	size := r.order.Uint32(head[4:])
	if size < 12 || size&3 != 0 || size > maxPacket {
		return 0, nil, fmt.Errorf("block of %d bytes: %w", size, errPacket)
	}
	b, err := r.take(int(size))
	if err != nil {
		return 0, nil, err
	}
	if r.order.Uint32(b[size-4:]) != size {
		return 0, nil, fmt.Errorf("block of %d bytes that ends otherwise: %w", size, errPacket)
	}
	return kind, b[8 : size-4], nil
}

func (r *pcapngReader) addInterface(b []byte) error {
	if len(b) < 8 || len(r.interfaces) == maxInterfaces {
		return fmt.Errorf("interface block: %w", errPacket)
	}
	i := captureInterface{link: uint32(r.order.Uint16(b)), units: 1e6}
	for b = b[8:]; len(b) >= 4; {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optEnd || 4+n > len(b) {
			break
		}
		value := b[4 : 4+n]
		switch {
		case code == optTsresol && n >= 1:
			i.units = resolution(value[0])
		case code == optTsoff && n >= 8:
			i.offset = int64(r.order.Uint64(value))
		}
		b = b[min(4+padded(n), len(b)):]
	}
	r.interfaces = append(r.interfaces, i)
	return nil
}

// resolution is what if_tsresol says: a negative power of ten, or of two if the highest bit is set.
func resolution(v byte) uint64 {
	base := uint64(10)
	if v&0x80 != 0 {
		base = 2
	}
	units := uint64(1)
	for range v & 0x7f {
		if units > math.MaxUint64/base {
			break // finer than 64 bits can tell; nobody writes it
		}
		units *= base
	}
	return units
}

// instant converts a timestamp to nanoseconds since the Unix epoch.
func (i captureInterface) instant(high, low uint32) int64 {
	t := uint64(high)<<32 | uint64(low)
	if i.units == 1e9 {
		return int64(t) + i.offset*1e9
	}
	seconds, rest := t/i.units, t%i.units
	// A remainder is less than units; a float loses nothing that nanoseconds could hold.
	return int64(seconds)*1e9 + int64(float64(rest)/float64(i.units)*1e9+0.5) + i.offset*1e9
}

func (r *pcapngReader) packet(kind uint32, b []byte, p *packet) (bool, error) {
	if len(b) < 20 {
		return false, fmt.Errorf("packet block of %d bytes: %w", len(b), errPacket)
	}
	index := r.order.Uint32(b)
	if kind == blockPacketOld {
		index = uint32(r.order.Uint16(b))
	}
	r.count++
	if int64(index) >= int64(len(r.interfaces)) {
		return false, fmt.Errorf("packet of interface %d, which is not declared: %w", index, errPacket)
	}
	size, whole := r.order.Uint32(b[12:]), r.order.Uint32(b[16:])
	if int64(size) > int64(len(b)-20) {
		return false, fmt.Errorf("packet of %d bytes in a block of %d: %w", size, len(b), errPacket)
	}
	i := r.interfaces[index]
	*p = packet{
		number: r.count, at: i.instant(r.order.Uint32(b[4:]), r.order.Uint32(b[8:])), link: i.link,
		data: b[20 : 20+size], wire: int(max(min(whole, math.MaxInt32), size)),
	}
	r.last = p.at
	return true, nil
}

// simple reads a packet of the first interface without a timestamp: it gets that of the packet before.
func (r *pcapngReader) simple(b []byte, p *packet) (bool, error) {
	if len(b) < 4 || len(r.interfaces) == 0 {
		return false, fmt.Errorf("simple packet block: %w", errPacket)
	}
	r.count++
	whole := int64(r.order.Uint32(b))
	data := b[4:]
	if whole < int64(len(data)) {
		data = data[:whole]
	}
	*p = packet{
		number: r.count, at: r.last, link: r.interfaces[0].link, data: data,
		wire: int(min(whole, math.MaxInt32)),
	}
	return true, nil
}

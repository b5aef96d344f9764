package wire

import "encoding/binary"

// reader walks over an encoded message without copying. After the first failure bad is set, and every
// later read returns the zero value.
type reader struct {
	b    []byte
	at   int
	flex bool // compact lengths and tagged fields (KIP-482)
	bad  bool
}

func (r *reader) fail() { r.bad, r.at = true, len(r.b) }

func (r *reader) rest() int { return len(r.b) - r.at }

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.b)-r.at {
		r.fail()
		return
	}
	r.at += n
}

func (r *reader) span(n int) []byte {
	if n < 0 || n > len(r.b)-r.at {
		r.fail()
		return nil
	}
	v := r.b[r.at : r.at+n : r.at+n]
	r.at += n
	return v
}

func (r *reader) int8() int8 {
	if r.at >= len(r.b) {
		r.bad = true
		return 0
	}
	v := int8(r.b[r.at])
	r.at++
	return v
}

func (r *reader) int16() int16 {
	if len(r.b)-r.at < 2 {
		r.fail()
		return 0
	}
	v := binary.BigEndian.Uint16(r.b[r.at:])
	r.at += 2
	return int16(v)
}

func (r *reader) int32() int32 {
	if len(r.b)-r.at < 4 {
		r.fail()
		return 0
	}
	v := binary.BigEndian.Uint32(r.b[r.at:])
	r.at += 4
	return int32(v)
}

func (r *reader) int64() int64 {
	if len(r.b)-r.at < 8 {
		r.fail()
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[r.at:])
	r.at += 8
	return int64(v)
}

func (r *reader) uuid() (v [16]byte) {
	if len(r.b)-r.at < 16 {
		r.fail()
		return v
	}
	v = [16]byte(r.b[r.at:])
	r.at += 16
	return v
}

func (r *reader) uvarint() uint32 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		v := r.b[r.at]
		r.at++
		return uint32(v)
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() uint32 {
	v, n := uvarint32(r.b[r.at:])
	if n == 0 {
		r.fail()
		return 0
	}
	r.at += n
	return v
}

// varint reads a zigzag varint.
func (r *reader) varint() int32 {
	v := r.uvarint()
	return int32(v>>1) ^ -int32(v&1)
}

// varlong reads a zigzag varint of up to 64 bits.
func (r *reader) varlong() int64 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		v := r.b[r.at]
		r.at++
		return int64(v>>1) ^ -int64(v&1)
	}
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.fail()
		return 0
	}
	r.at += n
	return int64(v>>1) ^ -int64(v&1)
}

// array reads the length of an array: negative for null, as Java's int makes it also of a varint beyond 31 bits. Since every element
// takes at least a byte, a length above what is left fails.
func (r *reader) array() int {
	var n int
	if r.flex {
		n = int(int32(r.uvarint()) - 1)
	} else {
		n = int(r.int32())
	}
	if r.bad || n > len(r.b)-r.at {
		r.fail()
		return 0
	}
	return n
}

// str reads a string that may be null (nil).
func (r *reader) str() []byte {
	var n int
	if r.flex {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int16())
	}
	if r.bad || n < 0 {
		return nil
	}
	return r.span(n)
}

// blob reads a byte field that may be null (nil).
func (r *reader) blob() []byte {
	var n int
	if r.flex {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int32())
	}
	if r.bad || n < 0 {
		return nil
	}
	return r.span(n)
}

// tags passes over a section of tagged fields.
func (r *reader) tags() {
	if !r.flex {
		return
	}
	if r.at < len(r.b) && r.b[r.at] == 0 {
		r.at++
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		r.uvarint()
		r.skip(int(r.uvarint()))
	}
}

// tag reads number and size of a tagged field and returns where it ends. The field is read with within, innerTags or
// field, then left with leave.
func (r *reader) tag() (number uint32, end int) {
	number = r.uvarint()
	size := int(r.uvarint())
	if size > len(r.b)-r.at {
		r.fail()
		return number, len(r.b)
	}
	return number, r.at + size
}

// within fails unless the field that ends at end has n more bytes.
func (r *reader) within(end, n int) *reader {
	if end-r.at < n {
		r.fail()
	}
	return r
}

// innerTags reads the tagged fields of a struct that is itself the content of a tagged field.
func (r *reader) innerTags(end int) {
	if r.at < end && r.b[r.at] == 0 {
		return
	}
	field := r.field(end)
	field.tags()
	r.bad = r.bad || field.bad
}

// field is a reader for the rest of the tagged field that ends at end.
func (r *reader) field(end int) reader {
	if r.bad {
		return reader{bad: true}
	}
	return reader{b: r.b[:end], at: r.at, flex: true}
}

// leave moves behind a tagged field.
func (r *reader) leave(end int) {
	if !r.bad {
		r.at = end
	}
}

// uvarint32 reads an unsigned varint of at most 32 bits and returns how many bytes it took; 0 means that it
// is cut off or too long (Kafka: ByteUtils.readUnsignedVarint).
func uvarint32(b []byte) (v uint32, n int) {
	for i := 0; i < len(b) && i < 5; i++ {
		c := b[i]
		if i == 4 && c > 0x0f {
			return 0, 0
		}
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

package recordings

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// An observation becomes one packet block or, if it is large, several. Each carries a part of two byte
// strings: the TCP payload and the machine fields (meta), which lie in a custom option of the block:
//
//	version byte, part byte (first, more and numbered bits), [numbered] the number of the block in 8 bytes,
//	then the part of the meta
//
// The meta of an observation, with uvarints but where said otherwise:
//
//	kind and direction, flags, connection id, varint forwarded minus seen,
//	[conn] the connection, [frame] sequence number, size, kept, varint correlation id, [withheld] ranges,
//	[fault] rule, [sent] bytes sent, [sentWithheld] ranges, [gap] reason, varint bytes, varint frames
//
// Instant Seen is the timestamp of the block.

const (
	metaVersion = 1

	partFirst    = 1 // the observation begins in this block
	partMore     = 2 // the next block goes on with it
	partNumbered = 4 // the first block of a chunk: its number among the packet blocks follows
)

// The flags of a meta.
const (
	metaConn = 1 << iota // describes its connection
	metaMidway
	metaCut
	metaFault
	metaSent
	metaDelivered
	metaWithheld
	metaSentWithheld
	metaFatal
	metaReset
)

// noCorrelation stands where the correlation id could not be read.
const noCorrelation = math.MinInt32

func appendMeta(b []byte, o *Observation, describe bool, correlation int32) []byte {
	b = append(b, byte(o.Kind)|byte(o.Dir)<<2)
	b = binary.AppendUvarint(b, metaFlags(o, describe))
	b = binary.AppendUvarint(b, o.Conn.ID)
	b = binary.AppendVarint(b, o.At.Forwarded-o.At.Seen)
	if describe {
		b = appendConn(b, o.Conn)
	}
	switch o.Kind {
	case KindFrame:
		b = binary.AppendUvarint(b, o.Seq)
		b = binary.AppendUvarint(b, uint64(o.Frame.Size))
		b = binary.AppendUvarint(b, uint64(len(o.Frame.Bytes)))
		b = binary.AppendVarint(b, int64(correlation))
		b = appendWithheld(b, o.Withheld)
		if f := o.Fault; f != nil {
			b = appendBlob(b, f.Rule)
			if f.Sent != nil {
				b = appendBlob(b, f.Sent)
			}
			b = appendWithheld(b, f.Withheld)
		}
	case KindGap:
		b = appendBlob(b, o.Gap.Reason)
		b = binary.AppendVarint(b, o.Gap.Bytes)
		b = binary.AppendVarint(b, o.Gap.Frames)
	case KindOpen, KindClose:
	}
	return b
}

func metaFlags(o *Observation, describe bool) (flags uint64) {
	set := func(on bool, flag uint64) {
		if on {
			flags |= flag
		}
	}
	set(describe, metaConn)
	set(o.Conn.Midway, metaMidway)
	set(o.Reset, metaReset)
	set(o.Kind == KindFrame && o.Frame.Cut, metaCut)
	set(len(o.Withheld) > 0, metaWithheld)
	set(o.Kind == KindGap && o.Gap.Fatal, metaFatal)
	if f := o.Fault; f != nil && o.Kind == KindFrame {
		flags |= metaFault
		set(f.Sent != nil, metaSent)
		set(f.Delivered, metaDelivered)
		set(len(f.Withheld) > 0, metaSentWithheld)
	}
	return flags
}

func appendBlob[T string | []byte](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func appendConn(b []byte, c *Conn) []byte {
	b = binary.AppendVarint(b, int64(c.Node))
	b = binary.AppendUvarint(b, uint64(c.Stream))
	b = appendBlob(b, c.Endpoint)
	for _, addr := range []netip.AddrPort{c.Client, c.Server} {
		raw, _ := addr.MarshalBinary() // has no error to report
		b = appendBlob(b, raw)
	}
	return b
}

func appendWithheld(b []byte, list []Withheld) []byte {
	if len(list) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		w := &list[i]
		b = binary.AppendUvarint(b, uint64(w.Start))
		b = binary.AppendUvarint(b, uint64(w.End))
		b = append(b, w.SHA256[:]...)
		valid := byte(0)
		if w.CRCValid {
			valid = 1
		}
		b = append(b, valid)
	}
	return b
}

// errMeta marks machine fields that do not follow the layout.
var errMeta = errors.New("machine fields of a packet block do not follow the format")

// metaReader reads a meta. The first field that does not fit makes all that follow empty.
type metaReader struct {
	b   []byte
	bad bool
}

func (r *metaReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *metaReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length reads a number of bytes or elements that cannot exceed most.
func (r *metaReader) length(most int) int {
	v := r.uvarint()
	if v > uint64(most) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(v)
}

func (r *metaReader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *metaReader) blob() []byte { return r.take(r.length(len(r.b))) }

func (r *metaReader) conn(id uint64, midway bool) *Conn {
	c := &Conn{ID: id, Midway: midway, Node: kraft.NodeID(r.varint()), Stream: r.length(math.MaxInt32)}
	c.Endpoint = string(r.blob())
	for _, addr := range []*netip.AddrPort{&c.Client, &c.Server} {
		if err := addr.UnmarshalBinary(r.blob()); err != nil {
			r.bad = true
		}
	}
	return c
}

// withheld reads ranges of size bytes into list, whose space is used again.
func (r *metaReader) withheld(list []Withheld, size int) []Withheld {
	list = list[:0]
	n := r.length(len(r.b) / 35)
	for range n {
		w := Withheld{Start: r.length(size)}
		w.End = r.length(size)
		copy(w.SHA256[:], r.take(32))
		valid := r.take(1)
		if r.bad || w.Start > w.End {
			r.bad = true
			return nil
		}
		w.CRCValid = valid[0] == 1
		list = append(list, w)
	}
	return list
}

// meta is a decoded head of machine fields.
type meta struct {
	kind      Kind
	dir       wire.Direction
	flags     uint64
	conn      uint64
	forwarded int64 // minus seen
}

func (r *metaReader) head() (m meta) {
	first := r.take(1)
	if r.bad || first[0] > 7 {
		r.bad = true
		return m
	}
	m.kind, m.dir = Kind(first[0]&3), wire.Direction(first[0]>>2)
	m.flags = r.uvarint()
	m.conn = r.uvarint()
	m.forwarded = r.varint()
	return m
}

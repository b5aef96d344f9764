package proxy

import (
	"encoding/binary"
	"net/netip"
)

// opening is the payload of an open entry.
type opening struct {
	upstream       int
	client, server netip.AddrPort
}

func (o opening) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(o.upstream))
	for _, a := range [2]netip.AddrPort{o.client, o.server} {
		raw, _ := a.MarshalBinary() // cannot fail
		b = append(append(b, byte(len(raw))), raw...)
	}
	return b
}

func parseOpening(b []byte) (o opening) {
	o.upstream = int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	for _, a := range [2]*netip.AddrPort{&o.client, &o.server} {
		n := int(b[0])
		_ = a.UnmarshalBinary(b[1 : 1+n]) // written by append
		b = b[1+n:]
	}
	return o
}

// undelivered stands for the length of what a fault entry does not have.
const undelivered = 1<<32 - 1

// appendFault writes the payload of a fault entry: the frame as sent and as delivered, nil where there is none.
func appendFault(b, sent, delivered []byte) []byte {
	for _, frame := range [2][]byte{sent, delivered} {
		size := uint32(len(frame))
		if frame == nil {
			size = undelivered
		}
		b = append(binary.LittleEndian.AppendUint32(b, size), frame...)
	}
	return b
}

// parseFault reads the payload of a fault entry.
func parseFault(b []byte) (sent, delivered []byte) {
	for _, frame := range [2]*[]byte{&sent, &delivered} {
		size := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if size != undelivered {
			*frame = b[:size:size]
			b = b[size:]
		}
	}
	return sent, delivered
}

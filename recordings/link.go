package recordings

import (
	"encoding/binary"
	"net/netip"
)

// The link types that carry TCP/IP here (tcpdump.org/linktypes.html).
const (
	linkNull     = 0 // BSD loopback, host byte order
	linkEthernet = 1
	linkRawBSD   = 12 // DLT_RAW as some systems write it
	linkLoop     = 108
	linkSLL      = 113 // Linux "any"
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
	linkRawOpen  = 14 // DLT_RAW of OpenBSD
)

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86DD
)

// linkKnown reports whether packets of this link type can be read.
func linkKnown(link uint32) bool {
	switch link {
	case linkNull, linkEthernet, linkRawBSD, linkRawOpen, linkRaw, linkLoop, linkSLL, linkIPv4, linkIPv6, linkSLL2:
		return true
	}
	return false
}

// networkLayer returns the IP packet in a frame of the link type, or nil if there is none.
func networkLayer(link uint32, b []byte) []byte {
	switch link {
	case linkEthernet:
		if len(b) < 14 {
			return nil
		}
		return etherPayload(binary.BigEndian.Uint16(b[12:]), b[14:])
	case linkNull, linkLoop:
		if len(b) < 4 {
			return nil
		}
		return b[4:] // the address family differs between systems; the IP header tells
	case linkSLL:
		if len(b) < 16 {
			return nil
		}
		return etherPayload(binary.BigEndian.Uint16(b[14:]), b[16:])
	case linkSLL2:
		if len(b) < 20 {
			return nil
		}
		return etherPayload(binary.BigEndian.Uint16(b), b[20:])
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		return b
	}
	return nil
}

// etherPayload passes over VLAN tags.
func etherPayload(kind uint16, b []byte) []byte {
	for kind == 0x8100 || kind == 0x88A8 || kind == 0x9100 {
		if len(b) < 4 {
			return nil
		}
		kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
	}
	if kind != etherIPv4 && kind != etherIPv6 {
		return nil
	}
	return b
}

// tcpSegment is one TCP segment.
type tcpSegment struct {
	src, dst netip.AddrPort
	seq, ack uint32
	flags    byte
	payload  []byte
	missing  int // bytes of the payload that the capture cut off
}

// parseIP reads the TCP segment in an IP packet. Other protocols, fragments and headers that are cut report false.
func parseIP(b []byte, s *tcpSegment) bool {
	if len(b) < 20 {
		return false
	}
	switch b[0] >> 4 {
	case 4:
		head := int(b[0]&15) * 4
		total := int(binary.BigEndian.Uint16(b[2:]))
		fragment := binary.BigEndian.Uint16(b[6:]) & 0x3fff // more fragments, or an offset
		if head < 20 || b[9] != 6 || fragment != 0 {
			return false
		}
		if total == 0 { // segmentation offload: longer than the field can tell
			total = len(b)
		}
		if total < head || len(b) < head {
			return false
		}
		src, dst := netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		return parseTCP(b[head:min(total, len(b))], total-head, src, dst, s)
	case 6:
		if len(b) < 40 {
			return false
		}
		size := int(binary.BigEndian.Uint16(b[4:]))
		next, rest := b[6], b[40:]
		if size == 0 { // a jumbogram or segmentation offload
			size = len(rest)
		}
		src, dst := netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		rest = rest[:min(size, len(rest))]
		for next == 0 || next == 43 || next == 60 { // hop-by-hop, routing, destination options
			if len(rest) < 8 {
				return false
			}
			n := (int(rest[1]) + 1) * 8
			if n > len(rest) {
				return false
			}
			next, rest, size = rest[0], rest[n:], size-n
		}
		return next == 6 && parseTCP(rest, size, src, dst, s)
	}
	return false
}

// parseTCP reads a segment that had size bytes on the wire.
func parseTCP(b []byte, size int, src, dst netip.Addr, s *tcpSegment) bool {
	if len(b) < 20 {
		return false
	}
	head := int(b[12]>>4) * 4
	if head < 20 || head > size {
		return false
	}
	s.src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(b))
	s.dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[2:]))
	s.seq, s.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	s.flags = b[13]
	s.payload = b[min(head, len(b)):]
	s.missing = size - head - len(s.payload)
	return true
}
